package expand_test

import (
	"bytes"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim"
	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/internal/core/actors"
	"github.com/volsim/volsim/storage"
)

// troubled is a fixture in which two sizes and two classes are asked for, while calls fail, replies are lost, events come late and the
// sidecar crashes.
func troubled(t *testing.T, seed int64) *fixture {
	t.Helper()
	resizer := actors.Resizer(driver)
	w := newFixtureWith(t, volsim.Config{
		Seed: seed, Latency: 20 * time.Millisecond, Lag: map[string]time.Duration{resizer: time.Duration(seed%7) * 300 * time.Millisecond},
	}, fake.Without(storage.NodeExpand), fake.Latency(storage.Expand, time.Duration(seed%5)*sec))
	w.must(w.Create(attributes("gold", "iops", "900"), attributes("silver", "iops", "100")))
	w.settle()
	n := int(seed % 6)
	w.Faults.Lose(fake.Match{Verb: "Expand"}, storage.Errorf(storage.Unavailable, "gone")).Once()
	w.Faults.Fail(fake.Match{Verb: "Expand"}, storage.Errorf(storage.Internal, "on fire")).Skip(n).Once()
	w.Faults.Lose(fake.Match{Verb: "Modify"}, storage.Errorf(storage.Aborted, "busy")).Skip(n % 2).Once()
	w.Faults.Fail(fake.Match{Actor: resizer, Verb: "patch-status"}, errSome).Skip(n).Once()
	w.Faults.Crash(fake.Match{Actor: resizer}, sec).Skip(5 + n).Once()
	w.must(w.ask("4Gi"))
	w.be("gold")
	w.advance(time.Duration(seed%9) * sec / 2)
	if w.claim().Status.Capacity.Storage().String() == "1Gi" {
		w.must(w.ask("2Gi"))
	} else {
		w.must(w.ask("5Gi"))
	}
	w.be("silver")
	w.settle()
	return w
}

// EXP-020, VAC-001: in the end the claim has at least the requested size and class, and its status says so.
func TestManyOrders(t *testing.T) {
	for seed := range int64(60) {
		w := troubled(t, seed)
		claim, pv := w.claim(), w.volume()
		request, capacity := claim.Spec.Resources.Requests.Storage(), claim.Status.Capacity.Storage()
		v, _ := w.disk.Volume(w.pv)
		if capacity.Cmp(*request) < 0 || capacity.Cmp(*pv.Spec.Capacity.Storage()) != 0 || v.Size != capacity.Value() {
			t.Errorf("EXP-020: seed %d: the request is %s, the state %s, the size %d", seed, request, w.state(), v.Size)
		}
		for _, condition := range claim.Status.Conditions {
			// VAC-011: one that the sidecar had not received when it was done may stay.
			if condition.Type != corev1.PersistentVolumeClaimVolumeModifyVolumeError {
				t.Errorf("EXP-024: seed %d: the claim still has condition %s", seed, condition.Type)
			}
		}
		if current := claim.Status.CurrentVolumeAttributesClassName; current == nil || *current != "silver" || w.iops() != "100" {
			t.Errorf("VAC-001: seed %d: the state is %s, the volume has %v", seed, w.state(), v.Modified)
		}
	}
}

func TestSameTrace(t *testing.T) {
	text := func() string {
		var b bytes.Buffer
		w := troubled(t, 11)
		w.must(w.Trace().WriteText(&b))
		return b.String()
	}
	require.Equal(t, text(), text())
}

// EXP-020: the sidecar knows its own writes before their events arrive.
func TestOwnWritesAreKnown(t *testing.T) {
	w := newFixtureWith(t, volsim.Config{Lag: map[string]time.Duration{actors.Resizer(driver): 30 * sec}}, fake.Without(storage.NodeExpand))
	w.advance(minute)
	w.Faults.Fail(fake.Match{Verb: "Expand"}, storage.Errorf(storage.Unavailable, "gone")).Times(3)
	w.must(w.ask("2Gi"))
	w.mark()
	w.advance(31 * sec)
	for _, line := range w.log() {
		require.NotContains(t, line, "patch-status", "EXP-020: no conflict with itself")
	}
	w.settle()
	w.wantState("EXP-024", "2Gi, allocated 2Gi, no node | 2Gi")
}
