package strategy

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apiresource "k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volsim/volsim/internal/core/strategy/sample"
)

func TestPodUpdate(t *testing.T) {
	gated := func(p *corePod) {
		p.Spec.SchedulingGates = sample.SchedulingGates("a", "b")
		p.Spec.NodeSelector = map[string]string{"disk": "fast"}
	}
	required := func(terms ...corev1.NodeSelectorTerm) func(*corePod) {
		return func(p *corePod) {
			p.Spec.SchedulingGates = sample.SchedulingGates("a")
			p.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
				RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: terms},
			}}
		}
	}
	term := func(keys ...string) corev1.NodeSelectorTerm {
		var t corev1.NodeSelectorTerm
		for _, key := range keys {
			t.MatchExpressions = append(t.MatchExpressions, corev1.NodeSelectorRequirement{Key: key, Operator: corev1.NodeSelectorOpExists})
		}
		return t
	}
	const terms = "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms"
	checkUpdates(t, Pod, sample.Pod, []change[*corePod]{
		{"API-237", "nothing", nil, func(*corePod) {}, ""},
		{"API-237", "another image", nil, func(p *corePod) { p.Spec.Containers[0].Image = "example.com/db:2" }, ""},
		{"API-237", "no image", nil, func(p *corePod) { p.Spec.Containers[0].Image = "" }, "spec.containers[0].image R"},
		{"API-237", "another claim", nil, func(p *corePod) { p.Spec.Volumes[0].PersistentVolumeClaim.ClaimName = "x" }, "spec F"},
		{"API-237", "another volume", nil, func(p *corePod) { p.Spec.Volumes = append(p.Spec.Volumes, corev1.Volume{Name: "more"}) }, "spec F"},
		{"API-237", "another mount", nil, func(p *corePod) { p.Spec.Containers[0].VolumeMounts[0].MountPath = "/x" }, "spec F"},
		{"API-237", "a node", nil, func(p *corePod) { p.Spec.NodeName = "n1" }, "spec F"},
		{"API-237", "an equal size in another notation", func(p *corePod) {
			p.Spec.Volumes[2].EmptyDir = &corev1.EmptyDirVolumeSource{SizeLimit: new(apiresource.MustParse("1Gi"))}
		}, func(p *corePod) { p.Spec.Volumes[2].EmptyDir.SizeLimit = new(apiresource.MustParse("1073741824")) }, ""},
		{"API-237", "another container", nil, func(p *corePod) {
			p.Spec.Containers = append(p.Spec.Containers, corev1.Container{Name: "x", Image: "x"})
		}, "spec.containers F"},
		{"API-237", "a container before", nil, func(p *corePod) {
			p.Spec.InitContainers = append(p.Spec.InitContainers, corev1.Container{Name: "x", Image: "x"})
		}, "spec.initContainers F"},
		{"API-237", "a deadline", nil, func(p *corePod) { p.Spec.ActiveDeadlineSeconds = new(int64(9)) }, ""},
		{"API-237", "an earlier deadline", func(p *corePod) { p.Spec.ActiveDeadlineSeconds = new(int64(9)) },
			func(p *corePod) { p.Spec.ActiveDeadlineSeconds = new(int64(8)) }, ""},
		{"API-237", "a later deadline, after which nothing else is looked at", func(p *corePod) { p.Spec.ActiveDeadlineSeconds = new(int64(9)) },
			func(p *corePod) { p.Spec.ActiveDeadlineSeconds, p.Spec.NodeName = new(int64(10)), "n1" }, "spec.activeDeadlineSeconds I"},
		{"API-237", "a deadline before the beginning", nil, func(p *corePod) { p.Spec.ActiveDeadlineSeconds = new(int64(-1)) },
			"spec.activeDeadlineSeconds I"},
		{"API-237", "no deadline any more", func(p *corePod) { p.Spec.ActiveDeadlineSeconds = new(int64(9)) },
			func(p *corePod) { p.Spec.ActiveDeadlineSeconds = nil }, "spec.activeDeadlineSeconds I"},
		{"API-237", "another toleration", nil, func(p *corePod) {
			p.Spec.Tolerations = []corev1.Toleration{{Key: "a", Operator: corev1.TolerationOpExists}}
		}, ""},
		{"API-237", "a toleration for longer", func(p *corePod) {
			p.Spec.Tolerations = []corev1.Toleration{{Key: "a", Operator: "Exists", Effect: "NoExecute"}}
		}, func(p *corePod) { p.Spec.Tolerations[0].TolerationSeconds = new(int64(5)) }, ""},
		{"API-237", "a toleration less", func(p *corePod) {
			p.Spec.Tolerations = []corev1.Toleration{{Key: "a", Operator: "Exists"}}
		}, func(p *corePod) { p.Spec.Tolerations = nil }, "spec.tolerations F"},
		{"API-237", "a grace period that was negative", func(p *corePod) { p.Spec.TerminationGracePeriodSeconds = new(int64(-5)) },
			func(p *corePod) { p.Spec.TerminationGracePeriodSeconds = new(int64(1)) }, ""},
		{"API-237", "another grace period", nil, func(p *corePod) { p.Spec.TerminationGracePeriodSeconds = new(int64(1)) }, "spec F"},
		{"API-237", "a gate less", gated, func(p *corePod) { p.Spec.SchedulingGates = sample.SchedulingGates("b") }, ""},
		{"API-237", "a gate more", gated, func(p *corePod) { p.Spec.SchedulingGates = sample.SchedulingGates("c", "a", "b") }, "spec.schedulingGates[0].name F"},
		{"API-237", "fewer nodes while gated", gated, func(p *corePod) { p.Spec.NodeSelector["zone"] = "z1" }, ""},
		{"API-237", "other nodes while gated", gated, func(p *corePod) { p.Spec.NodeSelector = map[string]string{"disk": "slow"} },
			"spec.nodeSelector I"},
		{"API-237", "fewer nodes", nil, func(p *corePod) { p.Spec.NodeSelector = map[string]string{"a": "b"} }, "spec F"},
		{"API-237", "first terms while gated", gated, required(term("a")), ""},
		{"API-237", "narrower terms while gated", required(term("a"), term("b")), required(term("a", "x"), term("b")), ""},
		{"API-237", "other terms while gated", required(term("a"), term("b")), required(term("x"), term("b")), terms + "[0] I"},
		{"API-237", "fewer terms while gated", required(term("a"), term("b")), required(term("a")), terms + " I"},
		{"API-237", "a bad value that was there", func(p *corePod) {
			required(term("a"))(p)
			r := &p.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms[0].MatchExpressions[0]
			r.Operator, r.Values = corev1.NodeSelectorOpIn, []string{"-"}
		}, func(p *corePod) { p.Spec.SchedulingGates = nil }, ""},
		{"API-237", "an empty term grows while gated", required(term()), required(term("a")), terms + "[0] I"},
		{"API-237", "empty affinity while gated", gated, func(p *corePod) { p.Spec.Affinity = &corev1.Affinity{} }, "spec F"},
		{"API-237", "no terms any more while gated", required(term("a")), func(p *corePod) { p.Spec.Affinity = nil }, terms + " I"},
		{"API-237", "affinity to pods while gated", required(term("a")),
			func(p *corePod) { p.Spec.Affinity.PodAffinity = &corev1.PodAffinity{} }, "spec F"},
		{"API-237", "a prefix for names", nil, func(p *corePod) { p.GenerateName = "A_" }, "metadata.generateName I"},
	}, false)
	moved := sample.Pod()
	moved.Spec.NodeName = "n1"
	errs := Pod.ValidateUpdate(moved, sample.Pod())
	require.NotEmpty(t, errs, "API-237")
	assert.Contains(t, errs[len(errs)-1].Detail, "\n- \"NodeName\": \"\",\n+ \"NodeName\": \"n1\",\n", "API-237: the error shows the change")
	pod, old := sample.Pod(), sample.Pod()
	pod.Status.Phase, old.Status.Phase = corev1.PodFailed, corev1.PodRunning
	Pod.PrepareUpdate(pod, old)
	assert.Equal(t, corev1.PodRunning, pod.Status.Phase, "API-237: the status has a subresource of its own")
	assert.False(t, Pod.SpecChanged(pod, old), "API-237")
	pod.Spec.Containers[0].Image = "example.com/db:2"
	assert.True(t, Pod.SpecChanged(pod, old), "API-237")
}

func TestPodStatus(t *testing.T) {
	stored := func(p *corePod) {
		p.Status = corev1.PodStatus{Phase: corev1.PodRunning, QOSClass: corev1.PodQOSBurstable, ObservedGeneration: 4,
			Conditions: []corev1.PodCondition{{Type: "A", ObservedGeneration: 2}, {Type: "A", ObservedGeneration: 3}}}
		p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "X", Name: "x", UID: "x"}}
	}
	checkUpdates(t, Pod, sample.Pod, []change[*corePod]{
		{"API-244", "another phase", stored, func(p *corePod) { p.Status.Phase = corev1.PodFailed }, ""},
		{"API-244", "a spec and an owner that are ignored", stored, func(p *corePod) { p.Spec.NodeName, p.OwnerReferences = "n1", nil }, ""},
		{"API-244", "another class", stored, func(p *corePod) { p.Status.QOSClass = corev1.PodQOSGuaranteed }, "status.qosClass I"},
		{"API-244", "no class", stored, func(p *corePod) { p.Status.QOSClass = "" }, ""},
		{"API-244", "a generation before the first", stored, func(p *corePod) {
			p.Status.ObservedGeneration, p.Status.Conditions[0].ObservedGeneration = -1, -1
		}, "status.conditions[0].observedGeneration I; status.observedGeneration I"},
		{"API-244", "a condition without a type", stored, func(p *corePod) { p.Status.Conditions[0].Type = "" }, "status.conditions[0].Type I"},
		{"API-244", "a nomination", stored, func(p *corePod) { p.Status.NominatedNodeName = "n1" }, ""},
		{"API-244", "a nomination of a name that is invalid", stored, func(p *corePod) { p.Status.NominatedNodeName = "N" }, "status.nominatedNodeName I"},
		{"API-244", "a nomination too late", func(p *corePod) { p.Spec.NodeName = "n1" },
			func(p *corePod) { p.Status.NominatedNodeName = "n2" }, "status.nominatedNodeName F"},
	}, true)

	old, pod := sample.Pod(), sample.Pod()
	stored(old)
	old.DeletionTimestamp = new(metav1.NewTime(sample.Noon))
	pod.Labels = map[string]string{"new": ""}
	pod.Status.Conditions = []corev1.PodCondition{{Type: "A"}, {Type: "B"}, {Type: "A"}, {Type: "A"}}
	sent := pod.Status.DeepCopy()
	shallow := Pod.Shallow(pod)
	Pod.PrepareStatus(shallow, old, metav1.Time{})
	var generations []int64
	for _, c := range shallow.Status.Conditions {
		generations = append(generations, c.ObservedGeneration)
	}
	assert.Equal(t, []int64{2, 0, 3, 0}, generations, "API-244: zero generations keep the old ones, by type and order")
	assert.EqualValues(t, 4, shallow.Status.ObservedGeneration, "API-244")
	assert.Equal(t, pod.Labels, shallow.Labels, "API-244: labels come from the request")
	assert.Equal(t, old.OwnerReferences, shallow.OwnerReferences, "API-244: owners do not")
	assert.Equal(t, old.DeletionTimestamp, shallow.DeletionTimestamp, "API-244: nor does the mark of deletion")
	assert.Empty(t, cmp.Diff(sent, &pod.Status), "the request was written to")
}
