package store_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func binding(name, node string) *corev1.Binding {
	return &corev1.Binding{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default"},
		Target: corev1.ObjectReference{Kind: "Node", Name: node}}
}

func TestBind(t *testing.T) {
	w := newFixture(t)
	create(w, node("n1"))
	before := create(w, pod("web"))
	w.changes()
	sent := with(binding("web", "n1"), func(b *corev1.Binding) {
		b.UID, b.ResourceVersion = before.UID, before.ResourceVersion
		b.Annotations = map[string]string{"by": "me"}
	})
	bound, err := w.Bind("default/web", sent)
	require.NoError(t, err)
	want := with(before, func(p *corev1.Pod) {
		p.ResourceVersion, p.Spec.NodeName = "3", "n1"
		p.Annotations = map[string]string{"by": "me"}
		p.Labels = map[string]string{corev1.LabelTopologyZone: "z1"} // API-256
		p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionTrue,
			LastTransitionTime: metav1.NewTime(noon)}}
	})
	assert.Empty(t, cmp.Diff(want, bound), "API-262, API-256: generation and the rest stay")
	assert.Equal(t, []string{"MODIFIED Pod/default/web 3"}, w.changes(), "API-262: one change")
	stored, err := w.Pods.Get("default/web")
	require.NoError(t, err)
	assert.Same(t, bound, stored)

	create(w, pod("far"))
	far, err := w.Bind("default/far", binding("far", "nowhere"))
	require.NoError(t, err, "API-260: the node need not exist")
	assert.Equal(t, "nowhere", far.Spec.NodeName)
	assert.Empty(t, far.Labels, "API-256")
}

func TestBindIsRefused(t *testing.T) {
	w := newFixture(t)
	create(w, node("n1"))
	create(w, pod("web"))
	create(w, running("busy"))
	remove(w, create(w, held(pod("going"))))
	create(w, with(pod("gated"), func(p *corev1.Pod) { p.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: "g"}} }))
	version := w.Version()
	w.changes()
	for _, test := range []struct {
		rule, name, key string
		binding         *corev1.Binding
		code            int32
		reason          metav1.StatusReason
		message         string
	}{
		{"API-260", "to no node", "default/web", with(binding("web", "n1"), func(b *corev1.Binding) { b.Target.Kind = "Pod" }), 500, "",
			`target.kind: Unsupported value: "Pod": supported values: "Node", "<empty>"`},
		{"API-260", "to a node without a name", "default/web", binding("web", ""), 500, "", "target.name: Required value"},
		{"API-260", "before the pod is looked for", "default/none", binding("none", ""), 500, "", "target.name: Required value"},
		{"API-261", "of a pod that is not there", "default/none", binding("none", "n1"), 404, metav1.StatusReasonNotFound,
			`pods "none" not found`},
		{"API-261", "of a pod that has a node", "default/busy", binding("busy", "n1"), 409, metav1.StatusReasonConflict,
			`Operation cannot be fulfilled on pods/binding "busy": pod busy is already assigned to node "n1"`},
		{"API-261", "of a pod that goes", "default/going", binding("going", "n1"), 409, metav1.StatusReasonConflict,
			`Operation cannot be fulfilled on pods/binding "going": pod going is being deleted, cannot be assigned to a host`},
		{"API-261", "of a pod with a scheduling gate", "default/gated", binding("gated", "n1"), 409, metav1.StatusReasonConflict,
			`Operation cannot be fulfilled on pods/binding "gated": pod gated has non-empty .spec.schedulingGates`},
		{"API-261", "of another uid", "default/web", with(binding("web", "n1"), func(b *corev1.Binding) { b.UID = "u" }), 409,
			metav1.StatusReasonConflict, ""},
		{"API-261", "of another version", "default/web", with(binding("web", "n1"), func(b *corev1.Binding) { b.ResourceVersion = "77" }),
			409, metav1.StatusReasonConflict, ""},
		{"API-020", "of another name", "default/web", binding("busy", "n1"), 400, metav1.StatusReasonBadRequest,
			"name in URL does not match name in Binding object"},
		{"API-020", "of another namespace", "default/web", with(binding("web", "n1"), func(b *corev1.Binding) { b.Namespace = "x" }), 400,
			metav1.StatusReasonBadRequest, "the namespace of the provided object does not match the namespace sent on the request"},
	} {
		t.Run(test.rule+" "+test.name, func(t *testing.T) {
			w.t = t
			_, err := w.Bind(test.key, test.binding)
			status := w.refused(test.rule, err, test.code, test.reason, version)
			if test.message != "" {
				assert.Equal(t, test.message, status.Message)
			}
		})
	}
}
