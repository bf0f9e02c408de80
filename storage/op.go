package storage

// Op names an operation of a backend. It is the Verb of the api.Call for it, which faults match.
type Op string

// The operations, with their CSI calls.
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

	GetCapacity Op = "GetCapacity"

	NodeCondition  Op = "NodeCondition"  // NodeGetVolumeStats
	GetCondition   Op = "GetCondition"   // ControllerGetVolume
	ListConditions Op = "ListConditions" // ListVolumes

	CreateSnapshot      Op = "CreateSnapshot"
	DeleteSnapshot      Op = "DeleteSnapshot"
	GetSnapshot         Op = "GetSnapshot"         // ListSnapshots
	CreateGroupSnapshot Op = "CreateGroupSnapshot" // CreateVolumeGroupSnapshot
	DeleteGroupSnapshot Op = "DeleteGroupSnapshot" // DeleteVolumeGroupSnapshot
	GetGroupSnapshot    Op = "GetGroupSnapshot"    // GetVolumeGroupSnapshot
)
