package schedule

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/internal/core/match"
)

// TestStaticMatching: what a pod's delayed claims get on node n1, as "claim=volume" or "claim=new", or what goes wrong.
func TestStaticMatching(t *testing.T) {
	one := fake.Pod("p", fake.Claims("c"))
	two := fake.Pod("p", fake.Claims("c", "d"))
	for _, tc := range []struct {
		rule, name string
		objs       objs
		pod        *corev1.Pod
		want       string
	}{
		{"SCHED-080", "the small claim chooses first",
			objs{free("big", "10Gi"), free("snug", "5Gi"), waitingClaim("c", "2Gi"), waitingClaim("d", "1Gi")}, two, "d=snug c=big"},
		{"SCHED-080", "equal claims in the order of the pod",
			objs{free("v1", "5Gi"), free("v2", "5Gi"), waitingClaim("c", "1Gi"), waitingClaim("d", "1Gi")}, two, "c=v1 d=v2"},
		{"SCHED-081", "a volume is given once", objs{free("v1", "5Gi"), waitingClaim("c", "1Gi"), waitingClaim("d", "1Gi")}, two, "c=v1 d=new"},
		{"SCHED-051", "a claim that is mounted twice gets two volumes",
			objs{free("v1", "5Gi"), free("v2", "5Gi"), waitingClaim("c", "1Gi")}, with(fake.Pod("p", fake.Claims("c")), again("c")), "c=v1 c=v2"},
		{"SCHED-082", "too small", objs{free("v1", "1Gi"), waitingClaim("c", "2Gi")}, one, "c=new"},
		{"SCHED-082", "another mode", objs{free("v1", "2Gi", fake.Block()), waitingClaim("c", "2Gi")}, one, "c=new"},
		{"SCHED-082", "another attributes class",
			objs{with(free("v1", "2Gi"), func(pv *corev1.PersistentVolume) { pv.Spec.VolumeAttributesClassName = new("gold") }),
				waitingClaim("c", "2Gi")}, one, "c=new"},
		{"SCHED-082", "going away",
			objs{with(free("v1", "2Gi", fake.Finalizers("x/y")),
				func(pv *corev1.PersistentVolume) { pv.DeletionTimestamp = &metav1.Time{Time: metav1.Now().Time} }),
				waitingClaim("c", "2Gi")}, one, "c=new"},
		{"SCHED-082", "reserved for another", objs{free("v1", "2Gi", fake.ForClaim("d")), waitingClaim("c", "2Gi")}, one, "c=new"},
		{"SCHED-083", "reserved by name", objs{free("v1", "2Gi", fake.ForClaim("c")), waitingClaim("c", "2Gi")}, one, "c=v1"},
		{"SCHED-083", "reserved for another of the name", objs{free("v1", "2Gi", fake.ForClaim("c", "gone")), waitingClaim("c", "2Gi")},
			one, "c=new"},
		{"SCHED-084", "reserved: phase, labels and modes do not matter",
			objs{free("small", "1Gi"), free("v1", "20Gi", fake.ForClaim("c"), fake.Phase("Pending"), fake.Modes("ROX")),
				waitingClaim("c", "1Gi", fake.Selector("a", "b"))}, one, "c=v1"},
		{"SCHED-084", "reserved, and out of reach: no other",
			objs{free("small", "1Gi"), free("v1", "20Gi", fake.ForClaim("c"), fake.FromNodes("n2")), waitingClaim("c", "1Gi")}, one, "c=new"},
		{"SCHED-085", "not Available yet", objs{free("v1", "2Gi", fake.Phase("Pending")), waitingClaim("c", "2Gi")}, one, "c=new"},
		{"SCHED-085", "Released", objs{free("v1", "2Gi", fake.Phase("Released")), waitingClaim("c", "2Gi")}, one, "c=new"},
		{"SCHED-085", "other labels", objs{free("v1", "2Gi"), waitingClaim("c", "2Gi", fake.Selector("a", "b"))}, one, "c=new"},
		{"SCHED-085", "too few modes", objs{free("v1", "2Gi"), waitingClaim("c", "2Gi", fake.Modes("RWO", "RWX"))}, one, "c=new"},
		{"SCHED-085", "more modes than needed", objs{free("v1", "2Gi", fake.Modes("RWO", "RWX")), waitingClaim("c", "2Gi")}, one, "c=v1"},
		{"SCHED-085", "another class", objs{fake.Volume("v1", "2Gi", fake.Phase("Available")), waitingClaim("c", "2Gi")}, one, "c=new"},
		{"SCHED-086", "the smallest wins", objs{free("v1", "9Gi"), free("v2", "3Gi"), waitingClaim("c", "2Gi")}, one, "c=v2"},
		{"SCHED-086", "then the name", objs{free("v2", "3Gi"), free("v1", "3Gi"), waitingClaim("c", "2Gi")}, one, "c=v1"},
		{"SCHED-087", "reserved and too small is still provisioned", objs{free("v1", "1Gi", fake.ForClaim("c")), waitingClaim("c", "2Gi")},
			one, "c=new"},
		{"SCHED-088", "a selector that is none, in the words of SCHED-237",
			objs{with(waitingClaim("c", "2Gi"), func(c *corev1.PersistentVolumeClaim) {
				c.Spec.Selector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "a", Operator: "Near"}}}
			})}, one,
			`running "VolumeBinding" filter plugin: error creating internal label selector for claim: default/c: "Near" is not a valid label selector operator`},
	} {
		t.Run(tc.rule+" "+tc.name, func(t *testing.T) {
			f := newFixture(t, Config{}, append(objs{fake.Node("n1"), waitClass("x")}, tc.objs...)...)
			node, got, c := f.find(tc.pod)
			if node != "" {
				var parts []string
				for _, b := range c.found[node].bindings {
					parts = append(parts, b.claim.Name+"="+b.pv.Name)
				}
				for _, claim := range c.found[node].provisions {
					parts = append(parts, claim.Name+"=new")
				}
				got = strings.Join(parts, " ")
			}
			if got != tc.want {
				t.Errorf("findNode by %s = %q, want %q", tc.rule, got, tc.want)
			}
		})
	}
}

// TestProvisionableErrors is SCHED-101, which no pod meets: without a class its claims do not wait.
func TestProvisionableErrors(t *testing.T) {
	f := newFixture(t, Config{})
	c := newCycle(f.lookups(), fake.Pod("p"))
	_, err := c.provisionable([]*corev1.PersistentVolumeClaim{fake.Claim("c", "1Gi")}, fake.Node("n1"))
	require.EqualError(t, err, `no class for claim "default/c"`, "SCHED-101")
	_, err = c.provisionable([]*corev1.PersistentVolumeClaim{waitingClaim("c", "1Gi")}, fake.Node("n1"))
	require.EqualError(t, err, `failed to find storage class "wait"`, "SCHED-101")
}

// TestOfferIsMatch: the scheduler finds the volume that binder.Match finds for a node (MATCH-022).
func TestOfferIsMatch(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		node := fake.Node("n1")
		modes := []string{"RWO", "ROX", "RWX", "RWOP"}
		claim := waitingClaim("c", fmt.Sprintf("%dGi", rapid.IntRange(0, 3).Draw(t, "request")),
			fake.Modes(rapid.SliceOfNDistinct(rapid.SampledFrom(modes), 1, 2, rapid.ID).Draw(t, "claim modes")...))
		if rapid.Bool().Draw(t, "selects") {
			claim.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"a": "b"}}
		}
		var volumes []*corev1.PersistentVolume
		taken := map[string]bool{}
		for i := range rapid.IntRange(0, 6).Draw(t, "volumes") {
			pv := free(fmt.Sprintf("v%d", i), "1Gi")
			pv.Spec.Capacity[corev1.ResourceStorage] = resource.MustParse(fmt.Sprintf("%dGi", rapid.IntRange(0, 4).Draw(t, "size")))
			for _, mode := range rapid.SliceOfNDistinct(rapid.SampledFrom([]corev1.PersistentVolumeAccessMode{"ReadOnlyMany",
				"ReadWriteMany"}), 0, 2, rapid.ID).Draw(t, "modes") {
				pv.Spec.AccessModes = append(pv.Spec.AccessModes, mode)
			}
			pv.Status.Phase = rapid.SampledFrom([]corev1.PersistentVolumePhase{"Available", "Available", "Pending", "Released"}).Draw(t, "phase")
			pv.Spec.ClaimRef = rapid.SampledFrom([]*corev1.ObjectReference{nil, nil, nil,
				{Namespace: "default", Name: "c"}, {Namespace: "default", Name: "c", UID: "c-uid"},
				{Namespace: "default", Name: "c", UID: "old"}, {Namespace: "default", Name: "d"},
			}).Draw(t, "claimRef")
			if rapid.Bool().Draw(t, "labels") {
				pv.Labels = map[string]string{"a": "b"}
			}
			if rapid.IntRange(0, 3).Draw(t, "elsewhere") == 0 {
				affine(expression(corev1.LabelHostname, corev1.NodeSelectorOpIn, "n2"))(pv)
			}
			taken[pv.Name] = rapid.IntRange(0, 3).Draw(t, "taken") == 0
			volumes = append(volumes, pv)
		}
		got, err := newOffer(claim, volumes).on(node, taken)
		require.NoError(t, err)
		want := match.Best(claim, volumes, match.Options{Node: node, Exclude: taken}).Volume
		if got != want {
			t.Fatalf("the offer on n1 = %v, want that of Best, %v (MATCH-022, SCHED-084)", name(got), name(want))
		}
	})
}

func name(pv *corev1.PersistentVolume) string {
	if pv == nil {
		return "none"
	}
	return pv.Name
}
