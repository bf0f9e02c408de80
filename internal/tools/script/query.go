package script

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/store"
)

// query selects the objects of get and describe.
type query struct {
	kinds     []api.Kind
	refs      []api.Ref // nil selects all objects of kinds
	namespace string    // "" selects all namespaces
	selector  labels.Selector
}

// readQuery reads KIND[,KIND] [NAME...], KIND/NAME... or all.
func readQuery(s *Script, a arguments) (q query, err error) {
	if q.selector, err = readSelector(a); err != nil {
		return q, err
	}
	everywhere, err := a.flag("all-namespaces")
	if err != nil {
		return q, err
	}
	if !everywhere {
		q.namespace = a.get("namespace", defaultNamespace)
	}
	if len(a.rest) == 0 {
		return q, errors.New("missing object: want KIND, KIND/NAME or all")
	}
	first, names := a.rest[0], a.rest[1:]
	switch severalKinds := strings.Contains(first, ","); {
	case strings.Contains(first, "/") || len(names) > 0 && !severalKinds:
		err = q.addObjects(s, a)
	case first == "all" && len(names) == 0:
		q.kinds = slices.DeleteFunc(store.Kinds(), func(k api.Kind) bool { return k == api.Event })
	default:
		err = q.addKinds(s, first, names, a.get("namespace", ""))
	}
	return q, err
}

func readSelector(a arguments) (labels.Selector, error) {
	if !a.has("selector") {
		return labels.Everything(), nil
	}
	text := a.get("selector", "")
	selector, err := labels.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("invalid -l %s: %w", text, err)
	}
	return selector, nil
}

// addObjects adds the objects of KIND/NAME... or KIND NAME...
func (q *query) addObjects(s *Script, a arguments) (err error) {
	if q.refs, err = s.refsOf(a.rest, a.get("namespace", "")); err != nil {
		return err
	}
	for _, ref := range q.refs {
		if !slices.Contains(q.kinds, ref.Kind) {
			q.kinds = append(q.kinds, ref.Kind)
		}
	}
	return nil
}

// addKinds adds the kinds of KIND,KIND and, with names, the objects of each kind with these names.
func (q *query) addKinds(s *Script, kinds string, names []string, namespace string) error {
	for name := range strings.SplitSeq(kinds, ",") {
		kind, err := s.kindOf(name)
		if err != nil {
			return err
		}
		q.kinds = append(q.kinds, kind)
	}
	for _, kind := range q.kinds {
		for _, name := range names {
			ref, err := s.refTo(kind, name, namespace)
			if err != nil {
				return err
			}
			q.refs = append(q.refs, ref)
		}
	}
	return nil
}

// find returns the selected objects.
func (q query) find(r *runner) ([]api.Object, error) {
	var objs []api.Object
	for _, ref := range q.refs {
		obj, err := r.get(ref)
		if err != nil {
			return nil, err
		}
		objs = append(objs, obj)
	}
	if q.refs != nil {
		return objs, nil
	}
	for _, kind := range q.kinds {
		for _, obj := range r.list(kind) {
			inNamespace := !r.script.namespaced(kind) || q.namespace == "" || obj.GetNamespace() == q.namespace
			if inNamespace && q.selector.Matches(labels.Set(obj.GetLabels())) {
				objs = append(objs, obj)
			}
		}
	}
	return objs, nil
}
