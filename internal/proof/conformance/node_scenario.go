package conformance

import (
	"encoding/json"
	"fmt"
)

// NodeScenario is one line of a recording of the attach/detach controller and of kubelets: what there is, what is done, and what was
// seen.
type NodeScenario struct {
	Name       string                 `json:"name"`
	Family     string                 `json:"family"`
	Nodes      []NodeSpec             `json:"nodes"`
	Backends   map[string]NodeBackend `json:"backends"`
	Controller NodeController         `json:"controller"`
	Kubelet    NodeKubelet            `json:"kubelet"`
	Steps      []NodeStep             `json:"steps"`
	// Observations are what was seen after each step.
	Observations []NodeObservation `json:"observations"`
	// Runs is how often the scenario was recorded.
	Runs int `json:"runs"`
}

// NodeSpec is a node of a scenario.
type NodeSpec struct {
	Name string `json:"name"`
	// NoKubelet: there is only a Node object, and the scenario plays its status.
	NoKubelet bool `json:"noKubelet"`
	// Absent: at first there is neither an object nor a kubelet.
	Absent bool `json:"absent"`
}

// NodeBackend is a storage plugin and how long its calls take, in milliseconds.
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

// NodeController sets up the attach/detach controller.
type NodeController struct {
	// Off: there is none, and the scenario plays it.
	Off                         bool    `json:"off"`
	DisableForceDetachOnTimeout bool    `json:"disableForceDetachOnTimeout"`
	DisableReconcilerSync       bool    `json:"disableReconcilerSync"`
	ReconcilerSyncSeconds       float64 `json:"reconcilerSyncSeconds"`
}

// NodeKubelet sets up the kubelets.
type NodeKubelet struct {
	NodeStatusSeconds float64 `json:"nodeStatusSeconds"`
	StopMs            int     `json:"stopMs"`
}

// NodeStep is one thing that is done. Which fields are set depends on Op.
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

// NodeObservation is what is seen after a step.
type NodeObservation struct {
	AtMs  int                  `json:"atMs"`
	Nodes map[string]NodeState `json:"nodes"`
	// Pods are by namespace/name, from the second of a name on with #2 and so on.
	Pods              map[string]PodState `json:"pods"`
	VolumeAttachments []AttachmentState   `json:"volumeAttachments"`
	// Calls are those to the storage since the observation before, in order.
	Calls []NodeCall `json:"calls"`
	// CallTimesMs are the least and the greatest time of each call, CallOrder pairs of indexes of calls that always came in that order.
	CallTimesMs []Pair `json:"callTimesMs"`
	CallOrder   []Pair `json:"callOrder"`
	// Events is a sorted set of kind, namespace/name, type, reason.
	Events [][]string `json:"events"`
	// MarginMs is for how long before and after nothing changed; nil after a step that takes no time.
	MarginMs *Pair `json:"marginMs"`
}

// NodeState is what an observation says about a node.
type NodeState struct {
	Exists bool `json:"exists"`
	Ready  bool `json:"ready"`
	// VolumesAttached and VolumesInUse are those of the status of the Node object.
	VolumesAttached []string `json:"volumesAttached"`
	VolumesInUse    []string `json:"volumesInUse"`
	// Staged are volumes with a device mount, Published are mounts for a pod, "volume pod".
	Staged    []string `json:"staged"`
	Published []string `json:"published"`
}

// PodState is what an observation says about a pod.
type PodState struct {
	Phase    string `json:"phase"`
	Deleting bool   `json:"deleting"`
	// Mounted says of each of its volumes, by their names in the pod, whether it is mounted for it.
	Mounted map[string]bool `json:"mounted"`
}

// AttachmentState is what an observation says about a VolumeAttachment.
type AttachmentState struct {
	Node        string `json:"node"`
	PV          string `json:"pv"`
	Attached    bool   `json:"attached"`
	Deleting    bool   `json:"deleting"`
	AttachError bool   `json:"attachError"`
	DetachError bool   `json:"detachError"`
}

// NodeCall is a call to the storage, or one of the two ends of a call that takes time.
type NodeCall struct {
	// Ms is the time since the step began.
	Ms int
	What
}

// What is everything about a call but its time. Result is begin, ok, or the name of a gRPC code.
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
