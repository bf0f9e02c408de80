package volumes

import (
	"iter"
	"slices"

	"github.com/tidwall/btree"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/volsim/volsim/internal/core/objects"
)

// Desired is the state that a kubelet has to bring about: volumes, and the pods that use them (MNT-040). Build it with NewDesired.
type Desired struct {
	volumes btree.Map[corev1.UniqueVolumeName, *DesiredVolume]
	// pods has the first volume of each pod, which leads to the others.
	pods chains[DesiredPod, *DesiredPod]
	// errors per pod: why volumes could not be resolved yet.
	errors map[types.UID]map[string]struct{}
}

// DesiredVolume is a volume that at least one pod wants.
type DesiredVolume struct {
	Identity
	GID string
	// ReportedInUse says that volumesInUse in the node's status lists the volume (MNT-044).
	ReportedInUse bool
	// Size is the capacity of the PersistentVolume in bytes, zero without one (MNT-040, MNT-074).
	Size int64
	// Label and PodLabel are those of the spec that the volume was added with (MNT-040).
	Label, PodLabel string
	Pods            ByPod[DesiredPod]
}

// DesiredPod is a pod that wants a volume. PodNames are the names of the volume in the pod.
type DesiredPod struct {
	Pod      *corev1.Pod
	Spec     *Spec
	PodNames []string

	volume *DesiredVolume
	next   *DesiredPod // of the pod's volumes, ordered by name
}

// newDesired is the memory of a new volume with its first pod: most volumes have one pod, and one name there.
type newDesired struct {
	volume DesiredVolume
	pod    DesiredPod
	list   [1]podRecord[DesiredPod]
	names  [1]string
}

// NewDesired returns an empty state.
func NewDesired() *Desired {
	return &Desired{pods: chains[DesiredPod, *DesiredPod]{}, errors: map[types.UID]map[string]struct{}{}}
}

// maxErrors limits the different errors stored per pod to maxErrors+1 (MNT-007).
const maxErrors = 10

// AddPodVolume adds a volume for a pod, or updates its pod and spec. It reports whether the pair is new.
func (d *Desired) AddPodVolume(id Identity, pod *corev1.Pod, spec *Spec) (added bool) {
	v, known := d.volumes.Get(id.Name)
	var dp *DesiredPod
	if known {
		dp, known = v.Pods.Get(pod.UID)
	} else {
		// MNT-040, MNT-041: the identity is fixed at first use. MNT-046: other users of the volume are not checked here.
		memory := &newDesired{volume: DesiredVolume{Identity: id, GID: spec.GID(), Label: spec.Label, PodLabel: spec.PodLabel}}
		v, dp = &memory.volume, &memory.pod
		v.Pods.list, dp.PodNames = memory.list[:0], memory.names[:0]
		if spec.PV != nil {
			// MNT-040: read-only pods included, for which MNT-074 never updates the size.
			v.Size = spec.Capacity()
		}
		d.volumes.Set(id.Name, v)
	}
	if dp == nil {
		dp = &DesiredPod{}
	}
	if !known {
		dp.volume = v
		v.Pods.set(pod.UID, dp)
		d.pods.link(pod.UID, dp)
	}
	// MNT-041: the latest pod and spec count.
	dp.Pod, dp.Spec = pod, spec
	// MNT-042, MNT-906: one volume under two names in the pod is one entry.
	if !slices.Contains(dp.PodNames, spec.PodName) {
		dp.PodNames = append(dp.PodNames, spec.PodName)
	}
	return !known
}

// RemovePodVolume removes a volume of a pod, and the volume itself with its last pod.
func (d *Desired) RemovePodVolume(name corev1.UniqueVolumeName, pod types.UID) {
	// MNT-043: the pod's errors are dropped even if it does not have the volume.
	delete(d.errors, pod)
	v, ok := d.volumes.Get(name)
	if !ok {
		return
	}
	if dp := v.Pods.remove(pod); dp != nil {
		d.pods.unlink(pod, dp)
	}
	if v.Pods.Len() == 0 {
		// MNT-043: with the last pod, size and ReportedInUse are lost.
		d.volumes.Delete(name)
	}
}

func (r *DesiredPod) volumeName() corev1.UniqueVolumeName { return r.volume.Name }
func (r *DesiredPod) following() **DesiredPod             { return &r.next }

// Volume returns a desired volume by name.
func (d *Desired) Volume(name corev1.UniqueVolumeName) (*DesiredVolume, bool) {
	return d.volumes.Get(name)
}

// HasPodVolume reports whether the pod wants the volume.
func (d *Desired) HasPodVolume(name corev1.UniqueVolumeName, pod types.UID) bool {
	for dp := d.pods[pod]; dp != nil; dp = dp.next {
		if dp.volume.Name == name {
			return true
		}
	}
	return false
}

// WantsMount reports whether the pod wants the volume with the label that it is mounted with.
func (d *Desired) WantsMount(v *ActualVolume, pod types.UID) bool {
	// MNT-045: with another label it has to be mounted anew.
	return d.WantsDevice(v) && d.HasPodVolume(v.Name, pod)
}

// WantsDevice reports whether a pod wants the volume with the label that it is mounted with.
func (d *Desired) WantsDevice(v *ActualVolume) bool {
	dv, ok := d.volumes.Get(v.Name)
	return ok && dv.Label == objects.ValueOf(v.Label)
}

// DesiredPair is one volume that one pod wants.
type DesiredPair struct {
	Volume *DesiredVolume
	Pod    *DesiredPod
}

// PodVolumes lists all pairs, ordered by volume and pod (MNT-014: the order of a pass is fixed).
func (d *Desired) PodVolumes() []DesiredPair {
	if d.volumes.Len() == 0 {
		return nil
	}
	pairs := make([]DesiredPair, 0, d.volumes.Len()) // most volumes have one pod
	d.volumes.Scan(func(_ corev1.UniqueVolumeName, v *DesiredVolume) bool {
		v.Pods.Scan(func(_ types.UID, dp *DesiredPod) bool {
			pairs = append(pairs, DesiredPair{v, dp})
			return true
		})
		return true
	})
	return pairs
}

// HasPod reports whether a pod wants a volume.
func (d *Desired) HasPod(pod types.UID) bool { return d.pods[pod] != nil }

// VolumesOf yields the volumes that one pod wants, in the order of their names.
func (d *Desired) VolumesOf(pod types.UID) iter.Seq2[*DesiredVolume, *DesiredPod] {
	return func(yield func(*DesiredVolume, *DesiredPod) bool) {
		for dp := d.pods[pod]; dp != nil && yield(dp.volume, dp); {
			dp = dp.next
		}
	}
}

// MarkReportedInUse sets ReportedInUse from the volumesInUse of the node's status. It reports whether a volume changed.
func (d *Desired) MarkReportedInUse(inUse []corev1.UniqueVolumeName) (changed bool) {
	listed := make(map[corev1.UniqueVolumeName]bool, len(inUse))
	for _, name := range inUse {
		listed[name] = true
	}
	d.volumes.Scan(func(name corev1.UniqueVolumeName, v *DesiredVolume) bool {
		// MNT-044, MNT-910: a volume that the list lacks is not reported, even if it was before.
		changed = changed || v.ReportedInUse != listed[name]
		v.ReportedInUse = listed[name]
		return true
	})
	return changed
}

// AddPodError records an error of the pod, unless it has too many.
func (d *Desired) AddPodError(pod types.UID, text string) {
	set := d.errors[pod]
	if set == nil {
		set = map[string]struct{}{}
		d.errors[pod] = set
	}
	// MNT-007: the limit is checked before the error is added, so one more fits.
	if _, known := set[text]; !known && len(set) <= maxErrors {
		set[text] = struct{}{}
	}
}

// TakePodErrors returns the errors of the pod, sorted, and clears them (MNT-350).
func (d *Desired) TakePodErrors(pod types.UID) []string {
	set, ok := d.errors[pod]
	if !ok {
		return nil
	}
	delete(d.errors, pod)
	return objects.SortedKeys(set)
}

// ClearPodErrors drops the errors of the pod.
func (d *Desired) ClearPodErrors(pod types.UID) { delete(d.errors, pod) }

// PodsWithErrors lists the pods that have errors, in order.
func (d *Desired) PodsWithErrors() []types.UID {
	if len(d.errors) == 0 {
		return nil
	}
	return objects.SortedKeys(d.errors)
}

// EachVolume visits the desired volumes, ordered by name, until visit returns false. The visit must not add or remove volumes.
func (d *Desired) EachVolume(visit func(v *DesiredVolume) bool) {
	d.volumes.Scan(func(_ corev1.UniqueVolumeName, v *DesiredVolume) bool { return visit(v) })
}
