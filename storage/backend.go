package storage

// Backend is a storage system as the control plane sees it. It implements the interfaces below for what it can do.
//
// Name returns the name of the CSI driver. It never changes.
//
// All methods are called one at a time. They must not block, and must be deterministic: the same history of calls gives the same results,
// without wall clock, randomness or map order. Replies can be lost, so each operation may be repeated after it succeeded, and then
// succeeds again, as the CSI specification requires. A request is a copy, which a backend may keep and change. A call that panics
// fails with code [Internal].
type Backend interface {
	Name() string
}

// Provisioner creates and deletes volumes (CREATE_DELETE_VOLUME).
//
// Create returns the same volume again when it is called with a name that it knows; if the other properties differ, the error has code
// [AlreadyExists]. Delete destroys a volume and its data. It returns nil for an unknown volume, and code [FailedPrecondition] for a volume
// in use.
type Provisioner interface {
	Create(CreateRequest) (Volume, error)
	Delete(DeleteRequest) error
}

// Attacher attaches volumes to nodes (PUBLISH_UNPUBLISH_VOLUME).
//
// Attach returns what the node needs to find the volume; Stage and Publish receive it as AttachContext. Detach with an empty node detaches
// the volume from all nodes. It returns nil for a volume that is not attached.
type Attacher interface {
	Attach(NodeRequest) (context map[string]string, err error)
	Detach(NodeRequest) error
}

// Stager mounts a volume once per node, before it is published to pods there (STAGE_UNSTAGE_VOLUME). Unstage returns nil for a volume that
// is not staged.
type Stager interface {
	Stage(NodeRequest) error
	Unstage(NodeRequest) error
}

// Publisher mounts a volume on a node for one pod. Unpublish returns nil for a volume that is not published.
type Publisher interface {
	Publish(NodeRequest) error
	Unpublish(NodeRequest) error
}

// Expander grows a volume in the storage system (EXPAND_VOLUME). It returns the size of the volume in bytes, and whether its file system
// must be grown on a node. A volume that is already large enough is a success.
type Expander interface {
	Expand(ExpandRequest) (size int64, onNode bool, err error)
}

// NodeExpander grows the file system of a volume on a node where it is staged or published. It returns the size in bytes; 0 means as
// requested.
type NodeExpander interface {
	NodeExpand(NodeRequest) (size int64, err error)
}

// Modifier changes properties of a volume, in use or not, to the parameters of a VolumeAttributesClass (MODIFY_VOLUME). Properties without
// a parameter stay as they are. Parameters that the volume already has are a success; those that no volume can have give code
// [InvalidArgument].
type Modifier interface {
	Modify(ModifyRequest) error
}

// CapacityReporter says how much can still be created in a segment (GET_CAPACITY). The external-provisioner asks it every minute if the
// CSIDriver has storageCapacity true, and writes the answers into CSIStorageCapacities, which the scheduler reads (XPROV-060).
type CapacityReporter interface {
	Capacity(CapacityRequest) (Capacity, error)
}

// Rebooter is notified when a node reboots and so loses everything that is staged or published on it.
type Rebooter interface {
	Reboot(node string)
}

// AttachLimiter returns how many volumes of the driver can be attached to a node; negative is no limit.
type AttachLimiter interface {
	AttachLimit(node string) int32
}

// NodeDescriber is a driver that describes its nodes (NodeGetInfo). When the driver registers on a node, the kubelet labels the Node with
// the topology and writes the ID and the keys of the topology into the CSINode (MNT-362). A node of any other backend has its own name as
// ID, and the topology keys of the Capabilities; its labels stay as they are.
type NodeDescriber interface {
	NodeInfo(node string) (NodeInfo, error)
}

// NodeInfo describes a node of a driver.
type NodeInfo struct {
	ID       string  // name of the node at the driver; must not be empty
	Topology Segment // labels of the node; none for a driver without topology
}

// PublishedLister lists the nodes to which each volume is attached, by handle (LIST_VOLUMES_PUBLISHED_NODES). The external attacher
// compares VolumeAttachments with that list at intervals (ATT-181), unless Published returns code [Unimplemented].
type PublishedLister interface {
	Published() (map[string][]string, error)
}

// ConditionReporter says what is wrong with a volume (VOLUME_CONDITION); "" is nothing. Each method is a capability of its own, which
// Capabilities.Without can exclude.
//
// NodeCondition is for the kubelet, about a volume that is published on the node (GET_VOLUME_STATS); it has ID, Node and TargetPath. It
// is called only with the feature gate CSIVolumeHealth (MNT-343). The others are for the external-health-monitor, if the driver has one:
// GetCondition about one volume (GET_VOLUME), and ListConditions about all, by handle, also those without a problem (LIST_VOLUMES). If a
// driver has both, only ListConditions is called (HEALTH-002).
type ConditionReporter interface {
	NodeCondition(NodeRequest) (problem string, err error)
	GetCondition(id string) (problem string, err error)
	ListConditions() (problems map[string]string, err error)
}

// Describer is a backend with [Capabilities]. A backend without this method has the zero value.
type Describer interface {
	Capabilities() Capabilities
}

// Capabilities describes what a backend's methods do not show. With the zero value, a backend can do what it has methods for.
type Capabilities struct {
	// Without lists operations that the backend has a method for and cannot do; none by default.
	Without []Op
	// TopologyKeys are keys of node labels, for a driver whose volumes only some nodes can reach (VOLUME_ACCESSIBILITY_CONSTRAINTS). With
	// none, every node reaches every volume, and Volume.Topology is ignored.
	TopologyKeys []string
	// WithoutClone is true for a driver that cannot copy volumes (no CLONE_VOLUME): the external-provisioner does not ask it to.
	WithoutClone bool
	// SingleNodeMultiWriter is true for a driver that distinguishes ReadWriteOncePod from ReadWriteOnce (SINGLE_NODE_MULTI_WRITER). If it is
	// false, the external-attacher requests ReadWriteOnce for both (ATT-176).
	SingleNodeMultiWriter bool
	// PublishReadOnly is true for a driver that attaches read-only (PUBLISH_READONLY); see ATT-180.
	PublishReadOnly bool
	// MountGroup is true for a driver that sets the group of files while mounting (VOLUME_MOUNT_GROUP). If it is false, the kubelet changes
	// the group of each file.
	MountGroup bool
}
