package strategy

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apiresource "k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/volsim/volsim/internal/core/gates"
	"github.com/volsim/volsim/internal/core/strategy/sample"
)

// asking changes the spec of the claim.
func asking(change func(*corev1.PersistentVolumeClaimSpec)) func(*corePVC) {
	return func(c *corePVC) { change(&c.Spec) }
}

func selecting(s metav1.LabelSelector) func(*corePVC) {
	return func(c *corePVC) { c.Spec.Selector = &s }
}

func selectorOf(key string, op metav1.LabelSelectorOperator, values ...string) func(*corePVC) {
	return selecting(metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: key, Operator: op, Values: values}}})
}

func dataFrom(group *string, kind, name string) func(*corePVC) {
	return func(c *corePVC) {
		c.Spec.DataSource = &corev1.TypedLocalObjectReference{APIGroup: group, Kind: kind, Name: name}
	}
}

func dataRef(group, namespace *string, kind, name string) func(*corePVC) {
	return func(c *corePVC) {
		c.Spec.DataSourceRef = &corev1.TypedObjectReference{APIGroup: group, Namespace: namespace, Kind: kind, Name: name}
	}
}

var claimRows = []row[*corePVC]{
	{"API-150", "no access mode", func(c *corePVC) { c.Spec.AccessModes = nil }, "spec.accessModes R"},
	{"API-150", "modes", func(c *corePVC) {
		c.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{"x", corev1.ReadWriteOncePod, corev1.ReadOnlyMany}
	}, "spec.accessModes F; spec.accessModes N"},
	{"API-151", "operator", selectorOf("a", "Like", "b"), "spec.selector.matchExpressions[0].operator I"},
	{"API-151", "key", selectorOf("a/b/c", metav1.LabelSelectorOpExists), "spec.selector.matchExpressions[0].key I"},
	{"API-151", "In without values", selectorOf("a", metav1.LabelSelectorOpIn), "spec.selector.matchExpressions[0].values R"},
	{"API-151", "Exists with values", selectorOf("a", metav1.LabelSelectorOpExists, "b"), "spec.selector.matchExpressions[0].values F"},
	{"API-151", "value", selectorOf("a", metav1.LabelSelectorOpIn, "b", "not ok"), "spec.selector.matchExpressions[0].values[1] I"},
	{"API-151", "labels", selecting(metav1.LabelSelector{MatchLabels: map[string]string{"a": "not ok", "b": "x", "": "y"}}),
		"spec.selector.matchLabels I"},
	{"API-151", "good", selecting(metav1.LabelSelector{MatchLabels: map[string]string{"a": "b"}}), ""},
	{"API-152", "no size", func(c *corePVC) { c.Spec.Resources.Requests = nil }, "spec.resources[storage] R"},
	{"API-152", "nothing", sample.Sized("0"), "spec.resources[storage] I"},
	{"API-152", "less than nothing", sample.Sized("-1"), "spec.resources[storage] I"},
	{"API-152", "other requests and limits", asking(func(s *corev1.PersistentVolumeClaimSpec) {
		s.Resources.Requests["cpu"] = apiresource.MustParse("-1")
		s.Resources.Limits = sample.StorageList("1")
	}), ""},
	{"API-082", "100u is more than nothing", sample.Sized("100u"), ""},
	{"API-153", "bad class", sample.Classed(new("Fast")), "spec.storageClassName I"},
	{"API-153", "no class, said so", sample.Classed(new("")), ""},
	{"API-154", "unknown mode", asking(func(s *corev1.PersistentVolumeClaimSpec) { s.VolumeMode = new(corev1.PersistentVolumeMode("")) }),
		"spec.volumeMode N"},
	{"API-155", "nameless", dataFrom(new("a.b"), "", ""), "spec.dataSource.kind R; spec.dataSource.name R"},
	{"API-155", "core group", dataFrom(nil, "Pod", "a"), "spec.dataSource I"},
	{"API-155", "core group, nothing else", dataRef(new(""), nil, "", ""),
		"spec.dataSourceRef I; spec.dataSourceRef.kind R; spec.dataSourceRef.name R"},
	{"API-155", "bad group", dataRef(new("A"), nil, "X", "x"), "spec.dataSourceRef.apiGroup I"},
	{"API-155", "bad namespace", dataRef(new("a"), new("a.b"), "X", "x"), "spec.dataSourceRef.namespace I"},
	{"API-156", "different names", sample.Both(dataFrom(nil, "PersistentVolumeClaim", "a"), dataRef(nil, nil, "PersistentVolumeClaim", "b")),
		"spec I"},
	{"API-156", "different groups", sample.Both(dataFrom(nil, "PersistentVolumeClaim", "a"), dataRef(new(""), nil, "PersistentVolumeClaim", "a")),
		"spec I"},
	{"API-156", "the same", sample.Both(dataFrom(new("x.y"), "X", "a"), dataRef(new("x.y"), new(""), "X", "a")), ""},
	{"API-156", "source beside a namespace", sample.Both(dataFrom(new("x.y"), "X", "a"), dataRef(new("x.y"), new("other"), "X", "a")), "spec I"},
	{"API-157", "bad attributes", asking(func(s *corev1.PersistentVolumeClaimSpec) { s.VolumeAttributesClassName = new("G!") }),
		"spec.volumeAttributesClassName I"},
	{"API-157", "empty attributes", asking(func(s *corev1.PersistentVolumeClaimSpec) { s.VolumeAttributesClassName = new("") }), ""},
	{"API-158", "any volume", asking(func(s *corev1.PersistentVolumeClaimSpec) { s.VolumeName = "Not A Name" }), ""},
	{"API-150", "good", func(*corePVC) {}, ""},
}

func TestClaimCreate(t *testing.T) {
	checkCreates(t, PersistentVolumeClaim, sample.Claim, claimRows)

	// API-113: a template in a pod keeps what a claim would lose, and is refused for it.
	template := sample.Claim()
	sample.Both(dataFrom(nil, "Pod", "a"), dataRef(new("x.y"), new("other"), "X", "a"))(template)
	if got, want := sample.Faults(validateClaimSpec(&template.Spec, field.NewPath("template"))), "template I; template.dataSource I"; got != want {
		t.Errorf("API-113: template: %q, want %q", got, want)
	}
}

func TestClaimDataSources(t *testing.T) {
	snapshot, populator := new("snapshot.storage.k8s.io"), new("x.y")
	for _, c := range []struct {
		rule, name string
		across     bool           // with the gate CrossNamespaceVolumeDataSource
		old        func(*corePVC) // nil: create
		new        func(*corePVC)
		want       func(*corePVC)
	}{
		{rule: "API-110", name: "another namespace", new: dataRef(populator, new("other"), "X", "a"), want: func(*corePVC) {}},
		{rule: "API-110", name: "another namespace, and a claim",
			new:  sample.Both(dataFrom(nil, "PersistentVolumeClaim", "b"), dataRef(populator, new("other"), "X", "a")),
			want: sample.Both(dataFrom(nil, "PersistentVolumeClaim", "b"), dataRef(nil, nil, "PersistentVolumeClaim", "b"))},
		{rule: "API-110", name: "another namespace in use", old: dataRef(populator, new("other"), "X", "a"),
			new: dataRef(populator, new("other"), "X", "a"), want: dataRef(populator, new("other"), "X", "a")},
		{rule: "API-114", name: "another namespace with the gate", across: true, new: dataRef(populator, new("other"), "X", "a"),
			want: dataRef(populator, new("other"), "X", "a")},
		{rule: "API-114", name: "a claim of another namespace with the gate", across: true, new: dataRef(nil, new("other"), "PersistentVolumeClaim", "a"),
			want: dataRef(nil, new("other"), "PersistentVolumeClaim", "a")},
		{rule: "API-114", name: "the namespace of the claim with the gate", across: true, new: dataRef(snapshot, new("default"), "VolumeSnapshot", "a"),
			want: dataRef(snapshot, new("default"), "VolumeSnapshot", "a")},
		{rule: "API-114", name: "another namespace, and a claim, with the gate", across: true,
			new:  sample.Both(dataFrom(nil, "PersistentVolumeClaim", "b"), dataRef(populator, new("other"), "X", "a")),
			want: sample.Both(dataFrom(nil, "PersistentVolumeClaim", "b"), dataRef(populator, new("other"), "X", "a"))},
		{rule: "API-114", name: "another namespace on an update with the gate", across: true, old: func(*corePVC) {},
			new: dataRef(populator, new("other"), "X", "a"), want: dataRef(populator, new("other"), "X", "a")},
		{rule: "API-112", name: "ref alone with the gate", across: true, new: dataRef(populator, nil, "X", "a"),
			want: sample.Both(dataFrom(populator, "X", "a"), dataRef(populator, nil, "X", "a"))},
		{rule: "API-111", name: "anything with the gate", across: true, new: dataFrom(populator, "X", "a"), want: func(*corePVC) {}},
		{rule: "API-111", name: "a claim", new: dataFrom(new(""), "PersistentVolumeClaim", "a"),
			want: sample.Both(dataFrom(new(""), "PersistentVolumeClaim", "a"), dataRef(new(""), nil, "PersistentVolumeClaim", "a"))},
		{rule: "API-111", name: "a snapshot", new: dataFrom(snapshot, "VolumeSnapshot", "a"),
			want: sample.Both(dataFrom(snapshot, "VolumeSnapshot", "a"), dataRef(snapshot, nil, "VolumeSnapshot", "a"))},
		{rule: "API-111", name: "another kind of the group", new: dataFrom(snapshot, "VolumeSnapshotClass", "a"), want: func(*corePVC) {}},
		{rule: "API-111", name: "a pod", new: dataFrom(nil, "Pod", "a"), want: func(*corePVC) {}},
		{rule: "API-111", name: "anything", new: dataFrom(populator, "X", "a"), want: func(*corePVC) {}},
		{rule: "API-111", name: "anything on an update", old: func(*corePVC) {}, new: dataFrom(populator, "X", "a"), want: func(*corePVC) {}},
		{rule: "API-111", name: "anything in use", old: dataFrom(populator, "X", "a"), new: dataFrom(populator, "X", "a"),
			want: sample.Both(dataFrom(populator, "X", "a"), dataRef(populator, nil, "X", "a"))},
		{rule: "API-112", name: "ref alone", new: dataRef(populator, new(""), "X", "a"),
			want: sample.Both(dataFrom(populator, "X", "a"), dataRef(populator, new(""), "X", "a"))},
		{rule: "API-112", name: "both", new: sample.Both(dataFrom(populator, "X", "a"), dataRef(populator, nil, "Y", "b")),
			want: sample.Both(dataFrom(populator, "X", "a"), dataRef(populator, nil, "Y", "b"))},
	} {
		obj, want := sample.Claim(), sample.Claim()
		c.new(obj)
		c.want(want)
		s := PersistentVolumeClaimWith(gates.Set{CrossNamespaceVolumeDataSource: c.across})
		if c.old == nil {
			s.PrepareCreate(obj, sample.StoredNoon)
		} else {
			old := sample.Claim()
			c.old(old)
			s.PrepareUpdate(obj, old)
		}
		if diff := cmp.Diff(want.Spec, obj.Spec); diff != "" {
			t.Errorf("%s %s: -want +got\n%s", c.rule, c.name, diff)
		}
	}
}

var claimChanges = []change[*corePVC]{
	{rule: "API-216", name: "the status of the request means nothing", after: sample.Both(sample.Sized("20Gi"), sample.Bound), want: "spec F"},
	{rule: "API-217", name: "several violations are one", after: sample.Both(sample.Sized("20Gi"), sample.Classed(new("")), func(c *corePVC) {
		c.Spec.AccessModes = append(c.Spec.AccessModes, corev1.ReadOnlyMany)
		c.Spec.Selector = &metav1.LabelSelector{}
	}), want: "spec F"},
	{rule: "API-217", name: "another notation is no change", after: sample.Sized("10240Mi")},
	{rule: "API-217", name: "a number is no change either", after: sample.Sized("10737418240")},
	{rule: "API-218", name: "bound once", after: asking(func(s *corev1.PersistentVolumeClaimSpec) { s.VolumeName = "disk" })},
	{rule: "API-218", name: "bound again", before: sample.Bound,
		after: asking(func(s *corev1.PersistentVolumeClaimSpec) { s.VolumeName = "other" }), want: "spec F"},
	{rule: "API-218", name: "let go", before: sample.Bound, after: asking(func(s *corev1.PersistentVolumeClaimSpec) { s.VolumeName = "" }),
		want: "spec F"},
	{rule: "API-219", name: "a class for none", after: sample.Classed(new("fast"))},
	{rule: "API-219", name: "no class for none", before: sample.Bound, after: sample.Classed(new(""))},
	{rule: "API-219", name: "a class for no class", before: sample.Classed(new("")), after: sample.Classed(new("fast")), want: "spec F"},
	{rule: "API-219", name: "none for a class", before: sample.Classed(new("fast")), after: sample.Classed(nil), want: "spec F"},
	{rule: "API-219", name: "a class as annotated", before: sample.Annotated("fast"), after: sample.Classed(new("fast"))},
	{rule: "API-219", name: "another class than annotated", before: sample.Annotated("fast"), after: sample.Classed(new("slow")), want: "spec F"},
	{rule: "API-220", name: "annotation changed", before: sample.Annotated("fast"), after: sample.Annotated("slow"),
		want: "metadata.annotations.volume.beta.kubernetes.io/storage-class I"},
	{rule: "API-220", name: "annotation added", after: sample.Annotated("fast"),
		want: "metadata.annotations.volume.beta.kubernetes.io/storage-class I"},
	{rule: "API-220", name: "annotation added with the class", after: sample.Both(sample.Annotated("fast"), sample.Classed(new("fast"))),
		want: "metadata.annotations.volume.beta.kubernetes.io/storage-class I"},
	{rule: "API-220", name: "empty annotation added", after: sample.Annotated("")},
	{rule: "API-220", name: "annotation dropped", before: sample.Annotated("fast"), after: func(c *corePVC) { c.Annotations = nil },
		want: "metadata.annotations.volume.beta.kubernetes.io/storage-class I"},
	{rule: "API-220", name: "annotation replaced by the field", before: sample.Annotated("fast"), after: func(c *corePVC) {
		c.Annotations, c.Spec.StorageClassName = nil, new("fast")
	}},
	{rule: "API-220", name: "annotation replaced by another class", before: sample.Annotated("fast"), after: func(c *corePVC) {
		c.Annotations, c.Spec.StorageClassName = nil, new("slow")
	}, want: "metadata.annotations.volume.beta.kubernetes.io/storage-class I; spec F"},
	{rule: "API-220", name: "annotation dropped where the field was set", before: sample.Both(sample.Annotated("fast"), sample.Classed(new("fast"))),
		after: func(c *corePVC) { c.Annotations = nil }, want: "metadata.annotations.volume.beta.kubernetes.io/storage-class I"},
	{rule: "API-221", name: "expand unbound", after: sample.Sized("20Gi"), want: "spec F"},
	{rule: "API-221", name: "shrink unbound", after: sample.Sized("5Gi"), want: "spec F"},
	{rule: "API-222", name: "expand", before: sample.Bound, after: sample.Sized("20Gi")},
	{rule: "API-222", name: "shrink", before: sample.Bound, after: sample.Sized("5Gi"), want: "spec.resources.requests.storage F"},
	{rule: "API-222", name: "take back an expansion", before: sample.Both(sample.Bound, sample.Sized("20Gi")), after: sample.Sized("11Gi")},
	{rule: "API-222", name: "take it all back", before: sample.Both(sample.Bound, sample.Sized("20Gi")), after: sample.Sized("10Gi"),
		want: "spec.resources.requests.storage F"},
	{rule: "API-222", name: "shrink what has no capacity", before: sample.Both(sample.Bound, func(c *corePVC) { c.Status.Capacity = nil }),
		after: sample.Sized("1")},
	{rule: "API-222", name: "ask for no size", before: sample.Bound, after: func(c *corePVC) { c.Spec.Resources.Requests = nil },
		want: "spec F; spec.resources.requests.storage F; spec.resources[storage] R"},
	{rule: "API-223", name: "attributes unbound",
		after: asking(func(s *corev1.PersistentVolumeClaimSpec) { s.VolumeAttributesClassName = new("gold") }), want: "spec F"},
	{rule: "API-223", name: "attributes bound", before: sample.Bound,
		after: asking(func(s *corev1.PersistentVolumeClaimSpec) { s.VolumeAttributesClassName = new("gold") })},
	{rule: "API-223", name: "none before they arrived",
		before: sample.Both(sample.Bound, asking(func(s *corev1.PersistentVolumeClaimSpec) { s.VolumeAttributesClassName = new("gold") })),
		after:  asking(func(s *corev1.PersistentVolumeClaimSpec) { s.VolumeAttributesClassName = nil })},
	{rule: "API-223", name: "none after", before: sample.Both(sample.Bound, golden),
		after: asking(func(s *corev1.PersistentVolumeClaimSpec) { s.VolumeAttributesClassName = nil }),
		want:  "spec.volumeAttributesClassName F"},
	{rule: "API-223", name: "empty after", before: sample.Both(sample.Bound, golden),
		after: asking(func(s *corev1.PersistentVolumeClaimSpec) { s.VolumeAttributesClassName = new("") }),
		want:  "spec.volumeAttributesClassName F"},
	{rule: "API-223", name: "others after", before: sample.Both(sample.Bound, golden),
		after: asking(func(s *corev1.PersistentVolumeClaimSpec) { s.VolumeAttributesClassName = new("silver") })},
	{rule: "API-225", name: "another mode", before: sample.Bound,
		after: asking(func(s *corev1.PersistentVolumeClaimSpec) { s.VolumeMode = new(corev1.PersistentVolumeBlock) }),
		want:  "spec F; volumeMode I"},
	{rule: "API-101", name: "a missing mode is Filesystem",
		before: asking(func(s *corev1.PersistentVolumeClaimSpec) { s.VolumeMode = new(corev1.PersistentVolumeBlock) }),
		after:  asking(func(s *corev1.PersistentVolumeClaimSpec) { s.VolumeMode = nil }), want: "spec F; volumeMode I"},
	{rule: "API-226", name: "limits", before: sample.Bound,
		after: asking(func(s *corev1.PersistentVolumeClaimSpec) { s.Resources.Limits = sample.StorageList("1Ti") }), want: "spec F"},
	{rule: "API-226", name: "other requests", before: sample.Bound, after: asking(func(s *corev1.PersistentVolumeClaimSpec) {
		s.Resources.Requests = corev1.ResourceList{"storage": apiresource.MustParse("10Gi"), "cpu": apiresource.MustParse("1")}
	}), want: "spec F"},
	{rule: "API-226", name: "selector", before: sample.Bound, after: selectorOf("a", metav1.LabelSelectorOpExists), want: "spec F"},
	{rule: "API-226", name: "modes in another order", before: sample.Both(sample.Bound, asking(func(s *corev1.PersistentVolumeClaimSpec) {
		s.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce, corev1.ReadOnlyMany}
	})), after: asking(func(s *corev1.PersistentVolumeClaimSpec) {
		s.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadOnlyMany, corev1.ReadWriteOnce}
	}), want: "spec F"},
	{rule: "API-226", name: "data source added", before: sample.Bound, after: dataFrom(nil, "PersistentVolumeClaim", "a"), want: "spec F"},
	{rule: "API-226", name: "data source not yet normalized", before: dataFrom(nil, "PersistentVolumeClaim", "a"), after: func(*corePVC) {}},
	{rule: "API-227", name: "a bad selector stays", before: selectorOf("a", metav1.LabelSelectorOpIn, "not ok"),
		after: asking(func(s *corev1.PersistentVolumeClaimSpec) { s.VolumeName = "disk" })},
	{rule: "API-227", name: "a bad operator does not", before: selectorOf("a", "Like", "not ok"),
		after: asking(func(s *corev1.PersistentVolumeClaimSpec) { s.VolumeName = "disk" }),
		want:  "spec.selector.matchExpressions[0].operator I"},
	{rule: "API-227", name: "a bad group stays", before: dataRef(new("A"), nil, "X", "a"),
		after: asking(func(s *corev1.PersistentVolumeClaimSpec) { s.VolumeName = "disk" })},
	{rule: "API-154", name: "what was stored unvalidated is validated",
		before: asking(func(s *corev1.PersistentVolumeClaimSpec) { s.VolumeMode = new(corev1.PersistentVolumeMode("Tape")) }),
		after:  func(c *corePVC) { c.Labels = map[string]string{"a": "b"} }, want: "spec.volumeMode N"},
}

// golden is a claim whose volume has the attributes asked for.
func golden(c *corePVC) {
	c.Spec.VolumeAttributesClassName = new("gold")
	c.Status.CurrentVolumeAttributesClassName = new("gold")
}

// TestClaimSpecShared checks that the changes of a bind to a valid claim need no new validation.
func TestClaimSpecShared(t *testing.T) {
	for _, c := range []struct {
		rule, name string
		before     func(*corePVC)
		after      func(*corePVC)
		want       bool
	}{
		{"API-218", "nothing", nil, func(*corePVC) {}, true},
		{"API-218", "bound", nil, asking(func(s *corev1.PersistentVolumeClaimSpec) { s.VolumeName = "disk" }), true},
		{"API-218", "bound again", sample.Bound, asking(func(s *corev1.PersistentVolumeClaimSpec) { s.VolumeName = "other" }), false},
		{"API-221", "the same size in another map", nil, sample.Sized("10Gi"), true},
		{"API-221", "another size", nil, sample.Sized("20Gi"), false},
		{"API-219", "annotations", nil, func(c *corePVC) { c.Annotations = map[string]string{"a": "b"} }, true},
		{"API-220", "the annotation of the class", nil, sample.Annotated("fast"), false},
		{"API-033", "a generateName", nil, func(c *corePVC) { c.GenerateName = "a-" }, false},
		{"API-226", "other modes", nil, asking(func(s *corev1.PersistentVolumeClaimSpec) { s.AccessModes = nil }), false},
	} {
		old := sample.Claim()
		if c.before != nil {
			c.before(old)
		}
		claim := *old
		c.after(&claim)
		if got := claimSpecShared(&claim, old); got != c.want {
			t.Errorf("%s %s: spec shared: %v, want %v", c.rule, c.name, got, c.want)
		}
	}
}

func TestClaimUpdate(t *testing.T) {
	checkUpdates(t, PersistentVolumeClaim, sample.Claim, claimChanges, false)
}

func statusOf(change func(*corev1.PersistentVolumeClaimStatus)) func(*corePVC) {
	return func(c *corePVC) { change(&c.Status) }
}

func resizing(key corev1.ResourceName, state corev1.ClaimResourceStatus) func(*corePVC) {
	return statusOf(func(s *corev1.PersistentVolumeClaimStatus) {
		s.AllocatedResourceStatuses = map[corev1.ResourceName]corev1.ClaimResourceStatus{key: state}
	})
}

func allocated(key corev1.ResourceName, size string) func(*corePVC) {
	return statusOf(func(s *corev1.PersistentVolumeClaimStatus) {
		s.AllocatedResources = corev1.ResourceList{key: apiresource.MustParse(size)}
	})
}

var claimStatusChanges = []change[*corePVC]{
	{rule: "API-242", name: "any phase, condition and mode", after: statusOf(func(s *corev1.PersistentVolumeClaimStatus) {
		s.Phase, s.AccessModes = "Odd", []corev1.PersistentVolumeAccessMode{"x"}
		s.Conditions = []corev1.PersistentVolumeClaimCondition{{Type: "y"}}
		s.CurrentVolumeAttributesClassName = new("Not A Name")
	})},
	{rule: "API-242", name: "less capacity, and of anything", before: sample.Bound, after: statusOf(func(s *corev1.PersistentVolumeClaimStatus) {
		s.Capacity = corev1.ResourceList{"storage": apiresource.MustParse("0"), "cpu": apiresource.MustParse("1")}
	})},
	{rule: "API-242", name: "negative capacity", after: statusOf(func(s *corev1.PersistentVolumeClaimStatus) {
		s.Capacity = corev1.ResourceList{"storage": apiresource.MustParse("-1"), "cpu": apiresource.MustParse("-1")}
	}), want: "status.capacity[cpu] I; status.capacity[storage] I"},
	{rule: "API-242", name: "resize", after: resizing("storage", corev1.PersistentVolumeClaimNodeResizePending)},
	{rule: "API-242", name: "resize of a custom resource",
		after: resizing("example.com/x", corev1.PersistentVolumeClaimControllerResizeInfeasible)},
	{rule: "API-242", name: "unknown state", after: resizing("storage", "Odd"), want: "status.allocatedResourceStatuses N"},
	{rule: "API-242", name: "bad key", after: resizing("a/b/c", corev1.PersistentVolumeClaimNodeResizePending),
		want: "status.allocatedResourceStatuses I"},
	{rule: "API-242", name: "bad key and state", after: resizing("a/b/c", ""),
		want: "status.allocatedResourceStatuses I; status.allocatedResourceStatuses N"},
	{rule: "API-242", name: "native key", after: resizing("cpu", corev1.PersistentVolumeClaimNodeResizePending),
		want: "status.allocatedResourceStatuses N"},
	{rule: "API-242", name: "key of Kubernetes", after: allocated("kubernetes.io/x", "1"), want: "status.allocatedResources N"},
	{rule: "API-242", name: "bad allocated key", after: allocated("", "-1"), want: "status.allocatedResources I"},
	{rule: "API-242", name: "allocated", after: allocated("storage", "20Gi")},
	{rule: "API-242", name: "negative allocated", after: allocated("storage", "-1m"), want: "status.allocatedResources[storage] I"},
	{rule: "API-242", name: "the spec of the request means nothing", after: sample.Both(sample.Sized("0"), sample.Classed(new("Bad")))},
	{rule: "API-242", name: "no access modes stored", before: func(c *corePVC) { c.Spec.AccessModes = nil }, after: func(*corePVC) {},
		want: "Spec.accessModes R"},
}

func TestClaimStatus(t *testing.T) {
	checkUpdates(t, PersistentVolumeClaim, sample.Claim, claimStatusChanges, true)

	// API-106, API-015: a new claim has no status but Pending.
	claim := sample.Claim()
	sample.Bound(claim)
	PersistentVolumeClaim.PrepareCreate(claim, sample.StoredNoon)
	if want := (corev1.PersistentVolumeClaimStatus{Phase: corev1.ClaimPending}); !cmp.Equal(want, claim.Status) {
		t.Errorf("API-106: status = %v, want %v", claim.Status, want)
	}
	// API-242: metadata stays as sent, the spec does not.
	old, obj := sample.Claim(), sample.Claim()
	obj.Annotations, obj.Spec.VolumeName = map[string]string{"a": "b"}, "disk"
	PersistentVolumeClaim.PrepareStatus(obj, old, sample.StoredNoon)
	if obj.Annotations["a"] != "b" || !cmp.Equal(obj.Spec, old.Spec) {
		t.Errorf("API-242: annotations %v, spec %v; want those sent, that stored", obj.Annotations, obj.Spec)
	}
}

func TestClaimDefaults(t *testing.T) {
	claim := &corePVC{
		Spec: corev1.PersistentVolumeClaimSpec{Resources: corev1.VolumeResourceRequirements{Requests: sample.StorageList("1.0001"),
			Limits: sample.StorageList("1u")}},
		Status: corev1.PersistentVolumeClaimStatus{Capacity: sample.StorageList("1n"), AllocatedResources: sample.StorageList("2"),
			Conditions: []corev1.PersistentVolumeClaimCondition{{LastProbeTime: metav1.Time{Time: sample.Noon}}}},
	}
	sent := claim.DeepCopy()
	shared := PersistentVolumeClaim.Shallow(claim)
	defaultClaim(shared)
	want := &corePVC{
		Spec: corev1.PersistentVolumeClaimSpec{
			VolumeMode: new(corev1.PersistentVolumeFilesystem),                                                                     // API-092
			Resources:  corev1.VolumeResourceRequirements{Requests: sample.StorageList("1001m"), Limits: sample.StorageList("1m")}, // API-082
		},
		Status: corev1.PersistentVolumeClaimStatus{Phase: corev1.ClaimPending, Capacity: sample.StorageList("1m"), AllocatedResources: sample.StorageList("2"),
			Conditions: []corev1.PersistentVolumeClaimCondition{{LastProbeTime: metav1.Time{Time: sample.Noon.Truncate(time.Second)}}}}, // API-006
	}
	if diff := cmp.Diff(want, shared); diff != "" {
		t.Errorf("API-092: defaults: -want +got\n%s", diff)
	}
	if diff := cmp.Diff(sent, claim); diff != "" {
		t.Errorf("API-092: the request was written to:\n%s", diff)
	}
}
