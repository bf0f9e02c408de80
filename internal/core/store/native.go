package store

import (
	"fmt"
	"reflect"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/objects"
	"github.com/volsim/volsim/internal/core/objkinds"
	"github.com/volsim/volsim/internal/core/plain"
)

// Native returns obj in the Go type that the store has for its kind: obj itself, or a converted copy.
func (s *Store) Native(obj api.Object) (api.Object, error) {
	_, native, err := s.tableFor(obj)
	return native, err
}

// convert returns the table for an object of another Go type than that of the table, and the converted object. It makes the table if
// there is none.
func (s *Store) convert(obj api.Object) (anyTable, api.Object, error) {
	kind := api.KindOf(obj)
	if kind == "" {
		return nil, nil, fmt.Errorf("%T has no apiVersion and kind, and is not a type of k8s.io/api; set both: %w", obj, api.ErrUnknownKind)
	}
	gvk := obj.GetObjectKind().GroupVersionKind()
	if t := reflect.TypeOf(obj).Elem(); gvk.Empty() {
		gvk, _ = objkinds.OfType(t.PkgPath(), t.Name())
	}
	known := s.Describe(kind)
	if known != nil && gvk.Version == "" {
		gvk.Version = known.Version() // only the name of the object is used
	}
	// API-301: an object needs a kind and a version that the server knows.
	if known == nil || !known.Serves(gvk.Version) {
		return nil, nil, objects.NoMatch(gvk)
	}
	t, err := s.tableToWrite(kind)
	if err != nil {
		return nil, nil, err
	}
	if HasTypedTable(kind) {
		native := objects.New(kind)
		if err := plain.Write(obj, native); err != nil {
			return nil, nil, fmt.Errorf("%s: %w", kind, err)
		}
		return t, native, nil
	}
	native, err := plain.From(obj)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", kind, err)
	}
	if known.Custom && !known.Converted {
		// API-304: without a webhook, versions of a custom object differ in apiVersion only. It is stored in the preferred one.
		gvk.Version = known.Version()
	}
	native.SetGroupVersionKind(gvk)
	return t, native, nil
}

// unknown returns the name of a kind that the server does not know, for errors. Its version is not known either.
func (s *Store) unknown(kind api.Kind) schema.GroupVersionKind {
	name, group := objkinds.Split(string(kind))
	return schema.GroupVersionKind{Group: group, Kind: name}
}
