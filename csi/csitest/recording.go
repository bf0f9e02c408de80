package csitest

import (
	spec "github.com/container-storage-interface/spec/lib/go/csi"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/csi"
	"github.com/volsim/volsim/trace"
)

// recording is everything that one run shows of the driver. The evaluation reads nothing else, so it can be repeated without the driver.
type recording struct {
	plan   plan
	caps   capabilities
	nodes  map[string]string // names of the nodes, by their IDs
	steps  []step
	calls  []api.Call      // of the control plane, that faults can hit
	missed []string        // goals of the story that were not reached
	known  []string        // faults of Kubernetes itself
	before map[string]bool // IDs of volumes that the driver had before the run, of snapshots with the prefix "snapshot ", and mounts
	left   map[string]int  // volumes that were attached before the run, by node_id
	broken bool            // the driver did not answer a call
	cut    string          // why the story ended early, "" if it did not
	// excused: the story did not reach its end because of an error that the specification allows.
	excused bool
	crowded string // with excused: the volumes of earlier runs that leave no room for the story, "" for none
	// refused are the volumes of the story, if the driver does not create such volumes, and may refuse them.
	refused string
	trace   *trace.Trace // of the cluster
	gone    error        // the driver did not answer when the run began
	err     error        // the run could not start or continue
	// unsettled is the error of a cluster that did not settle before the story began. A wrong reply of the driver may explain it.
	unsettled error
}

// step is a call, or something else that happened. Exactly one of the pointers is set.
type step struct {
	Call   *csi.Call
	Actor  string     // who made the call
	Crash  bool       // the caller crashed and did not save the reply
	Event  *event     // something that happens to a node
	Listed *inventory // what the driver lists
	Access *access    // a container reads or writes
	Stats  *stats     // the size of a file system
	Audit  *audit     // with Call: volsim made the call itself
}

// event is something that happens to a node.
type event struct {
	Node string
	Gone bool // it is removed from the storage system; else it reboots
}

// inventory lists what the driver has.
type inventory struct {
	Volumes   []*spec.ListVolumesResponse_Entry
	Listed    bool // the driver can list its volumes
	Published bool // the list has the nodes to which volumes are attached
	Mounts    []Mount
	Mounted   bool // Mounts were read
	Snapshots []*spec.Snapshot
	Counted   bool   // Snapshots were listed
	Failed    string // the error of ListVolumes; "" for none, and for one that asks to try again
	Endless   string // the error of ListSnapshots whose pages do not end; "" for none
}

// access is a read or a write of a container.
type access struct {
	Node, Path string
	Volume     string // volume_id
	Write      bool
	Data       string
	Err        error
}

// stats is a reply to NodeGetVolumeStats, with the size of the volume as Kubernetes knows it.
type stats struct {
	Node, Path, Volume string
	Total              int64
}
