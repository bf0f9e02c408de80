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

// A drain evicts pods: it tries again while a PodDisruptionBudget forbids that, until its timeout, and the next step waits for it (PDB-021).
func TestDrain(t *testing.T) {
	data, err := os.ReadFile("testdata/cases/scale-down-retain.yaml")
	require.NoError(t, err)
	for _, test := range []struct {
		name, steps string
		happens     string
		never       string
		refused     string
		total       time.Duration
	}{
		{name: "without a budget", steps: "drain n1 --ignore-daemonsets then nothing", happens: "pod/default/db-1 is scheduled to node n2",
			total: 62 * time.Second},
		{name: "with a budget that forbids it", steps: "apply -f testdata/budget.yaml then drain n1 --timeout=30s then cordon n2",
			happens: "node/n2 is cordoned", never: "db-1",
			refused: `the drain of node n1 does not end: error when evicting pods/"db-1" -n "default": global timeout reached: 30s: ` +
				"Cannot evict pod as it would violate the pod's disruption budget: The disruption budget db needs 2 healthy pods and has 2 currently",
			total: 91 * time.Second},
		{name: "with a budget, until a third pod runs", steps: "apply -f testdata/budget.yaml then scale sts db --replicas=3 then drain n1",
			happens: "pod/default/db-1 is scheduled to node n2", total: 67 * time.Second},
	} {
		t.Run(test.name, func(t *testing.T) {
			d, err := dump.Read(data)
			require.NoError(t, err)
			p, err := predict.Predict(d, parse(t, test.steps), predict.Options{For: time.Minute})
			require.NoError(t, err)
			var lines []string
			for _, o := range p.Outcomes {
				lines = append(lines, o.Object+" "+o.What)
			}
			text := strings.Join(lines, "\n")
			require.Contains(t, text, test.happens)
			if test.never != "" {
				require.NotContains(t, text, test.never)
			}
			require.Empty(t, p.Notes)
			if test.refused != "" {
				require.Len(t, p.Refused, 1)
				require.Equal(t, test.refused, p.Refused[0].Reason)
			} else {
				require.Empty(t, p.Refused)
			}
			require.Equal(t, test.total, p.Until.Sub(p.From).Round(time.Second))
		})
	}
}

// set image changes the template of a workload, so its pods are replaced.
func TestSetImage(t *testing.T) {
	data, err := os.ReadFile("testdata/cases/csi-delete-deployment.yaml")
	require.NoError(t, err)
	d, err := dump.Read(data)
	require.NoError(t, err)
	for _, steps := range []string{"set image deploy/web c=nginx", "set image deployment web *=nginx"} {
		p, err := predict.Predict(d, parse(t, steps), predict.Options{For: time.Minute})
		require.NoError(t, err)
		stopped := false
		for _, o := range p.Outcomes {
			stopped = stopped || strings.HasPrefix(o.Object, "pod/default/web-5996f57478-") && o.What == "is deleted"
		}
		require.True(t, stopped, "the old pod is replaced")
	}
	_, err = predict.Predict(d, parse(t, "set image deploy/web other=nginx"), predict.Options{For: time.Minute})
	require.EqualError(t, err, `set image deploy/web other=nginx: unable to find container named "other"`)
}
