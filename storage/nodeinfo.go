package storage

import "slices"

// TopologyKeyer names the keys of node labels by which a driver tells places apart.
type TopologyKeyer interface {
	TopologyKeys() []string
}

// AttachLimiter says how many volumes of a driver a node can have attached; less than zero is no limit.
type AttachLimiter interface {
	AttachLimit(node string) int32
}

// AttachLimitNotifier is an [AttachLimiter] that reports changes of its limits. NotifyAttachLimit calls fn after each change, and returns
// false if changes of self, the backend that it was called on, cannot be reported.
type AttachLimitNotifier interface {
	NotifyAttachLimit(self Backend, fn func()) bool
}

// OnAttachLimit calls fn whenever an attach limit of the backend may have changed. It returns false if such changes cannot be reported:
// the backend is an [AttachLimiter] but no [AttachLimitNotifier].
func OnAttachLimit(b Backend, fn func()) bool {
	if n, ok := b.(AttachLimitNotifier); ok {
		return n.NotifyAttachLimit(b, fn)
	}
	_, limits := b.(AttachLimiter)
	return !limits
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
