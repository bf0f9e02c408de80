package volsim

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/internals"
	"github.com/volsim/volsim/internal/core/options"
	"github.com/volsim/volsim/internal/core/snapshot"
	"github.com/volsim/volsim/internal/core/store"
)

func init() {
	internals.Engine = func(cluster any) *engine.Engine { return clusterOf(cluster).engine }
	internals.Create = func(cluster any, obj api.Object, opts store.CreateOptions) error {
		return clusterOf(cluster).create(obj, opts)
	}
	internals.Give = func(cluster any, obj api.Object) error { return clusterOf(cluster).give(obj) }
	internals.Update = func(cluster any, obj api.Object, opts store.UpdateOptions) error {
		return clusterOf(cluster).update(obj, api.Main, opts)
	}
	internals.Load = func(cluster any, obj api.Object) error {
		c := clusterOf(cluster)
		if err := c.checkObject("load", obj); err != nil {
			return err
		}
		if obj.GetNamespace() == "" && c.namespaced(api.KindOf(obj)) {
			return c.Load(obj)
		}
		return c.load(obj)
	}
	internals.PatchNode = func(cluster any, name string, change func(node *corev1.Node) error) error {
		c := clusterOf(cluster)
		sent := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
		return c.send("patch", nil, sent, func() (api.Object, error) {
			return c.engine.API().Nodes.PatchWith(c.engine.User(), name, change, api.Main)
		})
	}
	internals.Evict = func(cluster any, pod *corev1.Pod, opts api.DeleteOptions) error {
		e := clusterOf(cluster).engine
		_, err := e.API().Write(e.User(), "evict", api.RefTo(pod), func() (api.Object, error) {
			return e.Store().Evict(api.KeyOf(pod), opts)
		})
		return err
	}
	internals.Controllers = func(cluster any) []string { return clusterOf(cluster).allControllers() }
	internals.Snapshot = func(cluster any) snapshot.Snapshot { return clusterOf(cluster).snapshot() }
	internals.Options = func(config any) *options.Options { return &config.(*Config).internal }
}

// clusterOf returns the *Cluster that its argument is, or embeds.
func clusterOf(cluster any) *Cluster { return cluster.(interface{ self() *Cluster }).self() }

func (c *Cluster) self() *Cluster { return c }
