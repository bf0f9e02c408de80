package backendtest

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/internal/core/backends"
	"github.com/volsim/volsim/storage"
)

var general = []check{
	{name: "the name is set and constant", run: func(s *subject) error {
		name := s.b.Name()
		if again, other := s.b.Name(), s.newBackend().Name(); name != again || name != other {
			return fmt.Errorf("Name() = %q, then %q, and %q of another backend; want one name", name, again, other)
		}
		_, err := backends.NewSet(s.b)
		return err
	}},
	{name: "it supports an operation", run: func(s *subject) error {
		for _, op := range backends.Ops() {
			if backends.Can(s.b, op) {
				return nil
			}
		}
		return fmt.Errorf("it supports none of %v; implement one of the interfaces of package storage", backends.Ops())
	}},
	{name: "opposite operations are both supported or neither", run: func(s *subject) error {
		for _, pair := range [][2]storage.Op{
			{storage.Attach, storage.Detach}, {storage.Stage, storage.Unstage}, {storage.Publish, storage.Unpublish},
		} {
			if can, opposite := backends.Can(s.b, pair[0]), backends.Can(s.b, pair[1]); can != opposite {
				return fmt.Errorf("%s is supported: %t, %s is supported: %t; want both or neither", pair[0], can, pair[1], opposite)
			}
		}
		return nil
	}},
	{name: "an empty request is rejected", run: func(s *subject) error {
		for _, op := range backends.Ops() {
			if op == storage.GetCapacity || op == storage.ListConditions || !backends.Can(s.b, op) {
				continue // a driver without topology gets no segment, and a list has no arguments
			}
			err := backends.Safely(s.b.Name(), op, func() error { return empty(s.b, op) })
			if err := s.rejected(string(op)+" with an empty request", err, storage.InvalidArgument); err != nil {
				return err
			}
		}
		return nil
	}},
	{name: "delays are constant and not negative", only: is[backends.Delayer], run: func(s *subject) error {
		delayer := s.b.(backends.Delayer)
		for _, op := range backends.Ops() {
			d, again := delayer.Delay(op, "backendtest-1"), delayer.Delay(op, "backendtest-1")
			if d < 0 || d != again {
				return fmt.Errorf("Delay(%s) = %s, then %s; want the same, not negative", op, d, again)
			}
		}
		return nil
	}},
	{name: "an empty source is not supported", only: is[backends.InTreePlugin], run: func(s *subject) error {
		plugin := s.b.(backends.InTreePlugin)
		for _, source := range []*corev1.PersistentVolumeSource{nil, {}} {
			if plugin.Supports(source) {
				return fmt.Errorf("Supports(%v) = true, want false", source)
			}
		}
		return nil
	}},
}

// is reports whether the backend implements the interface.
func is[I any](b storage.Backend) bool {
	_, ok := b.(I)
	return ok
}

// empty calls the operation with an empty request.
func empty(b storage.Backend, op storage.Op) (err error) {
	switch op {
	case storage.Create:
		_, err = b.(storage.Provisioner).Create(storage.CreateRequest{})
	case storage.Delete:
		err = b.(storage.Provisioner).Delete(storage.DeleteRequest{})
	case storage.Recycle:
		err = b.(backends.Recycler).Recycle("", nil)
	case storage.Attach:
		_, err = b.(storage.Attacher).Attach(storage.NodeRequest{})
	case storage.Detach:
		err = b.(storage.Attacher).Detach(storage.NodeRequest{})
	case storage.Stage:
		err = b.(storage.Stager).Stage(storage.NodeRequest{})
	case storage.Unstage:
		err = b.(storage.Stager).Unstage(storage.NodeRequest{})
	case storage.Publish:
		err = b.(storage.Publisher).Publish(storage.NodeRequest{})
	case storage.Unpublish:
		err = b.(storage.Publisher).Unpublish(storage.NodeRequest{})
	case storage.Expand:
		_, _, err = b.(storage.Expander).Expand(storage.ExpandRequest{})
	case storage.NodeExpand:
		_, err = b.(storage.NodeExpander).NodeExpand(storage.NodeRequest{})
	case storage.Modify:
		err = b.(storage.Modifier).Modify(storage.ModifyRequest{})
	case storage.NodeCondition:
		_, err = b.(storage.ConditionReporter).NodeCondition(storage.NodeRequest{})
	case storage.GetCondition:
		_, err = b.(storage.ConditionReporter).GetCondition("")
	case storage.ListConditions:
		_, err = b.(storage.ConditionReporter).ListConditions()
	case storage.GetCapacity:
		_, err = b.(storage.CapacityReporter).Capacity(storage.CapacityRequest{})
	case storage.CreateSnapshot:
		_, err = b.(storage.Snapshotter).CreateSnapshot(storage.SnapshotRequest{})
	case storage.DeleteSnapshot:
		err = b.(storage.Snapshotter).DeleteSnapshot(storage.SnapshotRef{})
	case storage.GetSnapshot:
		_, err = b.(storage.SnapshotLister).GetSnapshot(storage.SnapshotRef{})
	case storage.CreateGroupSnapshot:
		_, err = b.(storage.GroupSnapshotter).CreateGroupSnapshot(storage.GroupSnapshotRequest{})
	case storage.DeleteGroupSnapshot:
		err = b.(storage.GroupSnapshotter).DeleteGroupSnapshot(storage.GroupSnapshotRef{})
	case storage.GetGroupSnapshot:
		_, err = b.(storage.GroupSnapshotter).GetGroupSnapshot(storage.GroupSnapshotRef{})
	}
	return err
}
