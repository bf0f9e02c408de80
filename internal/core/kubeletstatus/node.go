package kubeletstatus

import (
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volsim/volsim/internal/core/objects"
)

// NewNode returns the Node object that a kubelet creates when it registers.
func NewNode(name, bootID string, now time.Time) *corev1.Node {
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Status:     corev1.NodeStatus{Conditions: []corev1.NodeCondition{readyCondition(now)}},
	}
	node.Status.NodeInfo = NodeInfo(node, bootID)
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

// missingLabels returns the default labels that the Node does not have.
func missingLabels(node *corev1.Node) map[string]string {
	if !slices.ContainsFunc(defaultLabels, func(key string) bool { return node.Labels[key] == "" }) {
		return nil // most nodes
	}
	labels := objects.NodeLabels(node.Name)
	maps.DeleteFunc(labels, func(key, _ string) bool { return node.Labels[key] != "" })
	return labels
}

// The condition of a node that its kubelet reports as ready.
const (
	readyReason  = "KubeletReady"
	readyMessage = "kubelet is posting ready status"
)

func readyCondition(now time.Time) corev1.NodeCondition {
	at := metav1.NewTime(now.Truncate(time.Second))
	return corev1.NodeCondition{Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: readyReason,
		Message: readyMessage, LastHeartbeatTime: at, LastTransitionTime: at}
}

// Rebooted returns the message of the Event that a kubelet emits when the status of its Node is from another boot, or "" if it is not.
func Rebooted(node *corev1.Node, bootID string) string {
	if last := node.Status.NodeInfo.BootID; last == "" || last == bootID {
		return ""
	}
	return fmt.Sprintf("Node %s has been rebooted, boot id: %s", node.Name, bootID)
}

// defaultLabels are the keys of the default labels.
var defaultLabels = objects.SortedKeys(objects.NodeLabels(""))

// Changed reports whether the status of a Node differs from what its kubelet would report: that it is ready, has these volumes in use,
// and was booted under that ID (MNT-172).
func Changed(node *corev1.Node, inUse []corev1.UniqueVolumeName, bootID string) bool {
	return !slices.Equal(inUse, node.Status.VolumesInUse) || !posted(node) || node.Status.NodeInfo != NodeInfo(node, bootID) || !labeled(node)
}

// posted reports whether the conditions are those of a report, but for their times.
func posted(node *corev1.Node) bool {
	posted := false
	for i := range node.Status.Conditions {
		c := &node.Status.Conditions[i]
		switch {
		case c.Type == corev1.NodeReady:
			posted = c.Status == corev1.ConditionTrue && c.Reason == readyReason && c.Message == readyMessage
		case c.Status == corev1.ConditionUnknown && withoutPressure[c.Type].Status != "":
			return false
		}
	}
	return posted
}

// labeled reports whether the Node has the labels that each report restores (MNT-367).
func labeled(node *corev1.Node) bool {
	return node.Labels[corev1.LabelOSStable] != "" && node.Labels[corev1.LabelArchStable] != ""
}

// NodeInfo returns what a report says about the machine. MNT-364: a dump says itself which machine it is.
func NodeInfo(node *corev1.Node, bootID string) corev1.NodeSystemInfo {
	info := node.Status.NodeInfo
	info.BootID = bootID
	if info.KubeletVersion == "" {
		info.KubeletVersion, info.OperatingSystem, info.Architecture = system.KubeletVersion, system.OperatingSystem, system.Architecture
	}
	return info
}

// Report returns the patch with which a kubelet reports that: what differs from node, the version that the kubelet knows (MNT-172).
func Report(node *corev1.Node, inUse []corev1.UniqueVolumeName, bootID string, now time.Time) func(newest *corev1.Node) error {
	volumes, conditions, differs := slices.Clone(inUse), readyConditions(node, now), !slices.Equal(inUse, node.Status.VolumesInUse)
	before := node.Status.Conditions
	return func(newest *corev1.Node) error {
		if differs {
			newest.Status.VolumesInUse = volumes
		}
		newest.Status.Conditions = patched(newest.Status.Conditions, before, conditions)
		newest.Status.NodeInfo = NodeInfo(newest, bootID)
		if !labeled(newest) {
			// MNT-367: a report restores these labels.
			labels := objects.NodeLabels(newest.Name)
			maps.DeleteFunc(labels, func(key, _ string) bool {
				return newest.Labels[key] != "" || key != corev1.LabelOSStable && key != corev1.LabelArchStable
			})
			newest.Labels = objects.MergeStrings(newest.Labels, labels)
		}
		return nil
	}
}

// patched returns the newest conditions with what differs between two lists.
func patched(newest, before, after []corev1.NodeCondition) []corev1.NodeCondition {
	if slices.Equal(newest, before) {
		return after
	}
	merged := slices.Clone(newest)
	for _, c := range after {
		if slices.Contains(before, c) {
			continue
		}
		if at := slices.IndexFunc(merged, func(other corev1.NodeCondition) bool { return other.Type == c.Type }); at >= 0 {
			merged[at] = c
		} else {
			merged = append(merged, c)
		}
	}
	return merged
}

// system describes the machine of a simulated node.
var system = corev1.NodeSystemInfo{KubeletVersion: "v1.36.3", OperatingSystem: objects.NodeOS, Architecture: objects.NodeArch}

// Recovers reports whether a report changes the condition Ready (MNT-368).
func Recovers(node *corev1.Node) bool {
	return !Ready(node) && slices.ContainsFunc(node.Status.Conditions, func(c corev1.NodeCondition) bool { return c.Type == corev1.NodeReady })
}

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

// KnowPressure replaces the conditions of pressure that are not known: that is the mark of a time without reports (NODE-090).
func KnowPressure(conditions []corev1.NodeCondition, now time.Time) {
	at := metav1.NewTime(now.Truncate(time.Second))
	for i := range conditions {
		if conditions[i].Status != corev1.ConditionUnknown {
			continue
		}
		if state, ok := withoutPressure[conditions[i].Type]; ok {
			state.LastHeartbeatTime, state.LastTransitionTime = at, at
			state.Type = conditions[i].Type
			conditions[i] = state
		}
	}
}

// readyConditions returns the conditions of the node, with the Ready condition as this kubelet reports it.
func readyConditions(node *corev1.Node, now time.Time) []corev1.NodeCondition {
	ready := readyCondition(now)
	conditions := slices.Clone(node.Status.Conditions)
	KnowPressure(conditions, now)
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
