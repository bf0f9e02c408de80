package script

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/store"
)

// query is what get, describe and the like were asked for.
type query struct {
	kinds     []api.Kind
	refs      []api.Ref // nil is all of the kinds
	namespace string    // "" is all
	selector  labels.Selector
}

// readQuery reads KIND[,KIND] [NAME...] and KIND/NAME...
func readQuery(a arguments) (q query, err error) {
	q.selector = labels.Everything()
	if a.has("selector") {
		if q.selector, err = labels.Parse(a.get("selector", "")); err != nil {
			return q, fmt.Errorf("-l %s: %w", a.get("selector", ""), err)
		}
	}
	everywhere, err := a.flag("all-namespaces")
	if err != nil {
		return q, err
	}
	if !everywhere {
		q.namespace = a.get("namespace", defaultNamespace)
	}
	if len(a.rest) == 0 {
		return q, fmt.Errorf("it is not said what")
	}
	first, names := a.rest[0], a.rest[1:]
	if strings.Contains(first, "/") || len(names) > 0 && !strings.Contains(first, ",") {
		if q.refs, err = refsOf(a.rest, a.get("namespace", "")); err != nil {
			return q, err
		}
		for _, ref := range q.refs {
			if !slices.Contains(q.kinds, ref.Kind) {
				q.kinds = append(q.kinds, ref.Kind)
			}
		}
		return q, nil
	}
	if first == "all" && len(names) == 0 {
		q.kinds = slices.DeleteFunc(store.Kinds(), func(k api.Kind) bool { return k == api.Event })
		return q, nil
	}
	for name := range strings.SplitSeq(first, ",") {
		kind, err := kindOf(name)
		if err != nil {
			return q, err
		}
		q.kinds = append(q.kinds, kind)
	}
	if len(names) == 0 {
		return q, nil
	}
	for _, kind := range q.kinds {
		for _, name := range names {
			ref, err := refTo(kind, name, a.get("namespace", ""))
			if err != nil {
				return q, err
			}
			q.refs = append(q.refs, ref)
		}
	}
	return q, nil
}

// find finds the objects.
func (q query) find(p *player) ([]api.Object, error) {
	var objs []api.Object
	for _, ref := range q.refs {
		obj, err := p.get(ref)
		if err != nil {
			return nil, err
		}
		objs = append(objs, obj)
	}
	if q.refs != nil {
		return objs, nil
	}
	for _, kind := range q.kinds {
		for _, obj := range p.list(kind) {
			inNamespace := !namespaced[kind] || q.namespace == "" || obj.GetNamespace() == q.namespace
			if inNamespace && q.selector.Matches(labels.Set(obj.GetLabels())) {
				objs = append(objs, obj)
			}
		}
	}
	return objs, nil
}
