package nodelifecycle

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/leases"
	"github.com/volsim/volsim/internal/proof/rig"
	"github.com/volsim/volsim/trace"
)

// TestSkippedPasses compares random histories with and without skipped passes: the same happens at the same times (NODE-001, NODE-031, NODE-032).
func TestSkippedPasses(t *testing.T) {
	// The last seeds have nodes that are deleted, or change their conditions, between two passes, or wait for a taint.
	for seed := range slices.Values(append(upTo(150), 1117, 1148, 1214, 1219, 1243)) {
		skipping, every := history(t, seed, false), history(t, seed, true)
		if !slices.Equal(skipping, every) {
			i := 0
			for i < len(skipping) && i < len(every) && skipping[i] == every[i] {
				i++
			}
			t.Fatalf("seed %d: from line %d:\n\t%s\nwithout skipping:\n\t%s", seed, i, strings.Join(skipping[i:], "\n\t"), strings.Join(every[i:], "\n\t"))
		}
	}
}

func upTo(n uint64) []uint64 {
	var seeds []uint64
	for seed := range n {
		seeds = append(seeds, seed)
	}
	return seeds
}

// history runs the controller through a random history and returns what it did.
func history(t *testing.T, seed uint64, everyPass bool) []string {
	r := rig.New(t, engine.Config{})
	book := &leases.Book{}
	if _, err := New(r.Engine, Config{Leases: book, everyPass: everyPass}); err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(seed, 1))
	names := []string{"a1", "a2", "a3", "b1"}[:1+rng.IntN(4)]
	cut := map[string]bool{}
	for range 40 {
		name := names[rng.IntN(len(names))]
		node, exists := r.Store().Nodes.Lookup(name)
		now := metav1.NewTime(r.Now())
		switch pick := rng.IntN(10); {
		case !exists:
			fresh := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{corev1.LabelTopologyZone: name[:1]}}}
			if rng.IntN(3) > 0 {
				fresh.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue, LastHeartbeatTime: now}}
			}
			r.Create(fresh)
		case pick == 0:
			r.Delete(api.Node, name)
		case pick == 1 && !cut[name]:
			cut[name] = true
			book.Stop(name, r.Now())
		case pick == 2 && cut[name]:
			cut[name] = false
			book.Resume(name, r.Now())
		case pick <= 4:
			cut[name] = false
			book.Start(name, r.Now())
		case pick <= 7:
			status := []corev1.ConditionStatus{corev1.ConditionTrue, corev1.ConditionTrue, corev1.ConditionTrue, corev1.ConditionFalse, corev1.ConditionUnknown}[rng.IntN(5)]
			changed := *node
			changed.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: status, LastHeartbeatTime: now}}
			if _, err := r.API().Nodes.UpdateStatus(r.User(), &changed); err != nil {
				t.Fatal(err)
			}
		case pick == 8:
			r.Patch(api.Node, name, fmt.Sprintf(`{"metadata":{"labels":{"topology.kubernetes.io/zone":%q}}}`, []string{"a", "b", "c"}[rng.IntN(3)]))
		}
		r.Advance(time.Duration(rng.IntN(300))*100*time.Millisecond + 37*time.Millisecond)
	}
	r.Advance(10 * time.Minute)
	return r.Lines(func(e trace.Entry) string {
		if e.Actor == api.User || e.Type != trace.Write && e.Type != trace.Emitted {
			return ""
		}
		text := fmt.Sprintf("%v %s %s %s", e.Time.Sub(engine.DefaultStart), e.Verb, e.Object.Key, e.Text)
		if node, ok := e.New.(*corev1.Node); ok {
			for _, taint := range node.Spec.Taints {
				text += " " + taint.ToString()
			}
			for _, c := range node.Status.Conditions {
				text += fmt.Sprintf(" %s=%s", c.Type, c.Status)
			}
		}
		return text
	})
}
