package explain

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/actors"
	"github.com/volsim/volsim/internal/core/plain"
	"github.com/volsim/volsim/internal/core/store"
)

// namespace explains a namespace: what keeps one that is being deleted.
func (x *explainer) namespace(obj *plain.Object) Explanation {
	namespace := plain.Shared[*corev1.Namespace](obj)
	e := x.begin(obj, string(namespace.Status.Phase))
	if obj.DeletionTimestamp == nil {
		e.because("NS-013", "it is not being deleted")
		e.settled()
		return e
	}
	x.deletedNamespace(&e, namespace)
	for i := range namespace.Status.Conditions {
		// NS-024: the controller reports what remains, also of kinds that a dump does not have.
		if c := &namespace.Status.Conditions[i]; c.Status == corev1.ConditionTrue && c.Message != "" {
			e.Notes = append(e.Notes, fmt.Sprintf("%s: %s", c.Type, c.Message))
		}
	}
	return x.withAssumptions(e)
}

func (x *explainer) deletedNamespace(e *Explanation, namespace *corev1.Namespace) {
	left := x.remainingIn(namespace.Name)
	others := slices.DeleteFunc(finalizersOf(namespace), func(name string) bool { return name == string(corev1.FinalizerKubernetes) })
	failed := namespaceCondition(namespace, corev1.NamespaceDeletionDiscoveryFailure)
	switch {
	case failed != nil:
		// NS-024: without the list of kinds the controller cannot tell what remains.
		e.because("NS-024", "it is being deleted, but the API server cannot list the kinds of an API group: "+failed.Message)
		e.todo("repair the APIService that the message names, or delete it: kubectl get apiservices")
		e.manual("the controller deletes nothing more before it has the list of kinds")
	case len(left) > 0:
		e.because("NS-022", fmt.Sprintf("it is being deleted, and %s", describeRemaining(left)))
		e.next(actors.Namespace, "removes its finalizer when nothing is left")
		x.addRemaining(e, left)
		e.follow()
		if len(e.Related) == 0 {
			e.automatic(x.Now, "NS-022", "when they are gone; the controller looks again within 15s")
		}
	case len(others) > 0:
		x.blockedByFinalizers(e, others)
	case namespaceCondition(namespace, corev1.NamespaceContentRemaining) != nil || namespaceCondition(namespace, corev1.NamespaceFinalizersRemaining) != nil:
		e.because("NS-022", "it is being deleted, and objects of other kinds remain in it (see the note)")
		e.todo("look at these objects, and at the component that set their finalizers: " +
			"kubectl api-resources --verbs=list --namespaced -o name | xargs -n 1 kubectl get --ignore-not-found -n " + namespace.Name)
		e.manual("the namespace stays as long as objects remain in it")
	default:
		e.because("NS-025", "it is being deleted, and nothing is known to remain in it")
		e.next(actors.Namespace, "deletes what is left, and removes its finalizer")
		e.automatic(x.Now, "NS-020", "with the next sync of that controller, within 5m")
	}
}

// finalizersOf returns the finalizers of a namespace, in spec and metadata (NS-014).
func finalizersOf(namespace *corev1.Namespace) []string {
	all := slices.Clone(namespace.Finalizers)
	for _, finalizer := range namespace.Spec.Finalizers {
		all = append(all, string(finalizer))
	}
	return all
}

func namespaceCondition(namespace *corev1.Namespace, kind corev1.NamespaceConditionType) *corev1.NamespaceCondition {
	for i := range namespace.Status.Conditions {
		if c := &namespace.Status.Conditions[i]; c.Type == kind && c.Status == corev1.ConditionTrue {
			return c
		}
	}
	return nil
}

// remainingIn returns the known objects in a namespace: pods first, because the controller deletes them first (NS-021).
func (x *explainer) remainingIn(namespace string) []api.Object {
	var left []api.Object
	add := func(obj api.Object) {
		if obj.GetNamespace() == namespace {
			left = append(left, obj)
		}
	}
	for _, pod := range sorted(x.Pods) {
		add(pod)
	}
	for _, claim := range sorted(x.Claims) {
		add(claim)
	}
	for _, obj := range sorted(slices.Concat(x.Workloads, x.Snapshots)) {
		add(obj)
	}
	return left
}

// describeRemaining counts objects by kind, and names their finalizers: "1 Pod (foo/cleanup) and 2 PersistentVolumeClaims
// (kubernetes.io/pvc-protection) remain in it".
func describeRemaining(left []api.Object) string {
	var kinds []string
	count, finalizers := map[string]int{}, map[string]map[string]bool{}
	for _, obj := range left {
		kind := store.GroupVersionKind(api.KindOf(obj)).Kind
		if count[kind] == 0 {
			kinds, finalizers[kind] = append(kinds, kind), map[string]bool{}
		}
		count[kind]++
		for _, finalizer := range obj.GetFinalizers() {
			finalizers[kind][finalizer] = true
		}
	}
	var parts []string
	for _, kind := range kinds {
		text := fmt.Sprintf("%d %s", count[kind], kind)
		if count[kind] > 1 {
			text += "s"
		}
		if names := slices.Sorted(maps.Keys(finalizers[kind])); len(names) > 0 {
			text += " (" + strings.Join(names, ", ") + ")"
		}
		parts = append(parts, text)
	}
	verb := "remains"
	if len(left) > 1 {
		verb = "remain"
	}
	return strings.Join(parts, " and ") + " " + verb + " in it"
}

// addRemaining explains some of the objects that keep a namespace.
func (x *explainer) addRemaining(e *Explanation, left []api.Object) {
	for _, obj := range left {
		if len(e.Related) == manyNames {
			return
		}
		switch obj := obj.(type) {
		case *corev1.Pod:
			x.addPod(e, obj)
		case *corev1.PersistentVolumeClaim:
			x.addClaim(e, api.KeyOf(obj))
		case *plain.Object:
			if _, made := makers[api.KindOf(obj)]; made && !x.seen[api.RefTo(obj)] {
				e.Related = append(e.Related, x.workload(obj))
			}
		}
	}
}
