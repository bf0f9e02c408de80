package nodelifecycle

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
)

// conditionTaint returns the key of the NoSchedule taint that mirrors a condition, "" if there is none (NODE-050).
func conditionTaint(kind corev1.NodeConditionType, status corev1.ConditionStatus) string {
	switch {
	case kind == corev1.NodeReady && status == corev1.ConditionFalse:
		return corev1.TaintNodeNotReady
	case kind == corev1.NodeReady && status == corev1.ConditionUnknown:
		return corev1.TaintNodeUnreachable
	case kind == corev1.NodeReady || status != corev1.ConditionTrue:
		return ""
	}
	switch kind {
	case corev1.NodeMemoryPressure:
		return corev1.TaintNodeMemoryPressure
	case corev1.NodeDiskPressure:
		return corev1.TaintNodeDiskPressure
	case corev1.NodeNetworkUnavailable:
		return corev1.TaintNodeNetworkUnavailable
	case corev1.NodePIDPressure:
		return corev1.TaintNodePIDPressure
	}
	return ""
}

// ownKeys are the keys of the NoSchedule taints that the controller adds and removes.
var ownKeys = []string{
	corev1.TaintNodeNotReady, corev1.TaintNodeUnreachable, corev1.TaintNodeMemoryPressure, corev1.TaintNodeDiskPressure,
	corev1.TaintNodeNetworkUnavailable, corev1.TaintNodePIDPressure, corev1.TaintNodeUnschedulable,
}

// NoScheduleChanges returns the NoSchedule taints that a node lacks, and those that it should not have (NODE-050).
func NoScheduleChanges(node *corev1.Node) (add, remove []corev1.Taint) {
	var wanted []corev1.Taint
	want := func(key string) {
		wanted = append(wanted, corev1.Taint{Key: key, Effect: corev1.TaintEffectNoSchedule})
	}
	for i := range node.Status.Conditions {
		c := &node.Status.Conditions[i]
		if key := conditionTaint(c.Type, c.Status); key != "" {
			want(key)
		}
	}
	if node.Spec.Unschedulable {
		want(corev1.TaintNodeUnschedulable)
	}
	for _, taint := range wanted {
		if !hasTaint(node.Spec.Taints, taint) {
			add = append(add, taint)
		}
	}
	for _, taint := range node.Spec.Taints {
		// NODE-050: other keys and other effects are left alone.
		if taint.Effect == corev1.TaintEffectNoSchedule && slices.Contains(ownKeys, taint.Key) && !hasTaint(wanted, taint) {
			remove = append(remove, taint)
		}
	}
	return add, remove
}

// The NoExecute taints of the controller (NODE-037).
var (
	notReadyTaint    = corev1.Taint{Key: corev1.TaintNodeNotReady, Effect: corev1.TaintEffectNoExecute}
	unreachableTaint = corev1.Taint{Key: corev1.TaintNodeUnreachable, Effect: corev1.TaintEffectNoExecute}
)

// NoExecuteTaint returns the NoExecute taint that a node with that status of Ready has, and the one that it must not have at the same time
// (NODE-037). It reports false for a status without a taint.
func NoExecuteTaint(ready corev1.ConditionStatus) (add, remove corev1.Taint, ok bool) {
	switch ready {
	case corev1.ConditionFalse:
		return notReadyTaint, unreachableTaint, true
	case corev1.ConditionUnknown:
		return unreachableTaint, notReadyTaint, true
	}
	return corev1.Taint{}, corev1.Taint{}, false
}

// sameTaint reports whether two taints have the same key and effect, which identify a taint.
func sameTaint(a, b corev1.Taint) bool { return a.Key == b.Key && a.Effect == b.Effect }

func hasTaint(taints []corev1.Taint, taint corev1.Taint) bool {
	return slices.ContainsFunc(taints, func(t corev1.Taint) bool { return sameTaint(t, taint) })
}

// withTaints returns the taints with others added, each in the place of the one with its key and effect. It reports whether that changes
// anything.
func withTaints(taints, add []corev1.Taint) ([]corev1.Taint, bool) {
	taints, changed := slices.Clone(taints), false
	for _, taint := range add {
		i := slices.IndexFunc(taints, func(t corev1.Taint) bool { return sameTaint(t, taint) })
		switch {
		case i < 0:
			taints, changed = append(taints, taint), true
		case !equality.Semantic.DeepEqual(taints[i], taint):
			// NODE-051: the same taint gets a new time.
			taints[i], changed = taint, true
		}
	}
	return taints, changed
}

// withoutTaints returns the taints without those that have the key and effect of others. It reports whether that changes anything.
func withoutTaints(taints, remove []corev1.Taint) ([]corev1.Taint, bool) {
	rest := slices.DeleteFunc(slices.Clone(taints), func(t corev1.Taint) bool { return hasTaint(remove, t) })
	return rest, len(rest) != len(taints)
}
