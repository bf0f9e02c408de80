package log_test

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/volsim/volsim/internal/tools/script"
)

// enoughLines is the share of real lines that our log must have, in order.
const enoughLines = 0.95

// TestStaticBinding compares line by line, in the order of each goroutine. In a real controller two events that come close together cause
// one sync or two equal ones, depending on its goroutines. So a sync of the recording that equals the one before it need not be repeated
// here.
func TestStaticBinding(t *testing.T) {
	real, err := os.ReadFile("testdata/static-binding.log")
	require.NoError(t, err)
	source, err := os.ReadFile("testdata/static-binding.txtar")
	require.NoError(t, err)
	s, err := script.Parse("static-binding.txtar", source)
	require.NoError(t, err)
	result, err := script.Run(s, script.Options{Log: &script.LogOptions{Modules: "pv_controller*=5,pv_protection*=5,pvc_protection*=5"}})
	require.NoError(t, err)
	defer result.Cluster.Close()

	all, absent, unrepeated := 0, 0, 0
	for _, goroutine := range goroutines {
		there, here := goroutine.lines(string(real)), goroutine.lines(string(result.Log))
		all, unrepeated = all+len(there), unrepeated+len(missing(there, here))
		for _, line := range missing(once(there), here) {
			t.Logf("%s: not in our log: %s", goroutine.name, line)
			absent++
		}
	}
	require.Equal(t, strings.Count(string(real), "\n"), all, "each real line belongs to one goroutine")
	share := 1 - float64(absent)/float64(all)
	t.Logf("%.1f %% of %d real lines are in our log, in order; %.1f %% if equal syncs in a row must be repeated as often",
		100*share, all, 100*(1-float64(unrepeated)/float64(all)))
	require.GreaterOrEqual(t, share, enoughLines)
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
	header = regexp.MustCompile(`^[IWEF]\d{4} [\d:.]+ +\d+ (\w+\.go):\d+\] `)
	varies = regexp.MustCompile(`(resourceVersion|duration|cost)="[^"]*"|[0-9a-f]{8}-[0-9a-f-]{27}`)
)

// lines returns the lines of a goroutine without times, resource versions and uids.
func (g goroutine) lines(log string) (lines []string) {
	for line := range strings.Lines(log) {
		line = varies.ReplaceAllString(header.ReplaceAllString(strings.TrimSpace(line), "$1 "), "$1")
		of := goroutines[slices.IndexFunc(goroutines, func(one goroutine) bool { return one.pattern.MatchString(line) })]
		if of.name == g.name {
			lines = append(lines, line)
		}
	}
	return lines
}

// once removes blocks of lines that repeat the block before them.
func once(lines []string) []string {
	lines = slices.Clone(lines)
	for size := len(lines) / 2; size > 1; size-- {
		for i := 0; i+2*size <= len(lines); {
			if slices.Equal(lines[i:i+size], lines[i+size:i+2*size]) {
				lines = slices.Delete(lines, i, i+size)
			} else {
				i++
			}
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
