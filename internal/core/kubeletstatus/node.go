package kubeletstatus

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volsim/volsim/internal/core/objects"
)

// NewNode returns the Node object that a kubelet creates when it registers.
func NewNode(name string, now time.Time) *corev1.Node {
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Status:     corev1.NodeStatus{Conditions: []corev1.NodeCondition{readyCondition(now)}},
	}
	Register(node)
	return node
}

// Registered reports whether an existing Node has all that Register adds.
func Registered(node *corev1.Node) bool {
	return node.Annotations[objects.AnnManagedAttach] == "true" && len(missingLabels(node)) == 0
}

// Register adds what a kubelet adds to an existing Node when it starts: the annotation that makes the attach/detach controller responsible
// for its volumes, and the default labels (MNT-363). A label with another value stays: then the node is another kind of machine.
func Register(node *corev1.Node) {
	node.Annotations = objects.MergeStrings(node.Annotations, map[string]string{objects.AnnManagedAttach: "true"})
	if missing := missingLabels(node); len(missing) > 0 {
		node.Labels = objects.MergeStrings(node.Labels, missing)
	}
}

// RegisterPatch is Register as a JSON merge patch.
func RegisterPatch(node *corev1.Node) ([]byte, error) {
	metadata := map[string]any{"annotations": map[string]string{objects.AnnManagedAttach: "true"}}
	if missing := missingLabels(node); len(missing) > 0 {
		metadata["labels"] = missing
	}
	return json.Marshal(map[string]any{"metadata": metadata})
}

// missingLabels returns the default labels that the Node does not have.
func missingLabels(node *corev1.Node) map[string]string {
	labels := objects.NodeLabels(node.Name)
	maps.DeleteFunc(labels, func(key, _ string) bool { return node.Labels[key] != "" })
	return labels
}

func readyCondition(now time.Time) corev1.NodeCondition {
	at := metav1.NewTime(now.Truncate(time.Second))
	return corev1.NodeCondition{Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "KubeletReady",
		Message: "kubelet is posting ready status", LastHeartbeatTime: at, LastTransitionTime: at}
}

// Rebooted returns the message of the Event that a kubelet emits when the status of its Node is from another boot, or "" if it is not.
func Rebooted(node *corev1.Node, bootID string) string {
	if last := node.Status.NodeInfo.BootID; last == "" || last == bootID {
		return ""
	}
	return fmt.Sprintf("Node %s has been rebooted, boot id: %s", node.Name, bootID)
}

// Changed reports whether the status of a Node differs from what its kubelet would report: that it is ready, has these volumes in use,
// and was booted under that ID.
func Changed(node *corev1.Node, inUse []corev1.UniqueVolumeName, bootID string) bool {
	return !slices.Equal(inUse, node.Status.VolumesInUse) || !Ready(node) || node.Status.NodeInfo.BootID != bootID
}

// Report returns the patch with which a kubelet reports that. node is the version that the kubelet knows.
func Report(node *corev1.Node, inUse []corev1.UniqueVolumeName, bootID string, now time.Time) func(newest *corev1.Node) error {
	volumes, conditions := slices.Clone(inUse), readyConditions(node, now)
	return func(newest *corev1.Node) error {
		newest.Status.VolumesInUse, newest.Status.Conditions, newest.Status.NodeInfo.BootID = volumes, conditions, bootID
		// MNT-364: the system, unless a dump says which it is.
		if newest.Status.NodeInfo.KubeletVersion == "" {
			newest.Status.NodeInfo.KubeletVersion = system.KubeletVersion
			newest.Status.NodeInfo.OperatingSystem, newest.Status.NodeInfo.Architecture = system.OperatingSystem, system.Architecture
		}
		return nil
	}
}

// Patch is Report as a JSON merge patch.
func Patch(node *corev1.Node, inUse []corev1.UniqueVolumeName, bootID string, now time.Time) ([]byte, error) {
	info := map[string]string{"bootID": bootID}
	if node.Status.NodeInfo.KubeletVersion == "" {
		info["kubeletVersion"], info["operatingSystem"], info["architecture"] = system.KubeletVersion, system.OperatingSystem, system.Architecture
	}
	return json.Marshal(map[string]any{"status": map[string]any{
		"volumesInUse": inUse,
		"conditions":   readyConditions(node, now),
		"nodeInfo":     info,
	}})
}

// system describes the machine of a simulated node.
var system = corev1.NodeSystemInfo{KubeletVersion: "v1.36.3", OperatingSystem: objects.NodeOS, Architecture: objects.NodeArch}

// Ready reports whether a Node has the condition Ready with status True.
func Ready(node *corev1.Node) bool {
	return slices.ContainsFunc(node.Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
	})
}

// withoutPressure are the conditions of a node that has enough of everything (NODE-090).
var withoutPressure = map[corev1.NodeConditionType]corev1.NodeCondition{
	corev1.NodeMemoryPressure: {Status: corev1.ConditionFalse, Reason: "KubeletHasSufficientMemory",
		Message: "kubelet has sufficient memory available"},
	corev1.NodeDiskPressure: {Status: corev1.ConditionFalse, Reason: "KubeletHasNoDiskPressure", Message: "kubelet has no disk pressure"},
	corev1.NodePIDPressure: {Status: corev1.ConditionFalse, Reason: "KubeletHasSufficientPID",
		Message: "kubelet has sufficient PID available"},
}

// readyConditions returns the conditions of the node, with the Ready condition as this kubelet reports it.
func readyConditions(node *corev1.Node, now time.Time) []corev1.NodeCondition {
	ready := readyCondition(now)
	conditions := slices.Clone(node.Status.Conditions)
	for i := range conditions {
		// NODE-090: a pressure that is not known is the mark of a time without reports.
		if state, ok := withoutPressure[conditions[i].Type]; ok && conditions[i].Status == corev1.ConditionUnknown {
			state.LastHeartbeatTime, state.LastTransitionTime = ready.LastHeartbeatTime, ready.LastHeartbeatTime
			state.Type = conditions[i].Type
			conditions[i] = state
		}
	}
	i := slices.IndexFunc(conditions, func(c corev1.NodeCondition) bool { return c.Type == corev1.NodeReady })
	if i < 0 {
		return append(conditions, ready)
	}
	if conditions[i].Status == corev1.ConditionTrue {
		ready.LastTransitionTime = conditions[i].LastTransitionTime
	}
	conditions[i] = ready
	return conditions
}
