package objects

import corev1 "k8s.io/api/core/v1"

// The operating system and the processors of simulated nodes.
const (
	NodeOS   = "linux"
	NodeArch = "amd64"
)

// NodeLabels returns the labels that a kubelet gives its node (MNT-363), in a new map.
func NodeLabels(name string) map[string]string {
	return map[string]string{
		corev1.LabelHostname:      name,
		corev1.LabelOSStable:      NodeOS,
		corev1.LabelArchStable:    NodeArch,
		"beta.kubernetes.io/os":   NodeOS,
		"beta.kubernetes.io/arch": NodeArch,
	}
}

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
