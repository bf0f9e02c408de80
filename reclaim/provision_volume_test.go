package reclaim_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/actors"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/objects"
	"github.com/volsim/volsim/internal/core/options"
	"github.com/volsim/volsim/internal/core/sidecar"
	"github.com/volsim/volsim/internal/proof/rig"
	"github.com/volsim/volsim/reclaim"
	"github.com/volsim/volsim/storage"
	"github.com/volsim/volsim/trace"
)

func TestResponsible(t *testing.T) {
	mine := func(name string) bool { return name == driverName || name == "kubernetes.io/disk" }
	tests := []struct {
		rule, name string
		pv         *corev1.PersistentVolume
		want       bool
	}{
		{"XPROV-050", "provisioned by the driver", newVolume(annotated(objects.AnnProvisionedBy, driverName)), true},
		{"XPROV-050", "provisioned under another of its names (edge 29)", newVolume(annotated(objects.AnnProvisionedBy, "kubernetes.io/disk")),
			true},
		{"XPROV-050", "provisioned by another, but migrated to the driver",
			newVolume(annotated(objects.AnnProvisionedBy, "kubernetes.io/other"), annotated(objects.AnnMigratedTo, driverName)), true},
		{"XPROV-050", "provisioned by another, with the driver's source",
			newVolume(csi(driverName), annotated(objects.AnnProvisionedBy, "other.example.com")), false},
		{"XPROV-050", "an empty annotation counts", newVolume(csi(driverName), annotated(objects.AnnProvisionedBy, "")), false},
		{"XPROV-050", "static CSI", newVolume(csi(driverName)), true},
		{"XPROV-050", "static CSI of another driver, migrated", newVolume(csi("other.example.com"),
			annotated(objects.AnnMigratedTo, driverName)), false},
		{"XPROV-050", "static in-tree, migrated", newVolume(annotated(objects.AnnMigratedTo, driverName)), true},
		{"XPROV-050", "static in-tree", newVolume(), false},
	}
	for _, test := range tests {
		t.Run(test.rule+" "+test.name, func(t *testing.T) {
			if got := reclaim.Responsible(test.pv, mine); got != test.want {
				t.Errorf("Responsible = %v, want %v", got, test.want)
			}
		})
	}
}

func TestExternalVolume(t *testing.T) {
	const external, protection = objects.ExternalFinalizer, objects.VolumeProtectionFinalizer
	retain := policy(corev1.PersistentVolumeReclaimRetain)
	bound := phase(corev1.VolumeBound)
	mine := csi(driverName)
	broken := storage.Errorf(storage.Internal, "broken")
	attached := &storagev1.VolumeAttachment{
		ObjectMeta: metav1.ObjectMeta{Name: "va"},
		Spec: storagev1.VolumeAttachmentSpec{Attacher: driverName, NodeName: "n1",
			Source: storagev1.VolumeAttachmentSource{PersistentVolumeName: ptr("pv1")}},
	}
	noFinalizer := setup{options: options.Provisioner{NoFinalizer: true}}
	mark := "delete PersistentVolume/pv1"
	patch := "patch PersistentVolume/pv1"
	tests := []struct {
		rule, name string
		pv         *corev1.PersistentVolume
		cfg        setup
		driver     driver
		objects    []api.Object
		prepare    func(w *fixture)
		calls      []string
		writes     []string
		events     []string
		finalizers []string
		gone       bool
		fails      bool // within half a second
	}{
		{rule: "XPROV-050", name: "not responsible: nothing", pv: newVolume(csi("other.example.com"), finalizers(external)),
			finalizers: []string{external}},

		{rule: "XPROV-051", name: "Bound, Delete: added, to a static volume too (edge 13)", pv: newVolume(mine, bound), writes: []string{patch},
			finalizers: []string{protection, external}},
		{rule: "XPROV-051", name: "Bound, Delete, terminating: not added", pv: newVolume(mine, bound, terminating),
			finalizers: []string{protection}},
		{rule: "XPROV-051", name: "Available: not added (edge 13)", pv: newVolume(mine, phase(corev1.VolumeAvailable)),
			finalizers: []string{protection}},
		{rule: "XPROV-051", name: "Retain: removed in any phase", pv: newVolume(mine, retain, finalizers(external, protection)),
			writes: []string{patch}, finalizers: []string{protection}},
		{rule: "XPROV-051", name: "Recycle: removed", pv: newVolume(mine, recycled, bound, finalizers(protection, external)),
			writes: []string{patch}, finalizers: []string{protection}},
		{rule: "XPROV-051", name: "an unknown policy: neither", pv: newVolume(mine, policy("Shred"), bound, finalizers(external)),
			finalizers: []string{external}},
		{rule: "XPROV-051", name: "disabled: removed", pv: newVolume(mine, bound, finalizers(protection, external)), cfg: noFinalizer,
			writes: []string{patch}, finalizers: []string{protection}},
		{rule: "XPROV-051", name: "the write fails", pv: newVolume(mine, bound),
			prepare: func(w *fixture) { w.fail(actorName, "patch PersistentVolume", broken) }, finalizers: []string{protection}, fails: true},
		{rule: "RECL-045", name: "Retain frees a marked volume without a call", pv: newVolume(mine, retain, terminating, finalizers(external)),
			writes: []string{patch}, gone: true},

		{rule: "XPROV-052", name: "Released, Delete", pv: newVolume(mine, finalizers(external, protection)),
			calls: []string{"Delete pv1-handle"}, writes: []string{mark, patch}, finalizers: []string{protection}},
		{rule: "XPROV-052", name: "marked, with the finalizer (edge 11)", pv: newVolume(mine, terminating, finalizers(external, protection)),
			calls: []string{"Delete pv1-handle"}, writes: []string{patch}, finalizers: []string{protection}},
		{rule: "XPROV-052", name: "marked, without it: deleted already (edge 12)", pv: newVolume(mine, terminating),
			finalizers: []string{protection}},
		{rule: "XPROV-052", name: "disabled, marked: dealt with", pv: newVolume(mine, terminating), cfg: noFinalizer,
			finalizers: []string{protection}},
		{rule: "XPROV-052", name: "Failed: never (edge 1)", pv: newVolume(mine, phase(corev1.VolumeFailed), finalizers(external)),
			finalizers: []string{external}},
		{rule: "XPROV-052", name: "Retain: never", pv: newVolume(mine, retain), finalizers: []string{protection}},
		{rule: "RECL-046", name: "an Available volume keeps its finalizer when it is deleted",
			pv: newVolume(mine, terminating, phase(corev1.VolumeAvailable), finalizers(external)), finalizers: []string{external}},

		{rule: "XPROV-053", name: "ignored by the driver", pv: newVolume(mine, finalizers(external)),
			driver: driver{deletes: []error{fmt.Errorf("%w: not here", reclaim.ErrIgnored)}},
			calls:  []string{"Delete pv1-handle"}, finalizers: []string{external}},
		{rule: "XPROV-053", name: "the driver fails: an Event, still Released (edge 1)", pv: newVolume(mine, finalizers(external)),
			driver: driver{deletes: []error{broken}},
			calls:  []string{"Delete pv1-handle"}, events: []string{"Warning VolumeFailedDelete: " + broken.Error()},
			finalizers: []string{external}, fails: true},
		{rule: "XPROV-053", name: "not a volume of CSI, whatever it says",
			pv:     newVolume(annotated(objects.AnnProvisionedBy, driverName), finalizers(external)),
			events: []string{"Warning VolumeFailedDelete: invalid CSI PV"}, finalizers: []string{external}, fails: true},
		{rule: "XPROV-053", name: "a provisioner of other storage does not look at the source",
			pv:  newVolume(annotated(objects.AnnProvisionedBy, driverName)),
			cfg: setup{options: options.Provisioner{NoFinalizer: true, AnySource: true}}, calls: []string{"Delete pv1"}, writes: []string{mark},
			finalizers: []string{protection}},
		{rule: "XPROV-053", name: "the volume cannot be deleted", pv: newVolume(mine, finalizers(external)),
			prepare: func(w *fixture) { w.fail(actorName, "delete PersistentVolume", broken) },
			calls:   []string{"Delete pv1-handle"}, finalizers: []string{external}, fails: true},
		{rule: "XPROV-053", name: "no finalizers: gone with the delete", pv: newVolume(mine, finalizers()),
			calls: []string{"Delete pv1-handle"}, writes: []string{mark}, gone: true},
		{rule: "XPROV-053", name: "only the external finalizer: gone with the patch", pv: newVolume(mine, finalizers(external)),
			calls: []string{"Delete pv1-handle"}, writes: []string{mark, patch}, gone: true},
		{rule: "XPROV-053", name: "Released without the external finalizer", pv: newVolume(mine),
			calls: []string{"Delete pv1-handle"}, writes: []string{mark}, finalizers: []string{protection}},
		{rule: "XPROV-053", name: "disabled: no patch", pv: newVolume(mine), cfg: noFinalizer,
			calls: []string{"Delete pv1-handle"}, writes: []string{mark}, finalizers: []string{protection}},
		{rule: "XPROV-053", name: "the patch fails: again, since the mark is an event", pv: newVolume(mine, finalizers(external)),
			prepare: func(w *fixture) { w.fail(actorName, "patch PersistentVolume", broken) },
			calls:   []string{"Delete pv1-handle", "Delete pv1-handle"}, writes: []string{mark}, finalizers: []string{external}, fails: true},

		{rule: "XPROV-054", name: "still attached: an Event, and no call", pv: newVolume(mine, finalizers(external)),
			driver: driver{attaches: true}, objects: []api.Object{attached},
			events:     []string{"Warning VolumeFailedDelete: persistentvolume pv1 is still attached to node n1"},
			finalizers: []string{external}, fails: true},
		{rule: "XPROV-054", name: "a driver that does not attach does not ask", pv: newVolume(mine, finalizers()),
			objects: []api.Object{attached},
			calls:   []string{"Delete pv1-handle"}, writes: []string{mark}, gone: true},
	}
	for _, test := range tests {
		t.Run(test.rule+" "+test.name, func(t *testing.T) {
			w := newProvisionerFixture(t, &test.driver, test.cfg, test.objects...)
			if test.prepare != nil {
				test.prepare(w)
			}
			w.Load(test.pv)
			start := w.Now()
			w.Advance(time.Millisecond)
			// A volume that is only marked comes by once more, and must not be deleted twice.
			equal(t, "calls", w.calls(0), test.calls)
			equal(t, "writes", w.writes(0), test.writes)
			equal(t, "events", w.events(0), test.events)
			if fails := len(w.failures(start)) > 0; fails != test.fails {
				t.Errorf("the sync failed: %v, want %v", fails, test.fails)
			}
			if test.gone {
				if w.hasVolume("pv1") {
					t.Errorf("the volume is still there: %q", w.volume("pv1").Finalizers)
				}
				return
			}
			equal(t, "finalizers", w.volume("pv1").Finalizers, test.finalizers)
			if got := w.volume("pv1").Status.Phase; got != test.pv.Status.Phase {
				t.Errorf("phase = %s, want %s", got, test.pv.Status.Phase)
			}
		})
	}
}

// XPROV-055: when the API fails after the driver has succeeded everything is done again.
func TestExternalDeleteIsRepeated(t *testing.T) {
	w := newProvisionerFixture(t, &driver{}, setup{})
	failures := 1
	w.faults = append(w.faults, func(c api.Call) api.Fault {
		if c.Verb == "delete" && failures > 0 {
			failures--
			return api.Fault{Err: errors.New("broken")}
		}
		return api.Fault{}
	})
	w.Load(newVolume(csi(driverName), finalizers(objects.ExternalFinalizer)))
	start := w.Now()
	w.settle()
	if got, want := w.attempts(start, "Delete"), []float64{0, 1}; !slices.Equal(got, want) {
		t.Errorf("XPROV-055: calls at %v s, want %v", got, want)
	}
	if w.hasVolume("pv1") {
		t.Errorf("XPROV-055: the volume is still there")
	}
}

// XPROV-056: a volume that goes takes its failures with it.
func TestExternalVolumeGoneForgetsFailures(t *testing.T) {
	broken := storage.Errorf(storage.Internal, "broken")
	w := newProvisionerFixture(t, &driver{deletes: repeat(broken, 20)}, setup{})
	pv := newVolume(csi(driverName), finalizers())
	w.Load(pv)
	w.Advance(10 * time.Second) // attempts at 0, 1, 3, 7 s; the next would be at 15 s
	w.Delete(api.PersistentVolume, "pv1")
	w.settle()
	w.Load(pv)
	start := w.Now()
	before := w.Trace().Seq()
	w.Advance(5 * time.Second)
	var at []float64
	for entry := range w.Trace().Since(before) {
		if entry.Type == trace.Storage {
			at = append(at, entry.Time.Sub(start).Seconds())
		}
	}
	if want := []float64{0, 1, 3}; !slices.Equal(at, want) {
		t.Errorf("XPROV-056: attempts at %v s, want %v", at, want)
	}
}

// XPROV-051: the patch changes one finalizer only, even if others changed meanwhile.
func TestExternalFinalizerPatchKeepsTheOthers(t *testing.T) {
	const external, late, hold = objects.ExternalFinalizer, "example.com/late", "example.com/hold"
	for _, test := range []struct {
		rule, name         string
		opts               []volumeOption
		seen, stored, want []string
	}{
		{"XPROV-051", "added: before what has come, for it is stored nowhere", nil, nil, []string{late}, []string{external, late}},
		{"XPROV-051", "added: what is stored behind those that were there comes last", nil, []string{hold}, []string{hold, late},
			[]string{hold, external, late}},
		{"XPROV-051", "added: what is stored before them comes first", nil, []string{hold}, []string{late, hold}, []string{late, hold, external}},
		{"XPROV-051", "added: what has gone stays away", nil, []string{hold}, nil, []string{external}},
		{"XPROV-051", "removed: what has come stays", []volumeOption{policy(corev1.PersistentVolumeReclaimRetain)}, []string{external},
			[]string{late, external, hold}, []string{late, hold}},
	} {
		t.Run(test.rule+" "+test.name, func(t *testing.T) {
			w := &fixture{Rig: rig.New(t, engine.Config{Latency: time.Second})}
			w.must(reclaim.NewProvisioner(w.Engine, &driver{}, sidecar.Config{}, options.Provisioner{}))
			volume := func(names []string) *corev1.PersistentVolume {
				return newVolume(append([]volumeOption{csi(driverName), phase(corev1.VolumeBound), finalizers(names...)}, test.opts...)...)
			}
			w.Load(volume(test.seen))
			w.Advance(500 * time.Millisecond) // the patch is on its way
			w.Load(volume(test.stored))
			w.settle()
			equal(t, test.rule+": finalizers", w.volume("pv1").Finalizers, test.want)
			var patches []string
			for entry := range w.Trace().Entries() {
				switch {
				case entry.Type == trace.KeyFailed, entry.Type == trace.OperationFailed:
					t.Errorf("%s: the sync failed: %v", test.rule, entry.Err)
				case entry.Type == trace.Write && entry.Verb == "patch" && entry.Old != entry.New:
					patches = append(patches, entry.Time.Sub(engine.DefaultStart).String())
				}
			}
			equal(t, test.rule+": patches, none of which can come too late", patches, []string{"1s"})
		})
	}
}

// R1, the provisioner's half: Released, DeleteVolume, marked, both finalizers go, gone. RECL-042: the finalizer was there from the
// beginning.
func TestExternalVolumeFromClaimToEnd(t *testing.T) {
	w := newProvisionerFixture(t, &driver{}, setup{}, class(), wantedClaim())
	w.must(reclaim.New(w.Engine, actors.PVProtection, nil))
	w.settle()
	if !slices.Contains(w.volume("pvc-u1").Finalizers, objects.ExternalFinalizer) {
		t.Fatalf("RECL-042: finalizers = %q, want the external one from the beginning", w.volume("pvc-u1").Finalizers)
	}
	released := *w.volume("pvc-u1")
	released.Status.Phase = corev1.VolumeReleased
	before := w.Trace().Seq()
	w.Load(&released)
	w.settle()
	if w.hasVolume("pvc-u1") {
		t.Errorf("the volume is still there: %q", w.volume("pvc-u1").Finalizers)
	}
	writes := w.writes(before)
	if len(writes) != 3 || writes[0] != "delete PersistentVolume/pvc-u1" {
		t.Errorf("writes %q, want the mark, then the two finalizers", writes)
	}
	equal(t, "calls", w.calls(before), []string{"Delete h-pvc-u1"})
}
