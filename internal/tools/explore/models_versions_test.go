package explore

import (
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/engine"
)

// modelsOfVersions are about objects that are created and deleted, and undelivered changes.
var modelsOfVersions = []smallModel{
	{name: "the number of versions of a deleted object", outcomes: 1, build: func(s *fixture) {
		s.independent("creator", func(a *actor, _ *actorMemory) {
			a.Go("create", func(p *proc) {
				_, _ = p.API().Nodes.Create(p, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "d"}})
				if pv, _ := p.API().Volumes.Get(p, "a"); pv.Labels["x"] == "1" {
					_, _ = p.API().Nodes.Patch(p, "d", []byte(`{"metadata":{"labels":{"x":"1"}}}`), api.Main)
				}
				_, _ = p.API().Nodes.Delete(p, "d", api.DeleteOptions{})
			})
			a.After(pause, "again", func(p *proc) {
				_, _ = p.API().Nodes.Create(p, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "d"}})
			})
		})
		s.does("writer", func(p *proc) { label(p, "a", "1") })
	}},
	{name: "an object that is deleted while it is read", outcomes: 2, build: func(s *fixture) {
		s.does("reader", func(p *proc) {
			_, err := p.API().Nodes.Get(p, "n")
			p.Sleep(pause)
			label(p, "b", reason(err))
		})
		s.does("deleter", func(p *proc) { _, _ = p.API().Nodes.Delete(p, "n", api.DeleteOptions{}) })
	}},
	{name: "the object that was created and deleted", outcomes: 2, build: func(s *fixture) {
		s.independent("creator", func(a *actor, _ *actorMemory) {
			a.Go("create", func(p *proc) {
				name := "d"
				if pv, _ := p.API().Volumes.Get(p, "a"); pv.Labels["x"] == "1" {
					name = "e"
				}
				_, _ = p.API().Nodes.Create(p, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}})
				_, _ = p.API().Nodes.Delete(p, name, api.DeleteOptions{})
			})
			a.After(pause, "read", func(p *proc) {
				n, err := p.API().Nodes.Create(p, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "d"}})
				require.NoError(s.t, err)
				label(p, "b", string(n.UID[:8]))
			})
		})
		s.does("writer", func(p *proc) { label(p, "a", "1") })
	}},
	{name: "the informer, of two, with undelivered changes", outcomes: 12, build: func(s *fixture) {
		s.independent("watcher", func(a *actor, _ *actorMemory) {
			one := engine.NewSelectiveInformer(a, s.Store().Volumes, func(pv *volume) bool { return pv.Name != "c" })
			two := engine.NewSelectiveInformer(a, s.Store().Volumes, func(pv *volume) bool { return pv.Name != "a" })
			a.After(5*pause/4, "read", func(p *proc) {
				saw := ""
				for _, view := range []informer{one, two} {
					saw += "saw"
					for _, pv := range view.List() {
						if pv.Labels["x"] == "1" {
							saw += pv.Name
						}
					}
				}
				labelNode(p, saw)
			})
		})
		s.independent("writer", func(a *actor, m *actorMemory) {
			for _, order := range []string{"abc", "bac"} {
				a.Go("order", func(*proc) { m.Text = order })
			}
			a.After(pause/4, "write", func(p *proc) {
				order := m.Text
				m.Text = ""
				for _, name := range order {
					label(p, string(name), "1")
				}
			})
		})
	}, change: lagging},
}
