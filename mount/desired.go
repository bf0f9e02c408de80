package mount

import (
	"maps"
	"slices"

	"github.com/tidwall/btree"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// desiredState is what a kubelet wants mounted: volumes, and the pods each is for (MNT-040).
type desiredState struct {
	volumes btree.Map[corev1.UniqueVolumeName, *desiredVolume]
	// errors are why volumes of a pod could not be resolved, or wait for something else.
	errors map[types.UID]map[string]struct{}
}

type desiredVolume struct {
	identity
	gid string
	// reported says that the node's status has the volume in use (MNT-044).
	reported bool
	// size is the capacity of the PersistentVolume in bytes, zero without one (MNT-040, MNT-074).
	size int64
	pods btree.Map[types.UID, *desiredPod]
}

type desiredPod struct {
	pod    *corev1.Pod
	spec   *volumeSpec
	outers []string
}

func newDesiredState() *desiredState {
	return &desiredState{errors: map[types.UID]map[string]struct{}{}}
}

// maxErrors is how many different errors of a pod are kept, less one (MNT-007).
const maxErrors = 10

// add puts a pod's volume in. It reports whether that is new.
func (d *desiredState) add(id identity, pod *corev1.Pod, spec *volumeSpec) (added bool) {
	v, known := d.volumes.Get(id.name)
	if !known {
		// MNT-040, MNT-041: what the volume is like is decided once. MNT-046: whoever else has it does not matter here.
		v = &desiredVolume{identity: id, gid: spec.gid()}
		if spec.PV != nil {
			// MNT-040: also for a pod that may only read, of which MNT-074 never hears again.
			v.size = spec.capacity()
		}
		d.volumes.Set(id.name, v)
	}
	dp, known := v.pods.Get(pod.UID)
	if !known {
		dp = &desiredPod{}
		v.pods.Set(pod.UID, dp)
	}
	// MNT-041: the newest pod and spec count.
	dp.pod, dp.spec = pod, spec
	// MNT-042, MNT-906: two names in the pod for one volume make one entry.
	if !slices.Contains(dp.outers, spec.outer) {
		dp.outers = append(dp.outers, spec.outer)
	}
	return !known
}

// remove takes a pod's volume out.
func (d *desiredState) remove(name corev1.UniqueVolumeName, pod types.UID) {
	// MNT-043: the errors go first, whether or not the pod has the volume.
	delete(d.errors, pod)
	v, ok := d.volumes.Get(name)
	if !ok {
		return
	}
	v.pods.Delete(pod)
	if v.pods.Len() == 0 {
		// MNT-043: with the volume go its size and its mark.
		d.volumes.Delete(name)
	}
}

func (d *desiredState) get(name corev1.UniqueVolumeName) (*desiredVolume, bool) {
	return d.volumes.Get(name)
}

// has reports whether the pod wants the volume.
func (d *desiredState) has(name corev1.UniqueVolumeName, pod types.UID) bool {
	v, ok := d.volumes.Get(name)
	if !ok {
		return false
	}
	_, ok = v.pods.Get(pod)
	return ok
}

// pair is one pod's volume.
type pair struct {
	volume *desiredVolume
	pod    *desiredPod
}

// pairs lists what is desired, in the order of volume and pod (MNT-014).
func (d *desiredState) pairs() []pair {
	var pairs []pair
	d.volumes.Scan(func(_ corev1.UniqueVolumeName, v *desiredVolume) bool {
		v.pods.Scan(func(_ types.UID, dp *desiredPod) bool {
			pairs = append(pairs, pair{v, dp})
			return true
		})
		return true
	})
	return pairs
}

// markReported says which volumes the node's status has in use (MNT-044). It reports whether that changes anything.
func (d *desiredState) markReported(inUse []corev1.UniqueVolumeName) (changed bool) {
	listed := make(map[corev1.UniqueVolumeName]bool, len(inUse))
	for _, name := range inUse {
		listed[name] = true
	}
	d.volumes.Scan(func(name corev1.UniqueVolumeName, v *desiredVolume) bool {
		// MNT-044, MNT-910: what is not in the list is not reported, whatever it was before.
		changed = changed || v.reported != listed[name]
		v.reported = listed[name]
		return true
	})
	return changed
}

// addError keeps an error of the pod (MNT-007).
func (d *desiredState) addError(pod types.UID, text string) {
	set := d.errors[pod]
	if set == nil {
		set = map[string]struct{}{}
		d.errors[pod] = set
	}
	// MNT-007: the limit is looked at before the new one is in.
	if _, known := set[text]; !known && len(set) <= maxErrors {
		set[text] = struct{}{}
	}
}

// takeErrors returns the errors of the pod, sorted, and forgets them (MNT-350).
func (d *desiredState) takeErrors(pod types.UID) []string {
	set, ok := d.errors[pod]
	if !ok {
		return nil
	}
	delete(d.errors, pod)
	return slices.Sorted(maps.Keys(set))
}
