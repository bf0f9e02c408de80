package fake

import (
	"maps"
	"slices"
)

// What the node part of a CSI driver says about a node (NodeGetInfo), which the kubelet publishes in its CSINode.

// TopologyKeyer names the keys of node labels by which a driver tells places apart.
type TopologyKeyer interface {
	TopologyKeys() []string
}

// AttachLimiter says how many volumes of a driver a node can have attached; less than zero is no limit.
type AttachLimiter interface {
	AttachLimit(node string) int32
}

// TopologyKeysOf is what a [TopologyKeyer] says, in order and each once; none for any other backend.
func TopologyKeysOf(b Backend) []string {
	t, ok := b.(TopologyKeyer)
	if !ok {
		return nil
	}
	var keys []string
	if err := Safely(b.Name(), "TopologyKeys", func() error { keys = slices.Clone(t.TopologyKeys()); return nil }); err != nil {
		return nil
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}

// AttachLimitOf is what an [AttachLimiter] says; ok is false for no limit.
func AttachLimitOf(b Backend, node string) (limit int32, ok bool) {
	l, ok := b.(AttachLimiter)
	if !ok {
		return 0, false
	}
	if err := Safely(b.Name(), "AttachLimit", func() error { limit = l.AttachLimit(node); return nil }); err != nil {
		return 0, false
	}
	return limit, limit >= 0
}

// AttachLimit is an option that lets each node have so many volumes attached.
func AttachLimit(volumes int32) MemoryOption {
	return func(m *Memory) {
		if volumes < 0 {
			m.fault("AttachLimit(%d): give zero or more", volumes)
			return
		}
		m.attachLimit = &volumes
	}
}

// AttachLimit is what [Memory.SetAttachLimit] said last about the node, else what the option of that name says; no limit without both.
func (m *Memory) AttachLimit(node string) int32 {
	if limit, ok := m.nodeLimits[node]; ok {
		return limit
	}
	if m.attachLimit == nil {
		return -1
	}
	return *m.attachLimit
}

// SetAttachLimit lets the node have so many volumes attached from now on, as when a network interface takes the place of one. "" is every node,
// also those of which something else was said before. Less than zero is no limit.
//
// Nobody learns of it before the driver is asked: if its CSIDriver sets nodeAllocatableUpdatePeriodSeconds, a kubelet asks it that often
// (MNT-359). Then the CSINode says so, and the scheduler goes by it. The backend itself does not count; to have it refuse, let it fail with
// [ResourceExhausted].
func (m *Memory) SetAttachLimit(node string, volumes int32) {
	if node == "" {
		m.nodeLimits, m.attachLimit = nil, &volumes
	} else {
		if m.nodeLimits == nil {
			m.nodeLimits = map[string]int32{}
		}
		m.nodeLimits[node] = volumes
	}
	for _, fn := range m.heard {
		fn()
	}
}

// OnAttachLimit has fn called whenever an attach limit of the backend may have changed. It reports whether that can be known: it can of a
// [Memory], and of what is no [AttachLimiter]; of any other backend, one that embeds a Memory included, the limit may change unheard.
func OnAttachLimit(b Backend, fn func()) bool {
	if m, ok := b.(*Memory); ok {
		m.heard = append(m.heard, fn)
		return true
	}
	_, limits := b.(AttachLimiter)
	return !limits
}

// TopologyKeys are the keys of the segments of the option Topology.
func (m *Memory) TopologyKeys() []string {
	keys := map[string]bool{}
	for _, segment := range m.segments {
		for key := range segment {
			keys[key] = true
		}
	}
	return slices.Sorted(maps.Keys(keys))
}
