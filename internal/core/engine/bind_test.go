package engine_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/trace"
)

// TestBind: a binding is a write like any other: injectors are asked, and it is traced.
func TestBind(t *testing.T) {
	var calls []api.Call
	log := &trace.Trace{}
	e, err := engine.New(engine.Config{Trace: log, Injector: engine.InjectorFunc(func(c api.Call) api.Fault {
		calls = append(calls, c)
		return api.Fault{}
	})})
	require.NoError(t, err)
	_, err = e.Store().Create(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "default"},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "example.com/app:1"}}}})
	require.NoError(t, err)
	binding := &corev1.Binding{ObjectMeta: metav1.ObjectMeta{Name: "web"}, Target: corev1.ObjectReference{Name: "n1"}}

	actor, err := e.NewActor("scheduler", func(a *engine.Actor) {
		a.Go("bind", func(p *engine.Process) {
			bound, err := e.API().Bind(p, "default/web", binding)
			require.NoError(t, err, "API-262")
			assert.Equal(t, "n1", bound.Spec.NodeName, "API-262")
			_, err = e.API().Bind(p, "default/web", binding)
			assert.True(t, apierrors.IsConflict(err), "API-261: %v", err)
		})
	})
	require.NoError(t, err)
	actor.Start()
	require.NoError(t, e.Settle(time.Minute))
	want := api.Call{Actor: "scheduler", Target: api.APIServer, Verb: "bind", Kind: string(api.Pod), Key: "default/web"}
	assert.Equal(t, []api.Call{want, want}, calls)
	var verbs []string
	for entry := range log.Entries() {
		if entry.Type == trace.Write && entry.Verb == "bind" {
			verbs = append(verbs, entry.Object.String())
		}
	}
	assert.Equal(t, []string{"Pod/default/web", "Pod/default/web"}, verbs, "the refused one is traced, too")
}
