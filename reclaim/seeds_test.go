package reclaim_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/controllers/garbagecollector"
	"github.com/volsim/volsim/internal/core/actors"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/options"
	"github.com/volsim/volsim/internal/core/sidecar"
	"github.com/volsim/volsim/internal/proof/rig"
	"github.com/volsim/volsim/reclaim"
	"github.com/volsim/volsim/storage"
)

// crashEvery makes every nth API call of a controller its end, for a while; half of the calls take effect before that.
func crashEvery(n int) api.Injector {
	calls, crashes := 0, 0
	return engine.InjectorFunc(func(c api.Call) api.Fault {
		calls++
		if n == 0 || calls%n != 0 || crashes == 10 {
			return api.Fault{}
		}
		crashes++
		return api.Fault{Crash: true, Effect: crashes%2 == 0, Restart: time.Duration(crashes) * time.Second}
	})
}

// story runs all controllers of this package over one of everything, and returns the trace as text.
func story(t *testing.T, seed int64, crash int) (string, *fixture) {
	t.Helper()
	w := &fixture{Rig: rig.New(t, engine.Config{Seed: seed, Injector: crashEvery(crash), Latency: time.Duration(seed%3) * time.Millisecond})}
	e := w.Engine
	disk := &plugin{name: "kubernetes.io/host-path", byPod: true}
	w.must(reclaim.New(e, actors.PVProtection, nil))
	w.must(reclaim.New(e, actors.PVCProtection, nil))
	w.must(reclaim.New(e, actors.Ephemeral, nil))
	w.must(garbagecollector.New(e))
	w.must(reclaim.New(e, actors.RecyclerPodRunner, rig.Backends(t, disk)))
	w.must(reclaim.NewProvisioner(e, &driver{creates: []error{storage.Errorf(storage.Aborted, "busy")}}, sidecar.Config{},
		options.Provisioner{}))
	w.Load(class(), deletedClaim("d1"), deletedClaim("d2"), newPod("done", "d1"), ephemeralVolume(newPod("p"), "scratch"),
		newVolume(csi(driverName), named("old")), reclaim.NewRecyclerPod(newVolume(), "default"), wantedClaim())
	w.Advance(10 * time.Minute)
	for _, pod := range []string{"default/done", "default/p"} {
		if _, err := w.Store().Pods.Delete(pod, api.DeleteOptions{GracePeriodSeconds: ptr(int64(0))}); err != nil {
			t.Fatal(err)
		}
	}
	w.Advance(10 * time.Minute)
	var text strings.Builder
	for entry := range w.Trace().Entries() {
		fmt.Fprintln(&text, entry.Time, entry.Actor, entry.Type, entry.Rule, entry.Object, entry.Verb, entry.Reason, entry.Text, entry.Call,
			entry.Err)
	}
	return text.String(), w
}

// Whatever the order of events at one instant, and whichever controller crashes, everything ends where it should, and the same seed is the same
// run.
func TestSeedsAndCrashes(t *testing.T) {
	for _, crash := range []int{0, 2, 3, 7} {
		for seed := range int64(12) {
			first, w := story(t, seed, crash)
			second, _ := story(t, seed, crash)
			if first != second {
				t.Fatalf("seed %d, a crash every %d calls: two runs differ", seed, crash)
			}
			var left []string
			for _, claim := range w.Store().Claims.List() {
				left = append(left, "claim "+claim.Name)
			}
			for _, pv := range w.Store().Volumes.List() {
				left = append(left, "volume "+pv.Name)
			}
			for _, pod := range w.Store().Pods.List() {
				left = append(left, "pod "+pod.Name+" "+string(pod.Status.Phase))
			}
			want := []string{"claim c1", "volume pvc-u1", "pod recycler-for-pv1 " + string(corev1.PodSucceeded)}
			if got := strings.Join(left, ", "); got != strings.Join(want, ", ") {
				t.Errorf("seed %d, a crash every %d calls: left are %s; want %s", seed, crash, got, strings.Join(want, ", "))
			}
		}
	}
}
