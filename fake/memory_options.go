package fake

import (
	"maps"
	"time"

	"github.com/volsim/volsim/internal/core/backends"
	"github.com/volsim/volsim/storage"
	"k8s.io/apimachinery/pkg/api/resource"
)

// MemoryOption changes what a [Memory] is like. A wrong option shows in [Memory.Err], and so in [NewSet].
type MemoryOption func(*model)

// Without takes operations away. Attach and Detach go together, and so do Stage and Unstage, Publish and Unpublish.
func Without(ops ...storage.Op) MemoryOption {
	return func(m *model) {
		for _, op := range m.known("Without", ops) {
			delete(m.able, op)
			delete(m.able, opposites[op])
		}
	}
}

// Only takes everything away but these operations; those that go together come together.
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

var opposites = map[storage.Op]storage.Op{storage.Attach: storage.Detach, storage.Detach: storage.Attach, storage.Stage: storage.Unstage, storage.Unstage: storage.Stage, storage.Publish: storage.Unpublish, storage.Unpublish: storage.Publish}

// WithoutStage makes a driver without STAGE_UNSTAGE_VOLUME.
func WithoutStage() MemoryOption { return Without(storage.Stage) }

// WithoutAttach makes a driver without PUBLISH_UNPUBLISH_VOLUME, for a CSIDriver with attachRequired false.
func WithoutAttach() MemoryOption { return Without(storage.Attach) }

// ProvisionOnly leaves Create and Delete.
func ProvisionOnly() MemoryOption { return Only(storage.Create, storage.Delete) }

// Latency is how long each call of the operation takes; zero unless said.
func Latency(op storage.Op, d time.Duration) MemoryOption {
	return func(m *model) {
		if d < 0 {
			m.fault("Latency of %s is %s: it must not be negative", op, d)
			return
		}
		for _, op := range m.known("Latency", []storage.Op{op}) {
			m.latency[op] = d
		}
	}
}

// MinSize is the size of the smallest volume, such as "1Gi": a smaller request gets it. None unless said.
func MinSize(size string) MemoryOption {
	return func(m *model) { m.minSize = m.bytes("MinSize", size) }
}

// MaxSize is the size of the largest volume: a larger request is code OutOfRange. None unless said.
func MaxSize(size string) MemoryOption {
	return func(m *model) { m.maxSize = m.bytes("MaxSize", size) }
}

// Quota is how much all volumes together may have: one more is code ResourceExhausted. None unless said. Static volumes whose
// size is unknown do not count.
func Quota(size string) MemoryOption {
	return func(m *model) { m.quota = m.bytes("Quota", size) }
}

// Topology gives the driver segments: a volume is made in one of them, and only nodes there can reach it. It is the first
// preferred one that the driver has, else the first required one, else the driver's first; without any, code ResourceExhausted.
func Topology(segments ...storage.Segment) MemoryOption {
	return func(m *model) {
		m.segments = nil
		for _, s := range segments {
			if len(s) == 0 {
				m.fault("Topology with an empty segment")
				continue
			}
			m.segments = append(m.segments, maps.Clone(s))
		}
	}
}

// Lenient makes a storage system that refuses nothing on account of who uses a volume, and knows deleted volumes as static ones.
// It still keeps count: [Memory.Report].
func Lenient() MemoryOption { return func(m *model) { m.lenient = true } }

// CreatedOnly makes a storage system without static volumes: an ID that it did not make is code NotFound.
func CreatedOnly() MemoryOption { return func(m *model) { m.createdOnly = true } }

// OfflineExpansion makes a driver that cannot expand an attached volume: code FailedPrecondition.
func OfflineExpansion() MemoryOption { return func(m *model) { m.offline = true } }

// Mutable names the parameters that Modify may change: any other is code InvalidArgument. Any may be changed unless said.
func Mutable(parameters ...string) MemoryOption {
	return func(m *model) { m.mutable = append([]string{}, parameters...) }
}

func (m *model) known(option string, ops []storage.Op) []storage.Op {
	var known []storage.Op
	for _, op := range ops {
		if backends.IsOp(op) {
			known = append(known, op)
			continue
		}
		m.fault("%s: there is no operation %q", option, op)
	}
	return known
}

func (m *model) bytes(option, size string) int64 {
	q, err := resource.ParseQuantity(size)
	if err != nil || q.Sign() <= 0 {
		m.fault("%s %q is not a size: write it like 10Gi", option, size)
		return 0
	}
	return q.Value()
}
