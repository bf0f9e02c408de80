package store_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/store"
)

// TestMetadataOnTrust: what an update leaves alone is taken on trust only if it was checked when it came.
func TestMetadataOnTrust(t *testing.T) {
	bad := map[string]string{"no key!": "x"}
	good := map[string]string{"key": "x"}
	updated := func(s *store.Store, pod *corev1.Pod) error {
		changed := *pod
		changed.Finalizers = append([]string{"example.com/more"}, pod.Finalizers...)
		_, err := s.Pods.Update(&changed)
		return err
	}
	for _, test := range []struct {
		rule, name string
		stored     func(s *store.Store) (*corev1.Pod, error)
		wantErr    bool
	}{
		{"API-035", "it was checked", func(s *store.Store) (*corev1.Pod, error) {
			return s.Pods.Create(with(pod("p"), func(p *corev1.Pod) { p.Annotations = good }))
		}, false},
		{"API-035", "it was created unchecked", func(s *store.Store) (*corev1.Pod, error) {
			return s.Pods.CreateWith(with(pod("p"), func(p *corev1.Pod) { p.Annotations = bad }), store.CreateOptions{SkipValidation: true})
		}, true},
		{"API-035", "it was loaded", func(s *store.Store) (*corev1.Pod, error) {
			return s.Pods.Load(with(pod("p"), func(p *corev1.Pod) { p.Annotations = bad }))
		}, true},
		{"API-035", "it was loaded over something that was checked", func(s *store.Store) (*corev1.Pod, error) {
			if _, err := s.Pods.Create(pod("p")); err != nil {
				return nil, err
			}
			return s.Pods.Load(with(pod("p"), func(p *corev1.Pod) { p.Labels = bad }))
		}, true},
		{"API-035", "it was updated unchecked", func(s *store.Store) (*corev1.Pod, error) {
			created, err := s.Pods.Create(pod("p"))
			if err != nil {
				return nil, err
			}
			return s.Pods.UpdateWith(with(created, func(p *corev1.Pod) { p.Annotations = bad }), api.Main, store.UpdateOptions{SkipValidation: true})
		}, true},
		{"API-262", "it came with a binding", func(s *store.Store) (*corev1.Pod, error) {
			if _, err := s.Pods.Create(pod("p")); err != nil {
				return nil, err
			}
			return s.Bind("default/p",
				&corev1.Binding{ObjectMeta: metav1.ObjectMeta{Name: "p", Annotations: bad}, Target: corev1.ObjectReference{Name: "n"}})
		}, true},
	} {
		t.Run(test.rule+" "+test.name, func(t *testing.T) {
			s := newFixture(t).Store
			stored, err := test.stored(s)
			require.NoError(t, err)
			require.Equal(t, test.wantErr, updated(s, stored) != nil)
		})
	}
}
