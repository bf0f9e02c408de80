package schedule

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/objects"
)

// offer is the volumes that a claim may be given, whatever the node (MATCH-022): what is left to check is whether a node reaches
// them.
type offer struct {
	// reserved point at the claim, by name (SCHED-084).
	reserved []*corev1.PersistentVolume
	// free are for anybody, the smallest first, then by name (SCHED-086).
	free []*corev1.PersistentVolume
	// err is set when the claim's selector is malformed.
	err error
}

// newOffer looks through the volumes of the claim's class.
func newOffer(claim *corev1.PersistentVolumeClaim, volumes []*corev1.PersistentVolume) *offer {
	selector := labels.Everything()
	if claim.Spec.Selector != nil {
		var err error
		if selector, err = metav1.LabelSelectorAsSelector(claim.Spec.Selector); err != nil {
			// SCHED-088: no volume is looked at then.
			return &offer{err: fmt.Errorf("error creating internal label selector for claim: %s: %v", api.KeyOf(claim), err)}
		}
	}
	o := &offer{}
	request := requestOf(claim)
	var free []sized
	for _, pv := range volumes {
		switch mine := objects.IsMine(pv, claim); {
		case !fits(pv, claim, &request, mine):
		case mine:
			// SCHED-084: its phase, labels and access modes do not matter.
			o.reserved = append(o.reserved, pv)
		case pv.Status.Phase == corev1.VolumeAvailable && selector.Matches(labels.Set(pv.Labels)) &&
			objects.ClassOfVolume(pv) == objects.ClassOf(claim) && hasModes(pv, claim):
			// SCHED-085
			capacity := pv.Spec.Capacity[corev1.ResourceStorage]
			free = append(free, sized{pv, capacity.Value()})
		}
	}
	slices.SortFunc(o.reserved, func(a, b *corev1.PersistentVolume) int { return strings.Compare(a.Name, b.Name) })
	slices.SortFunc(free, sized.compare)
	o.free = make([]*corev1.PersistentVolume, len(free))
	for i := range free {
		o.free[i] = free[i].pv
	}
	return o
}

// sized is a volume with its capacity in bytes, rounded up.
type sized struct {
	pv    *corev1.PersistentVolume
	bytes int64
}

func (a sized) compare(b sized) int {
	if a.bytes != b.bytes {
		return cmp.Compare(a.bytes, b.bytes)
	}
	x, y := a.pv.Spec.Capacity[corev1.ResourceStorage], b.pv.Spec.Capacity[corev1.ResourceStorage]
	// SCHED-086
	if order := x.Cmp(y); order != 0 {
		return order
	}
	return strings.Compare(a.pv.Name, b.pv.Name)
}

// fits is what any volume has to be like for the claim, also one that is reserved for it (SCHED-082). mine says that it is.
func fits(pv *corev1.PersistentVolume, claim *corev1.PersistentVolumeClaim, request *resource.Quantity, mine bool) bool {
	capacity := pv.Spec.Capacity[corev1.ResourceStorage]
	// SCHED-082, SCHED-083
	return (pv.Spec.ClaimRef == nil || mine) &&
		capacity.Cmp(*request) >= 0 &&
		objects.VolumeModeOf(pv.Spec.VolumeMode) == objects.VolumeModeOf(claim.Spec.VolumeMode) &&
		objects.ValueOf(pv.Spec.VolumeAttributesClassName) == objects.ValueOf(claim.Spec.VolumeAttributesClassName) &&
		pv.DeletionTimestamp == nil
}

// on picks the volume on a node, nil if there is none. Those that are taken are for other claims of the pod.
func (o *offer) on(node *corev1.Node, taken map[string]bool) (*corev1.PersistentVolume, error) {
	if o.err != nil {
		return nil, o.err
	}
	for _, pv := range o.reserved {
		switch {
		case taken[pv.Name]:
		case objects.AdmitsNode(pv, node.Labels):
			return pv, nil
		default:
			// SCHED-084: then no other will do.
			return nil, nil
		}
	}
	for _, pv := range o.free {
		// SCHED-085, SCHED-086: the first that the node reaches is the smallest.
		if !taken[pv.Name] && objects.AdmitsNode(pv, node.Labels) {
			return pv, nil
		}
	}
	return nil, nil
}

func hasModes(pv *corev1.PersistentVolume, claim *corev1.PersistentVolumeClaim) bool {
	return !slices.ContainsFunc(claim.Spec.AccessModes, func(mode corev1.PersistentVolumeAccessMode) bool {
		return !slices.Contains(pv.Spec.AccessModes, mode)
	})
}

func requestOf(claim *corev1.PersistentVolumeClaim) resource.Quantity {
	return claim.Spec.Resources.Requests[corev1.ResourceStorage]
}
