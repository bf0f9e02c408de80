// Package drain evicts the pods of a node, as kubectl drain does.
package drain

import (
	"errors"
	"fmt"
	"slices"
	"strings"
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

// Options are those of kubectl drain that decide which pods it deletes.
type Options struct {
	IgnoreDaemonSets   bool
	DeleteEmptyDirData bool
	Force              bool
}

// Pods returns the pods that leave a node, and what kubectl warns of. It returns an error, and kubectl evicts no pod of the node, if there is
// one that the options do not cover. Mirror pods stay.
func Pods(c *volsim.Cluster, node string, opts Options) (leave []*corev1.Pod, warning string, err error) {
	var found findings
	for _, pod := range c.Pods.List() {
		owner := metav1.GetControllerOfNoCopy(pod)
		switch {
		case pod.Spec.NodeName != node || pod.Annotations[corev1.MirrorPodAnnotationKey] != "":
		case objects.Terminated(pod):
			leave = append(leave, pod)
		case owner != nil && owner.Kind == "DaemonSet":
			found.add(opts.IgnoreDaemonSets, pod, "ignoring DaemonSet-managed Pods", "DaemonSet-managed Pods (use --ignore-daemonsets to ignore)")
		case hasEmptyDir(pod) && !opts.DeleteEmptyDirData:
			found.add(false, pod, "", "Pods with local storage (use --delete-emptydir-data to override)")
		case owner == nil:
			found.add(opts.Force, pod, "deleting Pods that declare no controller", "Pods that declare no controller (use --force to override)")
			leave = append(leave, pod)
		default:
			if hasEmptyDir(pod) {
				found.add(true, pod, "deleting Pods with local storage", "")
			}
			leave = append(leave, pod)
		}
	}
	if len(found.refused) > 0 {
		return nil, "", errors.New(found.refused.text("cannot delete ", ", "))
	}
	return leave, found.warned.text("", "; "), nil
}

func hasEmptyDir(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Spec.Volumes, func(v corev1.Volume) bool { return v.EmptyDir != nil })
}

// findings are pods by what kubectl says about them.
type findings struct{ warned, refused messages }

func (f *findings) add(allowed bool, pod *corev1.Pod, warning, refusal string) {
	if allowed {
		f.warned.add(warning, pod)
	} else {
		f.refused.add(refusal, pod)
	}
}

// messages are texts, each with the keys of its pods.
type messages []struct {
	text string
	pods []string
}

func (m *messages) add(text string, pod *corev1.Pod) {
	for i := range *m {
		if of := &(*m)[i]; of.text == text {
			of.pods = append(of.pods, api.KeyOf(pod))
			return
		}
	}
	*m = append(*m, struct {
		text string
		pods []string
	}{text, []string{api.KeyOf(pod)}})
}

// text returns the messages behind a prefix.
func (m messages) text(prefix, separator string) string {
	lines := make([]string, len(m))
	for i, of := range m {
		lines[i] = prefix + of.text + ": " + strings.Join(of.pods, ", ")
	}
	if len(lines) > 1 && prefix != "" {
		return "[" + strings.Join(lines, separator) + "]"
	}
	return strings.Join(lines, separator)
}

// Drain is a running kubectl drain.
type Drain struct {
	Cluster *volsim.Cluster
	// Advance advances virtual time.
	Advance func(time.Duration) error
	// Timeout limits the time; then Evict fails.
	Timeout time.Duration
	// Print receives kubectl's lines; nil discards them.
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
