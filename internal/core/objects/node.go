package objects

import corev1 "k8s.io/api/core/v1"

// Healthy reports whether a node is ready (ATT-063). Nil, a node that does not exist, is not.
func Healthy(node *corev1.Node) bool {
	if node == nil {
		return false
	}
	for _, condition := range node.Status.Conditions {
		// ATT-063: the first condition of the type decides; Unknown is not ready.
		if condition.Type == corev1.NodeReady {
			return condition.Status == corev1.ConditionTrue
		}
	}
	return false
}

// OutOfService reports whether a node has the taint node.kubernetes.io/out-of-service (ATT-063).
func OutOfService(node *corev1.Node) bool {
	if node == nil {
		return false
	}
	for _, taint := range node.Spec.Taints {
		// ATT-063: the key alone counts, whether the node is ready or not.
		if taint.Key == corev1.TaintNodeOutOfService {
			return true
		}
	}
	return false
}
