package conformance

import (
	"encoding/json"
	"fmt"
)

// NodeScenario is one line of a recording of the attach/detach controller and kubelets: configuration, steps, observations.
type NodeScenario struct {
	Name       string                 `json:"name"`
	Family     string                 `json:"family"`
	Nodes      []NodeSpec             `json:"nodes"`
	Backends   map[string]NodeBackend `json:"backends"`
	Controller NodeController         `json:"controller"`
	Kubelet    NodeKubelet            `json:"kubelet"`
	Steps      []NodeStep             `json:"steps"`
	// Observations has one observation after each step.
	Observations []NodeObservation `json:"observations"`
	// Runs is the number of recorded runs.
	Runs int `json:"runs"`
}

// NodeSpec is a node of a scenario.
type NodeSpec struct {
	Name string `json:"name"`
	// NoKubelet: there is only a Node object, and the scenario writes its status.
	NoKubelet bool `json:"noKubelet"`
	// Absent: at first there is neither a Node object nor a kubelet.
	Absent bool `json:"absent"`
}

// NodeBackend is a storage plugin with the durations of its calls in milliseconds.
type NodeBackend struct {
	// Kind is csi or nfs.
	Kind string `json:"kind"`
	// NoStage: the driver has no MountDevice and no UnmountDevice.
	NoStage                bool `json:"noStage"`
	AttachLatencyMs        int  `json:"attachLatencyMs"`
	DetachLatencyMs        int  `json:"detachLatencyMs"`
	MountDeviceLatencyMs   int  `json:"mountDeviceLatencyMs"`
	SetUpLatencyMs         int  `json:"setUpLatencyMs"`
	TearDownLatencyMs      int  `json:"tearDownLatencyMs"`
	UnmountDeviceLatencyMs int  `json:"unmountDeviceLatencyMs"`
}

// NodeController configures the attach/detach controller.
type NodeController struct {
	// Off: it does not run, and the scenario does its work.
	Off                         bool    `json:"off"`
	DisableForceDetachOnTimeout bool    `json:"disableForceDetachOnTimeout"`
	DisableReconcilerSync       bool    `json:"disableReconcilerSync"`
	ReconcilerSyncSeconds       float64 `json:"reconcilerSyncSeconds"`
}

// NodeKubelet configures the kubelets.
type NodeKubelet struct {
	NodeStatusSeconds float64 `json:"nodeStatusSeconds"`
	StopMs            int     `json:"stopMs"`
}

// NodeStep is one step. Op says which fields are set.
type NodeStep struct {
	Op           string            `json:"op"`
	Object       json.RawMessage   `json:"object"`
	Objects      []json.RawMessage `json:"objects"`
	Kind         string            `json:"kind"`
	Namespace    string            `json:"namespace"`
	Name         string            `json:"name"`
	GraceSeconds *int64            `json:"graceSeconds"`
	Subresource  string            `json:"subresource"`
	Patch        json.RawMessage   `json:"patch"`
	Backend      string            `json:"backend"`
	Call         string            `json:"call"`
	Node         string            `json:"node"`
	Volume       string            `json:"volume"`
	Error        string            `json:"error"`
	Effect       bool              `json:"effect"`
	LatencyMs    *int              `json:"latencyMs"`
	Times        int               `json:"times"`
	Phase        string            `json:"phase"`
	Seconds      float64           `json:"seconds"`
}

// NodeObservation holds the observed state after a step.
type NodeObservation struct {
	AtMs  int                  `json:"atMs"`
	Nodes map[string]NodeState `json:"nodes"`
	// Pods by namespace/name, with #2 and so on from the second pod of a name.
	Pods              map[string]PodState `json:"pods"`
	VolumeAttachments []AttachmentState   `json:"volumeAttachments"`
	// Calls are the storage calls since the previous observation, in order.
	Calls []NodeCall `json:"calls"`
	// CallTimesMs are the earliest and latest time of each call, CallOrder pairs of call indexes that always had that order.
	CallTimesMs []Pair `json:"callTimesMs"`
	CallOrder   []Pair `json:"callOrder"`
	// Events is a sorted set of kind, namespace/name, type, reason.
	Events [][]string `json:"events"`
	// MarginMs is how long before and after nothing changed; nil after a step without duration.
	MarginMs *Pair `json:"marginMs"`
}

// NodeState is the observed state of a node.
type NodeState struct {
	Exists bool `json:"exists"`
	Ready  bool `json:"ready"`
	// VolumesAttached and VolumesInUse of the Node's status.
	VolumesAttached []string `json:"volumesAttached"`
	VolumesInUse    []string `json:"volumesInUse"`
	// Staged lists volumes with a device mount, Published mounts for a pod as "volume pod".
	Staged    []string `json:"staged"`
	Published []string `json:"published"`
}

// PodState is the observed state of a pod.
type PodState struct {
	Phase    string `json:"phase"`
	Deleting bool   `json:"deleting"`
	// Mounted says, by the name of the volume in the pod, whether it is mounted.
	Mounted map[string]bool `json:"mounted"`
}

// AttachmentState is the observed state of a VolumeAttachment.
type AttachmentState struct {
	Node        string `json:"node"`
	PV          string `json:"pv"`
	Attached    bool   `json:"attached"`
	Deleting    bool   `json:"deleting"`
	AttachError bool   `json:"attachError"`
	DetachError bool   `json:"detachError"`
}

// NodeCall is a storage call, or the begin or end of one that takes time.
type NodeCall struct {
	// Ms is the time since the step began.
	Ms int
	What
}

// What describes the call without its time. Result is begin, ok, or a gRPC code name.
type What struct{ Call, Volume, Node, Pod, Result string }

// UnmarshalJSON reads [ms, call, volume, node, pod, result].
func (c *NodeCall) UnmarshalJSON(data []byte) error {
	fields := []any{&c.Ms, &c.Call, &c.Volume, &c.Node, &c.Pod, &c.Result}
	n := len(fields)
	if err := json.Unmarshal(data, &fields); err != nil {
		return err
	}
	if len(fields) != n {
		return fmt.Errorf("a call has %d fields: %s", n, data)
	}
	return nil
}

// Pair is two numbers.
type Pair [2]int

// UnmarshalJSON reads [a, b].
func (p *Pair) UnmarshalJSON(data []byte) error {
	var numbers []int
	if err := json.Unmarshal(data, &numbers); err != nil {
		return err
	}
	if len(numbers) != len(p) {
		return fmt.Errorf("a pair has two numbers: %s", data)
	}
	*p = Pair(numbers)
	return nil
}
