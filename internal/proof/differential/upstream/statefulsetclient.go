package upstream

import (
	"context"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	typedcore "k8s.io/client-go/kubernetes/typed/core/v1"
)

// claimsInOrder is a client of the StatefulSet controller. In the pods that it creates, the volumes of claims have the order of the templates'
// names, as volsim has them. Unmodified, they come from a map.
type claimsInOrder struct{ kubernetes.Interface }

// CoreV1 returns the client for pods.
func (c claimsInOrder) CoreV1() typedcore.CoreV1Interface { return orderedCore{c.Interface.CoreV1()} }

type orderedCore struct{ typedcore.CoreV1Interface }

// Pods returns the client for the pods of a namespace.
func (c orderedCore) Pods(namespace string) typedcore.PodInterface {
	return orderedPods{c.CoreV1Interface.Pods(namespace)}
}

type orderedPods struct{ typedcore.PodInterface }

// Create creates a pod.
func (p orderedPods) Create(ctx context.Context, pod *corev1.Pod, opts metav1.CreateOptions) (*corev1.Pod, error) {
	pod = pod.DeepCopy()
	claims := slices.IndexFunc(pod.Spec.Volumes, func(v corev1.Volume) bool {
		return v.PersistentVolumeClaim == nil || v.PersistentVolumeClaim.ClaimName != v.Name+"-"+pod.Name
	})
	if claims < 0 {
		claims = len(pod.Spec.Volumes)
	}
	slices.SortFunc(pod.Spec.Volumes[:claims], func(a, b corev1.Volume) int { return strings.Compare(a.Name, b.Name) })
	return p.PodInterface.Create(ctx, pod, opts)
}
