package store

import (
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/plain"
	"github.com/volsim/volsim/internal/core/strategy"
)

// NamespaceKind is the kind Namespace. Its objects are stored as data, with rules of their own (docs/rules/namespaces.md).
const NamespaceKind api.Kind = "Namespace"

// Finalize is the subresource of namespaces that changes the finalizers in the spec.
const Finalize api.Subresource = "finalize"

// DisruptionBudgetKind is the kind PodDisruptionBudget. Its objects are stored as data.
const DisruptionBudgetKind api.Kind = "PodDisruptionBudget.policy"

// immortalNamespaces cannot be deleted (NS-012).
var immortalNamespaces = []string{metav1.NamespaceDefault, metav1.NamespaceSystem, metav1.NamespacePublic}

// createNamespaces creates the namespaces that every cluster has (NS-006).
func (s *Store) createNamespaces() {
	// NS-006: the API server creates them when it starts.
	for _, name := range []string{metav1.NamespaceSystem, corev1.NamespaceNodeLease, metav1.NamespacePublic, metav1.NamespaceDefault} {
		if _, err := s.Create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}); err != nil {
			panic(fmt.Sprintf("store: create namespace %s: %v", name, err))
		}
	}
}

// namespaceStrategy adds the rules of namespaces to those of any object.
func namespaceStrategy(s strategy.Of[*plain.Object]) strategy.Of[*plain.Object] {
	s.Defaults = labelNamespace
	s.PrepareCreate = func(obj *plain.Object, _ metav1.Time) {
		labelNamespace(obj) // the name may just have been generated
		// NS-002: a new namespace is Active.
		obj.SetContent(withStatus(obj.Content(), map[string]any{"status": map[string]any{"phase": string(corev1.NamespaceActive)}}))
		// NS-003: it has the finalizer of the namespace controller in its spec.
		if finalizers := namespaceFinalizers(obj); !slices.Contains(finalizers, string(corev1.FinalizerKubernetes)) {
			obj.SetContent(withFinalizers(obj.Content(), append(slices.Clip(finalizers), string(corev1.FinalizerKubernetes))))
		}
	}
	prepare := s.PrepareUpdate
	s.PrepareUpdate = func(obj, old *plain.Object) {
		prepare(obj, old)
		// NS-004: only the subresource finalize changes the finalizers of the spec.
		obj.SetContent(withFinalizers(obj.Content(), namespaceFinalizers(old)))
	}
	s.ValidateCreate = func(obj *plain.Object) field.ErrorList {
		// NS-003: those of the spec have names like those of the metadata.
		return validateFinalizersAt(namespaceFinalizers(obj), field.NewPath("spec", "finalizers"))
	}
	s.ValidateUpdate = func(obj, _ *plain.Object) field.ErrorList {
		return validatePrefix(&obj.ObjectMeta, resource{names: labelNames})
	}
	s.Parts = map[api.Subresource]strategy.Part[*plain.Object]{
		// NS-004: the subresource finalize changes everything but the status.
		Finalize: {Prepare: func(obj, old *plain.Object) { obj.TakeStatus(old) }, Validate: func(obj, _ *plain.Object) field.ErrorList {
			var errs field.ErrorList
			for i, name := range namespaceFinalizers(obj) {
				errs = append(errs, validateFinalizersAt([]string{name}, field.NewPath("spec", "finalizers").Index(i))...)
			}
			return errs
		}},
	}
	status := s.PrepareStatus
	s.PrepareStatus = func(obj, old *plain.Object, now metav1.Time) {
		status(obj, old, now)
		// NS-002: Active is the default.
		if phase, _ := obj.Content()["status"].(map[string]any); phase["phase"] == nil || phase["phase"] == "" {
			phase = maps.Clone(phase)
			if phase == nil {
				phase = map[string]any{}
			}
			phase["phase"] = string(corev1.NamespaceActive)
			obj.SetContent(withStatus(obj.Content(), map[string]any{"status": phase}))
		}
	}
	s.ValidateStatus = validateNamespaceStatus
	// NS-014: the finalizers in the spec keep a namespace, too.
	s.Keeps = func(obj *plain.Object) bool { return len(namespaceFinalizers(obj)) > 0 }
	return s
}

// labelNamespace sets the label with the name of a namespace (NS-001).
func labelNamespace(obj *plain.Object) {
	if obj.Name == "" || obj.Labels[corev1.LabelMetadataName] == obj.Name {
		return
	}
	// NS-001: clients can neither change nor remove the label.
	obj.Labels = maps.Clone(obj.Labels)
	if obj.Labels == nil {
		obj.Labels = map[string]string{}
	}
	obj.Labels[corev1.LabelMetadataName] = obj.Name
}

// validateNamespaceStatus validates the phase of a namespace (NS-005).
func validateNamespaceStatus(obj, old *plain.Object) field.ErrorList {
	path, phase := field.NewPath("status", "Phase"), namespacePhase(obj)
	switch {
	case old.DeletionTimestamp == nil && phase != corev1.NamespaceActive:
		return field.ErrorList{field.Invalid(path, phase, "may only be 'Active' if `deletionTimestamp` is empty")}
	case old.DeletionTimestamp != nil && phase != corev1.NamespaceTerminating:
		return field.ErrorList{field.Invalid(path, phase, "may only be 'Terminating' if `deletionTimestamp` is not empty")}
	}
	return nil
}

func namespacePhase(obj *plain.Object) corev1.NamespacePhase {
	status, _ := obj.Content()["status"].(map[string]any)
	phase, _ := status["phase"].(string)
	return corev1.NamespacePhase(phase)
}

// namespaceFinalizers returns the finalizers in the spec of a namespace.
func namespaceFinalizers(obj *plain.Object) []string {
	spec, _ := obj.Content()["spec"].(map[string]any)
	list, _ := spec["finalizers"].([]any)
	var finalizers []string
	for _, item := range list {
		name, _ := item.(string)
		finalizers = append(finalizers, name)
	}
	return finalizers
}

// withFinalizers returns content with these finalizers in its spec.
func withFinalizers(content map[string]any, finalizers []string) map[string]any {
	spec, _ := content["spec"].(map[string]any)
	spec = maps.Clone(spec)
	if spec == nil {
		spec = map[string]any{}
	}
	delete(spec, "finalizers")
	if len(finalizers) > 0 {
		list := make([]any, len(finalizers))
		for i, name := range finalizers {
			list[i] = name
		}
		spec["finalizers"] = list
	}
	content = maps.Clone(content)
	if content == nil {
		content = map[string]any{}
	}
	content["spec"] = spec
	return content
}

// admitNamespace is the admission NamespaceLifecycle for a new object in a namespace (API-010, NS-010, NS-011).
func (s *Store) admitNamespace(r resource, meta *metav1.ObjectMeta) error {
	if s.namespaces == nil || s.asGiven {
		return nil
	}
	ns, ok := s.namespaces.Lookup(meta.Namespace)
	if !ok {
		// NS-010: the namespace must exist. SIM: one that never was an object exists, unless all must be.
		if s.strictNamespaces || own(s.namespaces).removed[meta.Namespace] > 0 {
			return own(s.namespaces).notFound(meta.Namespace)
		}
		return nil
	}
	if namespacePhase(ns) != corev1.NamespaceTerminating {
		return nil
	}
	// NS-011: nothing is created in a namespace that is being deleted.
	err := apierrors.NewForbidden(r.groupResource(), meta.Name,
		fmt.Errorf("unable to create new content in namespace %s because it is being terminated", meta.Namespace))
	err.ErrStatus.Details.Causes = append(err.ErrStatus.Details.Causes, metav1.StatusCause{
		Type:    corev1.NamespaceTerminatingCause,
		Message: fmt.Sprintf("namespace %s is being terminated", meta.Namespace),
		Field:   "metadata.namespace",
	})
	return err
}

// deleteNamespace deletes a namespace: it marks it, and removes it once nothing keeps it (NS-012 to NS-014).
func deleteNamespace(s *Store, t *table[*plain.Object], c *cell[*plain.Object]) (*plain.Object, error) {
	// NS-012: some namespaces cannot be deleted.
	if slices.Contains(immortalNamespaces, c.obj.Name) {
		return nil, forbidden(t.resource, c.obj.Name, fmt.Errorf("this namespace may not be deleted"))
	}
	if c.obj.DeletionTimestamp == nil {
		// NS-013: the first deletion marks the namespace, and makes it Terminating.
		obj, now := t.strategy.Shallow(c.obj), clock(s.now())
		obj.DeletionTimestamp = &now
		status, _ := obj.Content()["status"].(map[string]any)
		status = maps.Clone(status)
		if status == nil {
			status = map[string]any{}
		}
		status["phase"] = string(corev1.NamespaceTerminating)
		obj.SetContent(withStatus(obj.Content(), map[string]any{"status": status}))
		t.put(c, obj)
		return obj, nil
	}
	// NS-014: it stays as long as its spec has finalizers.
	if t.strategy.Keeps(c.obj) {
		return c.obj, nil
	}
	return t.deleteNow(c, c.obj.Finalizers), nil
}

// FinalizeNamespace replaces the finalizers in the spec of a namespace, as the subresource finalize does (NS-004), and removes the
// namespace if nothing keeps it any more (NS-014). version, if not "", must be the stored resourceVersion.
func (s *Store) FinalizeNamespace(name, version string, finalizers []string) (*plain.Object, error) {
	namespaces, err := s.Other(NamespaceKind)
	if err != nil {
		return nil, err
	}
	t := own(namespaces)
	c := t.whole().Get(name)
	if c == nil {
		return nil, t.notFound(name)
	}
	obj := t.strategy.Shallow(c.obj)
	obj.ResourceVersion = version
	obj.SetContent(withFinalizers(obj.Content(), finalizers))
	return t.UpdateWith(obj, Finalize, UpdateOptions{})
}
