package attach_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/internal/core/actors"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/objects"
)

// history runs pods that come and go, calls that fail and controllers that crash, in an order that the seed chooses, and returns
// the trace. Whatever happens, a volume for one node is never reported as attached to two; in the end the attached volumes are those that pods
// want.
func history(t *testing.T, seed int64) string {
	t.Helper()
	w := prepare(t, func(w *fixture) { w.seed = seed; w.disk = fake.CSI(driver) })
	for i := 2; i <= 4; i++ {
		w.volume(fmt.Sprintf("pv%d", i), fmt.Sprintf("h%d", i), fmt.Sprintf("c%d", i), corev1.ReadWriteOnce)
	}
	w.start()
	w.AfterEvent(func() {
		on := map[corev1.UniqueVolumeName]string{}
		for _, node := range w.Store().Nodes.List() {
			for _, v := range node.Status.VolumesAttached {
				if other, twice := on[v.Name]; twice {
					t.Fatalf("seed %d: ATT-070: %s is attached to %s and %s", seed, v.Name, other, node.Name)
				}
				on[v.Name] = node.Name
			}
		}
	})
	rng := rand.New(rand.NewPCG(uint64(seed), 1))
	pods := map[string]*corev1.Pod{} // by claim
	report := func() {
		for _, node := range []string{"a", "b"} {
			var handles []string
			for i := 1; i <= 4; i++ {
				if pod := pods[fmt.Sprintf("c%d", i)]; pod != nil && pod.Spec.NodeName == node {
					handles = append(handles, fmt.Sprintf("h%d", i))
				}
			}
			w.inUse(node, handles...)
		}
	}
	for i := range 40 {
		claim := fmt.Sprintf("c%d", 1+rng.IntN(4))
		switch old := pods[claim]; {
		case old != nil:
			w.kill(old)
			delete(pods, claim)
		default:
			pods[claim] = w.pod(fmt.Sprintf("p%d", i), []string{"a", "b"}[rng.IntN(2)], claim)
		}
		switch rng.IntN(8) {
		case 0:
			w.Faults.Fail(matchAttach, fakeInternal).Once()
		case 1:
			w.Faults.Fail(matchDetach, fakeInternal).Once()
		case 2:
			w.Faults.Fail(matchNodeList, errBroken).Once()
		case 3:
			w.Faults.Crash(fake.Match{Actor: actors.AttachDetach, Verb: "create", Kind: "VolumeAttachment"}, sec).Once()
		case 4:
			w.Faults.Add(fake.Match{Actor: actors.Attacher(driver), Verb: "patch", Kind: "VolumeAttachment"},
				api.Fault{Crash: true, Effect: true, Restart: sec}).Once()
		}
		w.Advance(time.Duration(rng.IntN(3000)) * ms)
		report()
	}
	w.Faults.Clear()
	// Restarts leave volumes that are assumed to be mounted until their node says something (ATT-044).
	for range 20 {
		w.Advance(minute)
		for _, node := range []string{"a", "b"} {
			w.status(nodeNamed(node), `{"status":{"nodeInfo":{"bootID":"`+w.Now().String()+`"}}}`)
		}
	}
	for i := 1; i <= 4; i++ {
		handle := fmt.Sprintf("h%d", i)
		pod := pods[fmt.Sprintf("c%d", i)]
		for _, node := range []string{"a", "b"} {
			want := pod != nil && pod.Spec.NodeName == node
			_, va := w.Store().Attachments.Lookup(objects.AttachmentName(handle, driver, node))
			if got := slices.Contains(w.attached(node), handle); got != want || va != want {
				t.Errorf("seed %d: %s attached to %s: %v, with a VolumeAttachment: %v, want both %v", seed, handle, node, got, va, want)
			}
		}
	}
	var trace strings.Builder
	for e := range w.Trace().Entries() {
		fmt.Fprintf(&trace, "%v %s %s %s %s %s %v\n", e.Time.Sub(engine.DefaultStart), e.Actor, e.Type, e.Verb, e.Object, e.Text, e.Err)
	}
	return trace.String()
}

func TestHistories(t *testing.T) {
	for seed := int64(0); seed < 25; seed++ {
		if first, second := history(t, seed), history(t, seed); first != second {
			t.Errorf("seed %d: two runs are not the same", seed)
		}
	}
}
