package explain_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/volsim/volsim/explain"
	"github.com/volsim/volsim/internal/proof/reasons"
)

func TestText(t *testing.T) {
	refused := func(names ...string) (all []explain.Candidate) {
		for _, name := range names {
			all = append(all, explain.Candidate{Name: name, Rule: "SCHED-024", Got: "taint x", Needed: "no taint"})
		}
		return all
	}
	x := explain.Explanation{
		Object: "pod/shop/p", Phase: "Pending", Because: explain.Reason{Rule: "SCHED-024", Text: "none of 7 nodes will do"},
		Candidates: append(refused("n1", "n2", "n3", "n4", "n5"), explain.Candidate{Name: "n6"},
			explain.Candidate{Name: "n7", Rule: "SCHED-102", Got: "none", Needed: "a volume", Candidates: []explain.Candidate{{Name: "pv", Rule: "MATCH-011", Got: "1Gi", Needed: "2Gi"}}}),
		Next:    []explain.Step{{Actor: "kube-scheduler", Does: "has to try it"}, {Actor: explain.Somebody, Does: "has to add a node"}},
		Changes: explain.Change{When: explain.ByItself, At: reasons.Now.Add(90 * time.Second), Rule: "ATT-064", Text: "it is detached"},
		Notes:   []string{"one", "two"},
		Related: []explain.Explanation{{Object: "pvc/shop/data", Because: explain.Reason{Rule: "BIND-058", Text: "no volume fits"},
			Changes: explain.Change{When: explain.Never}}},
	}
	var b strings.Builder
	require.NoError(t, x.WriteText(&b, reasons.Now))
	require.Equal(t, `pod/shop/p is Pending
  because    none of 7 nodes will do (SCHED-024)
  refused    n1, n2, n3 and 2 more  taint x, needs no taint (SCHED-024)
  fits       n6
             n7                     none, needs a volume (SCHED-102)
    of these   pv  1Gi, needs 2Gi (MATCH-011)
  next       kube-scheduler has to try it
             somebody has to add a node
  changes    at 2026-03-01T12:01:30Z (in 1m30s): it is detached (ATT-064)
  note       one
             two
  pvc/shop/data is without a phase
    because    no volume fits (BIND-058)
    changes    never by itself
root cause pvc/shop/data: no volume fits (BIND-058)
`, b.String())
	require.Contains(t, x.String(), "changes    at 2026-03-01T12:01:30Z: it is detached (ATT-064)\n")
}

// A rule that refused many in words of their own gets a few lines, and a count.
func TestManyLines(t *testing.T) {
	x := explain.Explanation{Object: "pvc/shop/data", Phase: "Pending", Because: explain.Reason{Rule: "BIND-058", Text: "no volume fits"},
		Changes: explain.Change{When: explain.Never}}
	for _, name := range []string{"a", "b", "c", "d", "e", "f", "g"} {
		x.Candidates = append(x.Candidates, explain.Candidate{Name: name, Rule: "MATCH-010", Got: "claimRef " + name, Needed: "no claimRef"})
	}
	x.Candidates = append(x.Candidates, explain.Candidate{Name: "h", Rule: "MATCH-011", Got: "1Gi", Needed: "2Gi"})
	require.Contains(t, x.String(), `
  refused    a       claimRef a, needs no claimRef (MATCH-010)
             b       claimRef b, needs no claimRef (MATCH-010)
             c       claimRef c, needs no claimRef (MATCH-010)
             d       claimRef d, needs no claimRef (MATCH-010)
             3 more  refused likewise (MATCH-010)
             h       1Gi, needs 2Gi (MATCH-011)
`)
	x.Candidates = x.Candidates[:5]
	require.Contains(t, x.String(), "\n             e  claimRef e, needs no claimRef (MATCH-010)\n")
}
