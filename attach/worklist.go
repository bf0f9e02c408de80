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

// worklist has the volumes for which desired and actual state differ, so that a pass of the reconciler reads only these. A volume that is
// desired and attached, without a detach request, is not in it.
type worklist struct {
	// undesired: attached, certainly or not, and not desired.
	undesired map[pair]struct{}
	// unattached: desired, and either not attached or with a detach request that has to be canceled.
	unattached map[pair]struct{}
	// found counts how often a volume has become undesired.
	found int
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

// toDetach lists the undesired volumes in the order of a pass.
func (w *worklist) toDetach() []pair {
	if len(w.undesired) == 0 {
		return nil
	}
	// ATT-212: upstream has no order. SIM: by volume, then by node.
	return sorted(w.undesired, byVolume)
}

// toAttach lists the unattached volumes in the order of a pass.
func (w *worklist) toAttach() []pair {
	if len(w.unattached) == 0 {
		return nil
	}
	// ATT-212: upstream has no order. SIM: by node, then by volume.
	return sorted(w.unattached, byNode)
}

func sorted(set map[pair]struct{}, order func(a, b pair) int) []pair {
	list := slices.AppendSeq(make([]pair, 0, len(set)), maps.Keys(set))
	slices.SortFunc(list, order)
	return list
}

func byVolume(a, b pair) int {
	return cmp.Or(cmp.Compare(a.volume, b.volume), cmp.Compare(a.node, b.node))
}

func byNode(a, b pair) int {
	return cmp.Or(cmp.Compare(a.node, b.node), cmp.Compare(a.volume, b.volume))
}
