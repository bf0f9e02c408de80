package backends

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/volsim/volsim/storage"
)

// checkCapabilities returns an error for capabilities that no backend has, and for a method Capabilities that panics.
func checkCapabilities(b storage.Backend) error {
	d, ok := b.(storage.Describer)
	if !ok {
		return nil
	}
	c, err := ask(b, "Capabilities", d.Capabilities)
	if err != nil {
		return err
	}
	for _, op := range c.Without {
		if !IsOp(op) {
			return fmt.Errorf("its Capabilities.Without has %q; want one of %v", op, Ops())
		}
	}
	if slices.Contains(c.TopologyKeys, "") {
		return errors.New("its Capabilities.TopologyKeys have an empty key; remove it")
	}
	return nil
}

// capabilities returns those of a Describer; the zero value for any other backend, and for one that panics.
func capabilities(b storage.Backend) (c storage.Capabilities) {
	d, ok := b.(storage.Describer)
	if !ok {
		return c
	}
	c, _ = ask(b, "Capabilities", d.Capabilities)
	return c
}

// inTreeCapabilities returns those of an InTreeDescriber; the zero value for any other backend, and for one that panics.
func inTreeCapabilities(b storage.Backend) (c InTreeCapabilities) {
	d, ok := b.(InTreeDescriber)
	if !ok {
		return c
	}
	c, _ = ask(b, "InTreeCapabilities", d.InTreeCapabilities)
	return c
}

// TakesMountOptions reports whether a class of the backend may have mount options.
func TakesMountOptions(b storage.Backend) bool {
	// PROV-043: an in-tree plugin has none unless it declares support; CSI drivers always accept them.
	return !IsInTree(b) || inTreeCapabilities(b).MountOptions
}

// HasTopology reports whether only some nodes can reach a volume of the backend.
func HasTopology(b storage.Backend) bool { return len(capabilities(b).TopologyKeys) > 0 }

// TopologyKeys returns the keys of node labels by which the backend groups nodes, sorted and without duplicates.
func TopologyKeys(b storage.Backend) []string {
	keys := slices.Clone(capabilities(b).TopologyKeys)
	slices.Sort(keys)
	return slices.Compact(keys)
}

// MountsWithGroup reports whether the backend sets the group of files while mounting.
func MountsWithGroup(b storage.Backend) bool { return capabilities(b).MountGroup }

// DistinguishesOnePod reports whether the driver distinguishes ReadWriteOncePod from ReadWriteOnce (SINGLE_NODE_MULTI_WRITER).
func DistinguishesOnePod(b storage.Backend) bool { return capabilities(b).SingleNodeMultiWriter }

// WithoutClone reports whether the driver cannot copy volumes.
func WithoutClone(b storage.Backend) bool { return capabilities(b).WithoutClone }

// AttachesReadOnly reports whether the driver can attach a volume read-only (PUBLISH_READONLY).
func AttachesReadOnly(b storage.Backend) bool { return capabilities(b).PublishReadOnly }

// NodeInfo returns how the driver describes a node: by its name and the keys of the Capabilities if the driver is no
// [storage.NodeDescriber]. described is true for one.
func NodeInfo(b storage.Backend, node string) (info storage.NodeInfo, described bool, err error) {
	d, ok := b.(storage.NodeDescriber)
	if !ok {
		return storage.NodeInfo{ID: node}, false, nil
	}
	err = Safely(b.Name(), "NodeInfo", func() (err error) { info, err = d.NodeInfo(node); return err })
	if err == nil && info.ID == "" {
		err = errors.New("error adding CSI driver node info: driverNodeID must not be empty")
	}
	return info, true, err
}

// RecyclesByPod reports whether a pod scrubs the volumes of the backend.
func RecyclesByPod(b storage.Backend) bool { return inTreeCapabilities(b).RecyclerPod }

// SupportsBlock reports whether the backend's provisioner creates block volumes: any but a [BlockSupporter] that does not.
func SupportsBlock(b storage.Backend) bool {
	s, ok := b.(BlockSupporter)
	if !ok {
		return true
	}
	supports, err := ask(b, "SupportsBlock", s.SupportsBlock)
	return supports || err != nil
}

// Delay returns how long the call takes: the delay of a [Delayer], else zero. It is zero also for a negative delay, and if Delay panics.
func Delay(b storage.Backend, op storage.Op, id string) time.Duration {
	d, ok := b.(Delayer)
	if !ok {
		return 0
	}
	delay, _ := ask(b, op, func() time.Duration { return d.Delay(op, id) })
	return max(delay, 0)
}

// PrepareCreate calls Prepare of a [Preparer]; for any other backend it returns nil.
func PrepareCreate(b storage.Backend, req storage.CreateRequest) error {
	preparer, ok := b.(Preparer)
	if !ok {
		return nil
	}
	return Safely(b.Name(), "Prepare", func() error { return preparer.Prepare(req) })
}

// AttachLimit returns the limit of a [storage.AttachLimiter] for the node; ok is false for no limit.
func AttachLimit(b storage.Backend, node string) (limit int32, ok bool) {
	l, ok := b.(storage.AttachLimiter)
	if !ok {
		return 0, false
	}
	limit, err := ask(b, "AttachLimit", func() int32 { return l.AttachLimit(node) })
	return limit, limit >= 0 && err == nil
}

// attachLimitNotifier reports changes of its limits. NotifyAttachLimit calls fn after each change. It returns false if it cannot report
// the changes of self, the backend that it was called on: another type that embeds it may change the limit.
type attachLimitNotifier interface {
	NotifyAttachLimit(self storage.Backend, fn func()) bool
}

// OnAttachLimit calls fn whenever an attach limit of the backend may have changed. It returns false if such changes cannot be reported.
func OnAttachLimit(b storage.Backend, fn func()) bool {
	if n, ok := b.(attachLimitNotifier); ok {
		return n.NotifyAttachLimit(b, fn)
	}
	_, limits := b.(storage.AttachLimiter)
	return !limits
}
