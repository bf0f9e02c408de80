package mount

import (
	"errors"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/mount/internal/volumes"
)

// The names of operations (MNT-150 to MNT-153).
const (
	opVerify        = "verify_controller_attached_volume"
	opMount         = "volume_mount"
	opMap           = "map_volume"
	opUnmount       = "volume_unmount"
	opUnmap         = "unmap_volume"
	opUnmountDevice = "unmount_device"
	opUnmapDevice   = "unmap_device"
	opExpand        = "volume_fs_resize"
)

// operations runs what the reconciler starts. At most one operation runs per key. A failed operation cannot start again until its backoff
// is over: engine.NestedOperations keeps the backoff of each key, and start requests a pass for its end.
type operations struct {
	k       *kubelet
	pending *engine.NestedOperations
	// awaiting are mounts that failed because a Secret or a ConfigMap is missing. Settle does not wait for them, since only a user can go on.
	awaiting map[engine.OperationKey]bool
	// blocked are the volumes for which a step had to wait for a running operation.
	blocked map[corev1.UniqueVolumeName]bool
}

// volumeKey returns the key of operations on a volume as a whole, podKey that of operations on one pod's mount of it.
func volumeKey(name corev1.UniqueVolumeName) engine.OperationKey {
	return engine.OperationKey{Volume: string(name)}
}

func podKey(name corev1.UniqueVolumeName, uid types.UID) engine.OperationKey {
	return engine.OperationKey{Volume: string(name), Pod: string(uid)}
}

// mountKey returns the key of a mount (MNT-151).
func mountKey(v *volumes.DesiredVolume, uid types.UID) engine.OperationKey {
	if v.Attachable || v.DeviceMountable {
		// MNT-151, MNT-157: a volume that is mounted once per node is mounted for one pod at a time, with one backoff for all.
		return volumeKey(v.Name)
	}
	// MNT-151: other volumes are mounted for each pod independently.
	return podKey(v.Name, uid)
}

// start starts an operation about a pod or the Node, which trace entries about a failure name. If one with the key is running or in
// backoff, it does nothing (MNT-140); a later pass tries again.
func (op *operations) start(key engine.OperationKey, name string, about api.Object, fn func(p *engine.Process) error) {
	err := op.pending.RunAbout(key, name, about, fn)
	if errors.Is(err, engine.ErrBackoff) {
		// MNT-005, MNT-158, MNT-907, MNT-933: the backoff belongs to the key, so the operation of another pod may have caused it. A pass
		// at its very end is too early.
		left, _ := op.pending.RetryAfter(key, name)
		over := op.k.actor.Engine().Now().Add(left + 1)
		if op.k.node.partitioned || op.awaiting[key] {
			op.k.reconciler.ticker.ArmBackgroundAt(over)
		} else {
			op.k.reconciler.ticker.ArmAt(over)
		}
	}
}

// ended follows the code of an operation.
func (op *operations) ended(key engine.OperationKey, name string) {
	// MNT-014, MNT-160: the pass after the operation decides on the next step; an expansion has requested one itself.
	if name != opExpand {
		op.k.reconciler.ticker.ArmNext()
	}
	delete(op.blocked, corev1.UniqueVolumeName(key.Volume))
}

// noteBlocked records that a step had to wait for a running operation with the key.
func (op *operations) noteBlocked(key engine.OperationKey) {
	if !op.pending.Running(key) {
		// MNT-014: the operation ended at this instant, so its end requests no other pass.
		op.k.reconciler.ticker.ArmNext()
		return
	}
	op.blocked[corev1.UniqueVolumeName(key.Volume)] = true
}

// is reports whether err is or wraps an error of type T.
func is[T error](err error) bool {
	if err == nil {
		return false
	}
	var target T
	return errors.As(err, &target)
}
