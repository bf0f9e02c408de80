package engine_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/trace"
)

func TestChanges(t *testing.T) {
	pod := func(change func(*corev1.Pod)) *corev1.Pod {
		p := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{
				Name: "p", ResourceVersion: "1", Finalizers: []string{"a", "b"},
				Labels:      map[string]string{"plain": "x"},
				Annotations: map[string]string{"example.com/a": "x"},
			},
			Spec: corev1.PodSpec{
				Volumes:    []corev1.Volume{{Name: "data"}},
				Containers: []corev1.Container{{Name: "c"}},
			},
		}
		if change != nil {
			change(p)
		}
		return p
	}
	tests := []struct {
		name     string
		old, new api.Object
		want     []string
	}{
		{name: "two nothings"},
		{name: "the same", old: pod(nil), new: pod(nil)},
		{name: "the version alone", old: pod(nil), new: pod(func(p *corev1.Pod) { p.ResourceVersion = "2" })},
		{
			name: "words stand without quotes, all else with them", old: pod(nil),
			new: pod(func(p *corev1.Pod) {
				p.Status.Phase = corev1.PodRunning
				p.Status.Message = "a b"
				p.Status.Reason = "none"
				p.Spec.NodeName = "true"
				p.Labels["plain"] = ""
			}),
			want: []string{`metadata.labels.plain x -> ""`, `spec.nodeName none -> "true"`, `status.message none -> "a b"`,
				`status.phase none -> Running`, `status.reason none -> "none"`},
		},
		{
			name: "keys that are no words stand in brackets", old: pod(nil),
			new:  pod(func(p *corev1.Pod) { p.Annotations = map[string]string{"example.com/b": "y"} }),
			want: []string{"metadata.annotations[example.com/a] x -> none", "metadata.annotations[example.com/b] none -> y"},
		},
		{
			name: "a list of values is one value", old: pod(nil),
			new:  pod(func(p *corev1.Pod) { p.Finalizers = []string{"b"} }),
			want: []string{`metadata.finalizers ["a","b"] -> ["b"]`},
		},
		{
			name: "a list of objects of the same length is compared place by place", old: pod(nil),
			new: pod(func(p *corev1.Pod) {
				p.Spec.Containers[0].Image = "image"
				p.Spec.Volumes[0].EmptyDir = &corev1.EmptyDirVolumeSource{}
			}),
			want: []string{"spec.containers[0].image none -> image", "spec.volumes[0].emptyDir none -> {}"},
		},
		{
			name: "a list of objects of another length is one value", old: pod(nil),
			new:  pod(func(p *corev1.Pod) { p.Spec.Volumes = append(p.Spec.Volumes, corev1.Volume{Name: "<more>"}) }),
			want: []string{`spec.volumes [{"name":"data"}] -> [{"name":"data"},{"name":"<more>"}]`},
		},
		{
			name: "numbers and booleans", old: pod(func(p *corev1.Pod) { p.Spec.HostNetwork = true }),
			new:  pod(func(p *corev1.Pod) { p.Generation = 12345678901 }),
			want: []string{"metadata.generation none -> 12345678901", "spec.hostNetwork true -> none"},
		},
		{
			name: "all is new", new: &corev1.Event{ObjectMeta: metav1.ObjectMeta{Name: "e"}, Reason: "R"},
			want: []string{"eventTime none -> null", "firstTimestamp none -> null", "involvedObject none -> {}", "lastTimestamp none -> null",
				"metadata.name none -> e", "reason none -> R", `reportingComponent none -> ""`, `reportingInstance none -> ""`, "source none -> {}"},
		},
	}
	for _, test := range tests {
		var got []string
		for _, change := range trace.Changes(test.old, test.new) {
			got = append(got, change.String())
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
	}
}

func TestFieldChange(t *testing.T) {
	old := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p"}, Status: corev1.PodStatus{Phase: corev1.PodPending}}
	now := old.DeepCopy()
	now.Status.Phase = corev1.PodRunning
	want := []trace.FieldChange{{Path: "status.phase", Old: `"Pending"`, New: `"Running"`}}
	if diff := cmp.Diff(want, trace.Changes(old, now)); diff != "" {
		t.Errorf("Changes (-want +got):\n%s", diff)
	}
}
