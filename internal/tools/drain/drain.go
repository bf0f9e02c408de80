// Package drain evicts the pods of a node, as kubectl drain does.
package drain

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volsim/volsim"
	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/internals"
	"github.com/volsim/volsim/internal/core/objects"
)

// retryAfter is the time between two tries to evict a pod whose PodDisruptionBudget forbids it.
const retryAfter = 5 * time.Second

// Pods returns the pods that leave a node, and those that its DaemonSets would create again. Mirror pods are neither.
func Pods(c *volsim.Cluster, node string) (leave, daemons []*corev1.Pod) {
	for _, pod := range c.Pods.List() {
		owner := metav1.GetControllerOfNoCopy(pod)
		switch {
		case pod.Spec.NodeName != node || pod.Annotations[corev1.MirrorPodAnnotationKey] != "":
		case owner != nil && owner.Kind == "DaemonSet" && !objects.Terminated(pod):
			daemons = append(daemons, pod)
		default:
			leave = append(leave, pod)
		}
	}
	return leave, daemons
}

// Drain is a running kubectl drain.
type Drain struct {
	Cluster *volsim.Cluster
	// Advance advances virtual time.
	Advance func(time.Duration) error
	// Timeout limits the time; then Evict fails.
	Timeout time.Duration
	// Print receives kubectl's lines; nil for nobody.
	Print func(format string, args ...any)
}

// Evict evicts pods. A pod whose PodDisruptionBudget forbids that is tried again every 5 s. Evict returns when all pods are evicted; they
// may still be terminating.
func (d *Drain) Evict(pods []*corev1.Pod) error {
	end := d.Cluster.Now().Add(d.Timeout)
	for {
		var blocked []*corev1.Pod
		var reason error
		for _, pod := range pods {
			d.print("evicting pod %s\n", api.KeyOf(pod))
			switch err := internals.Evict(d.Cluster, pod); {
			case apierrors.IsTooManyRequests(err):
				d.print("error when evicting pods/%q -n %q (will retry after 5s): %v\n", pod.Name, pod.Namespace, err)
				blocked, reason = append(blocked, pod), err
			case err == nil || apierrors.IsNotFound(err):
				d.print("pod/%s evicted\n", pod.Name)
			default:
				return fmt.Errorf("error when evicting pods/%q -n %q: %w", pod.Name, pod.Namespace, err)
			}
		}
		if len(blocked) == 0 {
			return nil
		}
		pods = blocked
		if d.Cluster.Now().Add(retryAfter).After(end) {
			return fmt.Errorf("error when evicting pods/%q -n %q: global timeout reached: %v: %w", pods[0].Name, pods[0].Namespace, d.Timeout, reason)
		}
		if err := d.Advance(retryAfter); err != nil {
			return err
		}
	}
}

// AwaitGone waits until evicted pods no longer exist.
func (d *Drain) AwaitGone(pods []*corev1.Pod) error {
	const poll = time.Second
	end := d.Cluster.Now().Add(d.Timeout)
	for _, pod := range pods {
		for {
			now, err := d.Cluster.Pods.Get(api.KeyOf(pod))
			if err != nil || now.UID != pod.UID {
				break
			}
			if d.Cluster.Now().Add(poll).After(end) {
				return fmt.Errorf("pod %s is still terminating: global timeout reached: %v", api.KeyOf(pod), d.Timeout)
			}
			if err := d.Advance(poll); err != nil {
				return err
			}
		}
	}
	return nil
}

func (d *Drain) print(format string, args ...any) {
	if d.Print != nil {
		d.Print(format, args...)
	}
}
