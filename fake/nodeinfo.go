package fake

import (
	"maps"
	"slices"

	"github.com/volsim/volsim/storage"
)

// AttachLimit is an option that lets each node have so many volumes attached. By default there is no limit.
func AttachLimit(volumes int32) MemoryOption {
	return func(m *model) {
		if volumes < 0 {
			m.fault("AttachLimit(%d): give zero or more", volumes)
			return
		}
		m.attachLimit = &volumes
	}
}

// MountGroup is an option that makes a driver with VOLUME_MOUNT_GROUP: it sets the group of files while mounting.
func MountGroup() MemoryOption { return func(m *model) { m.capabilities.MountGroup = true } }

// AttachLimit is the limit of the node, else the option's; negative for none.
func (m *model) AttachLimit(node string) int32 {
	if limit, ok := m.nodeLimits[node]; ok {
		return limit
	}
	if m.attachLimit == nil {
		return -1
	}
	return *m.attachLimit
}

// SetAttachLimit implements Memory.SetAttachLimit.
func (m *model) SetAttachLimit(node string, volumes int32) {
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

// NotifyAttachLimit calls fn whenever SetAttachLimit changes a limit. It returns false for a backend that embeds the Memory, whose limit
// may change in other ways.
func (m *model) NotifyAttachLimit(self storage.Backend, fn func()) bool {
	if self != m.owner {
		return false
	}
	m.heard = append(m.heard, fn)
	return true
}

// topologyKeys are the keys of the segments of the option Topology.
func (m *model) topologyKeys() []string {
	keys := map[string]bool{}
	for _, segment := range m.segments {
		for key := range segment {
			keys[key] = true
		}
	}
	return slices.Sorted(maps.Keys(keys))
}
