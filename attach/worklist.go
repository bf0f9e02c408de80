package attach

import (
	"cmp"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// pair is a volume on a node.
type pair struct {
	volume corev1.UniqueVolumeName
	node   string
}

// worklist knows where the two worlds differ, so that a pass of the reconciler need not compare all of them. A volume that is in both,
// attached and not about to be detached, is not in it: a pass would find nothing to do there.
type worklist struct {
	// undesired are the volumes that are, or may be, attached and should not be.
	undesired map[pair]struct{}
	// unattached are those that should be attached and are not, or whose detachment was asked for before.
	unattached map[pair]struct{}
}

func newWorklist() worklist {
	return worklist{undesired: map[pair]struct{}{}, unattached: map[pair]struct{}{}}
}

func (w *worklist) put(into, outOf map[pair]struct{}, at pair) {
	delete(outOf, at)
	into[at] = struct{}{}
}

func (w *worklist) drop(at pair) {
	delete(w.undesired, at)
	delete(w.unattached, at)
}

func (w *worklist) empty() bool { return len(w.undesired) == 0 && len(w.unattached) == 0 }

// toDetach lists the undesired volumes in the order in which they are looked at.
func (w *worklist) toDetach() []pair {
	// ATT-212: SIM: by volume, then by node.
	return slices.SortedFunc(maps.Keys(w.undesired), func(a, b pair) int {
		return cmp.Or(cmp.Compare(a.volume, b.volume), cmp.Compare(a.node, b.node))
	})
}

// toAttach lists the unattached volumes in the order in which they are looked at.
func (w *worklist) toAttach() []pair {
	// ATT-212: SIM: by node, then by volume.
	return slices.SortedFunc(maps.Keys(w.unattached), byNode)
}

func byNode(a, b pair) int {
	return cmp.Or(cmp.Compare(a.node, b.node), cmp.Compare(a.volume, b.volume))
}
