package controllerruntime

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"unsafe"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/selection"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// indexes are the functions of a fake client by kind and name.
type indexes = map[schema.GroupVersionKind]map[string]client.IndexerFunc

// indexesOf returns the indexes of the fake client that c is or wraps, and nil if there is none. They are private, and the fake applies them
// to its own objects only.
func indexesOf(c reflect.Value) indexes {
	for c.Kind() == reflect.Interface || c.Kind() == reflect.Pointer {
		c = c.Elem()
	}
	if c.Kind() != reflect.Struct {
		return nil
	}
	if field := c.FieldByName("indexes"); field.IsValid() && field.CanAddr() && field.Type() == reflect.TypeFor[indexes]() {
		return *(*indexes)(unsafe.Pointer(field.UnsafeAddr()))
	}
	for i := range c.NumField() {
		if field := c.Field(i); field.Type().Implements(reflect.TypeFor[client.Client]()) {
			if found := indexesOf(field); found != nil {
				return found
			}
		}
	}
	return nil
}

// list lists objects of the cluster. Fields for which the fake client has an index are compared here, as the cache of a manager does; the API
// server compares the others.
func (w *wrapper) list(ctx context.Context, list client.ObjectList, gvk schema.GroupVersionKind, given ...client.ListOption) error {
	var opts client.ListOptions
	opts.ApplyOptions(given)
	if opts.FieldSelector == nil {
		return w.simulated.List(ctx, list, &opts)
	}
	known := indexesOf(reflect.ValueOf(w.inner))[gvk]
	var here fields.Requirements
	var there []fields.Selector
	for _, r := range opts.FieldSelector.Requirements() {
		switch {
		case r.Operator == selection.NotEquals:
			there = append(there, fields.OneTermNotEqualSelector(r.Field, r.Value))
		case known[r.Field] == nil:
			there = append(there, fields.OneTermEqualSelector(r.Field, r.Value))
		default:
			here = append(here, r)
		}
	}
	opts.FieldSelector = fields.AndSelectors(there...)
	if len(here) > 0 {
		opts.Limit, opts.Continue = 0, "" // a page of the API server is not one of the result
	}
	if err := w.simulated.List(ctx, list, &opts); apierrors.IsBadRequest(err) && len(there) > 0 {
		return fmt.Errorf("%w; for other fields give the fake client an index, with WithIndex", err)
	} else if err != nil || len(here) == 0 {
		return err
	}
	items, err := meta.ExtractList(list)
	if err != nil {
		return err
	}
	return meta.SetList(list, slices.DeleteFunc(items, func(item runtime.Object) bool {
		return slices.ContainsFunc(here, func(r fields.Requirement) bool {
			return !slices.Contains(known[r.Field](item.(client.Object)), r.Value)
		})
	}))
}
