package reclaim_test

import (
	"errors"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/backends"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/objects"
	"github.com/volsim/volsim/internal/core/options"
	"github.com/volsim/volsim/internal/proof/rig"
	"github.com/volsim/volsim/reclaim"
	"github.com/volsim/volsim/storage"
	"github.com/volsim/volsim/trace"
)

// ebs is a migration table with one entry.
func ebs(plugin string) (string, bool) {
	if plugin == "kubernetes.io/aws-ebs" {
		return "ebs.csi.aws.com", true
	}
	return "", false
}

func TestReclaimDispatch(t *testing.T) {
	tests := []struct {
		rule, name string
		pv         *corev1.PersistentVolume
		claims     []*corev1.PersistentVolumeClaim
		writes     []string
		events     []string
		calls      []string
	}{
		{rule: "RECL-001", name: "a migrated volume is the external provisioner's, whatever the policy (edge 17)",
			pv: newVolume(annotated(objects.AnnMigratedTo, "ebs.csi.aws.com"), policy("Unknown"))},
		{rule: "RECL-001", name: "an empty migrated-to does not count for the dispatch",
			pv:     newVolume(annotated(objects.AnnMigratedTo, ""), policy("Unknown")),
			writes: []string{"update-status PersistentVolume/pv1"},
			events: []string{"Warning VolumeUnknownReclaimPolicy: Volume has unrecognized PersistentVolumeReclaimPolicy"}},
		{rule: "RECL-002", name: "Retain does nothing",
			pv: newVolume(policy(corev1.PersistentVolumeReclaimRetain))},
		{rule: "RECL-003", name: "Recycle recycles",
			pv:     newVolume(policy(corev1.PersistentVolumeReclaimRecycle)),
			calls:  []string{"Recycle pv1"},
			writes: []string{"update PersistentVolume/pv1", "update-status PersistentVolume/pv1"},
			events: []string{"Normal VolumeRecycled: Volume recycled"}},
		{rule: "RECL-004", name: "Delete deletes",
			pv:     newVolume(finalizers()),
			calls:  []string{"Delete pv1"},
			writes: []string{"delete PersistentVolume/pv1"}},
		{rule: "RECL-005", name: "any other policy fails the volume",
			pv:     newVolume(policy("Shred")),
			writes: []string{"update-status PersistentVolume/pv1"},
			events: []string{"Warning VolumeUnknownReclaimPolicy: Volume has unrecognized PersistentVolumeReclaimPolicy"}},
	}
	for _, test := range tests {
		t.Run(test.rule+" "+test.name, func(t *testing.T) {
			w := newFixture(t, options.Reclaimer{}, &plugin{name: "kubernetes.io/host-path"})
			w.Load(test.pv)
			if err := w.reclaim("pv1"); err != nil {
				t.Errorf("Reclaim: %v, want nil", err)
			}
			equal(t, "calls", w.calls(0), test.calls)
			equal(t, "writes", w.writes(0), test.writes)
			equal(t, "events", w.events(0), test.events)
		})
	}
}

// RECL-005: the sync fails with the write.
func TestReclaimUnknownPolicyWriteFailure(t *testing.T) {
	w := newFixture(t, options.Reclaimer{})
	w.Load(newVolume(policy("Shred")))
	broken := errors.New("broken")
	w.fail(hostName, "update-status PersistentVolume", broken)
	if err := w.reclaim("pv1"); !errors.Is(err, broken) {
		t.Errorf("Reclaim = %v, want %v", err, broken)
	}
	equal(t, "events", w.events(0), nil)
}

// RECL-006: what counts is the policy of the version that is synced. RECL-007: the operation works on that very version.
func TestReclaimTakesTheVersionOfTheSync(t *testing.T) {
	w := newFixture(t, options.Reclaimer{}, &plugin{name: "kubernetes.io/host-path"})
	w.Load(newVolume(policy(corev1.PersistentVolumeReclaimRetain)))
	if err := w.reclaim("pv1"); err != nil {
		t.Fatalf("Reclaim: %v", err)
	}
	equal(t, "RECL-006: calls under Retain", w.calls(0), nil)

	edited := *w.volume("pv1")
	edited.Spec.PersistentVolumeReclaimPolicy = corev1.PersistentVolumeReclaimDelete
	edited.Spec.HostPath = &corev1.HostPathVolumeSource{Path: "/tmp/captured"}
	w.Load(&edited)
	captured := w.volume("pv1")
	later := *captured
	later.Labels = map[string]string{"later": "yes"}
	w.Load(&later)
	if err := w.reclaimAs(captured); err != nil {
		t.Fatalf("Reclaim: %v", err)
	}
	equal(t, "RECL-007: calls under Delete", w.calls(0), []string{"Delete pv1"})
}

// RECL-008: a start that is dropped is no error, and nothing is started twice.
func TestReclaimStartDropped(t *testing.T) {
	b := &plugin{name: "kubernetes.io/host-path", err: map[storage.Op]error{storage.Delete: errors.New("broken")}}
	w := newFixture(t, options.Reclaimer{}, b)
	w.Load(newVolume())
	w.actor.Go("syncs", func(p *engine.Process) {
		for range 3 {
			// The first starts the operation; it is running at the second; at the third it backs off.
			if err := w.reclaimer.Reclaim(p, w.volume("pv1")); err != nil {
				t.Errorf("Reclaim: %v, want nil", err)
			}
			p.Sleep(0)
		}
	})
	w.settle()
	equal(t, "calls", w.calls(0), []string{"Delete pv1"})
	if !w.decided(0, "RECL-008") {
		t.Errorf("no decision by RECL-008")
	}
}

func TestFinalizers(t *testing.T) {
	const (
		inTree     = objects.InTreeFinalizer
		external   = objects.ExternalFinalizer
		protection = objects.VolumeProtectionFinalizer
	)
	retain, remove := policy(corev1.PersistentVolumeReclaimRetain), policy(corev1.PersistentVolumeReclaimDelete)
	recycle := policy(corev1.PersistentVolumeReclaimRecycle)
	plugin := annotated(objects.AnnProvisionedBy, "kubernetes.io/host-path")
	driver := annotated(objects.AnnProvisionedBy, "disk.example.com")
	migrated := annotated(objects.AnnProvisionedBy, "kubernetes.io/aws-ebs")
	tests := []struct {
		rule, name string
		pv         *corev1.PersistentVolume
		want       []string
		changed    bool
	}{
		{rule: "RECL-040", name: "static, Delete (edge 14)", pv: newVolume(remove, finalizers(protection)), want: []string{protection}},
		{rule: "RECL-040", name: "static keeps what it has", pv: newVolume(retain, finalizers(inTree, external)),
			want: []string{inTree, external}},
		{rule: "RECL-040", name: "migrated, Delete", pv: newVolume(remove, migrated, finalizers(inTree, external)), want: []string{external},
			changed: true},
		{rule: "RECL-040", name: "migrated, Retain", pv: newVolume(retain, migrated, finalizers(external, inTree)), want: []string{external},
			changed: true},
		{rule: "RECL-040", name: "migrated, nothing to remove", pv: newVolume(remove, migrated, finalizers(external)), want: []string{external}},
		{rule: "RECL-040", name: "driver, Delete", pv: newVolume(remove, driver, finalizers(external)), want: []string{external}},
		{rule: "RECL-040", name: "driver, Retain", pv: newVolume(retain, driver, finalizers(inTree, external)), want: []string{inTree, external}},
		{rule: "RECL-040", name: "in-tree, Delete, missing", pv: newVolume(remove, plugin, finalizers(protection)),
			want: []string{protection, inTree}, changed: true},
		{rule: "RECL-040", name: "in-tree, Delete, present", pv: newVolume(remove, plugin, finalizers(inTree)), want: []string{inTree}},
		{rule: "RECL-040", name: "in-tree, Delete, sheds the external one", pv: newVolume(remove, plugin, finalizers(external, inTree)),
			want: []string{inTree}, changed: true},
		{rule: "RECL-040", name: "in-tree, Retain", pv: newVolume(retain, plugin, finalizers(inTree, protection, external)),
			want: []string{protection}, changed: true},
		{rule: "RECL-040", name: "in-tree, Recycle", pv: newVolume(recycle, plugin, finalizers(inTree)), changed: true},
		{rule: "RECL-040", name: "in-tree, unknown policy sheds the external one only",
			pv: newVolume(policy("Shred"), plugin, finalizers(inTree, external)), want: []string{inTree}, changed: true},
		{rule: "RECL-041", name: "phase and deletionTimestamp do not count",
			pv: newVolume(remove, plugin, phase(corev1.VolumeFailed), terminating), want: []string{protection, inTree}, changed: true},
		{rule: "RECL-045", name: "Retain frees a volume that is being deleted", pv: newVolume(retain, plugin, terminating, finalizers(inTree)),
			changed: true},
	}
	reclaimer := reclaim.NewReclaimer(nil, nil, options.Reclaimer{Migration: ebs})
	for _, test := range tests {
		t.Run(test.rule+" "+test.name, func(t *testing.T) {
			before := slices.Clone(test.pv.Finalizers)
			got, changed := reclaimer.Finalizers(test.pv)
			if !slices.Equal(got, test.want) || changed != test.changed {
				t.Errorf("Finalizers = %q, %v; want %q, %v", got, changed, test.want, test.changed)
			}
			if !slices.Equal(before, test.pv.Finalizers) {
				t.Errorf("Finalizers modified its argument: %q, was %q", test.pv.Finalizers, before)
			}
		})
	}
}

// RECL-040: without a migration table no plugin is migrated.
func TestFinalizersWithoutMigration(t *testing.T) {
	pv := newVolume(annotated(objects.AnnProvisionedBy, "kubernetes.io/aws-ebs"), finalizers())
	got, changed := reclaim.NewReclaimer(nil, nil, options.Reclaimer{}).Finalizers(pv)
	if want := []string{objects.InTreeFinalizer}; !slices.Equal(got, want) || !changed {
		t.Errorf("Finalizers = %q, %v; want %q, true", got, changed, want)
	}
}

func TestReleased(t *testing.T) {
	claims := map[string]*corev1.PersistentVolumeClaim{
		"default/unbound": newClaim("unbound", "u1", ""),
		"default/mine":    newClaim("mine", "u1", "pv1"),
		"default/other":   newClaim("other", "u1", "pv2"),
	}
	own := func(key string) (*corev1.PersistentVolumeClaim, bool) { claim, ok := claims[key]; return claim, ok }
	ref := func(name, uid string) volumeOption {
		return claimRef(&corev1.ObjectReference{Namespace: "default", Name: name, UID: types.UID(uid)})
	}
	tests := []struct {
		rule, name string
		pv         *corev1.PersistentVolume
		want       bool
	}{
		{"RECL-010", "no claimRef", newVolume(claimRef(nil)), false},
		{"RECL-010", "claimRef without uid", newVolume(ref("gone", "")), false},
		{"RECL-010", "same uid, no volumeName (edge 7)", newVolume(ref("unbound", "u1")), false},
		{"RECL-010", "same uid, this volume", newVolume(ref("mine", "u1")), false},
		{"RECL-010", "same uid, another volume", newVolume(ref("other", "u1")), true},
		{"RECL-010", "claim absent", newVolume(ref("gone", "u1")), true},
		{"RECL-010", "claim of that name with another uid", newVolume(ref("mine", "u2")), true},
		{"RECL-010", "the phase does not count", newVolume(ref("mine", "u1"), phase(corev1.VolumeReleased)), false},
	}
	for _, test := range tests {
		t.Run(test.rule+" "+test.name, func(t *testing.T) {
			if got := reclaim.IsReleased(test.pv, own); got != test.want {
				t.Errorf("Released = %v, want %v", got, test.want)
			}
		})
	}
}

func TestFindDeleter(t *testing.T) {
	disk := &plugin{name: "kubernetes.io/host-path"}
	share := &plugin{name: "kubernetes.io/nfs", cannot: []storage.Op{storage.Delete},
		supports: func(s *corev1.PersistentVolumeSource) bool { return s != nil && s.NFS != nil }}
	set := rig.Backends(t, disk, share)
	iscsi := func(pv *corev1.PersistentVolume) {
		pv.Spec.PersistentVolumeSource = corev1.PersistentVolumeSource{ISCSI: &corev1.ISCSIPersistentVolumeSource{}}
	}
	tests := []struct {
		rule, name string
		pv         *corev1.PersistentVolume
		want       string // plugin; "" is external
		err        string
	}{
		{rule: "RECL-030", name: "provisioned by a plugin that can delete",
			pv: newVolume(nfs, annotated(objects.AnnProvisionedBy, "kubernetes.io/host-path")), want: "kubernetes.io/host-path"},
		{rule: "RECL-031", name: "provisioned by a driver", pv: newVolume(annotated(objects.AnnProvisionedBy, "disk.example.com"))},
		{rule: "RECL-032", name: "provisioned by a plugin that is not there",
			pv: newVolume(annotated(objects.AnnProvisionedBy, "kubernetes.io/gone")), err: "no volume plugin matched name: kubernetes.io/gone"},
		{rule: "RECL-032", name: "provisioned by a plugin that cannot delete",
			pv: newVolume(annotated(objects.AnnProvisionedBy, "kubernetes.io/nfs")), err: "no deletable volume plugin matched"},
		{rule: "RECL-032", name: "migrated-to comes after provisioned-by",
			pv: newVolume(annotated(objects.AnnProvisionedBy, "kubernetes.io/gone"),
				annotated(objects.AnnMigratedTo, "d")), err: "no volume plugin matched name: kubernetes.io/gone"},
		{rule: "RECL-033", name: "migrated-to, even when empty", pv: newVolume(annotated(objects.AnnMigratedTo, ""))},
		{rule: "RECL-033", name: "an empty provisioned-by counts as none",
			pv: newVolume(annotated(objects.AnnProvisionedBy, ""), annotated(objects.AnnMigratedTo, "d"))},
		{rule: "RECL-034", name: "static CSI", pv: newVolume(csi("disk.example.com"))},
		{rule: "RECL-035", name: "by source", pv: newVolume(), want: "kubernetes.io/host-path"},
		{rule: "RECL-036", name: "NFS is known but cannot delete", pv: newVolume(nfs),
			err: `error getting deleter volume plugin for volume "pv1": no deletable volume plugin matched`},
		{rule: "RECL-036", name: "iSCSI has no deleter", pv: newVolume(iscsi),
			err: `error getting deleter volume plugin for volume "pv1": no volume plugin matched`},
	}
	for _, test := range tests {
		t.Run(test.rule+" "+test.name, func(t *testing.T) {
			got, rule, err := reclaim.FindDeleter(set, test.pv)
			name := ""
			if got != nil {
				name = got.Name()
			}
			text := ""
			if err != nil {
				text = err.Error()
			}
			if name != test.want || text != test.err {
				t.Errorf("FindDeleter = %q by %s, error %q; want %q, error %q", name, rule, text, test.want, test.err)
			}
			if rule != test.rule && test.rule != "RECL-036" {
				t.Errorf("FindDeleter decided by %s, want %s", rule, test.rule)
			}
		})
	}
}

func TestDeleteOperation(t *testing.T) {
	broken := errors.New("broken")
	noPlugin := `error getting deleter volume plugin for volume "pv1": no volume plugin matched`
	tests := []struct {
		rule, name string
		pv         *corev1.PersistentVolume
		noBackend  bool
		plugin     plugin
		prepare    func(w *fixture)
		writes     []string
		events     []string
		calls      []string
		phase      corev1.PersistentVolumePhase // "" is gone
		backoff    bool                         // a second start 1 ms later is dropped
	}{
		{rule: "RECL-020", name: "no plugin: Failed, no backoff (edge 4)", pv: newVolume(), noBackend: true,
			writes: []string{"update-status PersistentVolume/pv1"}, events: []string{"Warning VolumeFailedDelete: " + noPlugin},
			phase: corev1.VolumeFailed},
		{rule: "RECL-020", name: "no plugin, and the write fails: backoff", pv: newVolume(), noBackend: true,
			prepare: func(w *fixture) { w.fail(hostName, "update-status PersistentVolume", broken) },
			phase:   corev1.VolumeReleased, backoff: true},
		{rule: "RECL-021", name: "external: nothing at all (edge 17)", pv: newVolume(csi("disk.example.com")), phase: corev1.VolumeReleased},
		{rule: "RECL-022", name: "the volume cannot be read", pv: newVolume(),
			prepare: func(w *fixture) { w.fail(hostName, "get PersistentVolume", broken) }, phase: corev1.VolumeReleased},
		{rule: "RECL-023", name: "claimed again meanwhile (edge 6)", pv: newVolume(),
			prepare: func(w *fixture) { w.host.own["default/c1"] = newClaim("c1", "u1", "pv1") }, phase: corev1.VolumeReleased},
		{rule: "RECL-024", name: "success without finalizers", pv: newVolume(finalizers()),
			calls: []string{"Delete pv1"}, writes: []string{"delete PersistentVolume/pv1"}},
		{rule: "RECL-025", name: "the in-tree finalizer goes first, then the volume is marked",
			pv:    newVolume(finalizers(objects.VolumeProtectionFinalizer, objects.InTreeFinalizer)),
			calls: []string{"Delete pv1"}, writes: []string{"update PersistentVolume/pv1",
				"delete PersistentVolume/pv1"}, phase: corev1.VolumeReleased},
		{rule: "RECL-025", name: "finalizer removal fails: Failed, although the asset is gone (edge 16)",
			pv:      newVolume(finalizers(objects.InTreeFinalizer)),
			prepare: func(w *fixture) { w.fail(hostName, "update PersistentVolume", broken) },
			calls:   []string{"Delete pv1"}, writes: []string{"update-status PersistentVolume/pv1"},
			events: []string{"Warning VolumeFailedDelete: persistent volume controller can't update finalizer: broken"},
			phase:  corev1.VolumeFailed, backoff: true},
		{rule: "RECL-026", name: "the volume cannot be deleted: success, no Event", pv: newVolume(finalizers()),
			prepare: func(w *fixture) {
				w.fail(hostName, "delete PersistentVolume",
					broken)
			}, calls: []string{"Delete pv1"}, phase: corev1.VolumeReleased},
		{rule: "RECL-027", name: "the plugin fails", pv: newVolume(), plugin: plugin{err: map[storage.Op]error{storage.Delete: broken}},
			calls: []string{"Delete pv1"}, writes: []string{"update-status PersistentVolume/pv1"},
			events: []string{"Warning VolumeFailedDelete: broken"}, phase: corev1.VolumeFailed, backoff: true},
		{rule: "RECL-027", name: "in use: Normal Event, still Released, but backoff (edge 5)", pv: newVolume(),
			plugin: plugin{err: map[storage.Op]error{storage.Delete: backends.VolumeInUse("busy")}},
			calls:  []string{"Delete pv1"}, events: []string{"Normal VolumeDelete: busy"}, phase: corev1.VolumeReleased, backoff: true},
		{rule: "RECL-027", name: "already Failed: no Event and no write (edge 3)", pv: newVolume(phase(corev1.VolumeFailed)),
			plugin: plugin{err: map[storage.Op]error{storage.Delete: broken}},
			calls:  []string{"Delete pv1"}, phase: corev1.VolumeFailed, backoff: true},
		{rule: "RECL-027", name: "the phase write fails as well", pv: newVolume(),
			plugin:  plugin{err: map[storage.Op]error{storage.Delete: broken}},
			prepare: func(w *fixture) { w.fail(hostName, "update-status PersistentVolume", broken) },
			calls:   []string{"Delete pv1"}, phase: corev1.VolumeReleased, backoff: true},
		{rule: "RECL-028", name: "success emits no Event", pv: newVolume(),
			calls: []string{"Delete pv1"}, writes: []string{"delete PersistentVolume/pv1"}, phase: corev1.VolumeReleased},
		{rule: "RECL-038", name: "a missing plugin is silent once Failed", pv: newVolume(phase(corev1.VolumeFailed)), noBackend: true,
			phase: corev1.VolumeFailed},
		{rule: "RECL-043", name: "deletionTimestamp does not stop the deletion (edge 11)",
			pv:    newVolume(terminating, finalizers(objects.InTreeFinalizer)),
			calls: []string{"Delete pv1"}, writes: []string{"update PersistentVolume/pv1"}},
	}
	for _, test := range tests {
		t.Run(test.rule+" "+test.name, func(t *testing.T) {
			var backends []storage.Backend
			if !test.noBackend {
				test.plugin.name = "kubernetes.io/host-path"
				backends = append(backends, &test.plugin)
			}
			w := newFixture(t, options.Reclaimer{}, backends...)
			w.Load(test.pv)
			if test.prepare != nil {
				test.prepare(w)
			}
			pv := w.volume("pv1")
			restarted := true
			w.actor.Go("volume sync", func(p *engine.Process) {
				if err := w.reclaimer.Reclaim(p, pv); err != nil {
					t.Errorf("Reclaim: %v, want nil", err)
				}
			})
			w.Advance(0)
			before := w.Trace().Seq()
			w.actor.Go("next sync", func(p *engine.Process) {
				restarted = w.host.Operations().Run(engine.OperationKey{Volume: "delete-pv1[pv1-uid]"}, "delete-pv1[pv1-uid]",
					func(*engine.Process) error { return nil }) == nil
			})
			w.settle()

			equal(t, "calls", w.calls(0), test.calls)
			equal(t, "writes", w.writes(0), test.writes)
			equal(t, "events", w.events(0), test.events)
			if restarted == test.backoff {
				t.Errorf("backoff = %v, want %v", !restarted, test.backoff)
			}
			if before == 0 {
				t.Errorf("nothing was traced")
			}
			if test.phase == "" {
				if w.hasVolume("pv1") {
					t.Errorf("the volume is still there: %+v", w.volume("pv1").ObjectMeta)
				}
				return
			}
			if got := w.volume("pv1").Status.Phase; got != test.phase {
				t.Errorf("phase = %s, want %s", got, test.phase)
			}
		})
	}
}

// RECL-022: the volume is gone by the time the operation begins. RECL-029: its phase is written on the captured version, so a
// change in between is a conflict: no Event, not Failed, and backoff (RECL-039).
func TestDeleteOperationRaces(t *testing.T) {
	t.Run("RECL-022 gone", func(t *testing.T) {
		w := newFixture(t, options.Reclaimer{}, &plugin{name: "kubernetes.io/host-path"})
		w.Load(newVolume(finalizers()))
		pv := w.volume("pv1")
		w.Delete(api.PersistentVolume, "pv1")
		if err := w.reclaimAs(pv); err != nil {
			t.Errorf("Reclaim: %v", err)
		}
		equal(t, "calls", w.calls(0), nil)
		equal(t, "events", w.events(0), nil)
	})
	for _, rule := range []string{"RECL-029", "RECL-039"} {
		t.Run(rule+" changed meanwhile", func(t *testing.T) {
			var backends []storage.Backend
			if rule == "RECL-029" {
				backends = append(backends, &plugin{name: "kubernetes.io/host-path", err: map[storage.Op]error{storage.Delete: errors.New("broken")}})
			}
			w := newFixture(t, options.Reclaimer{}, backends...)
			w.Load(newVolume())
			captured := w.volume("pv1")
			changed := *captured
			changed.Labels = map[string]string{"changed": "yes"}
			w.Load(&changed)
			if err := w.reclaimAs(captured); err != nil {
				t.Errorf("Reclaim: %v", err)
			}
			equal(t, "writes", w.writes(0), nil)
			equal(t, "events", w.events(0), nil)
			if got := w.volume("pv1").Status.Phase; got != corev1.VolumeReleased {
				t.Errorf("phase = %s, want Released", got)
			}
			var failures int
			for entry := range w.Trace().Entries() {
				if entry.Type == trace.OperationFailed {
					failures++
				}
			}
			if failures != 1 {
				t.Errorf("%d operations failed, want 1", failures)
			}
		})
	}
}

// RECL-025: the controller keeps the copy it edited, under the version it read.
func TestDeleteOperationKeepsTheEditedCopy(t *testing.T) {
	w := newFixture(t, options.Reclaimer{}, &plugin{name: "kubernetes.io/host-path"})
	w.Load(newVolume(finalizers(objects.VolumeProtectionFinalizer, objects.InTreeFinalizer)))
	version := w.volume("pv1").ResourceVersion
	if err := w.reclaim("pv1"); err != nil {
		t.Fatalf("Reclaim: %v", err)
	}
	if len(w.host.kept) != 1 {
		t.Fatalf("CacheVolume was called %d times, want once", len(w.host.kept))
	}
	kept := w.host.kept[0]
	if kept.ResourceVersion != version || !slices.Equal(kept.Finalizers, []string{objects.VolumeProtectionFinalizer}) {
		t.Errorf("kept version %s with %q, want version %s without the in-tree finalizer", kept.ResourceVersion, kept.Finalizers, version)
	}
}

// RECL-037: with an instantly failing plugin and a sync every 15 s the attempts come at the ticks at which the backoff is over.
func TestDeleteRetryTimeLine(t *testing.T) {
	b := &plugin{name: "kubernetes.io/host-path", err: map[storage.Op]error{storage.Delete: errors.New("broken")}}
	w := newFixture(t, options.Reclaimer{}, b)
	w.Load(newVolume())
	var attempts []int
	w.actor.Go("resync", func(p *engine.Process) {
		for tick := range 60 {
			before := len(w.calls(0))
			if err := w.reclaimer.Reclaim(p, w.volume("pv1")); err != nil {
				t.Errorf("Reclaim: %v", err)
			}
			p.Sleep(15e9)
			if len(w.calls(0)) > before {
				attempts = append(attempts, tick*15)
			}
		}
	})
	w.Advance(16 * 60e9)
	want := []int{0, 15, 30, 45, 60, 75, 105, 150, 225, 360, 495, 630, 765}
	if !slices.Equal(attempts, want) {
		t.Errorf("attempts at %v s, want %v", attempts, want)
	}
	equal(t, "events", w.events(0), []string{"Warning VolumeFailedDelete: broken"})
}

// A panic of the plugin is a failure like any other (BIND-095).
func TestDeletePanics(t *testing.T) {
	b := &plugin{name: "kubernetes.io/host-path", during: func(storage.Op) { panic("boom") }}
	w := newFixture(t, options.Reclaimer{}, b)
	w.Load(newVolume())
	if err := w.reclaim("pv1"); err != nil {
		t.Fatalf("Reclaim: %v", err)
	}
	equal(t, "events", w.events(0), []string{"Warning VolumeFailedDelete: backend kubernetes.io/host-path: Delete panicked: boom"})
}
