package store

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/objects"
	"github.com/volsim/volsim/internal/core/plain"
	"github.com/volsim/volsim/internal/core/strategy"
)

// RuntimeClassKind is the kind of classes of runtimes. They are stored as data.
const RuntimeClassKind api.Kind = "RuntimeClass.node.k8s.io"

// runtimeClassOf returns the class that a new pod names, nil if it names none or is no pod (API-377).
func (s *Store) runtimeClassOf(r resource, obj api.Object) (*corev1.Pod, *nodev1.RuntimeClass, error) {
	pod, ok := obj.(*corev1.Pod)
	if !ok || s.asGiven {
		return nil, nil, nil
	}
	if pod.Spec.RuntimeClassName == nil {
		return pod, nil, nil
	}
	name := *pod.Spec.RuntimeClassName
	if name == "" {
		return nil, nil, serverError("resource name may not be empty")
	}
	if classes := s.others.tables[RuntimeClassKind]; classes != nil {
		if stored, ok := classes.Lookup(name); ok {
			class, err := plain.As[*nodev1.RuntimeClass](stored)
			return pod, class, err
		}
	}
	// API-377: the class exists.
	return nil, nil, forbidden(r, pod.Name, fmt.Errorf("pod rejected: RuntimeClass %q not found", name))
}

var (
	errOtherOverhead = errors.New("pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead")
	errOwnOverhead   = errors.New("pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead")
)

// completeRuntime gives a new pod the overhead, the node selector and the tolerations of its class (API-377).
func (s *Store) completeRuntime(r resource, obj api.Object) error {
	pod, class, err := s.runtimeClassOf(r, obj)
	if err != nil || class == nil {
		return err
	}
	spec := &pod.Spec
	if class.Overhead != nil {
		if len(spec.Overhead) > 0 && !strategy.SemanticEqual(class.Overhead.PodFixed, spec.Overhead) {
			return forbidden(r, pod.Name, errOtherOverhead)
		}
		spec.Overhead = class.Overhead.PodFixed
	}
	if class.Scheduling == nil {
		return nil
	}
	// API-377: the pod and its class select the same nodes.
	for _, key := range objects.SortedKeys(class.Scheduling.NodeSelector) {
		value := class.Scheduling.NodeSelector[key]
		if own, ok := spec.NodeSelector[key]; ok && own != value {
			return forbidden(r, pod.Name, fmt.Errorf("conflict: runtimeClass.scheduling.nodeSelector[%s] = %s; pod.spec.nodeSelector[%s] = %s", key, value, key, own))
		}
	}
	if spec.NodeSelector == nil {
		spec.NodeSelector = class.Scheduling.NodeSelector
	} else {
		spec.NodeSelector = maps.Clone(spec.NodeSelector)
		maps.Copy(spec.NodeSelector, class.Scheduling.NodeSelector)
	}
	spec.Tolerations = mergedTolerations(slices.Concat(spec.Tolerations, class.Scheduling.Tolerations))
	return nil
}

// checkRuntime requires that the overhead of a new pod is that of its class (API-377).
func (s *Store) checkRuntime(r resource, obj api.Object) error {
	pod, class, err := s.runtimeClassOf(r, obj)
	switch {
	case err != nil || pod == nil:
		return err
	case class != nil && class.Overhead != nil:
		if !strategy.SemanticEqual(class.Overhead.PodFixed, pod.Spec.Overhead) {
			return forbidden(r, pod.Name, errOtherOverhead)
		}
	case pod.Spec.Overhead != nil:
		// API-377: overhead comes from a class.
		return forbidden(r, pod.Name, errOwnOverhead)
	}
	return nil
}

// mergedTolerations returns the tolerations without those that another one covers. Of equal ones the first remains (API-377).
func mergedTolerations(all []corev1.Toleration) []corev1.Toleration {
	var merged []corev1.Toleration
	for i, t := range all {
		covers := func(o corev1.Toleration) bool { return coversToleration(o, t) }
		if !slices.ContainsFunc(merged, covers) &&
			!slices.ContainsFunc(all[i+1:], func(o corev1.Toleration) bool { return !strategy.SemanticEqual(o, t) && covers(o) }) {
			merged = append(merged, t)
		}
	}
	return merged
}

// coversToleration reports whether a pod that has a tolerates everything that it tolerates with b.
func coversToleration(a, b corev1.Toleration) bool {
	all := a.Key == "" && a.Operator == corev1.TolerationOpExists
	switch {
	case strategy.SemanticEqual(a, b):
		return true
	case a.Key != b.Key && !all, a.Effect != b.Effect && a.Effect != "":
		return false
	case a.Effect == corev1.TaintEffectNoExecute && a.TolerationSeconds != nil && (b.TolerationSeconds == nil || *b.TolerationSeconds > *a.TolerationSeconds):
		return false
	case a.Operator == corev1.TolerationOpExists:
		return true
	case a.Operator == corev1.TolerationOpEqual || a.Operator == "":
		// API-377: an operator that is not named covers one that is, not the other way round.
		return b.Operator == corev1.TolerationOpEqual && a.Value == b.Value
	}
	return false
}
