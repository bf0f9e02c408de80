package schedule

import (
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
)

// nodeTable has the nodes of the informer in the order of their names, and side by side what a search reads of each: it looks at hundreds of
// nodes for every pod. The zero value is built at the first search.
type nodeTable struct {
	slots []nodeSlot
	index map[string]int // in slots, by name
	built bool           // false after a node was added or deleted
}

// nodeSlot is a node with what belongs to it.
type nodeSlot struct {
	at      nodeState
	csiNode *storagev1.CSINode // nil if there is none
	limits  map[string]int     // those of csiNode; see limitsOf
	pods    nodePods
}

// set makes the slot that of a node, or of a new version of its node. rank is its place in the table.
func (slot *nodeSlot) set(node *corev1.Node, rank int) {
	slot.at = nodeState{node: node, rank: rank, nodeFacts: factsOf(node), slot: slot, on: &slot.pods}
}

// nodes returns the nodes in the order of their names.
func (s *scheduler) nodes() []nodeSlot {
	if s.table.built {
		return s.table.slots
	}
	list := s.inf.nodes.List()
	t := nodeTable{slots: make([]nodeSlot, len(list)), index: make(map[string]int, len(list)), built: true}
	for i, node := range list {
		t.index[node.Name] = i
		slot := &t.slots[i]
		slot.set(node, i)
		if csiNode, ok := s.inf.csiNodes.Get(node.Name); ok {
			slot.csiNode, slot.limits = csiNode, limitsOf(csiNode)
		}
		s.pods.move(node.Name, &slot.pods)
	}
	s.pods.forget(func(node string) bool { _, ok := t.index[node]; return ok })
	s.table = t
	return t.slots
}

// update replaces a node.
func (t *nodeTable) update(node *corev1.Node) {
	if i, ok := t.index[node.Name]; ok {
		t.slots[i].set(node, i)
	}
}

// updateCSI replaces the CSINode of a node; nil if it was deleted.
func (t *nodeTable) updateCSI(name string, csiNode *storagev1.CSINode) {
	if i, ok := t.index[name]; ok {
		t.slots[i].csiNode, t.slots[i].limits = csiNode, limitsOf(csiNode)
	}
}

// slot returns the node of that name.
func (s *scheduler) slot(name string) (*nodeSlot, bool) {
	slots := s.nodes()
	i, ok := s.table.index[name]
	if !ok {
		return nil, false
	}
	return &slots[i], true
}

// state returns a node as filters and scores read it.
func (s *scheduler) state(slot *nodeSlot) *nodeState {
	if s.observed() {
		// An observer learns what is read from the informers.
		s.inf.nodes.Get(slot.at.node.Name)
		s.inf.csiNodes.Get(slot.at.node.Name)
	}
	return &slot.at
}

// observed reports whether an observer learns what the scheduler reads.
func (s *scheduler) observed() bool { return s.actor.Engine().Footprint() != nil }
