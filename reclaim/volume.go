package reclaim

import (
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/backends"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/objects"
	"github.com/volsim/volsim/internal/core/pvcontroller"
	"github.com/volsim/volsim/storage"
)

// Config sets up a Reclaimer. The zero value works.
type Config struct {
	// Migrated tells the CSI driver that took over from an in-tree plugin (PROV-051); nil: none was taken over.
	Migrated func(plugin string) (driver string, ok bool)
	// RecyclerNamespace is where recycler pods are created (RECL-070); empty means "default".
	RecyclerNamespace string
	// RecyclerScheduler is the schedulerName of recycler pods; empty means the default scheduler. PodRunnerName leaves them to the
	// pod runner.
	RecyclerScheduler string
}

// Reclaimer does what the PersistentVolume controller does with volumes whose claim is gone, and keeps the in-tree deletion
// finalizer. It belongs to one life of the controller and keeps nothing of its own: caches and operations are the host's.
type Reclaimer struct {
	host      pvcontroller.Host
	backends  *backends.Set
	migrated  func(plugin string) (driver string, ok bool)
	namespace string
	scheduler string
}

// NewReclaimer makes the reclaimer of one life of the host. A nil set has no backends.
func NewReclaimer(host pvcontroller.Host, set *backends.Set, cfg Config) *Reclaimer {
	r := &Reclaimer{host: host, backends: set, migrated: cfg.Migrated, namespace: cfg.RecyclerNamespace, scheduler: cfg.RecyclerScheduler}
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

// Reclaim carries out the reclaim policy of a released volume (RECL-001 to RECL-008). Volume sync calls it with the result of its
// own writes, each time it finds the volume released. It only starts background work: an error says that a phase could not be
// written, and the sync has failed.
func (r *Reclaimer) Reclaim(p *engine.Proc, pv *corev1.PersistentVolume) error {
	// RECL-001: the external provisioner owns a migrated volume.
	if driver := pv.Annotations[objects.AnnMigratedTo]; driver != "" {
		p.Decide("RECL-001", pv, "reclaiming is left to %s", driver)
		return nil
	}
	// RECL-006: the policy is that of the moment, whatever it was when the volume was released.
	switch policy := pv.Spec.PersistentVolumeReclaimPolicy; policy {
	case corev1.PersistentVolumeReclaimRetain:
		// RECL-002: it stays Released, with its claimRef.
		p.Decide("RECL-002", pv, "the volume is retained")
		return nil
	case corev1.PersistentVolumeReclaimRecycle:
		// RECL-003, RECL-007: the operation works on this version of the volume.
		r.start(p, "RECL-003", "recycle", pv, r.recycleVolume)
		return nil
	case corev1.PersistentVolumeReclaimDelete:
		// RECL-004, RECL-007: the operation works on this version of the volume.
		r.start(p, "RECL-004", "delete", pv, r.deleteVolume)
		return nil
	default:
		// RECL-005: nobody knows what to do.
		p.Decide("RECL-005", pv, "reclaim policy %q is unknown", policy)
		_, err := r.host.SetVolumePhaseWithEvent(p, pv, corev1.VolumeFailed, corev1.EventTypeWarning,
			reasonUnknownReclaimPolicy, "Volume has unrecognized PersistentVolumeReclaimPolicy")
		return err
	}
}

// start begins the operation of that name, unless it runs or is backing off (RECL-008).
func (r *Reclaimer) start(p *engine.Proc, rule, verb string, pv *corev1.PersistentVolume, operation func(*engine.Proc, *corev1.PersistentVolume) error) {
	name := verb + "-" + pv.Name + "[" + string(pv.UID) + "]"
	err := r.host.Operations().Run(engine.OperationKey{Volume: name}, name, func(p *engine.Proc) error {
		p.WorksOn(api.RefTo(pv))
		return operation(p, pv)
	})
	if err == nil {
		p.Decide(rule, pv, "%s the volume", verb)
		return
	}
	// RECL-008: dropped; the sync is none the worse for it.
	p.Decide("RECL-008", pv, "%s the volume: running already, or backing off", verb)
}

// Finalizers is what the deletion finalizers of a volume should be, and whether that differs from what they are (RECL-040). It
// reads its argument only. Neither phase nor deletionTimestamp counts (RECL-041).
func (r *Reclaimer) Finalizers(pv *corev1.PersistentVolume) (finalizers []string, changed bool) {
	provisioner, provisioned := pv.Annotations[objects.AnnProvisionedBy]
	// RECL-040: a static volume is nobody's.
	if !provisioned {
		return pv.Finalizers, false
	}
	// RECL-040: the driver has its own finalizer.
	if _, migrated := r.migrated(provisioner); migrated {
		return without(pv.Finalizers, objects.InTreeFinalizer)
	}
	// RECL-040: a driver's volume is the external provisioner's.
	if !strings.HasPrefix(provisioner, storage.InTreePrefix) {
		return pv.Finalizers, false
	}
	finalizers = pv.Finalizers
	switch pv.Spec.PersistentVolumeReclaimPolicy {
	case corev1.PersistentVolumeReclaimDelete:
		// RECL-040, RECL-043: the asset must not outlive the volume.
		finalizers, changed = with(finalizers, objects.InTreeFinalizer)
	case corev1.PersistentVolumeReclaimRetain, corev1.PersistentVolumeReclaimRecycle:
		// RECL-040, RECL-045: the asset is to stay, so nothing holds the volume.
		finalizers, changed = without(finalizers, objects.InTreeFinalizer)
	}
	// RECL-040: an in-tree volume that came back from a driver sheds the driver's finalizer.
	finalizers, external := without(finalizers, objects.ExternalFinalizer)
	return finalizers, changed || external
}
