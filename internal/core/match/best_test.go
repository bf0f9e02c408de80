package match

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/volsim/volsim/internal/core/objects"
)

// pv returns a free volume with mode RWO that claims can match, changed by the options.
func pv(name, size string, options ...func(*corev1.PersistentVolume)) *corev1.PersistentVolume {
	v := &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.PersistentVolumeSpec{
			Capacity:    corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(size)},
			AccessModes: modeList("RWO"),
		},
		Status: corev1.PersistentVolumeStatus{Phase: corev1.VolumeAvailable},
	}
	for _, option := range options {
		option(v)
	}
	return v
}

// pvc returns the claim default/data with uid u1 and mode RWO, changed by the options.
func pvc(size string, options ...func(*corev1.PersistentVolumeClaim)) *corev1.PersistentVolumeClaim {
	c := &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "data", UID: "u1"},
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: modeList("RWO"),
			Resources:   corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(size)}},
		},
	}
	for _, option := range options {
		option(c)
	}
	return c
}

// change is an option for either kind of object.
func change[T any](f func(T)) func(T) { return f }

var (
	block = corev1.PersistentVolumeBlock
	fs    = corev1.PersistentVolumeFilesystem
	gold  = "gold"
	empty = ""

	terminating = change(func(v *corev1.PersistentVolume) {
		v.DeletionTimestamp = &metav1.Time{Time: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
	})
	pvBlock    = change(func(v *corev1.PersistentVolume) { v.Spec.VolumeMode = &block })
	pvFS       = change(func(v *corev1.PersistentVolume) { v.Spec.VolumeMode = &fs })
	pvGold     = change(func(v *corev1.PersistentVolume) { v.Spec.VolumeAttributesClassName = &gold })
	pvEmptyVAC = change(func(v *corev1.PersistentVolume) { v.Spec.VolumeAttributesClassName = &empty })
	noCapacity = change(func(v *corev1.PersistentVolume) { v.Spec.Capacity = nil })

	pvcBlock = change(func(c *corev1.PersistentVolumeClaim) { c.Spec.VolumeMode = &block })
	pvcGold  = change(func(c *corev1.PersistentVolumeClaim) { c.Spec.VolumeAttributesClassName = &gold })
)

func pvModes(modes string) func(*corev1.PersistentVolume) {
	return func(v *corev1.PersistentVolume) { v.Spec.AccessModes = modeList(modes) }
}

func pvClass(class string) func(*corev1.PersistentVolume) {
	return func(v *corev1.PersistentVolume) { v.Spec.StorageClassName = class }
}

func pvPhase(phase corev1.PersistentVolumePhase) func(*corev1.PersistentVolume) {
	return func(v *corev1.PersistentVolume) { v.Status.Phase = phase }
}

// pvRef points the volume at the claim of that name in namespace default.
func pvRef(name string, uid types.UID) func(*corev1.PersistentVolume) {
	return func(v *corev1.PersistentVolume) {
		v.Spec.ClaimRef = &corev1.ObjectReference{Namespace: "default", Name: name, UID: uid}
	}
}

func pvLabel(key, value string) func(*corev1.PersistentVolume) {
	return func(v *corev1.PersistentVolume) { metav1.SetMetaDataLabel(&v.ObjectMeta, key, value) }
}

// pvZone lets only nodes of the zone reach the volume.
func pvZone(zone string) func(*corev1.PersistentVolume) {
	return pvTerms(corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{
		{Key: "zone", Operator: corev1.NodeSelectorOpIn, Values: []string{zone}},
	}})
}

func pvTerms(terms ...corev1.NodeSelectorTerm) func(*corev1.PersistentVolume) {
	return func(v *corev1.PersistentVolume) {
		v.Spec.NodeAffinity = &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: terms}}
	}
}

func pvcModes(modes string) func(*corev1.PersistentVolumeClaim) {
	return func(c *corev1.PersistentVolumeClaim) { c.Spec.AccessModes = modeList(modes) }
}

func pvcClass(class string) func(*corev1.PersistentVolumeClaim) {
	return func(c *corev1.PersistentVolumeClaim) { c.Spec.StorageClassName = &class }
}

func pvcSelector(selector metav1.LabelSelector) func(*corev1.PersistentVolumeClaim) {
	return func(c *corev1.PersistentVolumeClaim) { c.Spec.Selector = &selector }
}

var (
	tierOne   = metav1.LabelSelector{MatchLabels: map[string]string{"tier": "one"}}
	malformed = metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "tier", Operator: "Like"}}}
)

// modeList turns "RWO,ROX" into access modes; other names stay as they are.
func modeList(key string) (modes []corev1.PersistentVolumeAccessMode) {
	for name := range strings.SplitSeq(key, ",") {
		mode := corev1.PersistentVolumeAccessMode(name)
		for _, known := range modeOrder {
			if known.key == name {
				mode = known.mode
			}
		}
		if mode != "" {
			modes = append(modes, mode)
		}
	}
	return modes
}

func nameOf(pv *corev1.PersistentVolume) string {
	if pv == nil {
		return ""
	}
	return pv.Name
}

func volumes(pvs ...*corev1.PersistentVolume) []*corev1.PersistentVolume { return pvs }

func TestMatch(t *testing.T) {
	for _, tt := range []struct {
		rule     string
		name     string
		claim    *corev1.PersistentVolumeClaim
		volumes  []*corev1.PersistentVolume
		delayed  bool
		want     string // volume
		by       string // deciding rule
		rejected string // the others, in the order of the search, with the rule that rejected each
	}{
		{"MATCH-001", "duplicate and unknown modes do not make a group of their own",
			pvc("1Gi"), volumes(pv("b", "2Gi", pvModes("RWO")), pv("a", "3Gi", pvModes("RWO,RWO,Odd"))), false,
			"b", "MATCH-020", "a:MATCH-020"},
		{"MATCH-001", "an unknown mode of the claim is in no group",
			pvc("1Gi", pvcModes("Odd")), volumes(pv("a", "2Gi", pvModes("Odd"))), false,
			"", "MATCH-003", "a:MATCH-002"},
		{"MATCH-002", "a group must have all modes of the claim",
			pvc("1Gi", pvcModes("RWO,ROX")), volumes(pv("a", "1Gi"), pv("b", "1Gi", pvModes("ROX")), pv("c", "9Gi", pvModes("RWX,ROX,RWO"))), false,
			"c", "MATCH-020", "b:MATCH-002 a:MATCH-002"},
		{"MATCH-002", "a claim without modes matches every group, that without modes first",
			pvc("1Gi", pvcModes("")), volumes(pv("a", "1Gi"), pv("b", "9Gi", pvModes(""))), false,
			"b", "MATCH-020", "a:MATCH-003"},
		{"MATCH-002", "groups of equal size go by key: ROX, RWO, RWOP, RWX",
			pvc("1Gi", pvcModes("")),
			volumes(pv("a", "1Gi", pvModes("RWX")), pv("b", "1Gi", pvModes("RWOP")), pv("c", "1Gi"), pv("d", "9Gi", pvModes("ROX"))), false,
			"d", "MATCH-020", "c:MATCH-003 b:MATCH-003 a:MATCH-003"},
		{"MATCH-003", "trap 1: a free volume of a smaller group beats one that points at the claim",
			pvc("1Gi"), volumes(pv("reserved", "1Gi", pvModes("RWO,ROX"), pvRef("data", "u1")), pv("free", "5Gi")), false,
			"free", "MATCH-020", "reserved:MATCH-003"},
		{"MATCH-003", "trap 2: a small volume of a larger group loses to a large one of a smaller group",
			pvc("1Gi"), volumes(pv("snug", "1Gi", pvModes("RWO,RWX")), pv("huge", "100Gi")), false,
			"huge", "MATCH-020", "snug:MATCH-003"},
		{"MATCH-003", "the search continues while groups yield nothing",
			pvc("10Gi"), volumes(pv("small", "1Gi"), pv("fits", "10Gi", pvModes("RWO,ROX,RWX"))), false,
			"fits", "MATCH-020", "small:MATCH-011"},
		{"MATCH-003", "no volume at all", pvc("1Gi"), nil, false, "", "MATCH-003", ""},
		{"MATCH-004", "equal capacities go by name",
			pvc("1Gi"), volumes(pv("c", "2Gi"), pv("a", "2048Mi"), pv("b", "2Gi")), false,
			"a", "MATCH-020", "b:MATCH-020 c:MATCH-020"},
		{"MATCH-004", "several volumes that point at the claim go by name, whatever their size",
			pvc("1Gi"), volumes(pv("c", "1Gi", pvRef("data", "")), pv("b", "9Gi", pvRef("data", "u1"))), false,
			"b", "MATCH-015", "c:MATCH-015"},
		{"MATCH-010", "reserved for another claim, or for one of another uid",
			pvc("1Gi"), volumes(pv("a", "1Gi", pvRef("other", "")), pv("b", "1Gi", pvRef("data", "u2"))), false,
			"", "MATCH-003", "a:MATCH-010 b:MATCH-010"},
		{"MATCH-010", "reserved for a claim of the same name in another namespace",
			pvc("1Gi"), volumes(pv("a", "1Gi", func(v *corev1.PersistentVolume) {
				v.Spec.ClaimRef = &corev1.ObjectReference{Namespace: "other", Name: "data"}
			})), false,
			"", "MATCH-003", "a:MATCH-010"},
		{"MATCH-011", "too small, by a fraction of a byte",
			pvc("1Gi"), volumes(pv("a", "1073741823999m"), pv("b", "1073741824001m"), pv("c", "1Gi")), false,
			"c", "MATCH-020", "a:MATCH-011 b:MATCH-020"},
		{"MATCH-011", "beyond the range of an integer",
			pvc("20E"), volumes(pv("a", "19999P"), pv("b", "21E"), pv("c", "20000000P")), false,
			"b", "MATCH-020", "a:MATCH-011 c:MATCH-020"},
		{"MATCH-011", "a missing capacity is 0, enough for a claim of 0",
			pvc("0"), volumes(pv("a", "1Gi"), pv("b", "1", noCapacity)), false,
			"b", "MATCH-020", "a:MATCH-020"},
		{"MATCH-011", "a missing capacity is 0, too little for others",
			pvc("1"), volumes(pv("b", "1", noCapacity)), false,
			"", "MATCH-003", "b:MATCH-011"},
		{"MATCH-012", "volumeMode differs",
			pvc("1Gi", pvcBlock), volumes(pv("a", "1Gi"), pv("b", "1Gi", pvFS), pv("c", "2Gi", pvBlock)), false,
			"c", "MATCH-020", "a:MATCH-012 b:MATCH-012"},
		{"MATCH-012", "nil is Filesystem",
			pvc("1Gi"), volumes(pv("a", "1Gi", pvBlock), pv("b", "1Gi", pvFS)), false,
			"b", "MATCH-020", "a:MATCH-012"},
		{"MATCH-013", "volumeAttributesClassName differs",
			pvc("1Gi", pvcGold), volumes(pv("a", "1Gi"), pv("b", "2Gi", pvGold)), false,
			"b", "MATCH-020", "a:MATCH-013"},
		{"MATCH-013", "nil and the empty name are the same",
			pvc("1Gi"), volumes(pv("a", "1Gi", pvGold), pv("b", "1Gi", pvEmptyVAC)), false,
			"b", "MATCH-020", "a:MATCH-013"},
		{"MATCH-014", "terminating",
			pvc("1Gi"), volumes(pv("a", "1Gi", terminating), pv("b", "2Gi")), false,
			"b", "MATCH-020", "a:MATCH-014"},
		{"MATCH-015", "trap 3: a volume that points at the claim needs no phase, class and selector, and beats a better fit",
			pvc("1Gi", pvcClass("fast"), pvcSelector(tierOne)),
			volumes(pv("fits", "1Gi", pvClass("fast"), pvLabel("tier", "one")),
				pv("reserved", "9Gi", pvClass("slow"), pvPhase("Failed"), pvRef("data", "u1"))), false,
			"reserved", "MATCH-015", "fits:MATCH-015"},
		{"MATCH-015", "volumes rejected before it keep their reason, those after it were not checked",
			pvc("5Gi"), volumes(pv("a", "1Gi"), pv("m", "5Gi", pvRef("data", "")), pv("z", "1Gi")), false,
			"m", "MATCH-015", "a:MATCH-011 z:MATCH-015"},
		{"MATCH-023", "trap 3: pointing at the claim does not help a volume too small, of another mode, another VAC, or terminating",
			pvc("5Gi"), volumes(
				pv("a", "1Gi", pvRef("data", "u1")), pv("b", "5Gi", pvBlock, pvRef("data", "u1")), pv("c", "5Gi", pvGold, pvRef("data", "u1")),
				pv("d", "5Gi", terminating, pvRef("data", "u1")), pv("e", "5Gi", pvModes("ROX"), pvRef("data", "u1")), pv("free", "50Gi")), false,
			"free", "MATCH-020", "a:MATCH-011 b:MATCH-012 c:MATCH-013 d:MATCH-014 e:MATCH-002"},
		{"MATCH-016", "a delayed claim takes no free volume",
			pvc("1Gi", pvcClass("wait")), volumes(pv("a", "1Gi", pvClass("wait"))), true,
			"", "MATCH-016", "a:MATCH-016"},
		{"MATCH-016", "a delayed claim takes a volume that points at it",
			pvc("1Gi", pvcClass("wait")), volumes(pv("a", "1Gi", pvClass("wait")), pv("b", "1Gi", pvRef("data", "u1"), pvModes("RWO,ROX"))), true,
			"b", "MATCH-015", "a:MATCH-016"},
		{"MATCH-016", "trap 29: without the flag, as for a class that does not exist, a volume of that class name matches",
			pvc("1Gi", pvcClass("ghost")), volumes(pv("a", "1Gi", pvClass("ghost"))), false,
			"a", "MATCH-020", ""},
		{"MATCH-017", "trap 7: only Available volumes match",
			pvc("1Gi"), volumes(pv("a", "1Gi", pvPhase("Pending")), pv("b", "1Gi", pvPhase("")), pv("c", "1Gi", pvPhase("Released")),
				pv("d", "1Gi", pvPhase("Failed")), pv("e", "1Gi", pvPhase("Bound"))), false,
			"", "MATCH-003", "a:MATCH-017 b:MATCH-017 c:MATCH-017 d:MATCH-017 e:MATCH-017"},
		{"MATCH-018", "labels not as the selector wants them",
			pvc("1Gi", pvcSelector(tierOne)),
			volumes(pv("a", "1Gi"), pv("b", "1Gi", pvLabel("tier", "two")), pv("c", "2Gi", pvLabel("tier", "one"))), false,
			"c", "MATCH-020", "a:MATCH-018 b:MATCH-018"},
		{"MATCH-018", "an empty selector selects all",
			pvc("1Gi", pvcSelector(metav1.LabelSelector{})), volumes(pv("a", "1Gi")), false,
			"a", "MATCH-020", ""},
		{"MATCH-019", "class differs",
			pvc("1Gi", pvcClass("fast")), volumes(pv("a", "1Gi"), pv("b", "1Gi", pvClass("slow")), pv("c", "2Gi", pvClass("fast"))), false,
			"c", "MATCH-020", "a:MATCH-019 b:MATCH-019"},
		{"MATCH-020", "the smallest that fits",
			pvc("10Gi"), volumes(pv("huge", "100Gi"), pv("snug", "12Gi"), pv("small", "1Gi")), false,
			"snug", "MATCH-020", "huge:MATCH-020 small:MATCH-011"},
	} {
		t.Run(tt.rule+" "+tt.name, func(t *testing.T) {
			d := Best(tt.claim, tt.volumes, Options{Delayed: tt.delayed, Explain: true})
			require.NoError(t, d.Err)
			if got := nameOf(d.Volume); got != tt.want || d.Rule != tt.by {
				t.Errorf("Match = %q by %s, want %q by %s", got, d.Rule, tt.want, tt.by)
			}
			assert.Equal(t, tt.rejected, shortRejections(d), "rejections")

			// The order of the volumes does not matter.
			backwards := slices.Clone(tt.volumes)
			slices.Reverse(backwards)
			assert.Equal(t, d, Best(tt.claim, backwards, Options{Delayed: tt.delayed, Explain: true}))

			index := NewIndex()
			for _, v := range tt.volumes {
				index.PutVolume(v)
			}
			got, by, err := index.Match(tt.claim, tt.delayed)
			require.NoError(t, err)
			if nameOf(got) != tt.want || by != tt.by {
				t.Errorf("Index.Match = %q by %s, want %q by %s", nameOf(got), by, tt.want, tt.by)
			}
		})
	}
}

func shortRejections(d Decision) string {
	short := make([]string, len(d.Rejections))
	for i, r := range d.Rejections {
		short[i] = r.Volume + ":" + r.Rule
	}
	return strings.Join(short, " ")
}

// MATCH-021: a malformed selector is an error even where a volume points at the claim, and where none is free.
func TestMatchMalformedSelector(t *testing.T) {
	claim := pvc("1Gi", pvcSelector(malformed))
	want := `selector of claim default/data: "Like" is not a valid label selector operator`
	for _, vs := range [][]*corev1.PersistentVolume{volumes(pv("a", "1Gi", pvRef("other", "u2"))),
		volumes(pv("a", "1Gi", pvRef("data", "u1")))} {
		d := Best(claim, vs, Options{Explain: true})
		require.EqualError(t, d.Err, want)
		assert.Equal(t, Decision{Rule: "MATCH-021", Err: d.Err}, d)

		index := NewIndex()
		for _, v := range vs {
			index.PutVolume(v)
		}
		got, rule, err := index.Match(claim, false)
		require.EqualError(t, err, want)
		assert.Nil(t, got)
		assert.Equal(t, "MATCH-021", rule)
	}
}

// MATCH-021: where no group has all modes of the claim its selector is not read.
func TestMatchMalformedSelectorUnread(t *testing.T) {
	claim := pvc("1Gi", pvcSelector(malformed))
	other := pv("a", "1Gi")
	other.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadOnlyMany}
	for _, vs := range [][]*corev1.PersistentVolume{nil, volumes(other)} {
		d := Best(claim, vs, Options{})
		require.NoError(t, d.Err)
		assert.Equal(t, Decision{Rule: "MATCH-003"}, d)

		index := NewIndex()
		for _, v := range vs {
			index.PutVolume(v)
		}
		got, rule, err := index.Match(claim, false)
		require.NoError(t, err)
		assert.Nil(t, got)
		assert.Equal(t, "MATCH-003", rule)
	}
	require.Error(t, Best(claim, nil, Options{Node: &corev1.Node{}}).Err, "with a node there is one group, whatever is in it")
}

// MATCH-022: the same question with a node, as the scheduler asks it.
func TestMatchOnNode(t *testing.T) {
	for _, tt := range []struct {
		rule     string
		name     string
		claim    *corev1.PersistentVolumeClaim
		volumes  []*corev1.PersistentVolume
		exclude  map[string]bool
		want     string
		by       string
		rejected string
	}{
		{"MATCH-022", "the node must be able to reach the volume",
			pvc("1Gi"), volumes(pv("a", "1Gi", pvZone("z2")), pv("b", "5Gi", pvZone("z1")), pv("c", "9Gi")), nil,
			"b", "MATCH-020", "a:MATCH-022 c:MATCH-020"},
		{"MATCH-022", "there are no groups: the smallest wins, and modes are checked volume by volume",
			pvc("1Gi"), volumes(pv("a", "5Gi"), pv("b", "1Gi", pvModes("RWO,ROX,RWX")), pv("c", "1Gi", pvModes("ROX"))), nil,
			"b", "MATCH-020", "a:MATCH-020 c:MATCH-022"},
		{"MATCH-022", "modes are compared as they are spelled",
			pvc("1Gi", pvcModes("Odd")), volumes(pv("a", "1Gi", pvModes("Odd"))), nil,
			"a", "MATCH-020", ""},
		{"MATCH-022", "a volume that points at the claim needs no modes, and its group does not matter",
			pvc("1Gi"), volumes(pv("a", "1Gi"), pv("b", "5Gi", pvModes("ROX"), pvRef("data", "u1")), pv("c", "1Gi")), nil,
			"b", "MATCH-015", "a:MATCH-015 c:MATCH-015"},
		{"MATCH-022", "a volume that points at the claim but is out of reach ends the search without a match",
			pvc("2Gi"), volumes(pv("a", "2Gi"), pv("b", "5Gi", pvZone("z2"), pvRef("data", "u1")), pv("c", "1Gi"),
				pv("d", "5Gi", pvRef("data", "u1"))), nil,
			"", "MATCH-022", "a:MATCH-022 b:MATCH-022 c:MATCH-022 d:MATCH-022"},
		{"MATCH-022", "one that is too small as well does not",
			pvc("2Gi"), volumes(pv("a", "2Gi"), pv("b", "1Gi", pvZone("z2"), pvRef("data", "u1"))), nil,
			"a", "MATCH-020", "b:MATCH-011"},
		{"MATCH-022", "a volume chosen for another claim is excluded, even one that points at this claim",
			pvc("1Gi"), volumes(pv("a", "1Gi"), pv("b", "1Gi", pvRef("data", "u1")), pv("c", "1Gi")), map[string]bool{"a": true, "b": true},
			"c", "MATCH-020", "a:MATCH-022 b:MATCH-022"},
		{"MATCH-022", "phase, selector and class come before affinity",
			pvc("1Gi", pvcClass("fast"), pvcSelector(tierOne)), volumes(
				pv("a", "1Gi", pvZone("z2"), pvPhase("Bound")), pv("b", "1Gi", pvZone("z2")),
				pv("c", "1Gi", pvZone("z2"), pvLabel("tier", "one"))), nil,
			"", "MATCH-022", "a:MATCH-017 b:MATCH-018 c:MATCH-019"},
	} {
		t.Run(tt.rule+" "+tt.name, func(t *testing.T) {
			node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1", Labels: map[string]string{"zone": "z1"}}}
			// The delay flag has no effect.
			for _, delayed := range []bool{false, true} {
				d := Best(tt.claim, tt.volumes, Options{Delayed: delayed, Node: node, Exclude: tt.exclude, Explain: true})
				require.NoError(t, d.Err)
				if got := nameOf(d.Volume); got != tt.want || d.Rule != tt.by {
					t.Errorf("Match = %q by %s, want %q by %s", got, d.Rule, tt.want, tt.by)
				}
				assert.Equal(t, tt.rejected, shortRejections(d), "rejections")
			}
		})
	}
}

// Without a node, the affinity of a volume counts for nothing (MATCH-022).
func TestMatchIgnoresAffinityWithoutNode(t *testing.T) {
	d := Best(pvc("1Gi"), volumes(pv("a", "1Gi", pvZone("nowhere"))), Options{})
	assert.Equal(t, "a", nameOf(d.Volume))
	assert.Empty(t, d.Rejections, "rejections without Explain")
}

func TestNodeAffinityMatches(t *testing.T) {
	type terms = []corev1.NodeSelectorTerm
	on := func(key string, op corev1.NodeSelectorOperator, values ...string) corev1.NodeSelectorTerm {
		return corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{{Key: key, Operator: op, Values: values}}}
	}
	field := func(op corev1.NodeSelectorOperator, values ...string) corev1.NodeSelectorTerm {
		return corev1.NodeSelectorTerm{MatchFields: []corev1.NodeSelectorRequirement{{Key: "metadata.name", Operator: op, Values: values}}}
	}
	both := corev1.NodeSelectorTerm{MatchExpressions: slices.Concat(on("zone", "In", "z1").MatchExpressions,
		on("disk", "Exists").MatchExpressions)}
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1", Labels: map[string]string{"zone": "z1", "cores": "8"}}}
	for _, tt := range []struct {
		name  string
		terms terms
		want  bool
	}{
		{"no term", nil, false},
		{"an empty term matches nothing", terms{{}}, false},
		{"terms are ORed", terms{{}, on("zone", "In", "z2"), on("zone", "In", "z3", "z1")}, true},
		{"requirements are ANDed", terms{both}, false},
		{"In, absent", terms{on("disk", "In", "")}, false},
		{"NotIn, there", terms{on("zone", "NotIn", "z1")}, false},
		{"NotIn, other value", terms{on("zone", "NotIn", "z2")}, true},
		{"NotIn, absent", terms{on("disk", "NotIn", "ssd")}, true},
		{"NotIn without values is malformed", terms{on("disk", "NotIn")}, false},
		{"Exists", terms{on("zone", "Exists")}, true},
		{"Exists, absent", terms{on("disk", "Exists")}, false},
		{"Exists with a value is malformed", terms{on("zone", "Exists", "z1")}, false},
		{"DoesNotExist", terms{on("disk", "DoesNotExist")}, true},
		{"DoesNotExist, there", terms{on("zone", "DoesNotExist")}, false},
		{"Gt", terms{on("cores", "Gt", "7")}, true},
		{"Gt, equal", terms{on("cores", "Gt", "8")}, false},
		{"Lt", terms{on("cores", "Lt", "9")}, true},
		{"Lt, equal", terms{on("cores", "Lt", "8")}, false},
		{"Gt, label not a number", terms{on("zone", "Gt", "7")}, false},
		{"Gt, bound not a number", terms{on("cores", "Gt", "few")}, false},
		{"Gt, absent", terms{on("disk", "Gt", "0")}, false},
		{"Gt, two bounds", terms{on("cores", "Gt", "1", "2")}, false},
		{"unknown operator", terms{on("zone", "Like", "z1")}, false},
		{"fields are not evaluated, not even the name", terms{field("In", "n2")}, true},
		{"a malformed field fails its term", terms{field("In", "n1", "n2")}, false},
		{"an operator not for fields fails its term", terms{field("Exists")}, false},
	} {
		t.Run("MATCH-022 "+tt.name, func(t *testing.T) {
			if got := Reaches(pv("a", "1Gi", pvTerms(tt.terms...)), node); got != tt.want {
				t.Errorf("Reaches(%+v) = %v, want %v", tt.terms, got, tt.want)
			}
		})
	}
	assert.True(t, Reaches(pv("a", "1Gi"), node), "no affinity")
	assert.True(t, Reaches(pv("a", "1Gi", func(v *corev1.PersistentVolume) {
		v.Spec.NodeAffinity = &corev1.VolumeNodeAffinity{}
	}), node), "no required affinity")
}

// Each rejection describes what the volume has, and what is needed.
func TestRejectionText(t *testing.T) {
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1", Labels: map[string]string{"zone": "z1"}}}
	tier := pvcSelector(tierOne)
	for _, tt := range []struct {
		rule   string
		claim  *corev1.PersistentVolumeClaim
		volume *corev1.PersistentVolume
		opts   Options
		want   string
	}{
		{"MATCH-002", pvc("1Gi", pvcModes("RWO,ROX")), pv("a", "1Gi"), Options{},
			"access modes ReadWriteOnce, needs ReadWriteOnce, ReadOnlyMany"},
		{"MATCH-002", pvc("1Gi"), pv("a", "1Gi", pvModes("")), Options{}, "access modes none, needs ReadWriteOnce"},
		{"MATCH-003", pvc("1Gi"), pv("a", "1Gi", pvModes("RWO,ROX")), Options{},
			"volume winner fits with fewer access modes (ReadWriteOnce)"},
		{"MATCH-010", pvc("1Gi"), pv("a", "1Gi", pvRef("data", "u2")), Options{},
			"already reserved for an earlier claim named default/data (different uid)"},
		{"MATCH-010", pvc("1Gi"), pv("a", "1Gi", pvRef("log", "")), Options{}, "already reserved for claim default/log"},
		{"MATCH-011", pvc("6Gi"), pv("a", "5Gi"), Options{}, "capacity 5Gi, needs at least 6Gi"},
		{"MATCH-011", pvc("6Gi"), pv("a", "5Gi", noCapacity), Options{}, "capacity 0, needs at least 6Gi"},
		{"MATCH-012", pvc("1Gi"), pv("a", "1Gi", pvBlock), Options{}, "volumeMode Block, needs Filesystem"},
		{"MATCH-013", pvc("1Gi"), pv("a", "1Gi", pvGold), Options{},
			`volumeAttributesClassName "gold", needs none`},
		{"MATCH-013", pvc("1Gi", pvcGold), pv("a", "1Gi"), Options{}, `no volumeAttributesClassName, needs "gold"`},
		{"MATCH-014", pvc("1Gi"), pv("a", "1Gi", terminating), Options{},
			"being deleted since 2026-01-01T00:00:00Z"},
		{"MATCH-015", pvc("7Gi"), pv("a", "7Gi"), Options{},
			"volume winner is reserved for this claim"},
		{"MATCH-016", pvc("1Gi"), pv("a", "1Gi"), Options{Delayed: true},
			"not reserved for this claim, and the scheduler chooses among free volumes (WaitForFirstConsumer)"},
		{"MATCH-017", pvc("1Gi"), pv("a", "1Gi", pvPhase("Failed")), Options{}, "phase Failed, needs Available"},
		{"MATCH-018", pvc("1Gi", tier), pv("a", "1Gi", pvLabel("tier", "two"), pvLabel("rack", "7")), Options{},
			"labels rack=7,tier=two, needs tier=one"},
		{"MATCH-018", pvc("1Gi", tier), pv("a", "1Gi"), Options{}, "no labels, needs tier=one"},
		{"MATCH-019", pvc("1Gi"), pv("a", "1Gi", pvClass("slow")), Options{}, `storageClassName "slow", needs none`},
		{"MATCH-020", pvc("1Gi"), pv("z", "8Gi"), Options{}, "capacity 8Gi; volume winner has the same and comes first by name"},
		{"MATCH-020", pvc("1Gi"), pv("a", "9Gi"), Options{}, "capacity 9Gi; volume winner fits with 8Gi"},
		{"MATCH-022", pvc("1Gi"), pv("a", "1Gi"), Options{Node: node, Exclude: map[string]bool{"a": true}},
			"already chosen for another claim of the pod"},
		{"MATCH-022", pvc("1Gi"), pv("a", "1Gi", pvTerms(
			corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{
				{Key: "zone", Operator: "In", Values: []string{"z2", "z3"}}, {Key: "disk", Operator: "Exists"}}},
			corev1.NodeSelectorTerm{})), Options{Node: node},
			"not reachable from node n1: its node affinity is zone in (z2, z3) and disk exists, or an empty term"},
		{"MATCH-022", pvc("1Gi"), pv("a", "1Gi", pvModes("ROX")), Options{Node: node},
			"access modes ReadOnlyMany, needs ReadWriteOnce"},
		{"MATCH-022", pvc("7Gi"), pv("a", "7Gi", pvZone("z1")), Options{Node: &corev1.Node{ObjectMeta: node.ObjectMeta}},
			"not considered: volume winner is reserved for this claim, and node n1 cannot reach it"},
	} {
		t.Run(tt.rule+" "+tt.want, func(t *testing.T) {
			// The other volume wins by size, or, for the claims of 7Gi, because it points at the claim.
			other := pv("winner", "8Gi", func(v *corev1.PersistentVolume) { v.Spec.StorageClassName = objects.ClassOf(tt.claim) })
			if request := requestOf(tt.claim); request.String() == "7Gi" {
				pvRef("data", "u1")(other)
				pvZone("z9")(other)
			}
			d := Best(tt.claim, volumes(tt.volume, other),
				Options{Delayed: tt.opts.Delayed, Node: tt.opts.Node, Exclude: tt.opts.Exclude, Explain: true})
			at := slices.IndexFunc(d.Rejections, func(r Rejection) bool { return r.Volume == tt.volume.Name })
			require.GreaterOrEqual(t, at, 0, "no rejection for the volume")
			assert.Equal(t, fmt.Sprintf("%s: %s (%s)", tt.volume.Name, tt.want, tt.rule), d.Rejections[at].String())
		})
	}
}
