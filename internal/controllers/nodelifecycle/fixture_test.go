package nodelifecycle_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/controllers/nodelifecycle"
	"github.com/volsim/volsim/internal/controllers/podgc"
	"github.com/volsim/volsim/internal/controllers/tainteviction"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/leases"
	"github.com/volsim/volsim/internal/proof/rig"
	"github.com/volsim/volsim/trace"
)

// fixture runs the three controllers that act when nodes fail. Kubelets only renew leases.
type fixture struct {
	*rig.Rig
	leases *leases.Book
}

// newFixture starts the controllers named, or all.
func newFixture(t testing.TB, controllers ...string) *fixture {
	t.Helper()
	return newFixtureWith(t, engine.Config{}, controllers...)
}

func newFixtureWith(t testing.TB, cfg engine.Config, controllers ...string) *fixture {
	t.Helper()
	f := &fixture{Rig: rig.New(t, cfg), leases: &leases.Book{}}
	f.controllers(controllers)
	return f
}

func (f *fixture) controllers(names []string) {
	f.T.Helper()
	runs := func(name string) bool { return len(names) == 0 || strings.Contains(strings.Join(names, " "), name) }
	if runs("nodes") {
		_, err := nodelifecycle.New(f.Engine, nodelifecycle.Config{Leases: f.leases})
		f.OK(err)
	}
	if runs("taints") {
		_, err := tainteviction.New(f.Engine, false)
		f.OK(err)
	}
	if runs("pods") {
		_, err := podgc.New(f.Engine, podgc.Config{})
		f.OK(err)
	}
}

// node creates nodes that are ready, in a zone, with kubelets.
func (f *fixture) node(zone string, names ...string) {
	f.T.Helper()
	for _, name := range names {
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
		if zone != "" {
			node.Labels = map[string]string{corev1.LabelTopologyZone: zone}
		}
		node.Status.Conditions = []corev1.NodeCondition{*readyAt(f.Elapsed().Seconds())}
		f.Load(node)
		f.leases.Start(name, f.Now())
	}
}

// ready sets the condition Ready of a node, as its kubelet does.
func (f *fixture) ready(name, status string) {
	f.T.Helper()
	stored, _ := f.Store().Nodes.Lookup(name)
	conditions := append([]corev1.NodeCondition(nil), stored.Status.Conditions...)
	now := metav1.NewTime(f.Now())
	for i := range conditions {
		if c := &conditions[i]; c.Type == corev1.NodeReady {
			if c.Status != corev1.ConditionStatus(status) {
				c.LastTransitionTime = now
			}
			c.Status, c.LastHeartbeatTime = corev1.ConditionStatus(status), now
		}
	}
	node := *stored
	node.Status.Conditions = conditions
	_, err := f.API().Nodes.UpdateStatus(f.User(), &node)
	f.OK(err)
}

// pod creates a running pod that tolerates failures of its node for so many seconds; negative is not at all.
func (f *fixture) pod(name, node string, seconds int64) {
	f.T.Helper()
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, Generation: 1}}
	pod.Spec.NodeName = node
	pod.Spec.Containers = []corev1.Container{{Name: "main", Image: "main"}}
	if seconds >= 0 {
		for _, key := range []string{corev1.TaintNodeNotReady, corev1.TaintNodeUnreachable} {
			pod.Spec.Tolerations = append(pod.Spec.Tolerations, corev1.Toleration{
				Key: key, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute, TolerationSeconds: new(seconds)})
		}
	}
	pod.Spec.TerminationGracePeriodSeconds = new(int64(30))
	pod.Status.Phase = corev1.PodRunning
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	f.Load(pod)
}

// line is one line of the log: an Event, or what a write by a controller changed.
func line(e trace.Entry) string {
	switch {
	case e.Type == trace.Emitted:
		return fmt.Sprintf("%s %s %s: %s", e.Verb, e.Reason, e.Object.Key, e.Text)
	case e.Type != trace.Write || e.Actor == api.User:
		return ""
	case e.Err != nil:
		return fmt.Sprintf("%s %s failed", e.Verb, e.Object.Key)
	case e.New == nil:
		return fmt.Sprintf("%s is gone", e.Object.Key)
	}
	switch obj := e.New.(type) {
	case *corev1.Node:
		var state []string
		for _, c := range obj.Status.Conditions {
			if c.Type == corev1.NodeReady {
				state = append(state, string(c.Status))
			}
		}
		for _, t := range obj.Spec.Taints {
			state = append(state, strings.TrimPrefix(t.Key, "node.kubernetes.io/")+":"+string(t.Effect))
		}
		return obj.Name + " " + strings.Join(state, " ")
	case *corev1.Pod:
		state := []string{string(obj.Status.Phase)}
		for _, c := range obj.Status.Conditions {
			state = append(state, string(c.Type)+"="+string(c.Status))
		}
		if obj.DeletionTimestamp != nil {
			state = append(state, "deleting")
		}
		return api.KeyOf(obj) + " " + strings.Join(state, " ")
	}
	return e.Object.String()
}

// log compares what happened since the mark, with the times since the start.
func (f *fixture) log(what string, want ...string) {
	f.T.Helper()
	got := f.Lines(func(e trace.Entry) string {
		text := line(e)
		if text != "" {
			text = fmt.Sprintf("%v %s", e.Time.Sub(engine.DefaultStart).Seconds(), text)
		}
		return text
	})
	f.Mark()
	f.Want(what, got, want...)
}

// until runs to that second after the start.
func (f *fixture) until(seconds float64) {
	f.Advance(time.Duration(seconds*float64(time.Second)) - f.Elapsed())
}
