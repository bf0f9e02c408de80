package jsonpath_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/stretchr/testify/require"

	"github.com/volsim/volsim/internal/core/document"
	"github.com/volsim/volsim/internal/tools/jsonpath"
)

// FuzzPaths: no text makes a path or a template panic, and a path selects the same in an object as in its JSON.
func FuzzPaths(f *testing.F) {
	for _, text := range []string{
		".kind", ".items[0]", ".metadata.labels['a.b']", ".metadata.labels[a.b]", `.metadata.labels.a\.b`, ".spec.volumes[?(@.name==\"a\")].name", "..name",
		".spec.volumes[*]['name','emptyDir']", ".spec.volumes[-1:].name", ".spec.volumes[0,1].*", "{range .spec.volumes[*]}{.name}{\"\\n\"}{end}", "{.spec.volumes[5]}",
		"{.status.conditions[?(@.observedGeneration>=1)].type}", "{@}", "{.a", "{end}", ".labels", ".spec.volumes[1:2:9223372036854775807]", ".spec.volumes[-9223372036854775808]",
	} {
		f.Add(text)
	}
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "web", Labels: map[string]string{"a.b": "c"}, Finalizers: []string{"x"}},
		Spec:       corev1.PodSpec{Volumes: []corev1.Volume{{Name: "a"}, {Name: "b", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}}},
		Status:     corev1.PodStatus{Conditions: []corev1.PodCondition{{Type: "Ready", ObservedGeneration: 3}}},
	}
	doc := document.Of(pod)
	f.Fuzz(func(t *testing.T, text string) {
		if strings.Count(text, "..") > 3 {
			return // each one looks at all values below those of the one before
		}
		if p, err := jsonpath.Read(text); err == nil {
			require.Equal(t, p.Value(doc), jsonpath.NewDocument(pod).Value(p))
		}
		if p, err := jsonpath.ReadExact(text); err == nil {
			_, _ = p.Select(doc)
		}
		if read, err := jsonpath.ReadTemplate(text); err == nil {
			_, _ = read(doc)
		}
	})
}
