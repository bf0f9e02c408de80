package schedule_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/internal/controllers/schedule"
	"github.com/volsim/volsim/internal/core/actors"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/trace"
)

// world is an engine with a scheduler. The PersistentVolume controller's part is played by hand.
type world struct {
	*engine.Engine
	t      *testing.T
	trace  *trace.Trace
	seen   uint64
	faults *fake.Faults
	actor  *engine.Actor
}

func newWorld(t *testing.T, cfg schedule.Config, ecfg engine.Config) *world {
	t.Helper()
	w := &world{t: t, trace: &trace.Trace{}, faults: fake.NewFaults()}
	ecfg.Trace, ecfg.Injector = w.trace, w.faults
	var err error
	w.Engine, err = engine.New(ecfg)
	require.NoError(t, err)
	w.actor, err = schedule.New(w.Engine, cfg)
	require.NoError(t, err)
	return w
}

// waiting is a world with node n1 and class wait of driver d.
func waitingWorld(t *testing.T, objs ...api.Object) *world {
	w := newWorld(t, schedule.Config{}, engine.Config{})
	w.create(fake.Node("n1"), fake.Class("wait", "d", fake.WaitForFirstConsumer()))
	w.create(objs...)
	return w
}

// create stores objects; before the first pod everybody is told of all others.
func (w *world) create(objs ...api.Object) {
	w.t.Helper()
	for i, obj := range objs {
		if _, ok := obj.(*corev1.Pod); ok && (i == 0 || api.KindOf(objs[i-1]) != api.Pod) {
			w.Advance(0)
		}
		require.NoError(w.t, fake.Err(obj))
		_, err := w.API().Create(w.User(), obj, api.CreateOptions{})
		require.NoError(w.t, err)
		// Volumes are free from the start.
		if pv, ok := obj.(*corev1.PersistentVolume); ok {
			w.patch(api.PersistentVolume, pv.Name, `{"status":{"phase":"Available"}}`, api.Status)
		}
	}
}

func (w *world) patch(kind api.Kind, key, patch string, sub api.Subresource) {
	w.t.Helper()
	_, err := w.API().Patch(w.User(), api.Ref{Kind: kind, Key: key}, []byte(patch), sub)
	require.NoError(w.t, err)
}

func (w *world) remove(kind api.Kind, key string) {
	w.t.Helper()
	_, err := w.API().Delete(w.User(), api.Ref{Kind: kind, Key: key}, api.DeleteOptions{GracePeriodSeconds: new(int64(0))})
	require.NoError(w.t, err)
}

// bound completes the binding of a claim, as the PersistentVolume controller does.
func (w *world) bound(claim, volume string) {
	w.t.Helper()
	w.patch(api.PersistentVolumeClaim, "default/"+claim, fmt.Sprintf(`{"metadata":{"annotations":{"pv.kubernetes.io/bind-completed":"yes"}},"spec":{"volumeName":%q}}`, volume), api.Main)
}

// chosen is how a provisioner claims a volume for a claim.
func (w *world) volumeFor(name, claim string, opts ...fake.Option) *corev1.PersistentVolume {
	c, err := w.Store().Claims.Get("default/" + claim)
	require.NoError(w.t, err)
	return fake.Volume(name, "1Gi", append([]fake.Option{fake.InClass("wait"), fake.ForClaim(claim, c.UID)}, opts...)...)
}

func (w *world) elapsed() time.Duration { return w.Now().Sub(engine.DefaultStart) }

func (w *world) pod(name string) *corev1.Pod {
	w.t.Helper()
	pod, err := w.Store().Pods.Get("default/" + name)
	require.NoError(w.t, err)
	return pod
}

// log is what the scheduler did since the last call: "<time> <verb> <kind>/<key> <changes>" for writes, "<time> <reason>: <text>" for
// Events.
func (w *world) log() []string {
	var lines []string
	for e := range w.trace.Since(w.seen) {
		if e.Actor != actors.Scheduler {
			continue
		}
		at := e.Time.Sub(engine.DefaultStart).String()
		switch e.Type {
		case trace.Emitted:
			lines = append(lines, fmt.Sprintf("%s %s %s: %s", at, e.Object.Key, e.Reason, e.Text))
		case trace.Write:
			line := fmt.Sprintf("%s %s %s", at, e.Verb, e.Object)
			if e.Err != nil {
				line += ": " + e.Err.Error()
			}
			lines = append(lines, line)
		}
	}
	w.seen = w.trace.Seq()
	return lines
}

// want compares what the scheduler did with the lines.
func (w *world) want(why string, lines ...string) {
	w.t.Helper()
	require.Equal(w.t, strings.Join(lines, "\n"), strings.Join(w.log(), "\n"), why)
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
