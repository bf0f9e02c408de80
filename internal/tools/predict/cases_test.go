package predict_test

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/volsim/volsim/internal/tools/dump"
	"github.com/volsim/volsim/internal/tools/predict"
)

// TestCases: dumps of a real cluster, an action in the words of kubectl, and the volumes and claims that it left.
func TestCases(t *testing.T) {
	for name, test := range map[string]struct {
		action string
		want   []string // of the timeline
		never  string
	}{
		"delete-claim-retain": {"delete pvc data", []string{"pvc/default/data is deleted", "pv/vol is Released"}, ""},
		"delete-claim-in-use": {"delete pvc data --wait=false", []string{"pvc/default/data is being deleted"}, "is deleted"},
		"free-released": {`patch pv vol -p {"spec":{"claimRef":null}}`,
			[]string{"pv/vol is Bound", "pvc/default/next is Bound to volume vol"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			data, err := os.ReadFile("testdata/cases/" + name + ".yaml")
			require.NoError(t, err)
			d, err := dump.Read(data)
			require.NoError(t, err)
			p, err := predict.Predict(d, parse(t, test.action), predict.Options{For: 20 * time.Second})
			require.NoError(t, err)
			var lines []string
			for _, o := range p.Outcomes {
				lines = append(lines, o.Object+" "+o.What)
			}
			all := strings.Join(lines, "\n")
			for _, want := range test.want {
				require.Contains(t, all, want)
			}
			if test.never != "" {
				require.NotContains(t, all, test.never)
			}
		})
	}
}
