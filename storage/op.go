package storage

// Op names what a backend can be asked to do. It is the Verb of the engine.Call that precedes the request.
type Op string

// The operations, with the CSI call each stands for.
const (
	Create     Op = "Create"     // CreateVolume; in-tree: provision
	Delete     Op = "Delete"     // DeleteVolume
	Recycle    Op = "Recycle"    // in-tree only: scrub the data
	Attach     Op = "Attach"     // ControllerPublishVolume
	Detach     Op = "Detach"     // ControllerUnpublishVolume
	Stage      Op = "Stage"      // NodeStageVolume; in-tree: mount the device
	Unstage    Op = "Unstage"    // NodeUnstageVolume
	Publish    Op = "Publish"    // NodePublishVolume; in-tree: set up for a pod
	Unpublish  Op = "Unpublish"  // NodeUnpublishVolume
	Expand     Op = "Expand"     // ControllerExpandVolume
	NodeExpand Op = "NodeExpand" // NodeExpandVolume
	Modify     Op = "Modify"     // ControllerModifyVolume
)

var ops = []Op{Create, Delete, Recycle, Attach, Detach, Stage, Unstage, Publish, Unpublish, Expand, NodeExpand, Modify}

// Ops lists every operation, in the order of a volume's life.
func Ops() []Op { return append([]Op(nil), ops...) }

// Valid reports whether o is one of the operations.
func (o Op) Valid() bool {
	for _, op := range ops {
		if o == op {
			return true
		}
	}
	return false
}

// Can reports whether the backend can do op: it implements the interface that op belongs to, and does not deny it as [Capable].
func Can(b Backend, op Op) bool {
	if !implements(b, op) {
		return false
	}
	capable, ok := b.(Capable)
	return !ok || capable.Can(op)
}

func implements(b Backend, op Op) (ok bool) {
	switch op {
	case Create:
		_, ok = b.(Creator)
	case Delete:
		_, ok = b.(Deleter)
	case Recycle:
		_, ok = b.(Recycler)
	case Attach, Detach:
		_, ok = b.(Attacher)
	case Stage, Unstage:
		_, ok = b.(Stager)
	case Publish, Unpublish:
		_, ok = b.(Publisher)
	case Expand:
		_, ok = b.(Expander)
	case NodeExpand:
		_, ok = b.(NodeExpander)
	case Modify:
		_, ok = b.(Modifier)
	}
	return ok
}
