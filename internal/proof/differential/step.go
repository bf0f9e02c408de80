package differential

import (
	"time"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/storage"
)

// Op is what a step does.
type Op string

// The ops.
const (
	Create  Op = "create"  // Object
	Update  Op = "update"  // Object replaces what there is
	Patch   Op = "patch"   // Ref, Sub, Patch: a JSON merge patch
	Delete  Op = "delete"  // Ref, Force
	Storage Op = "storage" // Backend gets Setting
	Fault   Op = "fault"   // Rule
	Power   Op = "power"   // Node, Machine: a machine or its kubelet stops or starts
	Advance Op = "advance" // nothing but time passes
)

// Step is one thing that a user does. Which fields are set depends on Op.
type Step struct {
	Op      Op
	Object  api.Object
	Ref     api.Ref
	Sub     api.Subresource
	Patch   string
	Force   bool // a pod goes without grace
	Backend string
	Setting Setting
	Rule    Rule
	Node    string
	Machine MachineOp
	// Wait is the time that passes afterwards.
	Wait time.Duration
	// Settle has SettleTime pass after Wait, and an observation made.
	Settle bool
}

// MachineOp is what happens to a machine, by the name that scripts have for it.
type MachineOp string

// What can happen to a machine. To a kubelet that does not run, or runs already, nothing happens.
const (
	StopKubelet MachineOp = "stop-kubelet" // the process ends; containers and mounts stay
	PowerOff    MachineOp = "poweroff"     // nothing stays but files
	Start       MachineOp = "start"
	Reboot      MachineOp = "reboot" // PowerOff and Start
)

// SettleTime is longer than any pause between two attempts of an operation that fails.
const SettleTime = 150 * time.Second

// Provisioned, followed by the key of a claim, is the name of the volume that is provisioned for the claim of that name that was created
// last.
const Provisioned = "provisioned-for:"

// Rule has API requests fail.
type Rule struct {
	Actor, Verb string
	Kind        api.Kind
	Key         string // "" is any object of the kind
	Times       int
	// Lost has the request take effect although it fails.
	Lost bool
	// Conflict has it fail as a conflict, which it was not.
	Conflict bool
}

// Setting is how a storage backend behaves from now on. The zero value does all at once and with success.
type Setting struct {
	// Fail has operations fail with that text: "Create", "Delete", "Recycle", "Attach", "Detach", and on nodes "Stage", "Publish", "Unpublish",
	// "Unstage", "NodeExpand".
	Fail map[string]string
	// Code is that of the errors of Driver; "" is Internal.
	Code storage.Code
	// Delay is how long operations take before they succeed or fail.
	Delay map[string]time.Duration
	// InUse has deletions fail because the volume is in use.
	InUse bool
	// Limit is how many volumes Driver says that a node can have attached; zero is any number.
	Limit int32
}

// Scenario is a list of steps, and when the first of them happens.
type Scenario struct {
	Lead  time.Duration
	Steps []Step
	// Attach has the attach/detach controller run as well, and an external attacher of Driver.
	Attach bool
	// Kubelets has each Node that is created have a machine with a kubelet.
	Kubelets bool
	// Cannot is what Driver cannot do on nodes: "Stage", "NodeExpand".
	Cannot []storage.Op
	// MountGroup says that Driver mounts volumes with their files belonging to a group.
	MountGroup bool
	// GroupChange is how long it takes to give the files of a volume to a group.
	GroupChange time.Duration
}

// The storage of a scenario.
const (
	// InTree is a plugin that provisions, deletes and recycles volumes with a hostPath source.
	InTree = "kubernetes.io/mock-storage"
	// NFS is a plugin that recycles volumes with an nfs source, and can do nothing else.
	NFS = "kubernetes.io/nfs"
	// LocalDir is where machines have the directories of local volumes.
	LocalDir = "/mnt/local"
	// Driver is a CSI driver with an external provisioner.
	Driver = "external.example.com"
)
