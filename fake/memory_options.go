package fake

import (
	"maps"
	"time"

	"github.com/volsim/volsim/internal/core/backends"
	"github.com/volsim/volsim/storage"
	"k8s.io/apimachinery/pkg/api/resource"
)

// MemoryOption changes the properties of a [Memory] or [Plugin]. With an invalid option, a cluster rejects the backend.
type MemoryOption func(*model)

// Without removes operations. Attach and Detach are removed together, and so are Stage and Unstage, Publish and Unpublish. A CSI driver
// without [storage.Attach] is for a CSIDriver with attachRequired false.
func Without(ops ...storage.Op) MemoryOption {
	return func(m *model) {
		for _, op := range m.known("Without", ops) {
			delete(m.able, op)
			delete(m.able, opposites[op])
		}
	}
}

// Only removes all operations but these and their opposites: Only(storage.Create, storage.Delete) is a backend that only provisions.
func Only(ops ...storage.Op) MemoryOption {
	return func(m *model) {
		m.able = map[storage.Op]bool{}
		for _, op := range m.known("Only", ops) {
			m.able[op] = true
			if opposite, ok := opposites[op]; ok {
				m.able[opposite] = true
			}
		}
	}
}

var opposites = map[storage.Op]storage.Op{
	storage.Attach: storage.Detach, storage.Detach: storage.Attach,
	storage.Stage: storage.Unstage, storage.Unstage: storage.Stage,
	storage.Publish: storage.Unpublish, storage.Unpublish: storage.Publish,
	storage.CreateSnapshot: storage.DeleteSnapshot, storage.DeleteSnapshot: storage.CreateSnapshot,
}

// Latency sets how long each call of the operation takes; default zero.
func Latency(op storage.Op, d time.Duration) MemoryOption {
	return func(m *model) {
		if d < 0 {
			m.mistake("Latency of %s is %s; it must not be negative", op, d)
			return
		}
		for _, op := range m.known("Latency", []storage.Op{op}) {
			m.latency[op] = d
		}
	}
}

// MinSize sets the smallest size of a volume, such as "1Gi". A request for less gets that size. By default there is none.
func MinSize(size string) MemoryOption {
	return func(m *model) { m.minSize = m.bytes("MinSize", size) }
}

// MaxSize sets the largest size of a volume. A request for more gives code OutOfRange. By default there is none.
func MaxSize(size string) MemoryOption {
	return func(m *model) { m.maxSize = m.bytes("MaxSize", size) }
}

// Quota sets the total size of all volumes. A request that exceeds it gives code ResourceExhausted. By default there is none. Static
// volumes of unknown size do not count. A driver with a quota reports what is left of it ([storage.CapacityReporter]).
func Quota(size string) MemoryOption {
	return func(m *model) { m.quota = m.bytes("Quota", size) }
}

// Topology gives the driver segments. A volume is created in one of them, and only nodes there can reach it: in the first preferred segment
// of the request that the driver has, possibly with more labels, else in the first required one, else in the first of the driver. If the
// driver has none of the required segments, the code is ResourceExhausted. By default all nodes reach all volumes.
func Topology(segments ...storage.Segment) MemoryOption {
	return func(m *model) {
		m.segments = nil
		for _, s := range segments {
			if len(s) == 0 {
				m.mistake("Topology with an empty segment; give at least one label")
				continue
			}
			m.segments = append(m.segments, maps.Clone(s))
		}
	}
}

// Lenient makes the backend allow conflicting uses of a volume, and accept IDs of deleted volumes as those of static ones. Problems are
// still recorded.
func Lenient() MemoryOption { return func(m *model) { m.lenient = true } }

// CreatedOnly makes the backend reject volumes that it did not create, with code NotFound. By default it accepts them as static volumes.
func CreatedOnly() MemoryOption { return func(m *model) { m.createdOnly = true } }

// OfflineExpansion makes the backend reject the expansion of an attached volume, with code FailedPrecondition.
func OfflineExpansion() MemoryOption { return func(m *model) { m.offline = true } }

// Mutable sets the parameters that Modify may change; others give code InvalidArgument. By default it may change all.
func Mutable(parameters ...string) MemoryOption {
	return func(m *model) { m.mutable = append([]string{}, parameters...) }
}

// AttachLimit sets how many volumes can be attached to each node. By default there is no limit.
func AttachLimit(volumes int32) MemoryOption {
	return func(m *model) {
		if volumes < 0 {
			m.mistake("AttachLimit(%d); give zero or more", volumes)
			return
		}
		m.attachLimit = &volumes
	}
}

// SlowSnapshots makes a new snapshot not ready in the first replies of CreateSnapshot or GetSnapshot about it, as if it had to be uploaded.
// By default a snapshot is ready at once.
func SlowSnapshots(replies int) MemoryOption {
	return func(m *model) {
		if replies < 0 {
			m.mistake("SlowSnapshots(%d); give zero or more", replies)
			return
		}
		m.slowSnapshots = replies
	}
}

// MountGroup makes a driver with VOLUME_MOUNT_GROUP, which sets the group of files while mounting.
func MountGroup() MemoryOption { return func(m *model) { m.capabilities.MountGroup = true } }

// known returns the operations that exist, and records the others as mistakes.
func (m *model) known(option string, ops []storage.Op) []storage.Op {
	var known []storage.Op
	for _, op := range ops {
		if backends.IsOp(op) {
			known = append(known, op)
			continue
		}
		m.mistake("%s: there is no operation %q", option, op)
	}
	return known
}

// bytes parses a size. It records an invalid one as a mistake and returns zero.
func (m *model) bytes(option, size string) int64 {
	q, err := resource.ParseQuantity(size)
	if err != nil || q.Sign() <= 0 {
		m.mistake("%s %q is not a size; write it like 10Gi", option, size)
		return 0
	}
	return q.Value()
}
