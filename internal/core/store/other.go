package store

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/objects"
	"github.com/volsim/volsim/internal/core/objkinds"
	"github.com/volsim/volsim/internal/core/plain"
	"github.com/volsim/volsim/internal/core/services"
)

// others are the kinds without typed tables. A table for one exists as soon as it is written to.
type others struct {
	history int
	// custom are the kinds that CustomResourceDefinitions define.
	custom map[api.Kind]*objkinds.Kind
	tables map[api.Kind]Table[*plain.Object]
	// watched are the tables that will exist: there are watches of them.
	watched map[api.Kind]Table[*plain.Object]
	// definitions are further rules of CustomResourceDefinitions.
	definitions DefinitionRules
	// rules are further rules of other kinds.
	rules map[api.Kind]KindRules
	// added is called with each new table.
	added []func(Table[*plain.Object])
}

func newOthers(history int) others {
	return others{history: history}
}

// Describe returns the facts about any kind, or nil for one that the server does not know.
func (s *Store) Describe(kind api.Kind) *objkinds.Kind {
	if known := objkinds.Get(string(kind)); known != nil {
		return known
	}
	return s.others.custom[kind]
}

// GroupVersionKind returns the full name of a kind in its preferred version, or the zero value for a kind that the server does not know.
func (s *Store) GroupVersionKind(kind api.Kind) schema.GroupVersionKind {
	if known := s.Describe(kind); known != nil {
		return known.GroupVersionKind()
	}
	return schema.GroupVersionKind{}
}

// Kinds lists the kinds with typed tables, in the order of Kinds, and then the other kinds of which objects exist, by name.
func (s *Store) Kinds() []api.Kind {
	kinds := Kinds()
	for _, kind := range slices.Sorted(maps.Keys(s.others.tables)) {
		if s.others.tables[kind].Len() > 0 {
			kinds = append(kinds, kind)
		}
	}
	return kinds
}

// NamespacedKinds lists every namespaced kind that the server knows: those with typed tables in the order of Kinds, then the others by name.
func (s *Store) NamespacedKinds() []*objkinds.Kind {
	var kinds, others []*objkinds.Kind
	for _, kind := range Kinds() {
		if known := s.Describe(kind); known.Namespaced {
			kinds = append(kinds, known)
		}
	}
	for _, known := range slices.Concat(objkinds.All(), s.CustomKinds()) {
		if known.Namespaced && !HasTypedTable(api.Kind(known.Name())) {
			others = append(others, known)
		}
	}
	slices.SortFunc(others, func(a, b *objkinds.Kind) int { return strings.Compare(a.Name(), b.Name()) })
	return append(kinds, others...)
}

// CustomKinds lists the kinds that CustomResourceDefinitions define, by name.
func (s *Store) CustomKinds() []*objkinds.Kind {
	var kinds []*objkinds.Kind
	for _, name := range slices.Sorted(maps.Keys(s.others.custom)) {
		kinds = append(kinds, s.others.custom[name])
	}
	return kinds
}

// MetadataErrors returns what is wrong with the metadata of an object of a custom kind, whose name may be generated later. old is nil for a new one.
func (s *Store) MetadataErrors(kind api.Kind, obj, old api.Object) field.ErrorList {
	t, err := s.Other(kind)
	if err != nil {
		return nil // there is no such kind any more
	}
	meta, r := *metaOf(obj), own(t).resource
	meta.OwnerReferences = distinctOwners(meta.OwnerReferences)
	if old != nil {
		carryOver(&meta, metaOf(old))
		return validateMetaUpdate(&meta, metaOf(old), r, false, nil)
	}
	if meta.Name == "" && meta.GenerateName != "" {
		meta.Name = generateName(meta.GenerateName, 0, 0)
	}
	return validateMetaCreate(&meta, r)
}

// Other returns the table of a kind without a typed table. It is an error if the kind has one, or if the server does not know it.
func (s *Store) Other(kind api.Kind) (Table[*plain.Object], error) {
	if HasTypedTable(kind) {
		return nil, fmt.Errorf("%s has a typed table; use that", kind)
	}
	known := s.Describe(kind)
	if known == nil {
		return nil, objects.NoMatch(s.unknown(kind))
	}
	if t, ok := s.others.tables[kind]; ok {
		return t, nil
	}
	t, clients := newOther(s, known), []*watch[*plain.Object](nil)
	if watched, ok := s.others.watched[kind]; ok {
		w := own(watched)
		delete(s.others.watched, kind)
		// The kind may have changed since. What watches a new table comes before clients, in whatever order they began.
		w.resource, w.strategy, w.history.limit = t.resource, t.strategy, t.history.limit
		t, clients, w.watchers = w, w.watchers, nil
	}
	if s.others.tables == nil {
		s.others.tables = map[api.Kind]Table[*plain.Object]{}
	}
	s.others.tables[kind] = t
	switch kind {
	case definitionKind:
		followDefinitions(s, t)
	case NamespaceKind:
		s.namespaces = t
	case QuotaKind:
		s.quotas = t
	case LimitRangeKind:
		s.limits = t
	}
	for _, added := range s.others.added {
		added(t)
	}
	t.watchers = append(t.watchers, clients...)
	return t, nil
}

// OnOther calls fn with the table of each kind without a typed table: those that exist, by name, and later ones when they are made.
func (s *Store) OnOther(fn func(Table[*plain.Object])) {
	if len(s.others.tables) > 0 {
		for _, kind := range slices.Sorted(maps.Keys(s.others.tables)) {
			fn(s.others.tables[kind])
		}
	}
	if s.others.added == nil {
		s.others.added = make([]func(Table[*plain.Object]), 0, 8)
	}
	s.others.added = append(s.others.added, fn)
}

// tableToWrite returns the table of a kind. It makes that of a kind without a typed table, except in a dry run (API-540).
func (s *Store) tableToWrite(kind api.Kind) (anyTable, error) {
	if t := s.tableNamed(kind); t != nil {
		return t, nil
	}
	if s.dry {
		return s.emptyTable(kind)
	}
	return s.Other(kind)
}

// tableToWatch returns the table of a kind. API-540: it does not make that of a kind without a typed table; its controllers start with the first write.
func (s *Store) tableToWatch(kind api.Kind) (anyTable, error) {
	if t := s.tableNamed(kind); t != nil {
		return t, nil
	}
	if t, ok := s.others.watched[kind]; ok {
		return t, nil
	}
	known := s.Describe(kind)
	if known == nil {
		return nil, objects.NoMatch(s.unknown(kind))
	}
	if s.others.watched == nil {
		s.others.watched = map[api.Kind]Table[*plain.Object]{}
	}
	t := newOther(s, known)
	s.others.watched[kind] = t
	return t, nil
}

// emptyTable returns a table without objects for reads of a kind of which no object was ever stored.
func (s *Store) emptyTable(kind api.Kind) (anyTable, error) {
	known := s.Describe(kind)
	if known == nil {
		return nil, objects.NoMatch(s.unknown(kind))
	}
	return newOther(s, known), nil
}

// newOther returns a table that is not one of the store's yet.
func newOther(s *Store, kind *objkinds.Kind) *table[*plain.Object] {
	rules := otherStrategy(kind)
	var admitted admission[*plain.Object]
	switch api.Kind(kind.Name()) {
	case services.Kind:
		stored := services.Stored(func() []api.Object { return s.List(services.Kind) })
		rules = stored.Strategy(rules)
		admitted.allocate = func(s *Store, obj, old *plain.Object) error { return stored.Admit(obj, old, s.dry) }
	case definitionKind:
		if !s.asGiven {
			rules = definitionStrategy(s, rules)
		}
	case PriorityClassKind:
		admitted = priorityAdmission
	}
	if further, ok := s.others.rules[api.Kind(kind.Name())]; ok {
		rules = further.add(rules)
	}
	t := &table[*plain.Object]{store: s, resource: otherResource(kind)}
	t.setRules(&rules, admitted)
	t.history.limit = max(s.others.history, 0)
	return t
}

func otherResource(kind *objkinds.Kind) resource {
	// API-300: the facts about a kind decide how its objects are stored.
	r := resource{
		kind:          api.Kind(kind.Name()),
		group:         kind.Group,
		plural:        kind.Plural,
		namespaced:    kind.Namespaced,
		status:        kind.Status,
		unconditional: !kind.Conditional && !kind.Custom,
		other:         true,
		custom:        kind.Custom,
	}
	switch kind.Group {
	// API-037: the metadata of these groups is validated without the rules of the core group.
	case "admissionregistration.k8s.io", "apiextensions.k8s.io", "apiregistration.k8s.io", "coordination.k8s.io", "node.k8s.io", "policy":
		r.anyFinalizers = true
	default:
		r.anyFinalizers = kind.Custom
	}
	switch {
	case kind.Group == "rbac.authorization.k8s.io", r.kind == "APIService.apiregistration.k8s.io":
		r.names = segmentNames
	case r.kind == "IPAddress.networking.k8s.io":
		r.names = addressNames
	case r.kind == "Namespace", r.kind == "Service", r.kind == "StatefulSet.apps":
		r.names = labelNames
	}
	return r
}
