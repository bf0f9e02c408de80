package backends

import (
	"slices"

	"github.com/volsim/volsim/storage"
)

// operations are what backends do, in the order of a volume's life, each with the interface that it needs.
var operations = []struct {
	op         storage.Op
	needs      string
	implements func(storage.Backend) bool
}{
	{storage.Create, "storage.Provisioner", implements[storage.Provisioner]},
	{storage.Delete, "storage.Provisioner", implements[storage.Provisioner]},
	{storage.Recycle, "backends.Recycler", implements[Recycler]},
	{storage.Attach, "storage.Attacher", implements[storage.Attacher]},
	{storage.Detach, "storage.Attacher", implements[storage.Attacher]},
	{storage.Stage, "storage.Stager", implements[storage.Stager]},
	{storage.Unstage, "storage.Stager", implements[storage.Stager]},
	{storage.Publish, "storage.Publisher", implements[storage.Publisher]},
	{storage.Unpublish, "storage.Publisher", implements[storage.Publisher]},
	{storage.Expand, "storage.Expander", implements[storage.Expander]},
	{storage.NodeExpand, "storage.NodeExpander", implements[storage.NodeExpander]},
	{storage.Modify, "storage.Modifier", implements[storage.Modifier]},
	{storage.GetCapacity, "storage.CapacityReporter", implements[storage.CapacityReporter]},
	{storage.CreateSnapshot, "storage.Snapshotter", implements[storage.Snapshotter]},
	{storage.DeleteSnapshot, "storage.Snapshotter", implements[storage.Snapshotter]},
	{storage.GetSnapshot, "storage.SnapshotLister", implements[storage.SnapshotLister]},
	{storage.CreateGroupSnapshot, "storage.GroupSnapshotter", implements[storage.GroupSnapshotter]},
	{storage.DeleteGroupSnapshot, "storage.GroupSnapshotter", implements[storage.GroupSnapshotter]},
	{storage.GetGroupSnapshot, "storage.GroupSnapshotter", implements[storage.GroupSnapshotter]},
	{storage.NodeCondition, "storage.ConditionReporter", implements[storage.ConditionReporter]},
	{storage.GetCondition, "storage.ConditionReporter", implements[storage.ConditionReporter]},
	{storage.ListConditions, "storage.ConditionReporter", implements[storage.ConditionReporter]},
}

// implements reports whether a backend has the methods of an interface.
func implements[I any](b storage.Backend) bool {
	_, ok := b.(I)
	return ok
}

// Ops lists every operation, in the order of a volume's life.
func Ops() []storage.Op {
	ops := make([]storage.Op, 0, len(operations))
	for i := range operations {
		ops = append(ops, operations[i].op)
	}
	return ops
}

// IsOp reports whether op is one of the operations.
func IsOp(op storage.Op) bool { return indexOf(op) >= 0 }

// indexOf returns the index of an operation in operations, -1 for others.
func indexOf(op storage.Op) int {
	for i := range operations {
		if operations[i].op == op {
			return i
		}
	}
	return -1
}

// Can reports whether the backend can do op: it has the method, and its Capabilities do not exclude it.
func Can(b storage.Backend, op storage.Op) bool {
	i := indexOf(op)
	return i >= 0 && operations[i].implements(b) && !slices.Contains(capabilities(b).Without, op)
}
