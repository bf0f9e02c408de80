package e2e

import (
	"context"
	"encoding/json"
	"fmt"
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

// TestSpecs: each spec in testdata/specs.txt passes against a served cluster, in which time passes as in reality. At most 20 specs
// of a special interest group share a cluster, and each slow spec has one of its own. The variable E2E names a directory that keeps the binaries.
func TestSpecs(t *testing.T) {
	bin := os.Getenv("E2E")
	if bin == "" {
		bin = t.TempDir()
	}
	for name, build := range map[string][]string{
		"e2e.test": {"test", "-vet=off", "-c", "-o", filepath.Join(bin, "e2e.test"), "k8s.io/kubernetes/test/e2e"},
		"kubectl":  {"build", "-o", filepath.Join(bin, "kubectl"), "k8s.io/kubernetes/cmd/kubectl"},
	} {
		if _, err := os.Stat(filepath.Join(bin, name)); err != nil {
			goCommand(t, ".", build...)
		}
	}
	goCommand(t, "../../..", "build", "-o", filepath.Join(bin, "volsim"), "./cmd/volsim")
	for cluster, names := range specs(t) {
		t.Run(cluster, func(t *testing.T) {
			t.Parallel()
			run(t, bin, names)
		})
	}
}

// run runs specs against a cluster.
func run(t *testing.T, bin string, names []string) {
	dir := t.TempDir()
	kubeconfig, report := filepath.Join(dir, "kubeconfig"), filepath.Join(dir, "report.json")
	serve(t, filepath.Join(bin, "volsim"), "serve", "--kubeconfig", kubeconfig, "--record", "none", "--time", "1x", "--nodes", "n1,n2,n3",
		"--driver", "disk.example.com", "-f", "testdata/class.yaml")
	require.Eventually(t, func() bool {
		data, err := os.ReadFile(kubeconfig)
		return err == nil && len(data) > 0
	}, time.Minute, 10*time.Millisecond)

	patterns := make([]string, len(names))
	for i, name := range names {
		patterns[i] = regexp.QuoteMeta(name)
	}
	cmd := exec.Command(filepath.Join(bin, "e2e.test"), "--kubeconfig", kubeconfig, "--provider", "skeleton",
		"--ginkgo.no-color", "--ginkgo.focus", strings.Join(patterns, "|"), "--ginkgo.json-report", report, "--ginkgo.timeout", "50m")
	cmd.Env = append(os.Environ(), "PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	out, failed := cmd.CombinedOutput()
	passed, others := results(t, report)
	if len(others) > 0 || failed != nil {
		t.Logf("%s", out)
	}
	require.Empty(t, others)
	require.NoError(t, failed)
	require.Equal(t, names, passed)
	t.Logf("%d specs pass", len(passed))
}

// specsOfCluster is how many specs share a cluster. They run one after the other, and most of the time wait.
const specsOfCluster = 20

// specs returns the names in testdata/specs.txt, by cluster.
func specs(t *testing.T) map[string][]string {
	t.Helper()
	data, err := os.ReadFile("testdata/specs.txt")
	require.NoError(t, err)
	names := strings.Split(strings.TrimSpace(string(data)), "\n")
	require.True(t, slices.IsSorted(names))
	clusters, grouped := map[string][]string{}, map[string]int{}
	for _, name := range names {
		group, _, _ := strings.Cut(name, " ")
		cluster := fmt.Sprintf("%s %d", group, grouped[group]/specsOfCluster)
		if strings.Contains(name, "[Slow]") {
			cluster = name
		} else {
			grouped[group]++
		}
		clusters[cluster] = append(clusters[cluster], name)
	}
	return clusters
}

// results returns the names of the specs that passed, and of those that ran and did not, with their states.
func results(t *testing.T, file string) (passed, others []string) {
	t.Helper()
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	var suites []struct {
		SpecReports []struct {
			ContainerHierarchyTexts           []string
			LeafNodeType, LeafNodeText, State string
		}
	}
	require.NoError(t, json.Unmarshal(data, &suites))
	for _, suite := range suites {
		for _, spec := range suite.SpecReports {
			name := strings.Join(append(spec.ContainerHierarchyTexts, spec.LeafNodeText), " ")
			switch {
			case spec.LeafNodeType != "It" || spec.State == "skipped":
			case spec.State == "passed":
				passed = append(passed, name)
			default:
				others = append(others, spec.State+": "+name)
			}
		}
	}
	slices.Sort(passed)
	return passed, others
}

func goCommand(t *testing.T, dir string, args ...string) {
	t.Helper()
	cmd := exec.Command("go", args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
}

// serve runs a program until the end of the test.
func serve(t *testing.T, name string, args ...string) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Stderr = os.Stderr
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		cancel()
		_ = cmd.Wait() // it was killed
	})
}
