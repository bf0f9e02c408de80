package expand

import (
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apiresource "k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/backends"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/objects"
	"github.com/volsim/volsim/storage"
)

// grower is the half of an external resizer that expands volumes.
type grower struct {
	*resizer
	queue    *engine.Queue
	tookOver bool // the driver did, from an in-tree plugin
	slow     *slowSet
	failures map[string]bool    // claims, by key, whose last call had a final error (EXP-025)
	inUse    map[types.UID]bool // claims of which the driver has said that they are in use (EXP-025)
}

func newGrower(r *resizer) *grower {
	g := &grower{
		resizer: r, tookOver: r.cfg.Migration.tookOver(r.driver), slow: newSlowSet(r.cfg.RetryMax),
		failures: map[string]bool{}, inUse: map[types.UID]bool{},
	}
	g.queue = r.newQueue("claims", "EXP-020", g.sync)
	return g
}

// growthMatters reports whether a change of a claim is worth a look.
func growthMatters(old, claim *corev1.PersistentVolumeClaim) bool {
	request, capacity := requestOf(claim), capacityOf(claim)
	// EXP-020: also a request that was lowered.
	return request.Cmp(requestOf(old)) != 0 ||
		claim.Annotations[objects.AnnStorageResizer] != old.Annotations[objects.AnnStorageResizer] ||
		objects.ResizeStatus(claim) != objects.ResizeStatus(old) ||
		capacity.Cmp(capacityOf(old)) > 0
}

// look queues a claim, unless that would come to nothing.
func (g *grower) look(claim *corev1.PersistentVolumeClaim) {
	if g.concerns(claim) {
		g.queue.Add(api.KeyOf(claim))
	}
}

// concerns reports whether there is something to do for the claim, or an error to be had.
func (g *grower) concerns(claim *corev1.PersistentVolumeClaim) bool {
	if claim.Spec.VolumeName == "" {
		return false
	}
	pv, ok := g.volumes.get(claim.Spec.VolumeName)
	return !ok || hasPreResize(pv) && hasAll(claim, pv) || g.responsible(claim, pv)
}

// responsible reports whether the claim asks for more and this driver has its volume.
func (g *grower) responsible(claim *corev1.PersistentVolumeClaim, pv *corev1.PersistentVolume) bool {
	// EXP-020
	if claim.Status.Phase != corev1.ClaimBound || !wantsMore(claim) || !isBoundTo(pv, claim) {
		return false
	}
	if g.tookOver && claim.Annotations[objects.AnnStorageResizer] == g.driver {
		return true
	}
	return pv.Spec.CSI != nil && pv.Spec.CSI.Driver == g.driver
}

func (g *grower) sync(p *engine.Process, key string) error {
	claim, ok := g.claims.get(key)
	if !ok || claim.Spec.VolumeName == "" {
		return nil
	}
	pv, ok := g.volumes.get(claim.Spec.VolumeName)
	if !ok {
		// EXP-020: the cache may be behind.
		return absent(fmt.Errorf("PV not found: %q of claim %s", claim.Spec.VolumeName, key))
	}
	// EXP-020: first of all, and whatever the volume's driver.
	if hasPreResize(pv) && hasAll(claim, pv) {
		p.Decide("EXP-020", claim, "all of volume %s can be used: forget the size before", pv.Name)
		newer, err := removePreResize(p, pv)
		if err != nil {
			return err
		}
		g.volumes.put(newer)
	}
	if !g.responsible(claim, pv) {
		return nil
	}
	return g.expand(p, key, claim, pv)
}

// expand decides on the size and has the driver do it.
func (g *grower) expand(p *engine.Process, key string, claim *corev1.PersistentVolumeClaim, pv *corev1.PersistentVolume) error {
	isSlow := g.slow.contains(key, p.Now())
	// EXP-026: it enters the set after it was looked for there, so it is tried once more.
	if objects.ResizeStatus(claim) == corev1.PersistentVolumeClaimControllerResizeInfeasible {
		g.slow.add(key, p.Now())
	}
	step := ResizerSize(claim, pv, g.failures[key], backends.Can(g.backend, storage.Expand))
	if step.Stop {
		p.Decide("EXP-030", claim, "the node has to finish first")
		return nil
	}
	allocated, isAllocated := objects.Allocated(claim)
	again := isAllocated && allocated.Cmp(step.Size) == 0
	// EXP-026: another size has its chance at once.
	if again && isSlow {
		wait := g.slow.remaining(key, p.Now())
		p.Decide("EXP-026", claim, "the size %s was infeasible: again in %v", step.Size.String(), wait)
		return &engine.Retry{
			Err:   errors.New("skipping volume expansion for pvc " + key + ", because expansion previously failed with infeasible error"),
			After: wait,
		}
	}
	p.Decide("EXP-021", claim, "expand volume %s to %s", pv.Name, step.Size.String())
	capacity := capacityOf(claim)
	claim, err := g.markInProgress(p, claim, step.Size, again)
	if err != nil {
		return fmt.Errorf("marking pvc %q as resizing failed: %w", key, err)
	}
	// EXP-025: the driver is not asked while a pod has the volume.
	if g.inUse[claim.UID] && g.isUsed(claim) {
		text := fmt.Sprintf("Unable to expand %s because CSI driver %s only supports offline expansion and volume is currently in-use", key, g.driver)
		g.events.Event(p, claim, corev1.EventTypeWarning, reasonResizeFailed, text)
		return errors.New(text)
	}
	// EXP-021
	g.events.Event(p, claim, corev1.EventTypeNormal, reasonResizing, "External resizer is resizing volume "+pv.Name)
	delete(g.inUse, claim.UID)
	if claim, err = g.resize(p, key, claim, pv, step.Size, capacity); err != nil {
		// EXP-025
		g.events.Event(p, claim, corev1.EventTypeWarning, reasonResizeFailed, err.Error())
	}
	return err
}

// isUsed reports whether a pod that has not ended names the claim.
func (g *grower) isUsed(claim *corev1.PersistentVolumeClaim) bool {
	if g.cfg.IgnoreUse {
		return false
	}
	for pod := range g.pods.All() {
		if pod.Namespace != claim.Namespace || pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed {
			continue
		}
		for i := range pod.Spec.Volumes {
			// EXP-025: claims of generic ephemeral volumes are not looked for.
			if source := pod.Spec.Volumes[i].PersistentVolumeClaim; source != nil && source.ClaimName == claim.Name {
				return true
			}
		}
	}
	return false
}

// resize has the driver expand the volume, and writes down what came of it. It returns the newest version of the claim, also with an
// error.
func (g *grower) resize(p *engine.Process, key string, claim *corev1.PersistentVolumeClaim, pv *corev1.PersistentVolume, size, before apiresource.Quantity) (*corev1.PersistentVolumeClaim, error) {
	size, onNode, err := g.ask(p, pv, size)
	if err != nil {
		return g.resizeFailed(p, key, claim, pv, err)
	}
	delete(g.failures, key)
	g.slow.remove(key)
	// EXP-022: before the claim, which the node goes by.
	if err := g.setCapacity(p, pv, size, before, onNode); err != nil {
		return claim, fmt.Errorf("error updating pv %q by resizer: %w", pv.Name, err)
	}
	if onNode {
		return g.markNodePending(p, claim)
	}
	return g.markFinished(p, claim, size)
}

// ask is the call to the driver.
func (g *grower) ask(p *engine.Process, pv *corev1.PersistentVolume, size apiresource.Quantity) (_ apiresource.Quantity, onNode bool, err error) {
	expander, ok := g.backend.(storage.Expander)
	if !ok || !backends.Can(g.backend, storage.Expand) {
		// EXP-030: a driver that expands on nodes only has nothing to do here.
		return size, true, nil
	}
	req := storage.ExpandRequest{ID: backends.Handle(pv), Size: size.Value(), VolumeMode: objects.VolumeModeOf(pv.Spec.VolumeMode)}
	var expanded int64
	err = g.calls.Call(p, storage.Expand, req.ID, "", func() (err error) {
		expanded, onNode, err = expander.Expand(req)
		return err
	})
	// EXP-022: the size is the driver's.
	return objects.Bytes(expanded), onNode, err
}

// resizeFailed remembers what an error of the driver means, in the claim and here (EXP-025).
func (g *grower) resizeFailed(p *engine.Process, key string, claim *corev1.PersistentVolumeClaim, pv *corev1.PersistentVolume, err error) (*corev1.PersistentVolumeClaim, error) {
	failure := fmt.Errorf("resize volume %q by resizer %q failed: %w", pv.Name, g.driver, err)
	// EXP-025
	if storage.CodeOf(err) == storage.FailedPrecondition {
		g.inUse[claim.UID] = true
	}
	infeasible := backends.Infeasible(err)
	if !infeasible {
		// EXP-026: of interest are infeasible requests alone.
		g.slow.remove(key)
	}
	if backends.UnknownOutcome(storage.Expand, err) {
		// EXP-025: the driver may still do it, so the size must not change.
		delete(g.failures, key)
		return claim, failure
	}
	g.failures[key] = true
	newer, markErr := g.markFailed(p, claim, err, infeasible)
	if markErr != nil {
		return claim, fmt.Errorf("resizing failed in controller with %w but failed to update PVC %s with: %w", err, key, markErr)
	}
	return newer, failure
}
