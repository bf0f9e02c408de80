package script

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/objects"
	"github.com/volsim/volsim/internal/core/objkinds"
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
		q.namespace = a.get("namespace", s.inNamespace())
	}
	defer func() {
		switch {
		case err != nil || len(q.refs) == 0 || a.has("filename"):
		case a.has("selector"):
			err = errors.New("name cannot be provided when a selector is specified")
		case everywhere:
			err = errors.New("a resource cannot be retrieved by name across all namespaces")
		}
	}()
	if a.has("filename") {
		return q, q.addFiles(s, a)
	}
	if len(a.rest) == 0 {
		return q, errors.New("missing object: want KIND, KIND/NAME or all")
	}
	first, names := a.rest[0], a.rest[1:]
	switch severalKinds := strings.Contains(first, ","); {
	case strings.Contains(first, "/") || len(names) > 0 && !severalKinds:
		err = q.addObjects(s, a)
	case first == "all" && len(names) == 0:
		err = q.addKinds(s, strings.Join(kindsOfCategory("all"), ","), nil, "")
	default:
		err = q.addKinds(s, first, names, a.get("namespace", ""))
	}
	return q, err
}

// targetOptions are the options that select what a command changes.
var targetOptions = []option{namespaceOption, allOption, selectorOption}

var (
	allNamespacesOption = option{long: "all-namespaces", short: "A"}

	chunkOption    = option{long: "chunk-size", value: true}
	allOption      = option{long: "all"}
	selectorOption = option{long: "selector", short: "l", value: true}
)

// readTargets reads what a command changes: names as in readQuery, or the objects of kinds that --all or -l selects.
func readTargets(s *Script, command string, words []string, a arguments) (query, error) {
	all, err := a.flag("all")
	if err != nil {
		return query{}, err
	}
	if len(words) == 1 && words[0] == "all" {
		words = []string{strings.Join(kindsOfCategory("all"), ",")}
	}
	selects := all || a.has("selector")
	a.rest = words
	q, err := readQuery(s, a)
	switch {
	case err != nil:
		return q, err
	case selects && q.refs != nil:
		return q, usageOf(command, "--all and -l take kinds and no names")
	case !selects && q.refs == nil:
		return q, usageOf(command, fmt.Sprintf("missing name of the %s; --all means all of them", q.kinds[0]))
	}
	return q, nil
}

// kindsOfCategory returns the names of the kinds that kubectl means by a category.
func kindsOfCategory(category string) []string {
	var names []string
	for _, kind := range objkinds.All() {
		if slices.Contains(kind.Categories, category) {
			names = append(names, strings.TrimSuffix(kind.Plural+"."+kind.Group, "."))
		}
	}
	return names
}

// targets returns the selected objects. Named ones need not exist.
func (q query) targets(r *runner) ([]api.Ref, error) {
	if q.refs != nil {
		return q.refs, nil
	}
	objs, err := q.find(r)
	refs := make([]api.Ref, len(objs))
	for i, obj := range objs {
		refs[i] = api.RefTo(obj)
	}
	if err == nil && len(refs) == 0 {
		r.printf("No resources found\n")
	}
	return refs, err
}

// withNamespace returns the error of kubectl for an object that is missing because its namespace is.
func (r *runner) withNamespace(ref api.Ref, err error) error {
	namespace, _ := objects.SplitKey(ref.Key)
	if namespace == "" || !apierrors.IsNotFound(err) || !r.strictNamespaces {
		return err
	}
	if _, missing := r.cluster.Objects(store.NamespaceKind).Get(namespace); missing != nil {
		return missing
	}
	return err
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
func (q *query) addObjects(s *Script, a arguments) error {
	refs, err := s.refsOf(a.rest, a.get("namespace", ""))
	for _, ref := range refs {
		q.addRef(ref)
	}
	return err
}

// addFiles adds the objects of the files that -f names.
func (q *query) addFiles(s *Script, a arguments) error {
	files, err := readFiles(s, "get", a)
	if err != nil {
		return err
	}
	objs, err := s.manifests(files, a.get("namespace", ""))
	for _, m := range objs {
		q.addRef(api.RefTo(m.obj))
	}
	return err
}

// addRef adds an object and, unless it is there already, its kind.
func (q *query) addRef(ref api.Ref) {
	q.refs = append(q.refs, ref)
	if !slices.Contains(q.kinds, ref.Kind) {
		q.kinds = append(q.kinds, ref.Kind)
	}
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

// find returns the selected objects, in spite of an error about others.
func (q query) find(r *runner) ([]api.Object, error) {
	var objs []api.Object
	var failed error
	if slices.Contains(q.kinds, "Endpoints") {
		r.warnf("Warning: v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice\n")
	}
	for _, ref := range q.refs {
		obj, err := r.get(ref)
		if err != nil {
			failed = both(failed, r.withNamespace(ref, err))
			continue
		}
		objs = append(objs, obj)
	}
	if q.refs != nil {
		return objs, failed
	}
	for _, kind := range q.kinds {
		all := r.list(kind)
		slices.SortFunc(all, func(a, b api.Object) int { return strings.Compare(api.KeyOf(a), api.KeyOf(b)) })
		for _, obj := range all {
			inNamespace := !r.script.namespaced(kind) || q.namespace == "" || obj.GetNamespace() == q.namespace
			if inNamespace && q.selector.Matches(labels.Set(obj.GetLabels())) {
				objs = append(objs, obj)
			}
		}
	}
	return objs, nil
}
