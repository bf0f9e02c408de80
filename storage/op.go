package storage

import "slices"

// Op names an operation of a backend. It is the Verb of the api.Call that precedes the request.
type Op string

// The operations, with the CSI call that each stands for.
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
func Ops() []Op { return slices.Clone(ops) }
