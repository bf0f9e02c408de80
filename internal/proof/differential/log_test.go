package differential_test

import (
	"bytes"
	"flag"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/internal/proof/differential"
	"github.com/volsim/volsim/internal/proof/differential/compare"
	"github.com/volsim/volsim/internal/proof/differential/upstream"
)

var showLog = flag.Bool("show-log", false, "print the lines that only one side has")

// enoughLines is the share of real lines that our log must have, in order.
const enoughLines = 0.95

// TestLog compares our log with that of the real controllers, line by line: for the history of a claim that is bound to an existing volume
// and deleted, in order, and for random scenarios without order, because several objects are synced there in the order of goroutines. The
// real controllers run in our order as far as possible.
func TestLog(t *testing.T) {
	t.Run("static binding", func(t *testing.T) {
		s := compareLogs(t, staticBinding(), missingInOrder)
		t.Logf("static binding: %s", s)
		require.GreaterOrEqual(t, s.share(), enoughLines)
	})
	t.Run("random", func(t *testing.T) {
		var all shared
		for i := range max(3, *seeds) {
			seed := *first + uint64(i)
			s := compareLogs(t, differential.Generate(seed), missingInAnyOrder)
			if s.share() < enoughLines {
				t.Logf("seed %d: %s", seed, s)
			}
			all.real, all.ours, all.both = all.real+s.real, all.ours+s.ours, all.both+s.both
		}
		t.Logf("random scenarios: %s", all)
		require.GreaterOrEqual(t, all.share(), enoughLines)
	})
}

// staticBinding creates a volume and a claim, and deletes the claim and then the volume.
func staticBinding() differential.Scenario {
	volume := fake.Volume("pv1", "5Gi")
	volume.Spec.PersistentVolumeReclaimPolicy = corev1.PersistentVolumeReclaimRetain
	volume.Spec.PersistentVolumeSource = corev1.PersistentVolumeSource{NFS: &corev1.NFSVolumeSource{Server: "a", Path: "/pv1"}}
	claim := fake.Claim("pvc1", "3Gi")
	none := ""
	claim.Spec.StorageClassName = &none
	wait := 3500 * time.Millisecond
	return differential.Scenario{Lead: 18500 * time.Millisecond, Steps: []differential.Step{
		{Op: differential.Create, Object: volume, Wait: wait},
		{Op: differential.Create, Object: claim, Wait: wait},
		{Op: differential.Delete, Ref: api.Ref{Kind: api.PersistentVolumeClaim, Key: "default/pvc1"}, Wait: wait},
		{Op: differential.Delete, Ref: api.Ref{Kind: api.PersistentVolume, Key: "pv1"}, Wait: wait, Settle: true},
	}}
}

// compareLogs runs a scenario here, and then upstream until our outcome is legal. It returns what the logs of that run and of ours share.
func compareLogs(t *testing.T, s differential.Scenario, unmatched unmatched) shared {
	t.Helper()
	var here bytes.Buffer
	opts := optionsOf(s)
	opts.Watch, opts.Log = true, &here
	ours, order := compare.RunOurs(t, s, opts)
	var best shared
	var outcomes differential.Outcomes
	for run := range logRuns {
		var there bytes.Buffer
		logging := compare.Real(func(s differential.Scenario, c compare.Conditions, wait func()) (compare.Side, error) {
			cfg := configOf(s, c, wait)
			cfg.Log = &there
			return upstream.New(cfg)
		})
		outcomes.Add(logging.Run(t, s, compare.Sequenced(run, order, compare.Latency())))
		found := compareLines(there.String(), here.String(), unmatched)
		if best.real == 0 || found.share() > best.share() {
			best = found
		}
		if outcomes.Legal(ours) && best.share() >= enoughLines {
			break
		}
	}
	if *showLog {
		t.Logf("only in the real log:\n%s\nonly in ours:\n%s", strings.Join(best.missing, "\n"), strings.Join(best.extra, "\n"))
	}
	return best
}

// logRuns is the number of upstream runs of which the best counts.
const logRuns = 10

// shared counts the lines of two logs, and those that both have in the same order.
type shared struct {
	real, ours, both int
	missing, extra   []string
}

func (s shared) share() float64 { return float64(s.both) / float64(max(1, s.real)) }

func (s shared) String() string {
	return fmt.Sprintf("%.2f %% of %d real lines are in ours, which has %d", 100*s.share(), s.real, s.ours)
}

// compareLines compares the lines of each controller. Lines of different controllers come from goroutines that do not wait for each other.
func compareLines(there, here string, unmatched unmatched) (s shared) {
	for _, files := range []string{"pv_controller", "pv_protection", "pvc_protection"} {
		a, b := linesOf(there, files), linesOf(here, files)
		missing, extra := unmatched(a, b)
		s.real, s.ours, s.both = s.real+len(a), s.ours+len(b), s.both+len(a)-len(missing)
		s.missing, s.extra = append(s.missing, missing...), append(s.extra, extra...)
	}
	return s
}

var (
	header   = regexp.MustCompile(`^([IWEF])\d{4} [\d:.]+ +\d+ (\w+\.go):\d+\] `)
	varies   = regexp.MustCompile(`(resourceVersion|duration|cost)="[^"]*"`)
	lastLine = regexp.MustCompile(`"Shutting down `)
)

// linesOf returns the lines of some source files without times and resource versions, up to the end of the controllers.
func linesOf(log, files string) (lines []string) {
	for line := range strings.Lines(log) {
		m := header.FindStringSubmatch(line)
		if m == nil || !strings.HasPrefix(m[2], files) || lastLine.MatchString(line) {
			continue
		}
		lines = append(lines, m[1]+" "+m[2]+" "+varies.ReplaceAllString(strings.TrimSpace(line[len(m[0]):]), "$1"))
	}
	return lines
}

// unmatched returns the lines that only one of two lists has.
type unmatched func(a, b []string) (onlyA, onlyB []string)

// missingInAnyOrder counts how often the lists have each line.
func missingInAnyOrder(a, b []string) (onlyA, onlyB []string) {
	left := map[string]int{}
	for _, line := range b {
		left[line]++
	}
	for _, line := range a {
		if left[line]--; left[line] < 0 {
			onlyA = append(onlyA, line)
		}
	}
	for _, line := range b {
		if left[line] > 0 {
			left[line]--
			onlyB = append(onlyB, line)
		}
	}
	return onlyA, onlyB
}

// missingInOrder returns the lines of each list that are not in their longest common subsequence.
func missingInOrder(a, b []string) (onlyA, onlyB []string) {
	longest := make([][]int32, len(a)+1)
	for i := range longest {
		longest[i] = make([]int32, len(b)+1)
	}
	for i := range slices.Backward(a) {
		for j := range slices.Backward(b) {
			if a[i] == b[j] {
				longest[i][j] = longest[i+1][j+1] + 1
			} else {
				longest[i][j] = max(longest[i+1][j], longest[i][j+1])
			}
		}
	}
	i, j := 0, 0
	for i < len(a) && j < len(b) {
		switch {
		case a[i] == b[j]:
			i, j = i+1, j+1
		case longest[i+1][j] >= longest[i][j+1]:
			onlyA, i = append(onlyA, a[i]), i+1
		default:
			onlyB, j = append(onlyB, b[j]), j+1
		}
	}
	return append(onlyA, a[i:]...), append(onlyB, b[j:]...)
}
