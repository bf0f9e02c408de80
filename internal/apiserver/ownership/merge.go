package ownership

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/schema"
	"sigs.k8s.io/structured-merge-diff/v6/typed"
	"sigs.k8s.io/structured-merge-diff/v6/value"

	"github.com/volsim/volsim/internal/apiserver/resources"
)

// Merge merges fields into the fields of an object of a resource, as the schema of its kind says. Ownership plays no role.
func (f *Tracker) Merge(r *resources.Resource, live, fields map[string]any) (map[string]any, error) {
	types, err := f.typeConverter(r)
	if r == resources.Scales {
		// API-428: a policy finds the type of an object in the document of its own group, and that of autoscaling has no Scale.
		types, err = f.documented(autoscalingv1.SchemeGroupVersion, autoscalingv2.SchemeGroupVersion)
	}
	if err != nil {
		return nil, err
	}
	fields = maps.Clone(fields)
	fields["apiVersion"], fields["kind"] = live["apiVersion"], live["kind"]
	patch, err := types.ObjectToTyped(&unstructured.Unstructured{Object: fields})
	if err != nil {
		return nil, fmt.Errorf("failed to convert patch object to typed object: %w", err)
	}
	// API-428: fields of an atomic list, map or struct would remove the others.
	if atomics := atomicFields(nil, patch.Schema(), patch.TypeRef(), patch.AsValue()); len(atomics) > 0 {
		return nil, fmt.Errorf("invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs: %v", strings.Join(atomics, ", "))
	}
	before, err := types.ObjectToTyped(&unstructured.Unstructured{Object: live}, typed.AllowDuplicates)
	if err != nil {
		return nil, fmt.Errorf("failed to convert original object to typed object: %w", err)
	}
	after, err := before.Merge(patch)
	if err != nil {
		return nil, fmt.Errorf("failed to merge patch: %w", err)
	}
	merged, ok := after.AsValue().Unstructured().(map[string]any)
	if !ok {
		return nil, fmt.Errorf("failed to convert typed object to object: it is no map")
	}
	return merged, nil
}

// atomicFields returns the paths of the lists, maps and structs in a value that are set as a whole.
func atomicFields(path fieldpath.Path, s *schema.Schema, of schema.TypeRef, v value.Value) []string {
	t, ok := s.Resolve(of)
	if !ok {
		return nil
	}
	var found []string
	if v.IsMap() && t.Map != nil {
		if t.Map.ElementRelationship == schema.Atomic {
			found = append(found, path.String())
		}
		var names []string
		v.AsMap().Iterate(func(name string, _ value.Value) bool {
			names = append(names, name)
			return true
		})
		slices.Sort(names)
		for _, name := range names {
			if known, ok := t.Map.FindField(name); ok {
				field, _ := v.AsMap().Get(name)
				found = append(found, atomicFields(append(slices.Clip(path), fieldpath.PathElement{FieldName: &name}), s, known.Type, field)...)
			}
		}
	}
	if v.IsList() && t.List != nil {
		if t.List.ElementRelationship == schema.Atomic {
			found = append(found, path.String())
		}
		for i := range v.AsList().Length() {
			found = append(found, atomicFields(append(slices.Clip(path), fieldpath.PathElement{Index: &i}), s, t.List.ElementType, v.AsList().At(i))...)
		}
	}
	return found
}
