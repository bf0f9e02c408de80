package store

import (
	"errors"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/podresources"
	"github.com/volsim/volsim/internal/core/strategy"
)

// admitPodResize decides whether a pod may have new resources: within the LimitRanges of its namespace, and what its node can allocate (API-591).
func (s *Store) admitPodResize(r resource, obj, old api.Object) error {
	if err := s.checkLimits(r, obj, old, strategy.Resize); err != nil {
		return err
	}
	pod, ok := obj.(*corev1.Pod)
	if !ok || s.asGiven || pod.Spec.NodeName == "" || pod.Generation == old.GetGeneration() {
		return nil
	}
	node, err := s.Nodes.Get(pod.Spec.NodeName)
	if err != nil {
		return forbidden(r, pod.Name, fmt.Errorf("node %q not found", pod.Spec.NodeName))
	}
	if system, ok := node.Labels[corev1.LabelOSStable]; ok && system != "linux" {
		return withCause(forbidden(r, pod.Name, fmt.Errorf("pod resize is only supported on linux nodes, node %q is %q", node.Name, system)), "UnsupportedPlatform")
	}
	requests := podresources.Requests(pod)
	var lacking []string
	cpu, memory := node.Status.Allocatable.Cpu().MilliValue(), node.Status.Allocatable.Memory().Value()
	if n := requests[corev1.ResourceCPU]; n > cpu {
		lacking = append(lacking, fmt.Sprintf("cpu, requested: %d, allocatable: %d", n, cpu))
	}
	if n := requests[corev1.ResourceMemory]; n > memory {
		lacking = append(lacking, fmt.Sprintf("memory, requested: %d, allocatable: %d", n, memory))
	}
	if len(lacking) > 0 {
		return withCause(forbidden(r, pod.Name, errors.New("node didn't have enough allocatable resources: "+strings.Join(lacking, "; "))), "NodeCapacity")
	}
	return nil
}

// withCause adds a cause to the error of a request.
func withCause(err error, cause metav1.CauseType) error {
	var status *apierrors.StatusError
	if errors.As(err, &status) {
		status.ErrStatus.Details.Causes = append(status.ErrStatus.Details.Causes, metav1.StatusCause{Type: cause})
	}
	return err
}
