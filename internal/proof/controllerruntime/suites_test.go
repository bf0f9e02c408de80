package controllerruntime

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	// The suites are of this version of the module.
	_ "sigs.k8s.io/controller-runtime/pkg/client"
)

// suite is the suite of a package, and the number of its specs that pass.
type suite struct {
	name   string
	passed int
	// fails are specs that fail, each with the reason.
	fails map[string]string
}

// patience is how long a suite may take.
const patience = 5 * time.Minute

// TestSuites runs the suites of controller-runtime.
func TestSuites(t *testing.T) {
	run(t, ".", "sigs.k8s.io/controller-runtime", []suite{
		{name: "pkg/client", passed: 296}, {name: "pkg/cache", passed: 276}, {name: "pkg/builder", passed: 72}, {name: "pkg/controller", passed: 32},
		{name: "pkg/manager", passed: 106}, {name: "pkg/source", passed: 19}, {name: "pkg/internal/recorder", passed: 5},
	})
}

// TestKarpenter runs suites of karpenter, whose nodes it terminates with their pods and volume attachments.
func TestKarpenter(t *testing.T) {
	run(t, "../karpenter", "sigs.k8s.io/karpenter", []suite{
		{name: "pkg/controllers/node/termination", passed: 31}, {name: "pkg/controllers/node/termination/terminator", passed: 13},
		{name: "pkg/controllers/node/health", passed: 15},
	})
}

// run runs suites of a module, which the module in dir requires. Each has a server of its own without controllers, as the suites expect: the test
// environment of controller-runtime is a bare API server.
func run(t *testing.T, dir, module string, suites []suite) {
	t.Helper()
	bin := t.TempDir()
	server := filepath.Join(bin, "volsim")
	build(t, "../../..", "build", "-o", server, "./cmd/volsim")
	list := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", module)
	list.Dir = dir
	out, err := list.Output()
	require.NoError(t, err)
	source := strings.TrimSpace(string(out))
	total := 0
	for _, suite := range suites {
		t.Run(suite.name, func(t *testing.T) {
			test := filepath.Join(bin, filepath.Base(suite.name)+".test")
			build(t, dir, "test", "-c", "-o", test, module+"/"+suite.name)
			report := filepath.Join(t.TempDir(), "report.json")
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			cmd := exec.CommandContext(ctx, test, "-ginkgo.no-color", "-ginkgo.json-report", report)
			cmd.Dir = filepath.Join(source, filepath.FromSlash(suite.name))
			cmd.Env = append(os.Environ(), "USE_EXISTING_CLUSTER=true", "KUBECONFIG="+serve(t, server))
			text, err := cmd.CombinedOutput()
			var failed *exec.ExitError
			if err != nil && !errors.As(err, &failed) {
				require.NoError(t, err)
			}
			passed, failures := read(t, report)
			t.Logf("%s: %d passed, failed: %q", suite.name, passed, failures)
			failures = slices.DeleteFunc(failures, func(name string) bool { return suite.fails[name] != "" })
			require.Empty(t, failures, string(text))
			require.Equal(t, suite.passed, passed)
			total += passed
		})
	}
	t.Logf("%d passed", total)
}

// build runs a command of go in a directory.
func build(t *testing.T, dir string, args ...string) {
	t.Helper()
	cmd := exec.Command("go", args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
}

// serve starts a server until the end of the test, and returns its kubeconfig.
func serve(t *testing.T, program string) string {
	t.Helper()
	config := filepath.Join(t.TempDir(), "config")
	cmd := exec.Command(program, "serve", "--without", "all", "--kubeconfig", config)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt) // it may have ended
		_ = cmd.Wait()
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	require.Contains(t, line, "serving")
	return config
}

// read returns the number of specs that passed, and the names of those that failed, of a report of Ginkgo.
func read(t *testing.T, file string) (passed int, failed []string) {
	t.Helper()
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	var reports []struct {
		SpecReports []struct {
			LeafNodeType, LeafNodeText, State string
			ContainerHierarchyTexts           []string
		}
	}
	require.NoError(t, json.Unmarshal(data, &reports))
	for _, report := range reports {
		for _, spec := range report.SpecReports {
			switch {
			case spec.State == "passed" && spec.LeafNodeType == "It":
				passed++
			case spec.State != "passed" && spec.State != "pending" && spec.State != "skipped":
				failed = append(failed, strings.Join(append(spec.ContainerHierarchyTexts, spec.LeafNodeText), " "))
			}
		}
	}
	return passed, failed
}
