package fake

import (
	"maps"
	"slices"

	"github.com/volsim/volsim/storage"
)

// AttachLimit returns the limit of the node, else that of all nodes; negative for none.
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
	for _, fn := range m.watchers {
		fn()
	}
}

// NotifyAttachLimit calls fn whenever SetAttachLimit changes a limit. It returns false if self is a backend that embeds the Memory, because
// its limit may change in other ways.
func (m *model) NotifyAttachLimit(self storage.Backend, fn func()) bool {
	if self != m.owner {
		return false
	}
	m.watchers = append(m.watchers, fn)
	return true
}

// topologyKeys returns the keys of the segments, sorted.
func (m *model) topologyKeys() []string {
	keys := map[string]bool{}
	for _, segment := range m.segments {
		for key := range segment {
			keys[key] = true
		}
	}
	return slices.Sorted(maps.Keys(keys))
}
