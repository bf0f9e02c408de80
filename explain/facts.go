package explain

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/internal/core/backends"
	"github.com/volsim/volsim/internal/core/objects"
)

// backends returns the known storage systems.
func (x *explainer) backends() *backends.Set {
	if x.Backends == nil {
		return &backends.Set{}
	}
	return x.Backends
}

// missing says that an object of a kind, as kubectl names it, is not there. A dump without any of them does not tell whether the cluster has it.
func (x *explainer) missing(kind string) string {
	if x.Evidence.Lacks(kind) {
		return "is not in the dump, which has no " + kind
	}
	return "does not exist"
}

// addKind lets the user dump a kind that the dump lacks. It reports whether that is so.
func (x *explainer) addKind(e *Explanation, kind string) bool {
	if !x.Evidence.Lacks(kind) {
		return false
	}
	e.todo(fmt.Sprintf("add the %s to the dump: kubectl get %[1]s -o yaml", kind))
	e.manual("the dump does not show what it waits for")
	return true
}

// alive reports whether the kubelet of the node works and is reachable.
func (x *explainer) alive(node *corev1.Node) bool {
	return objects.Healthy(node) && (x.Unreachable == nil || !x.Unreachable(node.Name))
}

// reportedNotReady returns what a kubelet says about why its node is not ready; "" if the node lifecycle controller says that the kubelet is silent.
func reportedNotReady(node *corev1.Node) string {
	if node == nil {
		return ""
	}
	for _, c := range node.Status.Conditions {
		if c.Type == corev1.NodeReady && c.Status == corev1.ConditionFalse {
			return c.Message
		}
	}
	return ""
}

func timeOf(event *corev1.Event) time.Time {
	switch {
	case !event.LastTimestamp.IsZero():
		return event.LastTimestamp.Time
	case event.Series != nil:
		return event.Series.LastObservedTime.Time
	case !event.EventTime.IsZero():
		return event.EventTime.Time
	}
	return event.CreationTimestamp.Time
}

// reasoned accepts Events of that reason.
func reasoned(reason string) func(*corev1.Event) bool {
	return func(event *corev1.Event) bool { return event.Reason == reason }
}
