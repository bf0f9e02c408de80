package podgc_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/internal/controllers/podgc"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/proof/rig"
	"github.com/volsim/volsim/trace"
)

type fixture struct{ *rig.Rig }

func newFixture(t *testing.T, cfg podgc.Config) fixture {
	f := fixture{rig.New(t, engine.Config{})}
	_, err := podgc.New(f.Engine, cfg)
	f.OK(err)
	return f
}

// add loads pods into namespace default.
func (f fixture) add(pods ...*corev1.Pod) {
	f.T.Helper()
	for _, p := range pods {
		p.Namespace, p.Spec.TerminationGracePeriodSeconds, p.Generation = "default", new(int64(30)), 1
		f.Load(p)
	}
}

// log compares the writes of the controller since the mark.
func (f fixture) log(what string, want ...string) {
	f.T.Helper()
	got := f.Log(func(e trace.Entry) string {
		switch pod, _ := e.New.(*corev1.Pod); {
		case e.Type != trace.Write || e.Actor == api.User:
			return ""
		case e.Err != nil:
			return e.Verb + " " + e.Object.Key + " fails"
		case pod == nil:
			return e.Object.Key + " is gone"
		default:
			text := fmt.Sprintf("%s is %s, generation %d", e.Object.Key, pod.Status.Phase, pod.Status.ObservedGeneration)
			for _, c := range pod.Status.Conditions {
				text += ", " + c.Reason
			}
			return text
		}
	})
	f.Want(what, got, want...)
}

func TestOrphans(t *testing.T) {
	f := newFixture(t, podgc.Config{})
	f.Create(fake.Node("n1"), fake.Node("n2"))
	f.add(pod("a", corev1.PodRunning, 1, on("n1")), pod("b", corev1.PodSucceeded, 1, on("n1")), pod("c", corev1.PodRunning, 1, on("n2")))
	f.Advance(25 * time.Second)
	f.Delete(api.Node, "n1")
	f.Advance(50 * time.Second)
	f.log("NODE-072: the quarantine begins with the pass at 40 s")
	f.Advance(10 * time.Second)
	f.log("NODE-070, NODE-073, NODE-074, NODE-076",
		"1m20s default/a is Failed, generation 1, DeletionByPodGC", "1m20s default/a is gone", "1m20s default/b is gone")
	f.Delete(api.Node, "n2")
	f.Advance(30 * time.Second)
	f.Create(fake.Node("n2"))
	f.Advance(10 * time.Minute)
	f.log("NODE-073: the node is back")
}

func TestOrphansWithFaults(t *testing.T) {
	f := newFixture(t, podgc.Config{})
	f.add(pod("a", corev1.PodRunning, 1, on("n1")))
	f.Faults.Fail(fake.Match{Verb: "get", Kind: "Node"}, errors.New("broken")).Times(1)
	f.Advance(70 * time.Second)
	f.log("NODE-073: the node could not be read")
	f.Faults.Fail(fake.Match{Verb: "patch-status", Kind: "Pod"}, errors.New("broken")).Times(1)
	f.Advance(10 * time.Minute)
	f.log("NODE-073, NODE-076: another quarantine for each failure",
		"1m40s patch-status default/a fails", "2m20s default/a is Failed, generation 1, DeletionByPodGC", "2m20s default/a is gone")
}

func TestUnscheduled(t *testing.T) {
	f := newFixture(t, podgc.Config{TerminatedThreshold: 1})
	f.add(pod("waits", corev1.PodPending, 1, deleted), pod("stays", corev1.PodPending, 1))
	f.Advance(25 * time.Second)
	f.log("NODE-075", "20s default/waits is Failed, generation 1", "20s default/waits is gone")
	f.add(pod("old", corev1.PodFailed, 3), pod("new", corev1.PodSucceeded, 2))
	f.Advance(time.Minute)
	f.log("NODE-071", "40s default/old is gone")
}
