package schedule

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/match"
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
	request, err := match.NewRequest(claim, match.Options{Scheduler: true})
	if err != nil {
		// SCHED-088: a malformed selector ends the search before any volume is checked.
		return &offer{err: fmt.Errorf("error creating internal label selector for claim: %s: %v", api.KeyOf(claim), err)}
	}
	o := &offer{}
	var free []sized
	for _, pv := range volumes {
		// SCHED-082, SCHED-083, SCHED-085: the same predicates as in the PersistentVolume controller.
		switch ok, reserved := request.Accepts(pv); {
		case !ok:
		case reserved:
			// SCHED-084: its phase, labels and access modes do not matter.
			o.reserved = append(o.reserved, pv)
		default:
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
	// SCHED-086: the smaller first, then by name.
	return match.Compare(a.pv, b.pv)
}

// on picks the volume on a node, nil if there is none. Those that are taken are for other claims of the pod.
func (o *offer) on(node *corev1.Node, taken map[string]bool) (*corev1.PersistentVolume, error) {
	if o.err != nil {
		return nil, o.err
	}
	for _, pv := range o.reserved {
		switch {
		case taken[pv.Name]:
		case match.Reaches(pv, node):
			return pv, nil
		default:
			// SCHED-084: then no other fits.
			return nil, nil
		}
	}
	for _, pv := range o.free {
		// SCHED-085, SCHED-086: the first that the node reaches is the smallest.
		if !taken[pv.Name] && match.Reaches(pv, node) {
			return pv, nil
		}
	}
	return nil, nil
}

func requestOf(claim *corev1.PersistentVolumeClaim) resource.Quantity {
	return claim.Spec.Resources.Requests[corev1.ResourceStorage]
}
