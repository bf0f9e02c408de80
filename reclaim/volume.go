package reclaim

import (
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/internal/core/backends"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/klog"
	"github.com/volsim/volsim/internal/core/objects"
	"github.com/volsim/volsim/internal/core/options"
	"github.com/volsim/volsim/internal/core/pvcontroller"
)

// reclaimer is the half of the PersistentVolume controller that applies reclaim policies and decides about the in-tree deletion finalizer.
// It has no state: caches and operations are those of the host.
type reclaimer struct {
	host      pvcontroller.Host
	backends  *backends.Set
	migrated  func(plugin string) (driver string, ok bool)
	namespace string
	scheduler string
	// deletes and recycles are the operations on a released volume.
	deletes, recycles func(*engine.Process) error
	// The loggers of pv_controller.go and pv_controller_base.go.
	log, base *klog.Logger
}

func volumeName(pv *corev1.PersistentVolume) klog.Attr { return klog.String("volumeName", pv.Name) }

// NewReclaimer is for package volsim: callers use volsim.New.
// It returns the half of the PersistentVolume controller that applies reclaim policies, for the half that is the host. A nil set
// has no backends.
func NewReclaimer(host pvcontroller.Host, set *backends.Set, opts options.Reclaimer) pvcontroller.Reclaimer {
	r := &reclaimer{host: host, backends: set, migrated: opts.Migration, namespace: opts.RecyclerNamespace, scheduler: opts.RecyclerScheduler}
	if host != nil {
		r.log, r.base = host.Loggers()
	}
	r.deletes = func(p *engine.Process) error { return r.deleteVolume(p, p.About().(*corev1.PersistentVolume)) }
	r.recycles = func(p *engine.Process) error { return r.recycleVolume(p, p.About().(*corev1.PersistentVolume)) }
	if r.backends == nil {
		r.backends = &backends.Set{}
	}
	if r.migrated == nil {
		r.migrated = func(string) (string, bool) { return "", false }
	}
	if r.namespace == "" {
		r.namespace = corev1.NamespaceDefault
	}
	return r
}

// Reclaim applies the reclaim policy of a released volume (RECL-001 to RECL-008). Each sync that finds a volume released calls it. The work
// runs in the background. It returns an error if a phase could not be written.
func (r *reclaimer) Reclaim(p *engine.Process, pv *corev1.PersistentVolume) error {
	// RECL-001: a migrated volume is left to the external-provisioner.
	if driver := pv.Annotations[objects.AnnMigratedTo]; driver != "" {
		p.Decide("RECL-001", pv, "reclaiming is left to %s", driver)
		return nil
	}
	// RECL-006: the current policy counts, not that at the time of the release.
	switch policy := pv.Spec.PersistentVolumeReclaimPolicy; policy {
	case corev1.PersistentVolumeReclaimRetain:
		// RECL-002: Retain: the volume stays Released, with its claimRef.
		p.Decide("RECL-002", pv, "the volume is retained")
		r.log.Info(4, "ReclaimVolume: policy is Retain, nothing to do", volumeName(pv))
		return nil
	case corev1.PersistentVolumeReclaimRecycle:
		// RECL-003, RECL-007: Recycle: the operation works on this version of the volume.
		r.log.Info(4, "ReclaimVolume: policy is Recycle", volumeName(pv))
		r.start(p, "RECL-003", "recycle", pv, r.recycles)
		return nil
	case corev1.PersistentVolumeReclaimDelete:
		// RECL-004, RECL-007: Delete: the operation works on this version of the volume.
		r.log.Info(4, "ReclaimVolume: policy is Delete", volumeName(pv))
		r.start(p, "RECL-004", "delete", pv, r.deletes)
		return nil
	default:
		// RECL-005: with an unknown policy the volume becomes Failed.
		p.Decide("RECL-005", pv, "reclaim policy %q is unknown", policy)
		_, err := r.host.SetVolumePhaseWithEvent(p, pv, corev1.VolumeFailed, corev1.EventTypeWarning,
			reasonUnknownReclaimPolicy, "Volume has unrecognized PersistentVolumeReclaimPolicy")
		return err
	}
}

// start starts the operation, unless it runs or is in backoff (RECL-008).
func (r *reclaimer) start(p *engine.Process, rule, verb string, pv *corev1.PersistentVolume, operation func(*engine.Process) error) {
	name := verb + "-" + pv.Name + "[" + string(pv.UID) + "]"
	r.log.Info(4, "scheduleOperation", klog.String("operationName", name))
	err := r.host.Operations().RunAbout(engine.OperationKey{Volume: name}, name, pv, operation)
	if err == nil {
		if p.Tracing() {
			p.Decide(rule, pv, "%s the volume", verb)
		}
		return
	}
	// RECL-008: otherwise nothing happens, and the sync does not fail.
	pvcontroller.LogRejected(r.log, name, err)
	if p.Tracing() {
		p.Decide("RECL-008", pv, "%s the volume: already running, or in backoff", verb)
	}
}

// Finalizers returns the finalizers that a volume should have, and whether that is a change (RECL-040). It reads its argument only. Neither
// phase nor deletionTimestamp counts (RECL-041).
func (r *reclaimer) Finalizers(pv *corev1.PersistentVolume) (finalizers []string, changed bool) {
	provisioner, provisioned := pv.Annotations[objects.AnnProvisionedBy]
	// RECL-040: a static volume keeps its finalizers.
	if !provisioned {
		return pv.Finalizers, false
	}
	// RECL-040: a migrated volume loses the in-tree finalizer; the driver's provisioner has another one.
	if _, migrated := r.migrated(provisioner); migrated {
		return objects.WithoutFinalizer(pv.Finalizers, objects.InTreeFinalizer)
	}
	// RECL-040: the volume of a CSI driver is left to its external-provisioner.
	if !strings.HasPrefix(provisioner, backends.InTreePrefix) {
		return pv.Finalizers, false
	}
	finalizers = pv.Finalizers
	switch pv.Spec.PersistentVolumeReclaimPolicy {
	case corev1.PersistentVolumeReclaimDelete:
		// RECL-040, RECL-043: with policy Delete the asset must be deleted before the volume.
		if finalizers, changed = objects.WithFinalizer(finalizers, objects.InTreeFinalizer); changed {
			r.base.Info(4, "Adding in-tree pv deletion protection finalizer on volume", volumeName(pv))
		}
	case corev1.PersistentVolumeReclaimRetain, corev1.PersistentVolumeReclaimRecycle:
		// RECL-040, RECL-045: with another policy the asset stays, and the volume has no finalizer.
		if finalizers, changed = objects.WithoutFinalizer(finalizers, objects.InTreeFinalizer); changed {
			r.base.Info(4, "Removing in-tree pv deletion protection finalizer on volume", volumeName(pv))
		}
	}
	// RECL-040: an in-tree volume whose migration was undone loses the external finalizer.
	finalizers, external := objects.WithoutFinalizer(finalizers, objects.ExternalFinalizer)
	if external {
		r.base.Info(4, "Removing external pv deletion protection finalizer on volume", volumeName(pv))
	}
	return finalizers, changed || external
}
