package controller_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volsim/volsim"
	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/controller"
	"github.com/volsim/volsim/volsimtest"
)

// TestOtherKinds: a controller reads and writes objects of a kind that is only stored.
func TestOtherKinds(t *testing.T) {
	c := volsimtest.New(t)
	var seen []string
	c.AddController(controller.Controller{Name: "copier", Start: func(s *controller.Setup) {
		var settings *controller.Cache[*corev1.ConfigMap]
		queue := s.NewQueue("settings", func(p *controller.Process, key string) error {
			if _, ok := settings.Get(key); !ok || len(settings.List()) > 1 {
				return nil
			}
			live, err := controller.Get[*corev1.ConfigMap](p, key)
			if err != nil {
				return err
			}
			copied := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: live.Namespace, Name: "copy"}, Data: live.Data}
			if copied, err = controller.Create(p, copied); err != nil {
				return err
			}
			copied.Data["more"] = "yes"
			if _, err = controller.Update(p, copied); err != nil {
				return err
			}
			if _, err = controller.Patch[*corev1.ConfigMap](p, "default/copy", `{"metadata":{"labels":{"a":"b"}}}`); err != nil {
				return err
			}
			return controller.Delete[*corev1.ConfigMap](p, key)
		})
		settings = controller.Watch(s, func(change api.Change[*corev1.ConfigMap]) {
			seen = append(seen, string(change.Type)+" "+change.Key)
			if change.Key == "default/settings" && change.Type == api.Added {
				queue.Add(change.Key)
			}
		})
	}})
	c.Create(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "settings"}, Data: map[string]string{"mode": "fast"}})
	c.Settle()
	all := volsim.List[*corev1.ConfigMap](c.Cluster)
	require.Len(t, all, 1)
	require.Equal(t, map[string]string{"mode": "fast", "more": "yes"}, all[0].Data)
	require.Equal(t, map[string]string{"a": "b"}, all[0].Labels)
	require.Equal(t, []string{"ADDED default/settings", "ADDED default/copy", "MODIFIED default/copy", "MODIFIED default/copy", "DELETED default/settings"}, seen)
}
