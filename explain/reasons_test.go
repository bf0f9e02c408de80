package explain_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/explain"
	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/internal/core/objects"
	"github.com/volsim/volsim/internal/core/objname"
	"github.com/volsim/volsim/internal/core/snapshot"
	"github.com/volsim/volsim/internal/proof/reasons"
)

// TestReasons checks the rule, the next actor and the time of change for each row.
func TestReasons(t *testing.T) {
	for name, rows := range reasons.Tables() {
		t.Run(name, func(t *testing.T) {
			for _, r := range rows {
				t.Run(r.Rule+" "+r.Name, r.Check)
			}
		})
	}
}

// A brief explanation differs only in its candidates.
func TestBrief(t *testing.T) {
	var strip func(x *explain.Explanation)
	strip = func(x *explain.Explanation) {
		x.Candidates = nil
		for i := range x.Related {
			strip(&x.Related[i])
		}
	}
	for name, rows := range reasons.Tables() {
		for _, r := range rows {
			ref, err := objname.Parse(r.Ask)
			require.NoError(t, err)
			s := reasons.SnapshotOf(t, r.Objs...)
			s.Backends = r.Backends
			full := explain.New(s)
			want, err := full.Object(ref)
			require.NoError(t, err)
			strip(&want)
			got, err := full.Brief().Object(ref)
			require.NoError(t, err)
			require.Equal(t, want, got, "%s: %s %s", name, r.Rule, r.Name)
		}
	}
}

// A bound claim does not block its pod, even if it waits for an expansion: the pod has a note.
func TestGrowthDoesNotBlockPods(t *testing.T) {
	claim, pv := reasons.BoundPair()
	claim.Spec.Resources.Requests[corev1.ResourceStorage] = resource.MustParse("20Gi")
	x, err := explain.New(reasons.SnapshotOf(t, reasons.Runs(reasons.User("p", "n1")), reasons.ManagedNode("n1", true, true), claim, pv,
		reasons.Attachment("n1", true))).Object(api.Ref{Kind: api.Pod, Key: "default/p"})
	require.NoError(t, err)
	require.Equal(t, explain.Settled, x.Changes.When, x.String())
	require.Empty(t, x.Related)
	require.Equal(t, []string{"pvc/default/data: it requests 20Gi and has 10Gi: the expansion of volume pv has not started (EXP-021)"},
		x.Notes)
}

// A claim that many unscheduled pods use lists a few of them.
func TestManyUnscheduledPods(t *testing.T) {
	objs := []api.Object{fake.Claim("data", "1Gi", fake.InClass("late")), fake.Class("late", reasons.Driver, fake.WaitForFirstConsumer())}
	for i := range 9 {
		objs = append(objs, reasons.User(fmt.Sprintf("p%d", i), ""))
	}
	x, err := explain.New(reasons.SnapshotOf(t, objs...)).Object(api.Ref{Kind: api.PersistentVolumeClaim, Key: "default/data"})
	require.NoError(t, err)
	require.Len(t, x.Related, 3)
	require.Equal(t, []string{"6 more unscheduled pods use it"}, x.Notes)
}

// BenchmarkAll explains each object of a cluster of 150 nodes and 3000 pods, of which some wait for a node.
func BenchmarkAll(b *testing.B) {
	for _, waiting := range []int{0, 60, 1000} {
		b.Run(fmt.Sprintf("waiting=%d", waiting), func(b *testing.B) {
			s := crowd(b, 150, 3000, waiting)
			for b.Loop() {
				explainer := explain.New(s)
				for _, pod := range s.Pods {
					if _, err := explainer.Object(api.RefTo(pod)); err != nil {
						b.Fatal(err)
					}
				}
				for _, claim := range s.Claims {
					if _, err := explainer.Object(api.RefTo(claim)); err != nil {
						b.Fatal(err)
					}
				}
			}
		})
	}
}

// crowd is a snapshot of pods with a claim each. Those that wait find no volume and no provisioner.
func crowd(t testing.TB, nodes, pods, waiting int) snapshot.Snapshot {
	objs := []api.Object{fake.Class("static", "kubernetes.io/no-provisioner", fake.WaitForFirstConsumer())}
	for i := range nodes {
		objs = append(objs, fake.Node(fmt.Sprintf("n%03d", i)))
	}
	for i := range pods {
		claim, pv, pod := fmt.Sprintf("c%04d", i), fmt.Sprintf("pv%04d", i), fmt.Sprintf("p%04d", i)
		if i < waiting {
			objs = append(objs, fake.Claim(claim, "1Gi", fake.InClass("static")), fake.Pod(pod, fake.Claims(claim)))
			continue
		}
		objs = append(objs,
			fake.Claim(claim, "1Gi", fake.VolumeName(pv), fake.Phase("Bound"), fake.Annotations(objects.AnnBindCompleted, "yes")),
			fake.Volume(pv, "1Gi", fake.ForClaim(claim), fake.Phase("Bound"), fake.CSISource(reasons.Driver, "h"+pv)),
			reasons.Runs(fake.Pod(pod, fake.Claims(claim), fake.OnNode(fmt.Sprintf("n%03d", i%nodes)))))
	}
	return reasons.SnapshotOf(t, objs...)
}
