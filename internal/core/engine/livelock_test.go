package engine_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/engine"
)

// Two controllers undo each other's writes: the error names them and what they write.
func TestRepeatedCalls(t *testing.T) {
	e := newEngine(t, engine.Config{})
	defer e.Close()
	fights := func(name, label string) {
		startActor(t, e, name, func(a *engine.Actor) {
			q := a.NewQueue(engine.QueueConfig{Name: "nodes", Sync: func(p *engine.Process, key string) error {
				_, err := p.API().Patch(p, api.Ref{Kind: api.Node, Key: key}, fmt.Appendf(nil, `{"metadata":{"labels":{"owner":%q}}}`, label), api.Main)
				return err
			}})
			engine.NewInformer(a, e.Store().Nodes).Handle(engine.Handler[*corev1.Node]{
				Add: func(n *corev1.Node) { q.Add(n.Name) },
				Update: func(_, n *corev1.Node) {
					if n.Labels["owner"] != label {
						q.Add(n.Name)
					}
				},
			})
		})
	}
	fights("left", "l")
	fights("right", "r")
	require.NoError(t, e.Advance(time.Second))
	mustCreate(t, e.Store().Nodes, node("n", nil))
	err := e.Advance(time.Minute)
	stuck := new(engine.StuckError)
	require.True(t, errors.As(err, &stuck))
	require.Equal(t, engine.Livelock, stuck.Cause)
	require.Len(t, stuck.Repeated, 2)
	require.Contains(t, err.Error(), "events passed at one instant, again and again with left: patch Node/n (")
	require.Contains(t, err.Error(), "right: patch Node/n (")

	left, _ := e.Actor("left")
	left.Crash()
	require.NoError(t, e.Advance(time.Minute), "it ends with the fight")
	n, _ := e.Store().Nodes.Lookup("n")
	require.Equal(t, "r", n.Labels["owner"])
}
