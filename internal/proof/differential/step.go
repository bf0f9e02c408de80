package differential

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/storage"
)

// Op is the operation of a step.
type Op string

// The operations.
const (
	Create  Op = "create"  // Object
	Update  Op = "update"  // Object replaces the stored object
	Patch   Op = "patch"   // Ref, Sub, Patch: a JSON merge patch
	Delete  Op = "delete"  // Ref, Force
	Storage Op = "storage" // Backend gets Setting
	Fault   Op = "fault"   // Rule
	Power   Op = "power"   // Node, Machine: a node or its kubelet stops or starts
	Pods    Op = "pods"    // Pods: they get the status Patch, or are deleted; Force
	Evict   Op = "evict"   // Ref: a pod
	Restart Op = "restart" // Actor crashes and starts again
	Advance Op = "advance" // nothing but time passes
)

// Step is one step of a user. Op says which fields are set.
type Step struct {
	Op      Op
	Object  api.Object
	Ref     api.Ref
	Sub     api.Subresource
	Patch   string
	Force   bool                       // a pod goes without grace
	Cascade metav1.DeletionPropagation // of a Delete; "" is the default
	Pods    PodStep
	Actor   string
	Backend string
	Setting Setting
	Rule    Rule
	Node    string
	Machine MachineOp
	// Wait is the time that passes after the step.
	Wait time.Duration
	// Settle adds SettleTime to Wait, and an observation.
	Settle bool
}

// MachineOp is an operation on a node, named as in scripts.
type MachineOp string

// The operations on nodes. Stopping a stopped kubelet or starting a running one has no effect.
const (
	StopKubelet MachineOp = "stop-kubelet" // the process ends; containers and mounts stay
	PowerOff    MachineOp = "poweroff"     // nothing stays but files
	Start       MachineOp = "start"
	Reboot      MachineOp = "reboot" // PowerOff and Start
	// Reconnect ends the failure of a kubelet that StopKubelet cut off from the API server, in a scenario with Nodes: it renews its lease
	// at the next try.
	Reconnect MachineOp = "reconnect"
)

// SettleTime is longer than any backoff of a failing operation.
const SettleTime = 150 * time.Second

// Provisioned, followed by the key of a claim, is the name of the volume provisioned for the claim of that name that was created last.
const Provisioned = "provisioned-for:"

// Rule lets API requests fail.
type Rule struct {
	Actor, Verb string
	Kind        api.Kind
	Key         string // "" matches all objects of the kind
	Times       int
	// Lost: the request takes effect, but its answer is lost.
	Lost bool
	// Conflict: it fails with a conflict that did not happen.
	Conflict bool
}

// Setting is how a storage backend behaves. The zero value succeeds immediately.
type Setting struct {
	// Fail lets operations fail with this text: "Create", "Delete", "Recycle", "Attach", "Detach", and on nodes "Stage", "Publish",
	// "Unpublish", "Unstage", "NodeExpand".
	Fail map[string]string
	// Code is the error code of Driver; "" is Internal.
	Code storage.Code
	// Delay is how long operations take before they succeed or fail.
	Delay map[string]time.Duration
	// InUse lets deletions fail because the volume is in use.
	InUse bool
	// Uploading: snapshots are not ready. SnapshotSize is the size that they report.
	Uploading    bool
	SnapshotSize int64
	// Limit is the attach limit that Driver reports per node; zero is no limit.
	Limit int32
}

// Scenario is a list of steps, and the time of the first one.
type Scenario struct {
	Lead  time.Duration
	Steps []Step
	// Attach runs the attach/detach controller and an external attacher of Driver as well.
	Attach bool
	// Kubelets runs a kubelet for each Node that is created.
	Kubelets bool
	// Nodes runs the controllers of failing nodes and no others (NodeActors). There are no kubelets: StopKubelet, Start and Reconnect only
	// affect the leases of nodes, and steps report the status of nodes and pods.
	Nodes bool
	// Controllers runs these controllers and no others, unless Volumes is set. Steps stand for everything else.
	Controllers []string
	// Volumes runs the controllers of volumes and claims beside Controllers.
	Volumes bool
	// Cannot lists node capabilities that Driver lacks: "Stage", "NodeExpand".
	Cannot []storage.Op
	// MountGroup: Driver has VOLUME_MOUNT_GROUP.
	MountGroup bool
	// GroupChange is how long it takes to give the files of a volume to a group.
	GroupChange time.Duration
}

// The storage of a scenario.
const (
	// InTree is a plugin that provisions, deletes and recycles volumes with a hostPath source.
	InTree = "kubernetes.io/mock-storage"
	// NFS is a plugin that only recycles volumes with an nfs source.
	NFS = "kubernetes.io/nfs"
	// LocalDir is where nodes have the directories of local volumes.
	LocalDir = "/mnt/local"
	// Driver is a CSI driver with an external provisioner.
	Driver = "external.example.com"
)
