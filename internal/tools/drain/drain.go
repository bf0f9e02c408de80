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
	"k8s.io/apimachinery/pkg/labels"

	"github.com/volsim/volsim"
	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/internals"
	"github.com/volsim/volsim/internal/core/objects"
)

const (
	// retryAfter is the time between two tries to evict a pod whose PodDisruptionBudget forbids it.
	retryAfter = 5 * time.Second
	// poll is the time between two looks at a pod that is terminating.
	poll = time.Second
)

// Options are those of kubectl drain that decide which pods it deletes, and how.
type Options struct {
	IgnoreDaemonSets   bool
	DeleteEmptyDirData bool
	Force              bool
	// Selector selects the pods that leave; nil selects all.
	Selector labels.Selector
	// Grace is the grace period in seconds; nil leaves it to the pod.
	Grace *int64
	// Delete deletes pods instead of evicting them, as --disable-eviction says.
	Delete bool
	// SkipAfter is how many seconds after its deletion a pod that is still there is skipped; 0 skips none.
	SkipAfter int64
}

// Pods returns the pods that leave a node, and what kubectl warns of. With an error for each reason that the options do not cover kubectl evicts
// no pod of the node. Mirror pods stay.
func Pods(c *volsim.Cluster, node string, opts Options) (leave []*corev1.Pod, warning string, refused []error) {
	var warned, refusals messages
	for _, pod := range c.Pods.List() {
		owner := metav1.GetControllerOfNoCopy(pod)
		switch {
		case pod.Spec.NodeName != node || opts.Selector != nil && !opts.Selector.Matches(labels.Set(pod.Labels)),
			pod.Annotations[corev1.MirrorPodAnnotationKey] != "", opts.skips(c, pod):
		case objects.Terminated(pod):
			leave = append(leave, pod)
		case owner != nil && owner.Kind == "DaemonSet" && !(opts.Force && !exists(c, pod, owner)):
			switch {
			case !exists(c, pod, owner):
				refusals.add(fmt.Sprintf("daemonsets.apps %q not found", owner.Name), pod)
			case opts.IgnoreDaemonSets:
				warned.add("ignoring DaemonSet-managed Pods", pod)
			default:
				refusals.add("DaemonSet-managed Pods (use --ignore-daemonsets to ignore)", pod)
			}
		case hasEmptyDir(pod) && !opts.DeleteEmptyDirData:
			refusals.add("Pods with local storage (use --delete-emptydir-data to override)", pod)
		case owner == nil && !opts.Force:
			refusals.add("Pods that declare no controller (use --force to override)", pod)
		default:
			if owner == nil {
				warned.add("deleting Pods that declare no controller", pod)
			}
			leave = append(leave, pod)
		}
	}
	for _, text := range refusals.lines() {
		refused = append(refused, errors.New("cannot delete "+text))
	}
	return leave, strings.Join(warned.lines(), "; "), refused
}

func exists(c *volsim.Cluster, pod *corev1.Pod, owner *metav1.OwnerReference) bool {
	_, err := c.Objects("DaemonSet.apps").Get(pod.Namespace + "/" + owner.Name)
	return err == nil
}

// skips reports whether a pod has been terminating for so long that it is skipped.
func (o Options) skips(c *volsim.Cluster, pod *corev1.Pod) bool {
	return o.SkipAfter > 0 && pod.DeletionTimestamp != nil && int64(c.Now().Sub(pod.DeletionTimestamp.Time).Seconds()) > o.SkipAfter
}

func hasEmptyDir(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Spec.Volumes, func(v corev1.Volume) bool { return v.EmptyDir != nil })
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

func (m messages) lines() []string {
	lines := make([]string, len(m))
	for i, of := range m {
		lines[i] = of.text + ": " + strings.Join(of.pods, ", ")
	}
	return lines
}

// Text returns errors as kubectl puts several into one line.
func Text(errs []error) string {
	if len(errs) == 1 {
		return errs[0].Error()
	}
	texts := make([]string, len(errs))
	for i, err := range errs {
		texts[i] = err.Error()
	}
	return "[" + strings.Join(texts, ", ") + "]"
}

// Drain is a running kubectl drain.
type Drain struct {
	Cluster *volsim.Cluster
	Options
	// Advance advances virtual time.
	Advance func(time.Duration) error
	// Timeout limits the time; then Evict fails.
	Timeout time.Duration
	// Print receives what kubectl writes to stdout, and Warn what it writes to stderr.
	Print, Warn func(format string, args ...any)
}

// Blocked is the error of a pod that may not leave in time.
type Blocked struct {
	text string
	// Reason is why the API server refused the last eviction; nil if the pod is terminating.
	Reason error
}

func (e Blocked) Error() string { return e.text }

// leaving is a pod that leaves.
type leaving struct {
	pod     *corev1.Pod
	going   bool      // its deletion has begun
	next    time.Time // when to try again, or to look again
	refused error     // by a PodDisruptionBudget
}

// Evict evicts pods, or deletes them, and waits until they are gone. A pod whose PodDisruptionBudget forbids its eviction is tried again every
// 5 s. As with kubectl the pods do not wait for one another, and each may fail; err is an error of Advance.
func (d *Drain) Evict(pods []*corev1.Pod) (failed []error, err error) {
	all := make([]*leaving, len(pods))
	end := d.Cluster.Now().Add(d.Timeout)
	for i, pod := range pods {
		all[i] = &leaving{pod: pod, next: d.Cluster.Now(), going: d.Delete}
		if !d.Delete {
			continue
		}
		if err := d.Cluster.DeleteWith(pod, api.DeleteOptions{GracePeriodSeconds: d.Grace}); err != nil && !apierrors.IsNotFound(err) {
			return []error{err}, nil
		}
	}
	for {
		now := d.Cluster.Now()
		for _, l := range all {
			if !l.going && !l.next.After(now) {
				d.print("evicting pod %s\n", api.KeyOf(l.pod))
			}
		}
		var next time.Time
		all = slices.DeleteFunc(all, func(l *leaving) bool {
			if !l.next.After(now) {
				done, err := d.try(l, !now.Before(end))
				if err != nil && !(d.Delete && len(failed) > 0) {
					failed = append(failed, err)
				}
				if done || err != nil {
					return true
				}
				if l.going && end.Before(l.next) {
					l.next = end
				}
			}
			if next.IsZero() || l.next.Before(next) {
				next = l.next
			}
			return false
		})
		if len(all) == 0 {
			return failed, nil
		}
		if err := d.Advance(next.Sub(now)); err != nil {
			return failed, err
		}
	}
}

// try evicts a pod, or looks whether it is gone, and reports whether nothing is left to do. late says that the time of the command is over.
func (d *Drain) try(l *leaving, late bool) (done bool, err error) {
	now := d.Cluster.Now()
	if !l.going {
		if late {
			return false, Blocked{fmt.Sprintf("error when evicting pods/%q -n %q: global timeout reached: %v", l.pod.Name, l.pod.Namespace, d.Timeout), l.refused}
		}
		switch err := internals.Evict(d.Cluster, l.pod, api.DeleteOptions{GracePeriodSeconds: d.Grace}); {
		case apierrors.IsNotFound(err):
			return true, nil
		case apierrors.IsTooManyRequests(err):
			d.warn("error when evicting pods/%q -n %q (will retry after 5s): %v\n", l.pod.Name, l.pod.Namespace, err)
			l.next, l.refused = now.Add(retryAfter), err
			if fresh, err := d.Cluster.Pods.Get(api.KeyOf(l.pod)); err == nil {
				l.pod = fresh
			}
			return false, nil
		case err != nil:
			return false, fmt.Errorf("error when evicting pods/%q -n %q: %w", l.pod.Name, l.pod.Namespace, err)
		}
		l.going = true
	}
	pod, err := d.Cluster.Pods.Get(api.KeyOf(l.pod))
	switch verb := "evicted"; {
	case late && d.Delete:
		return false, Blocked{"context deadline exceeded", nil}
	case late:
		return false, Blocked{fmt.Sprintf("error when waiting for pod %q in namespace %q to terminate: context deadline exceeded", l.pod.Name, l.pod.Namespace), nil}
	case err != nil || pod.UID != l.pod.UID:
		if d.Delete {
			verb = "deleted"
		}
		d.print("pod/%s %s\n", l.pod.Name, verb)
		return true, nil
	case d.skips(d.Cluster, pod):
		d.print("pod %q has DeletionTimestamp older than %d seconds, skipping\n", l.pod.Name, d.SkipAfter)
		return true, nil
	}
	l.next = now.Add(poll)
	return false, nil
}

func (d *Drain) print(format string, args ...any) {
	if d.Print != nil {
		d.Print(format, args...)
	}
}

func (d *Drain) warn(format string, args ...any) {
	if d.Warn != nil {
		d.Warn(format, args...)
	}
}
