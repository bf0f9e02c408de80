package explain

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestText(t *testing.T) {
	rejected := func(names ...string) (all []Candidate) {
		for _, name := range names {
			all = append(all, Candidate{Name: name, Rule: "SCHED-024", Got: "taint x", Needed: "no taint"})
		}
		return all
	}
	now := time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)
	x := Explanation{
		Object: "pod/shop/p", Phase: "Pending", Rule: "SCHED-024", Why: "no node fits (7 checked)",
		Candidates: append(rejected("n1", "n2", "n3", "n4", "n5"), Candidate{Name: "n6"},
			Candidate{Name: "n7", Rule: "SCHED-102", Got: "none", Needed: "a volume",
				Candidates: []Candidate{{Name: "pv", Rule: "MATCH-011", Got: "1Gi", Needed: "2Gi"}}}),
		Next:    []Step{{Actor: "kube-scheduler", Does: "places it"}, {Does: "add a node"}},
		Changes: Change{When: Automatic, At: now.Add(90 * time.Second), Rule: "ATT-064", Text: "it is detached"},
		Notes:   []string{"one", "two"},
		Related: []Explanation{{Object: "pvc/shop/data", Rule: "BIND-058", Why: "no volume fits",
			Changes: Change{When: Manual}}},
	}
	x.now = now
	require.Equal(t, `pod/shop/p is Pending
  because    no node fits (7 checked) (SCHED-024)
  rejected   n1, n2, n3 and 2 more  taint x, needs no taint (SCHED-024)
  fits       n6
  rejected   n7                     none, needs a volume (SCHED-102)
    volumes    pv  1Gi, needs 2Gi (MATCH-011)
  next       kube-scheduler places it
  to do      add a node
  changes    automatically at 2026-03-01T12:01:30Z (in 1m30s): it is detached (ATT-064)
  note       one
             two
  pvc/shop/data has no phase
    because    no volume fits (BIND-058)
    changes    only when you act
root cause pvc/shop/data: no volume fits (BIND-058)`, x.String())
	x.now = time.Time{}
	require.Contains(t, x.String(), "changes    automatically at 2026-03-01T12:01:30Z: it is detached (ATT-064)\n")
}

// A message of several lines stays in its line.
func TestOneLine(t *testing.T) {
	x := Explanation{Object: "pod/shop/p", Phase: "Pending", Rule: "MNT-197", Why: "mount failed: exit status 32\nOutput: timed out\n",
		Changes: Change{When: Manual}, Notes: []string{"a\r\nb"}}
	require.Equal(t, `pod/shop/p is Pending
  because    mount failed: exit status 32; Output: timed out (MNT-197)
  changes    only when you act
  note       a; b`, x.String())
}

// A rule that rejects many candidates with different texts gets a few lines and a count.
func TestManyLines(t *testing.T) {
	x := Explanation{Object: "pvc/shop/data", Phase: "Pending", Rule: "BIND-058", Why: "no volume fits",
		Changes: Change{When: Manual}}
	for _, name := range []string{"a", "b", "c", "d", "e", "f", "g"} {
		x.Candidates = append(x.Candidates, Candidate{Name: name, Rule: "MATCH-010", Got: "claimRef " + name, Needed: "no claimRef"})
	}
	x.Candidates = append(x.Candidates, Candidate{Name: "h", Rule: "MATCH-011", Got: "1Gi", Needed: "2Gi"})
	require.Contains(t, x.String(), `
  rejected   a       claimRef a, needs no claimRef (MATCH-010)
             b       claimRef b, needs no claimRef (MATCH-010)
             c       claimRef c, needs no claimRef (MATCH-010)
             d       claimRef d, needs no claimRef (MATCH-010)
             3 more  rejected by the same rule (MATCH-010)
             h       1Gi, needs 2Gi (MATCH-011)
`)
	x.Candidates = x.Candidates[:5]
	require.Contains(t, x.String(), "\n             e  claimRef e, needs no claimRef (MATCH-010)\n")
}
