package schedule_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/internal/controllers/schedule"
	"github.com/volsim/volsim/internal/core/actors"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/proof/rig"
	"github.com/volsim/volsim/trace"
)

// fixture is an engine with a scheduler. The test takes the part of the PersistentVolume controller.
type fixture struct {
	*rig.Rig
	actor *engine.Actor
}

func newFixture(t *testing.T, cfg schedule.Config, ecfg engine.Config) *fixture {
	t.Helper()
	w := &fixture{Rig: rig.New(t, ecfg)}
	var err error
	w.actor, err = schedule.New(w.Engine, cfg)
	w.OK(err)
	return w
}

// newWaitingFixture is a fixture with node n1 and class wait of driver d.
func newWaitingFixture(t *testing.T, objs ...api.Object) *fixture {
	w := newFixture(t, schedule.Config{}, engine.Config{})
	w.create(fake.Node("n1"), fake.Class("wait", "d", fake.WaitForFirstConsumer()))
	w.create(objs...)
	return w
}

// create creates objects, and makes volumes Available. Informers have delivered all other objects before the first pod.
func (w *fixture) create(objs ...api.Object) {
	w.T.Helper()
	for i, obj := range objs {
		if _, ok := obj.(*corev1.Pod); ok && (i == 0 || api.KindOf(objs[i-1]) != api.Pod) {
			w.Advance(0)
		}
		w.Create(obj)
		if pv, ok := obj.(*corev1.PersistentVolume); ok {
			w.PatchStatus(api.PersistentVolume, pv.Name, `{"status":{"phase":"Available"}}`)
		}
	}
}

// bound completes the binding of a claim, as the PersistentVolume controller does.
func (w *fixture) bound(claim, volume string) {
	w.T.Helper()
	w.Patch(api.PersistentVolumeClaim, "default/"+claim,
		fmt.Sprintf(`{"metadata":{"annotations":{"pv.kubernetes.io/bind-completed":"yes"}},"spec":{"volumeName":%q}}`, volume))
}

// volumeFor returns a volume with a claimRef to the claim, as a provisioner creates it.
func (w *fixture) volumeFor(name, claim string, opts ...fake.Option) *corev1.PersistentVolume {
	c, err := w.Store().Claims.Get("default/" + claim)
	require.NoError(w.T, err)
	return fake.Volume(name, "1Gi", append([]fake.Option{fake.InClass("wait"), fake.ForClaim(claim, c.UID)}, opts...)...)
}

func (w *fixture) pod(name string) *corev1.Pod {
	w.T.Helper()
	pod, err := w.Store().Pods.Get("default/" + name)
	w.OK(err)
	return pod
}

// log returns what the scheduler did since the last call: "<time> <verb> <kind>/<key>" for writes, "<time> <key> <reason>: <text>" for
// Events.
func (w *fixture) log() []string {
	return w.Log(func(e trace.Entry) string {
		switch {
		case e.Actor != actors.Scheduler:
			return ""
		case e.Type == trace.Emitted:
			return fmt.Sprintf("%s %s: %s", e.Object.Key, e.Reason, e.Text)
		case e.Type == trace.Write && e.Err != nil:
			return fmt.Sprintf("%s %s: %v", e.Verb, e.Object, e.Err)
		case e.Type == trace.Write:
			return fmt.Sprintf("%s %s", e.Verb, e.Object)
		}
		return ""
	})
}

// want compares the log with the lines.
func (w *fixture) want(why string, lines ...string) {
	w.T.Helper()
	w.Want(why, w.log(), lines...)
}

func scheduled(pod *corev1.Pod) *corev1.PodCondition {
	for i := range pod.Status.Conditions {
		if pod.Status.Conditions[i].Type == corev1.PodScheduled {
			return &pod.Status.Conditions[i]
		}
	}
	return &corev1.PodCondition{}
}

func quantity(s string) resource.Quantity { return resource.MustParse(s) }
