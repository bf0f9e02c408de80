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

// expander is one expansion of a volume on a node (MNT-412 to MNT-421).
type expander struct {
	k      *kubelet
	p      *engine.Process
	volume corev1.UniqueVolumeName
	spec   *volumes.Spec
	pod    *corev1.Pod
	claim  *corev1.PersistentVolumeClaim
	req    plugin.ExpandRequest
	size   resource.Quantity // that it shall have
}

// expand has what is on the volume grow to the size that the claim is being given, or to that of the request if the claim does not say
// (EXP-040). done says that nothing is left to do on this node, and size which size that means.
func (ex *volumeExpansion) expand(p *engine.Process, name corev1.UniqueVolumeName, spec *volumes.Spec, pod *corev1.Pod,
	claim *corev1.PersistentVolumeClaim, req plugin.ExpandRequest) (done bool, size int64, err error) {
	e := &expander{k: ex.k, p: p, volume: name, spec: spec, pod: pod, claim: claim, req: req}
	if objects.ResizeStatus(claim) == "" && claim.Status.AllocatedResources == nil {
		// MNT-406, MNT-421: a resizer that leaves no notes.
		e.size = spec.PV.Spec.Capacity[corev1.ResourceStorage]
		done, err = e.withoutNotes()
		return done, req.Size, err
	}
	// MNT-400, MNT-411: whatever size the volume has by now.
	e.size, _ = objects.Allocated(claim)
	e.req.Size = e.size.Value()
	done, err = e.run()
	return done, e.req.Size, err
}

// verdict is what the notes in a claim's status say about an expansion on a node (MNT-412).
type verdict int

const (
	waits    verdict = iota // it is not the node's turn, or was found infeasible
	finished                // the claim has the size
	expands                 // it is the node's turn
	repeats                 // the claim has the size, and this node may have to do its part
)

// judge reads the notes in a claim about an expansion to a size.
func judge(claim *corev1.PersistentVolumeClaim, size resource.Quantity) verdict {
	capacity := claim.Status.Capacity[corev1.ResourceStorage]
	switch objects.ResizeStatus(claim) {
	case corev1.PersistentVolumeClaimNodeResizePending, corev1.PersistentVolumeClaimNodeResizeInProgress:
		// MNT-412, EXP-040
		return expands
	case "":
		_, needless := claim.Annotations[objects.AnnNodeExpansionNotRequired]
		switch {
		case capacity.Cmp(size) < 0:
			// MNT-412: the controller has not got so far.
			return waits
		case slices.Contains(claim.Spec.AccessModes, corev1.ReadWriteMany) && !needless:
			// MNT-412, MNT-427, EXP-040: another node was first.
			return repeats
		}
		// MNT-412, MNT-426
		return finished
	}
	// MNT-412, MNT-428, MNT-925: nobody is asked until the controller has changed its mind.
	return waits
}

// run is the expansion as the notes in the claim have it (MNT-412, MNT-413).
func (e *expander) run() (done bool, err error) {
	request := e.claim.Spec.Resources.Requests[corev1.ResourceStorage]
	// MNT-417, MNT-924, EXP-042: the user has another wish by now, and this one has failed before.
	abandoned := request.Cmp(e.size) != 0 && e.k.actual.FailedExpansions[e.volume]
	decision := judge(e.claim, e.size)
	switch decision {
	case waits:
		return false, nil
	case finished:
		return true, nil
	case expands:
		// MNT-413, EXP-041: first a note, with a version, so that nobody else works on another size.
		edited := objects.CopyOfClaim(e.claim)
		objects.SetResizeStatus(edited, corev1.PersistentVolumeClaimNodeResizeInProgress)
		if err := e.patch(edited); err != nil {
			return false, err
		}
	}
	if err := e.k.plugins.For(e.spec.Plugin.Name).NodeExpand(e.p, e.spec, e.req); err != nil {
		return e.failed(err, decision == repeats, abandoned)
	}
	e.tellSuccess()
	if decision == repeats {
		return true, nil
	}
	// MNT-414, EXP-041
	if err := e.finish(); err != nil {
		return true, fmt.Errorf("mountVolume.NodeExpandVolume update pvc status failed: %w", err)
	}
	return true, nil
}

// failed notes why an expansion failed (MNT-415 to MNT-420). The error it returns is nil if nothing is to be tried again for now.
func (e *expander) failed(err error, updated, abandoned bool) (done bool, _ error) {
	if is[plugin.NotSupportedError](err) && updated {
		// MNT-415, MNT-926: that the claim has its size is enough.
		return true, nil
	}
	if volumes.ClassOf(err) != volumes.Final {
		// MNT-420
		return false, err
	}
	// MNT-425: until the kubelet ends, whatever becomes of the volume.
	e.k.actual.FailedExpansions[e.volume] = true
	edited := objects.CopyOfClaim(e.claim)
	if is[plugin.InfeasibleError](err) || abandoned {
		// MNT-416, MNT-417, MNT-923, EXP-042: so that the controller may choose another size.
		objects.SetResizeStatus(edited, corev1.PersistentVolumeClaimNodeResizeInfeasible)
	}
	// MNT-416, MNT-418, MNT-423, EXP-050: the first message stays.
	edited.Status.Conditions = objects.MergeResizeConditions(e.claim.Status.Conditions, true, corev1.PersistentVolumeClaimCondition{
		Type: corev1.PersistentVolumeClaimNodeResizeError, Status: corev1.ConditionTrue,
		LastTransitionTime: metav1.NewTime(e.p.Now().Truncate(time.Second)),
		Message:            fmt.Sprintf("failed to expand pvc with %v", err),
	})
	// MNT-416, MNT-418: without a version. If that fails as well, the next attempt notes it.
	if claim, patchErr := reach(e.k, func() (*corev1.PersistentVolumeClaim, error) {
		return claimstatus.Force(e.p, e.claim, edited)
	}); patchErr != nil {
		e.p.Decide("MNT-418", e.claim, "cannot note that the expansion failed: %v", patchErr)
	} else {
		e.claim = claim
	}
	if is[plugin.InUseError](err) {
		// MNT-419, EXP-042: not on this node as long as it has the volume; and the pod gets it.
		e.refusedInUse(err)
		return false, nil
	}
	return false, err
}

// refusedInUse remembers that the driver does not expand the volume while it is used.
func (e *expander) refusedInUse(err error) {
	if av, ok := e.k.actual.Volume(e.volume); ok {
		av.RefusesExpansionInUse = true
	}
	e.p.Decide("MNT-419", e.pod, "volume %s is not expanded while it is in use: %v", e.volume, err)
}

// withoutNotes is the expansion of a claim whose status says nothing about it (MNT-421).
func (e *expander) withoutNotes() (done bool, err error) {
	err = e.k.plugins.For(e.spec.Plugin.Name).NodeExpand(e.p, e.spec, e.req)
	switch {
	case err == nil:
	case is[plugin.NotSupportedError](err):
		// MNT-421
		return true, nil
	case is[plugin.InUseError](err):
		// MNT-421
		e.refusedInUse(err)
		return true, nil
	default:
		// MNT-421: and nothing is noted.
		return false, err
	}
	e.tellSuccess()
	capacity := e.claim.Status.Capacity[corev1.ResourceStorage]
	if capacity.Cmp(e.size) >= 0 {
		return true, nil
	}
	if err := e.finish(); err != nil {
		return false, fmt.Errorf("mountVolume.NodeExpandVolume update PVC status failed : %w", err)
	}
	return true, nil
}

// tellSuccess tells of an expansion (MNT-394).
func (e *expander) tellSuccess() {
	e.p.Decide("MNT-414", e.pod, "volume %s has %s", e.volume, e.size.String())
	// MNT-394, EXP-041
	for _, obj := range []api.Object{e.pod, e.claim} {
		e.k.Event(e.p, obj, corev1.EventTypeNormal, "FileSystemResizeSuccessful",
			"MountVolume.NodeExpandVolume succeeded for volume %q %s", e.spec.Name(), e.k.node.name)
	}
}

// panicError ends an operation in which the code of the kubelet panics. The kubelet recovers, and does nothing of what would have come
// after it: no Event, no note of how far the operation came (MNT-430).
type panicError struct{ text string }

func (e panicError) Error() string { return fmt.Sprintf("recovered from panic %q", e.text) }

// finish gives the claim its new size and takes the notes off it (MNT-414).
func (e *expander) finish() error {
	if e.claim.Status.Capacity == nil {
		// MNT-430: a claim that is Lost, above all (BIND-074).
		return panicError{"assignment to entry in nil map"}
	}
	edited := objects.CopyOfClaim(e.claim)
	objects.SetClaimCapacity(edited, e.size)
	objects.SetResizeStatus(edited, "")
	// MNT-414: what was allocated stays.
	edited.Status.Conditions = objects.MergeResizeConditions(e.claim.Status.Conditions, false)
	return e.patch(edited)
}

// patch writes the status of the claim if it is still as it was read.
func (e *expander) patch(edited *corev1.PersistentVolumeClaim) error {
	claim, err := reach(e.k, func() (*corev1.PersistentVolumeClaim, error) { return claimstatus.Patch(e.p, e.claim, edited) })
	if err != nil {
		return fmt.Errorf("patchPVCStatus failed to patch PVC %q: %w", e.claim.Name, err)
	}
	e.claim = claim
	return nil
}
