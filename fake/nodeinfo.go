package fake

import (
	"github.com/volsim/volsim/storage"
	"maps"
	"slices"
)

// What the node part of a CSI driver says about a node (NodeGetInfo), which the kubelet publishes in its CSINode.

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

// NotifyAttachLimit calls fn whenever [Memory.SetAttachLimit] changes a limit. It reports false for a backend that embeds m, whose limit
// may change in other ways.
func (m *Memory) NotifyAttachLimit(self storage.Backend, fn func()) bool {
	if self != storage.Backend(m) {
		return false
	}
	m.heard = append(m.heard, fn)
	return true
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
