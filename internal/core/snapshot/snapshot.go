// Package snapshot has the state of a cluster at one moment, for code that explains it.
//
// A Snapshot comes from the API server of a running simulation (Of), or from a dump of a real cluster.
package snapshot

import (
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/backends"
	"github.com/volsim/volsim/internal/core/evidence"
	"github.com/volsim/volsim/internal/core/gates"
	"github.com/volsim/volsim/internal/core/grants"
	"github.com/volsim/volsim/internal/core/objname"
	"github.com/volsim/volsim/internal/core/plain"
	"github.com/volsim/volsim/internal/core/snapshots"
	"github.com/volsim/volsim/internal/core/store"
)

// Snapshot is the state of a cluster at one moment. Its objects are shared and must not be changed. The lists may be in any order.
type Snapshot struct {
	Pods              []*corev1.Pod
	Nodes             []*corev1.Node
	Volumes           []*corev1.PersistentVolume
	Claims            []*corev1.PersistentVolumeClaim
	Classes           []*storagev1.StorageClass
	AttributesClasses []*storagev1.VolumeAttributesClass
	Drivers           []*storagev1.CSIDriver
	CSINodes          []*storagev1.CSINode
	Capacities        []*storagev1.CSIStorageCapacity
	Attachments       []*storagev1.VolumeAttachment
	Namespaces        []*plain.Object
	// Groups are the objects of the Grouping kinds.
	Groups []*plain.Object
	// Workloads are the objects of the Running kinds.
	Workloads []*plain.Object
	// Budgets are the PodDisruptionBudgets.
	Budgets []*plain.Object
	// Grants are the ReferenceGrants.
	Grants []*plain.Object
	// Snapshots are the VolumeSnapshots and their VolumeSnapshotContents.
	Snapshots []*plain.Object
	// Events include the last errors that components reported. Without them, explanations are less exact.
	Events []*corev1.Event

	// Now is the time from which waits are counted.
	Now time.Time
	// Backends are the known storage systems; nil means that none is known.
	Backends *backends.Set
	// Evidence has what is assumed about drivers, nodes and controllers; nil, as for a running simulation, is nothing.
	Evidence *evidence.Set
	// Gates are the feature gates of the cluster.
	Gates gates.Set
	// DisableProvisioning is the setting of the PersistentVolume controller (PROV-020).
	DisableProvisioning bool
	// Unreachable reports whether the kubelet of a node is down or cut off, whatever the Node object says. Nil: the Node object decides.
	Unreachable func(node string) bool
	// Populator returns the controller that fills volumes from data sources of a kind, "" if there is none, and whether the data source with
	// this key exists. Nil: unknown.
	Populator func(kind api.Kind, key string) (actor string, exists bool)
	// DetachPendingSince reports since when the attach/detach controller has been waiting to detach a volume from a node. Nil, and
	// false: unknown, so the wait is counted from Now, as after a restart of that controller (ATT-134).
	DetachPendingSince func(volume corev1.UniqueVolumeName, node string) (since time.Time, ok bool)
	// Stopped returns why a controller does not run, such as "has crashed", and the remedy; "" if it runs, or if that is unknown. Nil: unknown.
	Stopped func(actor string) (why, remedy string)
	// Refusals are the last writes of components to objects that admission policies or webhooks have refused.
	Refusals []Refusal
}

// Refusal is a write that was refused.
type Refusal struct {
	Actor  string
	Verb   string // of the trace
	Object api.Ref
	Rule   string // API-391, API-392, API-420 or API-425
	Err    string
}

// Request describes the write: "update of pv/v".
func (r *Refusal) Request() string {
	verb, part, _ := strings.Cut(r.Verb, "-")
	if verb == "bind" {
		verb = "binding"
	}
	if part != "" {
		part = "the " + part + " of "
	}
	return verb + " of " + part + objname.Of(r.Object)
}

// The kinds of objects whose pods the scheduler spreads by default.
const (
	Services               api.Kind = "Service"
	ReplicationControllers api.Kind = "ReplicationController"
	ReplicaSets            api.Kind = "ReplicaSet.apps"
	StatefulSets           api.Kind = "StatefulSet.apps"
)

// Grouping are these kinds.
var Grouping = []api.Kind{Services, ReplicationControllers, ReplicaSets, StatefulSets}

// The other kinds of workloads.
const (
	Deployments api.Kind = "Deployment.apps"
	DaemonSets  api.Kind = "DaemonSet.apps"
	Jobs        api.Kind = "Job.batch"
	CronJobs    api.Kind = "CronJob.batch"
)

// Running are the kinds of workloads: their controllers make pods, or objects whose controllers do.
var Running = []api.Kind{StatefulSets, Deployments, ReplicaSets, ReplicationControllers, DaemonSets, Jobs, CronJobs}

// Of returns the objects in a store. The caller sets the other fields.
func Of(s *store.Store, now time.Time) Snapshot {
	all := Snapshot{
		Pods:              s.Pods.List(),
		Nodes:             s.Nodes.List(),
		Volumes:           s.Volumes.List(),
		Claims:            s.Claims.List(),
		Classes:           s.Classes.List(),
		AttributesClasses: s.AttributesClasses.List(),
		Drivers:           s.CSIDrivers.List(),
		CSINodes:          s.CSINodes.List(),
		Capacities:        s.Capacities.List(),
		Attachments:       s.Attachments.List(),
		Events:            s.Events.List(),
		Now:               now,
	}
	all.Gates = s.Gates()
	all.Namespaces = others(s, store.NamespaceKind)
	all.Budgets = others(s, store.DisruptionBudgetKind)
	all.Grants = others(s, grants.Kind)
	all.Snapshots = append(others(s, snapshots.SnapshotKind), others(s, snapshots.ContentKind)...)
	for _, kind := range Grouping {
		all.Groups = append(all.Groups, others(s, kind)...)
	}
	for _, kind := range Running {
		all.Workloads = append(all.Workloads, others(s, kind)...)
	}
	return all
}

// others returns the objects of a kind that is stored as data.
func others(s *store.Store, kind api.Kind) []*plain.Object {
	var list []*plain.Object
	for _, obj := range s.List(kind) {
		if other, ok := obj.(*plain.Object); ok {
			list = append(list, other)
		}
	}
	return list
}
