package controllerruntime

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	// The suites are of this version of the module.
	_ "sigs.k8s.io/controller-runtime/pkg/client"
)

const module = "sigs.k8s.io/controller-runtime"

// suites are the packages, with the number of specs that pass.
var suites = []struct {
	name   string
	passed int
}{
	{"client", 296}, {"cache", 276}, {"builder", 72}, {"controller", 32}, {"manager", 106}, {"source", 19}, {"internal/recorder", 5},
}

// patience is how long a suite may take.
const patience = 5 * time.Minute

// TestSuites runs each suite against a server of its own without controllers, as the suites expect: controller-runtime's test environment is
// a bare API server.
func TestSuites(t *testing.T) {
	dir := t.TempDir()
	server := filepath.Join(dir, "volsim")
	build(t, "go", "build", "-o", server, "github.com/volsim/volsim/cmd/volsim")
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", module).Output()
	require.NoError(t, err)
	source := strings.TrimSpace(string(out))
	total := 0
	for _, suite := range suites {
		t.Run(suite.name, func(t *testing.T) {
			test := filepath.Join(dir, filepath.Base(suite.name)+".test")
			build(t, "go", "test", "-c", "-o", test, module+"/pkg/"+suite.name)
			report := filepath.Join(t.TempDir(), "report.json")
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			cmd := exec.CommandContext(ctx, test, "-ginkgo.no-color", "-ginkgo.json-report", report)
			cmd.Dir = filepath.Join(source, "pkg", filepath.FromSlash(suite.name))
			cmd.Env = append(os.Environ(), "USE_EXISTING_CLUSTER=true", "KUBECONFIG="+serve(t, server))
			text, err := cmd.CombinedOutput()
			var failed *exec.ExitError
			if err != nil && !errors.As(err, &failed) {
				require.NoError(t, err)
			}
			passed, failures := read(t, report)
			t.Logf("%s: %d passed, failed: %q", suite.name, passed, failures)
			require.Empty(t, failures, string(text))
			require.Equal(t, suite.passed, passed)
			total += passed
		})
	}
	t.Logf("%d passed", total)
}

func build(t *testing.T, command ...string) {
	t.Helper()
	out, err := exec.Command(command[0], command[1:]...).CombinedOutput()
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
