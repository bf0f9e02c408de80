package expand

import (
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apiresource "k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"

	"github.com/volsim/volsim/internal/core/backends"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/objects"
	"github.com/volsim/volsim/storage"
)

// expander is the half of an external-resizer that expands volumes.
type expander struct {
	*resizer
	queue      *engine.Queue
	tookOver   bool // the driver took over from an in-tree plugin
	infeasible *infeasibleSet
	failures   map[string]bool    // claims, by key, whose last call had a final error (EXP-025)
	inUse      map[types.UID]bool // claims whose volume the driver reported as in use (EXP-025)
}

func newExpander(r *resizer) *expander {
	ex := &expander{
		resizer: r, tookOver: Migration(r.opts.Migration).tookOver(r.driver), infeasible: newInfeasibleSet(r.cfg.RetryMax),
		failures: map[string]bool{}, inUse: map[types.UID]bool{},
	}
	ex.queue = r.newQueue("claims", "EXP-020", ex.sync)
	return ex
}

// expansionChanged reports whether a change of a claim may require an expansion.
func expansionChanged(old, claim *corev1.PersistentVolumeClaim) bool {
	request, capacity := requestOf(claim), capacityOf(claim)
	// EXP-020: a smaller request counts, too.
	return request.Cmp(requestOf(old)) != 0 ||
		claim.Annotations[objects.AnnStorageResizer] != old.Annotations[objects.AnnStorageResizer] ||
		objects.ResizeStatus(claim) != objects.ResizeStatus(old) ||
		capacity.Cmp(capacityOf(old)) > 0
}

// enqueue queues a claim if there is something to do for it.
func (ex *expander) enqueue(claim *corev1.PersistentVolumeClaim) {
	if ex.hasWork(claim) {
		ex.queue.Add(ex.claims.informer.KeyOf(claim))
	}
}

// hasWork reports whether a sync of the claim would do something, or fail.
func (ex *expander) hasWork(claim *corev1.PersistentVolumeClaim) bool {
	if claim.Spec.VolumeName == "" {
		return false
	}
	pv, ok := ex.volumes.get(claim.Spec.VolumeName)
	return !ok || hasPreResize(pv) && hasAll(claim, pv) || ex.responsible(claim, pv)
}

// responsible reports whether the claim requests more and its volume belongs to this driver.
func (ex *expander) responsible(claim *corev1.PersistentVolumeClaim, pv *corev1.PersistentVolume) bool {
	// EXP-020: the claim is bound to the volume and requests more.
	if claim.Status.Phase != corev1.ClaimBound || !wantsMore(claim) || !isBoundTo(pv, claim) {
		return false
	}
	if ex.tookOver && claim.Annotations[objects.AnnStorageResizer] == ex.driver {
		return true
	}
	return pv.Spec.CSI != nil && pv.Spec.CSI.Driver == ex.driver
}

func (ex *expander) sync(p *engine.Process, key string) error {
	claim, ok := ex.claims.get(key)
	if !ok || claim.Spec.VolumeName == "" {
		return nil
	}
	pv, ok := ex.volumes.get(claim.Spec.VolumeName)
	if !ok {
		// EXP-020: the cache may be out of date.
		return absent(fmt.Errorf("PV not found: %q of claim %s", claim.Spec.VolumeName, key))
	}
	// EXP-020: this comes first, for volumes of any driver.
	if hasPreResize(pv) && hasAll(claim, pv) {
		p.Decide("EXP-020", claim, "all of volume %s can be used: forget the size before", pv.Name)
		newer, err := removePreResize(p, pv)
		if err != nil {
			return err
		}
		ex.volumes.put(newer)
	}
	if !ex.responsible(claim, pv) {
		return nil
	}
	return ex.expand(p, key, claim, pv)
}

// expand chooses the size and expands the volume.
func (ex *expander) expand(p *engine.Process, key string, claim *corev1.PersistentVolumeClaim, pv *corev1.PersistentVolume) error {
	waits := ex.infeasible.contains(key, p.Now())
	// EXP-026: it is added after the check, so there is one more attempt.
	if objects.ResizeStatus(claim) == corev1.PersistentVolumeClaimControllerResizeInfeasible {
		ex.infeasible.add(key, p.Now())
	}
	step := ResizerSize(claim, pv, ex.failures[key], backends.Can(ex.backend, storage.Expand))
	if step.Stop {
		p.Decide("EXP-030", claim, "the node has to finish first")
		return nil
	}
	allocated, isAllocated := objects.Allocated(claim)
	again := isAllocated && allocated.Cmp(step.Size) == 0
	// EXP-026: another size is tried at once.
	if again && waits {
		wait := ex.infeasible.remaining(key, p.Now())
		p.Decide("EXP-026", claim, "the size %s was infeasible: again in %v", step.Size.String(), wait)
		return &engine.Retry{
			Err:   errors.New("skipping volume expansion for pvc " + key + ", because expansion previously failed with infeasible error"),
			After: wait,
		}
	}
	p.Decide("EXP-021", claim, "expand volume %s to %s", pv.Name, step.Size.String())
	capacity := capacityOf(claim)
	claim, err := ex.markInProgress(p, claim, step.Size, again)
	if err != nil {
		return fmt.Errorf("marking pvc %q as resizing failed: %w", key, err)
	}
	// EXP-025: the driver is not called while a pod uses the volume.
	if ex.inUse[claim.UID] && ex.isUsed(claim) {
		text := fmt.Sprintf("Unable to expand %s because CSI driver %s only supports offline expansion and volume is currently in-use", key,
			ex.driver)
		ex.events.Event(p, claim, corev1.EventTypeWarning, reasonResizeFailed, text)
		return errors.New(text)
	}
	// EXP-021: an Event reports the start.
	ex.events.Event(p, claim, corev1.EventTypeNormal, reasonResizing, "External resizer is resizing volume "+pv.Name)
	delete(ex.inUse, claim.UID)
	if claim, err = ex.resize(p, key, claim, pv, step.Size, capacity); err != nil {
		// EXP-025: an error emits an Event.
		ex.events.Event(p, claim, corev1.EventTypeWarning, reasonResizeFailed, err.Error())
	}
	return err
}

// isUsed reports whether a pod that has not ended uses the claim.
func (ex *expander) isUsed(claim *corev1.PersistentVolumeClaim) bool {
	if ex.opts.IgnoreUse {
		return false
	}
	for _, pod := range ex.pods.List() {
		if pod.Namespace != claim.Namespace || pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed {
			continue
		}
		for i := range pod.Spec.Volumes {
			// EXP-025: claims of generic ephemeral volumes do not count.
			if source := pod.Spec.Volumes[i].PersistentVolumeClaim; source != nil && source.ClaimName == claim.Name {
				return true
			}
		}
	}
	return false
}

// resize calls the driver and records the result. It returns the newest version of the claim, also with an error.
func (ex *expander) resize(p *engine.Process, key string, claim *corev1.PersistentVolumeClaim, pv *corev1.PersistentVolume, size,
	before apiresource.Quantity) (*corev1.PersistentVolumeClaim, error) {
	size, onNode, err := ex.callDriver(p, pv, size)
	if err != nil {
		return ex.resizeFailed(p, key, claim, pv, err)
	}
	delete(ex.failures, key)
	ex.infeasible.remove(key)
	// EXP-022: the volume is written before the claim, which the node reads.
	if err := ex.setCapacity(p, pv, size, before, onNode); err != nil {
		return claim, fmt.Errorf("error updating pv %q by resizer: %w", pv.Name, err)
	}
	if onNode {
		return ex.markNodePending(p, claim)
	}
	return ex.markFinished(p, claim, size)
}

// callDriver expands the volume in the driver.
func (ex *expander) callDriver(p *engine.Process, pv *corev1.PersistentVolume, size apiresource.Quantity) (_ apiresource.Quantity,
	onNode bool, err error) {
	expander, ok := ex.backend.(storage.Expander)
	if !ok || !backends.Can(ex.backend, storage.Expand) {
		// EXP-030: a driver that expands on nodes only is not called.
		return size, true, nil
	}
	req := storage.ExpandRequest{
		ID: backends.Handle(pv), Size: size.Value(), VolumeMode: objects.VolumeModeOf(pv.Spec.VolumeMode), MountOptions: pv.Spec.MountOptions,
	}
	// EXP-027: the request has the volume capability of an attachment.
	mode, err := objects.PublishMode(pv.Spec.AccessModes, backends.DistinguishesOnePod(ex.backend))
	if err != nil {
		return size, false, fmt.Errorf("failed to get capabilities of volume %s with %w", pv.Name, err)
	}
	req.Mode = objects.ModeOfCSI(mode)
	// MIG-001: of a volume of an in-tree plugin, too.
	if source := objects.CSIOf(pv); source != nil {
		req.FSType = source.FSType
		// EXP-027: a Secret that cannot be read is an error like one of the driver.
		if req.Secrets, err = readSecret(p, source.ControllerExpandSecretRef); err != nil {
			return size, false, err
		}
	}
	var expanded int64
	err = ex.calls.Call(p, storage.Expand, req.ID, "", func() (err error) {
		expanded, onNode, err = expander.Expand(backends.OwnExpand(req))
		return err
	})
	// EXP-022: the size that the driver returns counts.
	return objects.Bytes(expanded), onNode, err
}

// resizeFailed records an error of the driver, in the claim and in memory (EXP-025).
func (ex *expander) resizeFailed(p *engine.Process, key string, claim *corev1.PersistentVolumeClaim, pv *corev1.PersistentVolume,
	err error) (*corev1.PersistentVolumeClaim, error) {
	failure := fmt.Errorf("resize volume %q by resizer %q failed: %w", pv.Name, ex.driver, err)
	// EXP-025: an error emits an Event.
	if storage.CodeOf(err) == storage.FailedPrecondition {
		ex.inUse[claim.UID] = true
	}
	infeasible := backends.Infeasible(err)
	if !infeasible {
		// EXP-026: only infeasible requests are in the set.
		ex.infeasible.remove(key)
	}
	if backends.UnknownOutcome(storage.Expand, err) {
		// EXP-025: the driver may still be expanding, so the size must not change.
		delete(ex.failures, key)
		return claim, failure
	}
	ex.failures[key] = true
	newer, markErr := ex.markFailed(p, claim, err, infeasible)
	if markErr != nil {
		return claim, fmt.Errorf("resizing failed in controller with %w but failed to update PVC %s with: %w", err, key, markErr)
	}
	return newer, failure
}
