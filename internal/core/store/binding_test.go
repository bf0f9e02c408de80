package store

import (
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volsim/volsim/internal/core/strategy/sample"
)

func goodBinding() *corev1.Binding {
	return &corev1.Binding{
		ObjectMeta: metav1.ObjectMeta{Name: "db-0", Namespace: "default", UID: "u-1", ResourceVersion: "5",
			Annotations: map[string]string{"by": "s"}, Labels: map[string]string{"bound": "yes", corev1.LabelTopologyZone: "x"}},
		Target: corev1.ObjectReference{Kind: "Node", Name: "n1"},
	}
}

func unboundPod() *corev1.Pod {
	pod := sample.Pod()
	pod.UID, pod.ResourceVersion, pod.Generation = "u-1", "5", 1
	pod.Labels = map[string]string{"app": "db"}
	pod.Status.NominatedNodeName = "n2"
	pod.Status.Conditions = []corev1.PodCondition{
		{Type: "Other", Status: corev1.ConditionTrue},
		{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: "Unschedulable", Message: "0/1", ObservedGeneration: 1},
	}
	return pod
}

func TestBindingIsRefused(t *testing.T) {
	const conflict, fault = http.StatusConflict, http.StatusInternalServerError
	for _, test := range []struct {
		rule, name string
		pod        func(*corev1.Pod)
		binding    func(*corev1.Binding)
		code       int32
		message    string
	}{
		{"API-260", "to no node", nil, func(b *corev1.Binding) { b.Target.Kind = "Pod" }, fault,
			`target.kind: Unsupported value: "Pod": supported values: "Node", "<empty>"`},
		{"API-260", "to a node without a name", nil, func(b *corev1.Binding) { b.Target.Name = "" }, fault, "target.name: Required value"},
		{"API-020", "of another name", nil, func(b *corev1.Binding) { b.Name = "x" }, http.StatusBadRequest,
			"name in URL does not match name in Binding object"},
		{"API-261", "of another uid", nil, func(b *corev1.Binding) { b.UID = "u-2" }, conflict,
			`Operation cannot be fulfilled on pods "db-0": StorageError: invalid object, Code: 4, ` +
				`Key: /registry/pods/default/db-0, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: UID in precondition: u-2, UID in object meta: u-1`},
		{"API-261", "of another version", nil, func(b *corev1.Binding) { b.ResourceVersion = "4" }, conflict,
			`Operation cannot be fulfilled on pods "db-0": StorageError: invalid object, Code: 4, ` +
				`Key: /registry/pods/default/db-0, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: ResourceVersion in precondition: 4, ResourceVersion in object meta: 5`},
		{"API-261", "of a pod that goes", func(p *corev1.Pod) { p.DeletionTimestamp = new(metav1.NewTime(sample.Noon)) }, nil, conflict,
			`Operation cannot be fulfilled on pods/binding "db-0": pod db-0 is being deleted, cannot be assigned to a host`},
		{"API-261", "of a pod that has a node", func(p *corev1.Pod) { p.Spec.NodeName = "n2" }, nil, conflict,
			`Operation cannot be fulfilled on pods/binding "db-0": pod db-0 is already assigned to node "n2"`},
		{"API-261", "of a pod with a scheduling gate", func(p *corev1.Pod) { p.Spec.SchedulingGates = sample.SchedulingGates("a") }, nil, conflict,
			`Operation cannot be fulfilled on pods/binding "db-0": pod db-0 has non-empty .spec.schedulingGates`},
	} {
		t.Run(test.rule+" "+test.name, func(t *testing.T) {
			pod, binding := unboundPod(), goodBinding()
			if test.pod != nil {
				test.pod(pod)
			}
			if test.binding != nil {
				test.binding(binding)
			}
			_, err := bound(pod, binding, nil, clock(sample.Noon))
			status, ok := err.(apierrors.APIStatus)
			require.True(t, ok, "bound: %v, want an API error", err)
			assert.Equal(t, test.code, status.Status().Code)
			assert.Equal(t, test.message, err.Error())
		})
	}
}

func TestBinding(t *testing.T) {
	pod, now := unboundPod(), clock(sample.Noon.Add(time.Hour))
	node := map[string]string{corev1.LabelTopologyZone: "z1", corev1.LabelTopologyRegion: "r1", "disk": "fast"}
	b, err := bound(pod, goodBinding(), node, now)
	require.NoError(t, err)
	assert.Equal(t, "n1", b.Spec.NodeName, "API-262")
	assert.Empty(t, b.Status.NominatedNodeName, "API-262")
	assert.EqualValues(t, 1, b.Generation, "API-262: generation stays")
	assert.Equal(t, map[string]string{"by": "s"}, b.Annotations, "API-262")
	assert.Equal(t, map[string]string{"app": "db", "bound": "yes", corev1.LabelTopologyZone: "z1", corev1.LabelTopologyRegion: "r1"}, b.Labels,
		"API-256: the labels of the node win")
	assert.Equal(t, []corev1.PodCondition{
		{Type: "Other", Status: corev1.ConditionTrue},
		{Type: corev1.PodScheduled, Status: corev1.ConditionTrue, LastTransitionTime: now},
	}, b.Status.Conditions, "API-262")
	assert.Empty(t, cmp.Diff(unboundPod(), pod), "the stored pod was written to")

	binding := goodBinding()
	binding.ObjectMeta, binding.Target.Kind = metav1.ObjectMeta{Name: "db-0"}, ""
	pod.Status.Conditions = nil
	b, err = bound(pod, binding, node, now)
	require.NoError(t, err, "API-260: the kind may be empty")
	assert.Equal(t, pod.Labels, b.Labels, "API-256: admission knows nodes by their kind")
	assert.Equal(t, []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionTrue, LastTransitionTime: now}},
		b.Status.Conditions, "API-262")

	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionTrue, LastTransitionTime: clock(sample.Noon)}}
	b, err = bound(pod, binding, nil, now)
	require.NoError(t, err, "API-260: the node need not exist")
	assert.Equal(t, clock(sample.Noon), b.Status.Conditions[0].LastTransitionTime, "API-262: the time is that of the change")
}

func TestTopologyLabelsOnCreate(t *testing.T) {
	s := New(Config{})
	node := sample.Node()
	own(s.Nodes).insert(node.Name, node, false)
	pod := sample.Pod()
	pod.Spec.NodeName = "n1"
	require.NoError(t, admitPod(s, pod))
	assert.Equal(t, map[string]string{corev1.LabelTopologyZone: "z1"}, pod.Labels, "API-256: a pod that comes with a node")
	pod = sample.Pod()
	pod.Spec.NodeName = "n9"
	require.NoError(t, admitPod(s, pod))
	assert.Empty(t, pod.Labels, "API-256: the node need not exist")
}
