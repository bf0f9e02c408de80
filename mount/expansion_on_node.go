package mount

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/claimstatus"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/objects"
	"github.com/volsim/volsim/mount/internal/plugin"
	"github.com/volsim/volsim/mount/internal/volumes"
)

// expander runs one expansion of a volume on a node (MNT-412 to MNT-421).
type expander struct {
	k      *kubelet
	p      *engine.Process
	volume corev1.UniqueVolumeName
	spec   *volumes.Spec
	pod    *corev1.Pod
	claim  *corev1.PersistentVolumeClaim
	req    plugin.ExpandRequest
	size   resource.Quantity // the size to expand to
}

// expand expands the volume on the node to the allocated size of the claim, or to the size of the request if the status of the claim has
// none (EXP-040). done: this node has nothing left to do for that size.
func (ex *volumeExpansion) expand(p *engine.Process, name corev1.UniqueVolumeName, spec *volumes.Spec, pod *corev1.Pod,
	claim *corev1.PersistentVolumeClaim, req plugin.ExpandRequest) (done bool, size int64, err error) {
	e := &expander{k: ex.k, p: p, volume: name, spec: spec, pod: pod, claim: claim, req: req}
	if objects.ResizeStatus(claim) == "" && claim.Status.AllocatedResources == nil {
		// MNT-406, MNT-421: an old resizer does not record the expansion in the claim.
		e.size = spec.PV.Spec.Capacity[corev1.ResourceStorage]
		done, err = e.expandWithoutStatus()
		return done, req.Size, err
	}
	// MNT-400, MNT-411: the allocated size counts, whatever the size of the PersistentVolume is now.
	e.size, _ = objects.Allocated(claim)
	e.req.Size = e.size.Value()
	done, err = e.run()
	return done, e.req.Size, err
}

// nodeStep is the step that this node takes in an expansion, according to the status of the claim (MNT-412).
type nodeStep int

const (
	waits    nodeStep = iota // the controller is not done, or the size is infeasible
	finished                 // the claim has the size
	expands                  // it is the node's turn
	repeats                  // the claim has the size, but this node may not have expanded its mount
)

// nextStep returns what this node does about an expansion to a size.
func nextStep(claim *corev1.PersistentVolumeClaim, size resource.Quantity) nodeStep {
	capacity := claim.Status.Capacity[corev1.ResourceStorage]
	switch objects.ResizeStatus(claim) {
	case corev1.PersistentVolumeClaimNodeResizePending, corev1.PersistentVolumeClaimNodeResizeInProgress:
		// MNT-412, EXP-040: the status says that the node has to expand.
		return expands
	case "":
		_, needless := claim.Annotations[objects.AnnNodeExpansionNotRequired]
		switch {
		case capacity.Cmp(size) < 0:
			// MNT-412: the controller has not expanded the volume yet.
			return waits
		case slices.Contains(claim.Spec.AccessModes, corev1.ReadWriteMany) && !needless:
			// MNT-412, MNT-427, EXP-040: another node was first; each node expands its own mount.
			return repeats
		}
		// MNT-412, MNT-426: nothing is left to do.
		return finished
	}
	// MNT-412, MNT-428, MNT-925: the driver is not called until the controller has changed the status.
	return waits
}

// run expands the volume as the status of the claim requires (MNT-412, MNT-413).
func (e *expander) run() (done bool, err error) {
	request := e.claim.Spec.Resources.Requests[corev1.ResourceStorage]
	// MNT-417, MNT-924, EXP-042: the user has changed the request, and an earlier attempt has failed.
	abandoned := request.Cmp(e.size) != 0 && e.k.actual.FailedExpansions[e.volume]
	decision := nextStep(e.claim, e.size)
	switch decision {
	case waits:
		return false, nil
	case finished:
		return true, nil
	case expands:
		// MNT-413, EXP-041: the status is written first, with a version, so that no other component works on another size.
		edited := objects.CopyOfClaim(e.claim)
		objects.SetResizeStatus(edited, corev1.PersistentVolumeClaimNodeResizeInProgress)
		if err := e.patch(edited); err != nil {
			return false, err
		}
	}
	if err := e.k.plugins.For(e.spec.Plugin.Name).NodeExpand(e.p, e.spec, e.req); err != nil {
		return e.failed(err, decision == repeats, abandoned)
	}
	e.reportSuccess()
	if decision == repeats {
		return true, nil
	}
	// MNT-414, EXP-041: after a success the claim gets its capacity.
	if err := e.finish(); err != nil {
		return true, fmt.Errorf("mountVolume.NodeExpandVolume update pvc status failed: %w", err)
	}
	return true, nil
}

// failed records why an expansion failed (MNT-415 to MNT-420). A nil error means that there is no retry for now.
func (e *expander) failed(err error, updated, abandoned bool) (done bool, _ error) {
	if is[plugin.NotSupportedError](err) && updated {
		// MNT-415, MNT-926: the claim has its size, and a driver without this call has nothing to do.
		return true, nil
	}
	if volumes.ClassOf(err) != volumes.Final {
		// MNT-420: after an error that is not final, nothing is recorded.
		return false, err
	}
	// MNT-425: this is remembered until the kubelet ends, even if the volume goes.
	e.k.actual.FailedExpansions[e.volume] = true
	edited := objects.CopyOfClaim(e.claim)
	if is[plugin.InfeasibleError](err) || abandoned {
		// MNT-416, MNT-417, MNT-923, EXP-042: the controller may now choose another size.
		objects.SetResizeStatus(edited, corev1.PersistentVolumeClaimNodeResizeInfeasible)
	}
	// MNT-416, MNT-418, MNT-423, EXP-050: an existing condition keeps its message.
	edited.Status.Conditions = objects.MergeResizeConditions(e.claim.Status.Conditions, true, corev1.PersistentVolumeClaimCondition{
		Type: corev1.PersistentVolumeClaimNodeResizeError, Status: corev1.ConditionTrue,
		LastTransitionTime: metav1.NewTime(e.p.Now().Truncate(time.Second)),
		Message:            fmt.Sprintf("failed to expand pvc with %v", err),
	})
	// MNT-416, MNT-418: written without a version. If this fails too, the next attempt records it.
	if claim, patchErr := reach(e.k, func() (*corev1.PersistentVolumeClaim, error) {
		return claimstatus.Force(e.p, e.claim, edited)
	}); patchErr != nil {
		e.p.Decide("MNT-418", e.claim, "cannot record that the expansion failed: %v", patchErr)
	} else {
		e.claim = claim
	}
	if is[plugin.InUseError](err) {
		// MNT-419, EXP-042: no retry while this node has the volume; the pod gets it anyway.
		e.recordInUse(err)
		return false, nil
	}
	return false, err
}

// recordInUse records that the driver does not expand the volume while it is in use.
func (e *expander) recordInUse(err error) {
	if av, ok := e.k.actual.Volume(e.volume); ok {
		av.RefusesExpansionInUse = true
	}
	e.p.Decide("MNT-419", e.pod, "volume %s is not expanded while it is in use: %v", e.volume, err)
}

// expandWithoutStatus expands the volume of a claim whose status does not mention the expansion (MNT-421).
func (e *expander) expandWithoutStatus() (done bool, err error) {
	err = e.k.plugins.For(e.spec.Plugin.Name).NodeExpand(e.p, e.spec, e.req)
	switch {
	case err == nil:
	case is[plugin.NotSupportedError](err):
		// MNT-421: a driver without this call has nothing to do.
		return true, nil
	case is[plugin.InUseError](err):
		// MNT-421: a volume in use counts as done.
		e.recordInUse(err)
		return true, nil
	default:
		// MNT-421: other errors are not recorded.
		return false, err
	}
	e.reportSuccess()
	capacity := e.claim.Status.Capacity[corev1.ResourceStorage]
	if capacity.Cmp(e.size) >= 0 {
		return true, nil
	}
	if err := e.finish(); err != nil {
		return false, fmt.Errorf("mountVolume.NodeExpandVolume update PVC status failed : %w", err)
	}
	return true, nil
}

// reportSuccess emits the Events about an expansion (MNT-394).
func (e *expander) reportSuccess() {
	e.p.Decide("MNT-414", e.pod, "volume %s has %s", e.volume, e.size.String())
	// MNT-394, EXP-041: both the pod and the claim get an Event.
	for _, obj := range []api.Object{e.pod, e.claim} {
		e.k.Event(e.p, obj, corev1.EventTypeNormal, "FileSystemResizeSuccessful",
			"MountVolume.NodeExpandVolume succeeded for volume %q %s", e.spec.Name(), e.k.node.name)
	}
}

// panicError ends an operation in which the code of the real kubelet panics. It recovers and skips everything after that: it emits no
// Event and records no state (MNT-430).
type panicError struct{ text string }

func (e panicError) Error() string { return fmt.Sprintf("recovered from panic %q", e.text) }

// finish writes the new capacity to the claim and removes the status of the expansion (MNT-414).
func (e *expander) finish() error {
	if e.claim.Status.Capacity == nil {
		// MNT-430: mostly a claim that is Lost (BIND-074).
		return panicError{"assignment to entry in nil map"}
	}
	edited := objects.CopyOfClaim(e.claim)
	objects.SetClaimCapacity(edited, e.size)
	objects.SetResizeStatus(edited, "")
	// MNT-414: the allocated size stays.
	edited.Status.Conditions = objects.MergeResizeConditions(e.claim.Status.Conditions, false)
	return e.patch(edited)
}

// patch writes the status of the claim, unless it has changed since it was read.
func (e *expander) patch(edited *corev1.PersistentVolumeClaim) error {
	claim, err := reach(e.k, func() (*corev1.PersistentVolumeClaim, error) { return claimstatus.Patch(e.p, e.claim, edited) })
	if err != nil {
		return fmt.Errorf("patchPVCStatus failed to patch PVC %q: %w", e.claim.Name, err)
	}
	e.claim = claim
	return nil
}
