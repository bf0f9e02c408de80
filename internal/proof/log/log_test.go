package log_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/volsim/volsim/internal/tools/script"
)

// enoughLines is the share of real lines that our log must have, in order.
const enoughLines = 0.95

// TestStaticBinding compares the log of a recorded run line by line: without order, and in the order of each goroutine. A line that the real
// controllers write twice must be in ours twice.
func TestStaticBinding(t *testing.T) {
	recorded, err := os.ReadFile("testdata/static-binding.log")
	require.NoError(t, err)
	source, err := os.ReadFile("testdata/static-binding.txtar")
	require.NoError(t, err)
	for _, tt := range []struct {
		name, latency string
		enough        float64 // share of real lines that our log must have, in order
		exact         bool    // without order, it has all of them and no others
	}{
		{"as recorded", "config latency=5ms\n", 0.99, true},
		// The controller sees its own writes when a sync is over: a volume is synced once when its claim is bound, and not twice before.
		{"no latency", "", enoughLines, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, err := script.Parse("static-binding.txtar", []byte(strings.Replace(string(source), "config latency=5ms\n", tt.latency, 1)))
			require.NoError(t, err)
			result, err := script.Run(s, script.Options{Log: &script.LogOptions{Modules: "pv_controller*=5,pv_protection*=5,pvc_protection*=5"}})
			require.NoError(t, err)
			defer result.Cluster.Close()
			compareLogs(t, string(recorded), string(result.Log), tt.enough, tt.exact)
			if tt.exact {
				compareAsDocumented(t, string(recorded), string(result.Log))
			}
		})
	}
}

func compareLogs(t *testing.T, recorded, ours string, enough float64, exact bool) {
	t.Helper()
	all, ofOurs, unordered, inOrder := 0, 0, 0, 0
	for _, goroutine := range goroutines {
		there, here := goroutine.lines(recorded), goroutine.lines(ours)
		all, ofOurs, inOrder = all+len(there), ofOurs+len(here), inOrder+len(missing(there, here))
		slices.Sort(here)
		for _, line := range missing(slices.Sorted(slices.Values(there)), here) {
			t.Logf("%s: not in our log: %s", goroutine.name, line)
			unordered++
		}
	}
	require.Equal(t, strings.Count(recorded, "\n"), all, "each real line belongs to one goroutine")
	share := func(missing int) float64 { return 1 - float64(missing)/float64(all) }
	t.Logf("%.1f %% of %d real lines are in our log, %.1f %% in order; ours has %d", 100*share(unordered), all, 100*share(inOrder), ofOurs)
	require.GreaterOrEqual(t, share(inOrder), enough)
	if exact {
		require.Zero(t, unordered, "lines that are missing")
		require.Equal(t, all, ofOurs, "number of lines")
	}
}

// compareAsDocumented runs the shell commands of docs/log.md that compare a real log with ours. Without order they find no difference.
func compareAsDocumented(t *testing.T, recorded, ours string) {
	t.Helper()
	page, err := os.ReadFile("../../../docs/log.md")
	require.NoError(t, err)
	_, block, found := strings.Cut(string(page), "```sh\nplain() {")
	require.True(t, found)
	block, _, _ = strings.Cut("plain() {"+block, "```")
	ordered, unordered := 0, 0
	for line := range strings.Lines(block) {
		if strings.HasPrefix(line, "diff ") && strings.Contains(line, "| sort") {
			unordered++
		} else if strings.HasPrefix(line, "diff ") {
			ordered++
			block = strings.Replace(block, line, "echo next\n", 1)
		}
	}
	require.Equal(t, []int{1, 1}, []int{ordered, unordered})
	dir := t.TempDir()
	for name, text := range map[string]string{"kube-controller-manager.log": recorded, "volsim.log": ours} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	shell := exec.Command("bash", "-c", block)
	shell.Dir = dir
	out, err := shell.CombinedOutput()
	require.NoError(t, err, string(out))
	require.Equal(t, "next\n", string(out))
}

// goroutine is a sequence of lines in a real log. A line belongs to the first one whose pattern matches.
type goroutine struct {
	name    string
	pattern *regexp.Regexp
}

var goroutines = []goroutine{
	{"handler of pvc-protection", regexp.MustCompile(`^pvc_protection.* "(Got event|Enqueuing)`)},
	{"worker of pvc-protection", regexp.MustCompile(`^pvc_protection`)},
	{"handler of pv-protection", regexp.MustCompile(`^pv_protection.* "Got event`)},
	{"worker of pv-protection", regexp.MustCompile(`^pv_protection`)},
	{"handler of claims", regexp.MustCompile(`"Enqueued for sync".*objName=".*/`)},
	{"handler of volumes", regexp.MustCompile(`"Enqueued for sync"`)},
	{"resync", regexp.MustCompile(`"(Resyncing|Starting|Controller initialized)`)},
	{"both workers", regexp.MustCompile(`"(storeObjectUpdate.*|Updating PersistentVolume|Updating PersistentVolume: phase already set|Volume entered phase)" `)},
	{"worker for volumes", regexp.MustCompile(`"(syncVolumeByKey|Synchronizing PersistentVolume[",]|ReclaimVolume|volume deleted|deleteVolume|Volume is released)|a claim that is not found`)},
	{"worker for claims", regexp.MustCompile(``)},
}

var (
	header    = regexp.MustCompile(`^[IWEF]\d{4} [\d:.]+ +\d+ (\w+\.go):\d+\] `)
	component = regexp.MustCompile(` (pv_controller|pv_controller_base|pv_protection_controller|pvc_protection_controller)\.go:`)
	varies    = regexp.MustCompile(`(resourceVersion|duration|cost)="[^"]*"|[0-9a-f]{8}-[0-9a-f-]{27}`)
)

// lines returns the lines of a goroutine without times, resource versions and uids.
func (g goroutine) lines(log string) (lines []string) {
	for line := range strings.Lines(log) {
		if !component.MatchString(line) {
			continue
		}
		line = varies.ReplaceAllString(header.ReplaceAllString(strings.TrimSpace(line), "$1 "), "$1")
		of := goroutines[slices.IndexFunc(goroutines, func(one goroutine) bool { return one.pattern.MatchString(line) })]
		if of.name == g.name {
			lines = append(lines, line)
		}
	}
	return lines
}

// missing returns the lines of a that are not in the longest common subsequence with b.
func missing(a, b []string) (lines []string) {
	longest := make([][]int, len(a)+1)
	for i := range longest {
		longest[i] = make([]int, len(b)+1)
	}
	for i := range slices.Backward(a) {
		for j := range slices.Backward(b) {
			if longest[i][j] = max(longest[i+1][j], longest[i][j+1]); a[i] == b[j] {
				longest[i][j] = longest[i+1][j+1] + 1
			}
		}
	}
	for i, j := 0, 0; i < len(a); {
		switch {
		case j < len(b) && a[i] == b[j]:
			i, j = i+1, j+1
		case j < len(b) && longest[i][j+1] > longest[i+1][j]:
			j++
		default:
			lines = append(lines, a[i])
			i++
		}
	}
	return lines
}
