// Package grants decides whether a ReferenceGrant allows a claim to use a data source in another namespace (SNAP-033).
package grants

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/objects"
	"github.com/volsim/volsim/internal/core/objkinds"
	"github.com/volsim/volsim/internal/core/plain"
)

// Kind is the kind of ReferenceGrants, which are stored as data.
const Kind api.Kind = "ReferenceGrant." + objkinds.GatewayGroup

// Needed reports whether the source of a claim is in another namespace, so that a grant has to allow it.
func Needed(claim *corev1.PersistentVolumeClaim) bool {
	namespace, across := Namespace(claim)
	return across && namespace != claim.Namespace
}

// Namespace returns the namespace that the dataSourceRef of a claim names; ok is false if there is none. dataSource comes first, as for
// the provisioner.
func Namespace(claim *corev1.PersistentVolumeClaim) (namespace string, ok bool) {
	ref := claim.Spec.DataSourceRef
	if claim.Spec.DataSource != nil || ref == nil || objects.ValueOf(ref.Namespace) == "" {
		return "", false
	}
	return *ref.Namespace, true
}

// Check returns the error of the provisioner unless one of the grants allows a claim to use its source in another namespace (SNAP-033).
func Check(claim *corev1.PersistentVolumeClaim, list []*plain.Object) error {
	namespace, _ := Namespace(claim)
	for _, grant := range list {
		// SNAP-033: only grants in the namespace of the source count.
		if grant.Namespace == namespace && allows(grant, claim) {
			return nil
		}
	}
	ref := claim.Spec.DataSourceRef
	return fmt.Errorf("accessing %s/%s of %s dataSource from %s/%s isn't allowed", namespace, ref.Name, ref.Kind, claim.Namespace, claim.Name)
}

// allows reports whether one of the grant's from and one of its to match.
func allows(grant *plain.Object, claim *corev1.PersistentVolumeClaim) bool {
	from := func(f map[string]any) bool {
		return text(f, "group") == "" && text(f, "kind") == string(api.PersistentVolumeClaim) && text(f, "namespace") == claim.Namespace
	}
	ref := claim.Spec.DataSourceRef
	to := func(t map[string]any) bool {
		// SNAP-033: no name, or an empty one, is any object of the kind.
		name := text(t, "name")
		return text(t, "group") == objects.ValueOf(ref.APIGroup) && text(t, "kind") == ref.Kind && (name == "" || name == ref.Name)
	}
	return anyOf(grant, "from", from) && anyOf(grant, "to", to)
}

// anyOf reports whether an entry of a list in the grant's spec matches.
func anyOf(grant *plain.Object, list string, matches func(map[string]any) bool) bool {
	spec, _ := grant.Content()["spec"].(map[string]any)
	entries, _ := spec[list].([]any)
	for _, entry := range entries {
		if fields, ok := entry.(map[string]any); ok && matches(fields) {
			return true
		}
	}
	return false
}

// text returns a field; "" if it is missing or has another type.
func text(fields map[string]any, name string) string {
	value, _ := fields[name].(string)
	return value
}
