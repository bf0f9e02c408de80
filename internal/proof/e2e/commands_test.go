package e2e

import (
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestCommands: the tests of kubectl that Kubernetes has in test/cmd pass, those in testdata/commands.txt. As there, no scheduler and no kubelet runs.
// Three are not in the file: run_swagger_tests looks for sentences of the documentation, run_multi_resources_tests reads files from the internet, and
// run_exec_credentials_tests needs client certificates.
func TestCommands(t *testing.T) {
	data, err := os.ReadFile("testdata/commands.txt")
	require.NoError(t, err)
	names := strings.Fields(string(data))
	require.True(t, slices.IsSorted(names))
	dir := t.TempDir()
	scripts(t, dir)
	bin := filepath.Join(dir, "_output", "bin")
	for _, program := range []string{"kubectl", "kubectl-convert"} {
		// kubectl compares its version with that of the server.
		goCommand(t, ".", "build", "-ldflags", "-X k8s.io/component-base/version.gitVersion=v1.36.3 -X k8s.io/component-base/version.gitMajor=1 "+
			"-X k8s.io/component-base/version.gitMinor=36 -X k8s.io/component-base/version.gitCommit= -X k8s.io/component-base/version.gitTreeState=clean",
			"-o", filepath.Join(bin, program), "k8s.io/kubernetes/cmd/"+program)
	}
	volsim := filepath.Join(t.TempDir(), "volsim")
	goCommand(t, "../../..", "build", "-o", volsim, "./cmd/volsim")
	kubeconfig := filepath.Join(dir, "kubeconfig")
	// As in Kubernetes, no scheduler runs, and pods are admitted without a ServiceAccount.
	serve(t, volsim, "serve", "--kubeconfig", kubeconfig, "--record", "none", "--secure", "--token", "admin-token",
		"--without", "kube-scheduler,service-account-controller")
	var server []string
	require.Eventually(t, func() bool {
		config, err := os.ReadFile(kubeconfig)
		server = regexp.MustCompile(`server: (\S+)`).FindStringSubmatch(string(config))
		return err == nil && server != nil
	}, time.Minute, 10*time.Millisecond)
	address, err := url.Parse(server[1])
	require.NoError(t, err)

	work, err := filepath.Abs("testdata")
	require.NoError(t, err)
	cmd := exec.Command("bash", filepath.Join(work, "commands.sh"))
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "TERM=xterm", "TMPDIR="+t.TempDir(), "COMMANDS="+filepath.Join(work, "commands.txt"), "SECURE_API_PORT="+address.Port())
	out, failed := cmd.CombinedOutput()
	var passed []string
	for line := range strings.Lines(string(out)) {
		if name, ok := strings.CutPrefix(strings.TrimSpace(line), "pass "); ok {
			passed = append(passed, name)
		}
	}
	slices.Sort(passed)
	if failed != nil || !slices.Equal(passed, names) {
		t.Logf("%s", out)
	}
	require.NoError(t, failed)
	require.Equal(t, names, passed)
	t.Logf("%d tests of kubectl pass", len(passed))
}

// scripts copies the scripts of Kubernetes and what they read.
func scripts(t *testing.T, dir string) {
	t.Helper()
	found, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "k8s.io/kubernetes").Output()
	require.NoError(t, err)
	for _, name := range []string{"hack", "test/cmd", "test/fixtures", "test/e2e/testing-manifests", "third_party/forked/shell2junit"} {
		require.NoError(t, os.CopyFS(filepath.Join(dir, name), os.DirFS(filepath.Join(strings.TrimSpace(string(found)), name))))
	}
	// Modules have no executable files.
	plugins := filepath.Join(dir, "test/fixtures/pkg/kubectl/plugins")
	require.NoError(t, filepath.WalkDir(plugins, func(path string, _ os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Chmod(path, 0o755)
	}))
}
