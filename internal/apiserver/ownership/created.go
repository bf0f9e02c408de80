package ownership

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/typed"

	"github.com/volsim/volsim/internal/apiserver/resources"
)

// unowned are the fields that no manager owns.
var unowned = fieldpath.NewSet(
	fieldpath.MakePathOrDie("apiVersion"), fieldpath.MakePathOrDie("kind"), fieldpath.MakePathOrDie("metadata"),
	fieldpath.MakePathOrDie("metadata", "name"), fieldpath.MakePathOrDie("metadata", "namespace"),
	fieldpath.MakePathOrDie("metadata", "creationTimestamp"), fieldpath.MakePathOrDie("metadata", "selfLink"),
	fieldpath.MakePathOrDie("metadata", "uid"), fieldpath.MakePathOrDie("metadata", "clusterName"),
	fieldpath.MakePathOrDie("metadata", "generation"), fieldpath.MakePathOrDie("metadata", "managedFields"),
	fieldpath.MakePathOrDie("metadata", "resourceVersion"),
)

// Created returns the managedFields of a new object that has none: its creator owns all of its fields. The field manager comes to the same result
// with more conversions. ok is false for kinds whose fields it must find out.
func (f *Tracker) Created(r *resources.Resource, obj runtime.Object, manager string) (entries []metav1.ManagedFieldsEntry, ok bool) {
	if !r.Typed || r.Custom {
		return nil, false
	}
	converter, err := f.typeConverter(r)
	if err != nil {
		return nil, false
	}
	value, err := converter.ObjectToTyped(obj, typed.AllowDuplicates)
	if err != nil {
		return nil, false
	}
	nothing, err := converter.ObjectToTyped(f.Empty(r), typed.AllowDuplicates)
	if err != nil {
		return nil, false
	}
	compared, err := nothing.Compare(value)
	if err != nil {
		return nil, false
	}
	set := compared.Added.Union(compared.Modified)
	for _, filter := range resetFields(r, "") {
		set = filter.Filter(set)
	}
	if set = set.Difference(unowned); set.Empty() {
		return nil, true
	}
	data, err := set.ToJSON()
	if err != nil {
		return nil, false
	}
	now := metav1.NewTime(f.Now().UTC().Truncate(time.Second))
	return []metav1.ManagedFieldsEntry{{
		Manager: manager, Operation: metav1.ManagedFieldsOperationUpdate, APIVersion: r.GroupVersion().String(), Time: &now, FieldsType: "FieldsV1",
		FieldsV1: &metav1.FieldsV1{Raw: data},
	}}, true
}
