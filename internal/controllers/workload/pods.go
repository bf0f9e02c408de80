package workload

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/store"
)

// orphans is the value under which the pods of a namespace without a controller are found.
func orphans(namespace string) string { return "orphans in " + namespace }

// IndexPods returns an index of pods by the uid of their controller.
func IndexPods(s *store.Store) store.Index[*corev1.Pod] {
	return s.Pods.NewIndexWith(func(pod *corev1.Pod, list []string) []string {
		if ref := metav1.GetControllerOfNoCopy(pod); ref != nil {
			return append(list, string(ref.UID))
		}
		return append(list, orphans(pod.Namespace))
	}, func(a, b *corev1.Pod) bool {
		before, after := metav1.GetControllerOfNoCopy(a), metav1.GetControllerOfNoCopy(b)
		return before == nil && after == nil || before != nil && after != nil && before.UID == after.UID
	})
}

// Claimer finds the pods of a controller, adopts those without one that its selector matches, and releases those that it no longer matches
// (WORK-001).
type Claimer struct {
	Pods    engine.Informer[*corev1.Pod]
	ByOwner store.Index[*corev1.Pod]
	// Owner is the controller, Ref the reference to it, and Selector its selector.
	Owner    api.Object
	Ref      metav1.OwnerReference
	Selector labels.Selector
	// Member further restricts which pods can belong to the controller; nil for all.
	Member func(*corev1.Pod) bool
	// Only restricts which pods are read at all: others are neither adopted nor released; nil for all.
	Only func(*corev1.Pod) bool
	// Finalizers are added to adopted pods, and removed from released ones.
	Finalizers []string
	// Fresh reads the controller from the API server.
	Fresh func(p *engine.Process) (api.Object, error)
	// Written is called with each pod that was written; nil to ignore that.
	Written func(*corev1.Pod)
}

// Claim returns the pods of the controller: its own before those that it adopts now, each in the order of their keys (WORK-009).
func (c Claimer) Claim(p *engine.Process) ([]*corev1.Pod, error) {
	// WORK-009: own pods come first.
	candidates := c.Pods.ByIndex(c.ByOwner, string(c.Owner.GetUID()))
	candidates = append(candidates, c.Pods.ByIndex(c.ByOwner, orphans(c.Owner.GetNamespace()))...)
	var claimed []*corev1.Pod
	var errs []error
	var canAdopt func() error
	for _, pod := range candidates {
		if c.Only != nil && !c.Only(pod) {
			continue
		}
		matches := c.Selector.Matches(labels.Set(pod.Labels)) && (c.Member == nil || c.Member(pod))
		switch owned := metav1.GetControllerOfNoCopy(pod) != nil; {
		case owned && matches:
			claimed = append(claimed, pod)
		case owned && c.Owner.GetDeletionTimestamp() != nil, !owned && (!matches || c.Owner.GetDeletionTimestamp() != nil),
			!owned && pod.DeletionTimestamp != nil:
		case owned:
			// WORK-001: a pod that the selector no longer matches is released.
			p.Decide("WORK-001", pod, "%s no longer selects the pod", c.Owner.GetName())
			if err := c.release(p, pod); err != nil && !apierrors.IsNotFound(err) && !apierrors.IsInvalid(err) {
				errs = append(errs, err)
			}
		default:
			if canAdopt == nil {
				err := MayAdopt(p, c.Owner, c.Ref.Kind, c.Fresh)
				canAdopt = func() error { return err }
			}
			if err := canAdopt(); err != nil {
				errs = append(errs, fmt.Errorf("can't adopt Pod %v/%v (%v): %w", pod.Namespace, pod.Name, pod.UID, err))
				continue
			}
			// WORK-001: a pod without a controller that the selector matches is adopted.
			p.Decide("WORK-001", pod, "%s selects the pod, which has no controller", c.Owner.GetName())
			err := c.adopt(p, pod)
			switch {
			case err == nil:
				// WORK-014: the sync goes on with the cached version.
				claimed = append(claimed, c.withFinalizers(pod))
			case !apierrors.IsNotFound(err):
				errs = append(errs, err)
			}
		}
	}
	return claimed, Aggregate(errs)
}

// MayAdopt returns an error unless a controller still exists and is not being deleted (WORK-002). fresh reads it from the API server.
func MayAdopt(p *engine.Process, owner api.Object, kind string, fresh func(*engine.Process) (api.Object, error)) error {
	now, err := fresh(p)
	if err != nil {
		return err
	}
	if now.GetUID() != owner.GetUID() {
		return fmt.Errorf("original %s %v/%v is gone: got uid %v, wanted %v", kind, owner.GetNamespace(), owner.GetName(), now.GetUID(), owner.GetUID())
	}
	// WORK-002: the API server decides whether the controller is being deleted.
	if now.GetDeletionTimestamp() != nil {
		return fmt.Errorf("%v/%v has just been deleted at %v", now.GetNamespace(), now.GetName(), now.GetDeletionTimestamp())
	}
	return nil
}

func (c Claimer) adopt(p *engine.Process, pod *corev1.Pod) error {
	return c.patch(p, pod, func(newest *corev1.Pod) {
		newest.OwnerReferences = append(slices.Clone(newest.OwnerReferences), c.Ref)
		newest.Finalizers = c.withFinalizers(newest).Finalizers
	})
}

// withFinalizers returns a pod that has the finalizers of adopted pods.
func (c Claimer) withFinalizers(pod *corev1.Pod) *corev1.Pod {
	for _, name := range c.Finalizers {
		if !slices.Contains(pod.Finalizers, name) {
			with := *pod
			with.Finalizers = append(slices.Clone(pod.Finalizers), name)
			pod = &with
		}
	}
	return pod
}

func (c Claimer) release(p *engine.Process, pod *corev1.Pod) error {
	return c.patch(p, pod, func(newest *corev1.Pod) {
		newest.OwnerReferences = slices.DeleteFunc(slices.Clone(newest.OwnerReferences), func(ref metav1.OwnerReference) bool {
			return ref.UID == c.Owner.GetUID()
		})
		newest.Finalizers = slices.DeleteFunc(slices.Clone(newest.Finalizers), func(name string) bool { return slices.Contains(c.Finalizers, name) })
	})
}

func (c Claimer) patch(p *engine.Process, pod *corev1.Pod, change func(*corev1.Pod)) error {
	patched, err := p.API().Pods.PatchWith(p, api.KeyOf(pod), func(newest *corev1.Pod) error {
		newest.UID = pod.UID
		change(newest)
		return nil
	}, api.Main)
	if err == nil && c.Written != nil {
		c.Written(patched)
	}
	return err
}

// SameController reports whether two controller references name one owner, or both are nil: neither object has a controller.
func SameController(a, b *metav1.OwnerReference) bool {
	return (a == nil) == (b == nil) && (a == nil || a.UID == b.UID)
}

// ControllerRef returns the reference of a controller in the objects that it makes.
func ControllerRef(owner api.Object, apiVersion, kind string) metav1.OwnerReference {
	return metav1.OwnerReference{
		APIVersion: apiVersion, Kind: kind, Name: owner.GetName(), UID: owner.GetUID(), Controller: new(true), BlockOwnerDeletion: new(true),
	}
}

// FromTemplate returns a new pod of a controller, without a name (WORK-003).
func FromTemplate(template *corev1.PodTemplateSpec, owner api.Object, ref metav1.OwnerReference) *corev1.Pod {
	c := template.DeepCopy()
	pod := &corev1.Pod{Spec: c.Spec}
	// WORK-003: labels, annotations, finalizers and spec are those of the template.
	pod.Labels, pod.Annotations, pod.Finalizers = c.Labels, c.Annotations, c.Finalizers
	if pod.Labels == nil {
		pod.Labels = map[string]string{}
	}
	if pod.Annotations == nil {
		pod.Annotations = map[string]string{}
	}
	pod.Namespace, pod.OwnerReferences = owner.GetNamespace(), []metav1.OwnerReference{ref}
	pod.GenerateName = owner.GetName() + "-"
	if len(validation.IsDNS1123Subdomain(owner.GetName()+"-x")) > 0 {
		pod.GenerateName = owner.GetName()
	}
	return pod
}

// Ready returns the condition Ready of a pod whose status is True, or nil.
func Ready(pod *corev1.Pod) *corev1.PodCondition {
	for i := range pod.Status.Conditions {
		if c := &pod.Status.Conditions[i]; c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue {
			return c
		}
	}
	return nil
}

// Available reports whether a pod has been ready for that many seconds (WORK-004).
func Available(pod *corev1.Pod, minReadySeconds int32, now time.Time) bool {
	ready := Ready(pod)
	if ready == nil {
		return false
	}
	// WORK-004: with minReadySeconds zero a ready pod is available.
	return minReadySeconds == 0 || !ready.LastTransitionTime.IsZero() &&
		!ready.LastTransitionTime.Add(time.Duration(minReadySeconds)*time.Second).After(now)
}

// NextAvailable returns the time until the first of the pods that are not available becomes so. It reports false if none will.
func NextAvailable(pods []*corev1.Pod, minReadySeconds int32, now time.Time) (next time.Duration, ok bool) {
	for _, pod := range pods {
		ready := Ready(pod)
		if ready == nil || ready.LastTransitionTime.IsZero() || Available(pod, minReadySeconds, now) {
			continue
		}
		wait := ready.LastTransitionTime.Add(time.Duration(minReadySeconds) * time.Second).Sub(now)
		if !ok || wait < next {
			next, ok = wait, true
		}
	}
	return next, ok
}
