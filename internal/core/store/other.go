package store

import (
	"encoding/base64"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/objkinds"
	"github.com/volsim/volsim/internal/core/plain"
	"github.com/volsim/volsim/internal/core/strategy"
)

// others are the kinds that are not simulated. A table for one exists as soon as it is written to.
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

// Describe returns the facts about a kind, simulated or not, or nil for one that the server does not know.
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

// Kinds lists the simulated kinds, in the order of Kinds, and then the other kinds of which objects exist, by name.
func (s *Store) Kinds() []api.Kind {
	kinds := Kinds()
	for _, kind := range slices.Sorted(maps.Keys(s.others.tables)) {
		if s.others.tables[kind].Len() > 0 {
			kinds = append(kinds, kind)
		}
	}
	return kinds
}

// NamespacedKinds lists every namespaced kind that the server knows: the simulated ones in the order of Kinds, then the others by name.
func (s *Store) NamespacedKinds() []*objkinds.Kind {
	var kinds, others []*objkinds.Kind
	for _, kind := range Kinds() {
		if known := s.Describe(kind); known.Namespaced {
			kinds = append(kinds, known)
		}
	}
	for _, known := range slices.Concat(objkinds.All(), s.CustomKinds()) {
		if known.Namespaced && !Simulated(api.Kind(known.Name())) {
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

// Other returns the table of a kind that is not simulated. It is an error if the kind is simulated, or if the server does not know it.
func (s *Store) Other(kind api.Kind) (Table[*plain.Object], error) {
	if Simulated(kind) {
		return nil, fmt.Errorf("%s is simulated; use its own table", kind)
	}
	known := s.Describe(kind)
	if known == nil {
		return nil, errNoMatch(s.unknown(kind))
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

// OnOther calls fn with the table of each kind that is not simulated: those that exist, by name, and later ones when they are made.
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

// tableToWrite returns the table of a kind. It makes that of a kind that is not simulated, except in a dry run (API-540).
func (s *Store) tableToWrite(kind api.Kind) (anyTable, error) {
	if t := s.tableNamed(kind); t != nil {
		return t, nil
	}
	if s.dry {
		return s.emptyTable(kind)
	}
	return s.Other(kind)
}

// tableToWatch returns the table of a kind. API-540: it does not make that of a kind that is not simulated; its controllers start with the first write.
func (s *Store) tableToWatch(kind api.Kind) (anyTable, error) {
	if t := s.tableNamed(kind); t != nil {
		return t, nil
	}
	if t, ok := s.others.watched[kind]; ok {
		return t, nil
	}
	known := s.Describe(kind)
	if known == nil {
		return nil, errNoMatch(s.unknown(kind))
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
		return nil, errNoMatch(s.unknown(kind))
	}
	return newOther(s, known), nil
}

// newOther returns a table that is not one of the store's yet.
func newOther(s *Store, kind *objkinds.Kind) *table[*plain.Object] {
	rules := otherStrategy(kind)
	if api.Kind(kind.Name()) == ServiceKind {
		rules = serviceStrategy(s, rules)
	}
	if api.Kind(kind.Name()) == definitionKind && !s.asGiven {
		rules = definitionStrategy(s, rules)
	}
	if further, ok := s.others.rules[api.Kind(kind.Name())]; ok {
		rules = further.add(rules)
	}
	t := &table[*plain.Object]{store: s, resource: otherResource(kind)}
	var admitted admission[*plain.Object]
	switch api.Kind(kind.Name()) {
	case PriorityClassKind:
		admitted = priorityAdmission
	case ServiceKind:
		admitted.allocate = (*Store).admitAllocated
	}
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

// otherStrategy returns the rules that objects of all kinds have (API-300 to API-308). Nothing else about them is validated or defaulted.
func otherStrategy(kind *objkinds.Kind) strategy.Of[*plain.Object] {
	s := strategy.Of[*plain.Object]{
		Shallow: func(obj *plain.Object) *plain.Object {
			return obj.Copy()
		},
		PrepareCreate: func(obj *plain.Object, _ metav1.Time) {
			// API-302: a client cannot create an object with a status that has a subresource.
			if kind.Status {
				obj.DropStatus()
			}
			// API-303: generation counts from 1.
			if kind.Generation {
				obj.Generation = 1
			}
		},
		PrepareUpdate: func(obj, old *plain.Object) {
			// API-302: an update of the main resource keeps the status.
			if kind.Status {
				obj.TakeStatus(old)
			}
		},
		PrepareStatus: func(obj, old *plain.Object, _ metav1.Time) {
			// API-302: an update of the status keeps everything else. API-450: of some kinds, and of custom ones, that includes the metadata.
			obj.SetContent(withStatus(old.Content(), obj.Content()))
			if kind.Custom || kind.StatusAlone {
				version, managed := obj.ResourceVersion, obj.ManagedFields
				obj.ObjectMeta = old.ObjectMeta
				obj.ResourceVersion, obj.ManagedFields = version, managed
			}
		},
		Equal: func(a, b *plain.Object) bool {
			return a.TypeMeta == b.TypeMeta && equalContents(a, b)
		},
	}
	if paths := requiredLists[kind.Name()]; paths != nil {
		s.Encode = func(obj *plain.Object) {
			for _, path := range paths {
				storeNoList(obj, path)
			}
		}
	}
	if kind.Generation {
		// API-303: a change of anything but metadata and status raises generation.
		s.SpecChanged = func(obj, old *plain.Object) bool { return !equalContents(obj, old) }
	}
	if kind.Name() == "EndpointSlice.discovery.k8s.io" {
		// API-561: so does a change of labels.
		s.SpecChanged = func(obj, old *plain.Object) bool {
			return !equalContents(obj, old) || !maps.Equal(obj.Labels, old.Labels)
		}
	}
	if kind.Group == objkinds.SnapshotGroup || kind.Group == objkinds.GroupSnapshotGroup {
		s.Defaults = dropNulls
	}
	switch kind.Name() {
	case "StatefulSet.apps":
		s = strategy.StatefulSet.Add(s)
	case string(QuotaKind):
		s = strategy.ResourceQuota.Add(s)
	case string(LimitRangeKind):
		s = strategy.LimitRange.Add(s)
		update := s.ValidateUpdate
		s.ValidateUpdate = func(obj, old *plain.Object) field.ErrorList {
			return append(validateUpdatedPrefix(obj, old), update(obj, old)...)
		}
	case "PodTemplate":
		s = strategy.PodTemplate.Add(s)
	case "ReplicationController":
		s = strategy.ReplicationController.Add(s)
	case "ReplicaSet.apps":
		s = strategy.ReplicaSet.Add(s)
	case "Job.batch":
		s = strategy.Job(s)
	case "CronJob.batch":
		s = strategy.CronJob.Add(s)
	case "DaemonSet.apps":
		s = strategy.DaemonSet(s)
	case "Deployment.apps":
		s = strategy.Deployment(s)
	case "Secret":
		s.Defaults = defaultSecret
		s.ValidateUpdate = validateSecretUpdate
	case "ServiceAccount":
		s.ValidateUpdate = validateUpdatedPrefix
	case "ConfigMap":
		s.Defaults = func(obj *plain.Object) { fillBytes(obj, "binaryData") }
		s.ValidateUpdate = validateFrozen
	case "PodDisruptionBudget.policy":
		s = strategy.PodDisruptionBudget(s)
	case string(PriorityClassKind):
		s = priorityClassStrategy(s)
	case string(RuntimeClassKind):
		s = strategy.RuntimeClass.Add(s)
	case string(NamespaceKind):
		s = namespaceStrategy(s)
	}
	return s
}

// equalContents reports whether both objects have the same content.
func equalContents(a, b *plain.Object) bool {
	if x, y := a.Source(), b.Source(); x != nil && y != nil && reflect.TypeOf(x) == reflect.TypeOf(y) &&
		stringMapsDiffer(reflect.ValueOf(x).Elem(), reflect.ValueOf(y).Elem()) {
		return false
	}
	return reflect.DeepEqual(a.Content(), b.Content())
}

// stringMapsDiffer reports whether two structs differ in a field of type map[string]string, such as the data of a ConfigMap. It is a fast check
// before DeepEqual; false proves nothing.
func stringMapsDiffer(a, b reflect.Value) bool {
	for i := range a.NumField() {
		if a.Field(i).Type() == reflect.TypeFor[map[string]string]() &&
			!maps.Equal(a.Field(i).Interface().(map[string]string), b.Field(i).Interface().(map[string]string)) {
			return true
		}
	}
	return false
}

// validateUpdatedPrefix validates the generateName of an update of a kind that is validated like a new object then (API-042).
func validateUpdatedPrefix(obj, _ *plain.Object) field.ErrorList {
	return strategy.ValidateGenerateName(&obj.ObjectMeta)
}

// defaultSecret merges stringData into data and sets the type (API-308).
func defaultSecret(obj *plain.Object) {
	fillBytes(obj, "data")
	text, _ := obj.Content()["stringData"].(map[string]any)
	_, written := obj.Content()["stringData"]
	if kind, _ := obj.Content()["type"].(string); kind != "" && !written {
		return
	}
	obj.SetContent(maps.Clone(obj.Content()))
	if obj.Content() == nil {
		obj.SetContent(map[string]any{})
	}
	delete(obj.Content(), "stringData")
	if kind, _ := obj.Content()["type"].(string); kind == "" {
		obj.Content()["type"] = "Opaque"
	}
	if len(text) == 0 {
		return
	}
	old, _ := obj.Content()["data"].(map[string]any)
	data := maps.Clone(old)
	if data == nil {
		data = map[string]any{}
	}
	for name, value := range text {
		plain, _ := value.(string)
		data[name] = base64.StdEncoding.EncodeToString([]byte(plain))
	}
	obj.Content()["data"] = data
}

// withStatus returns content with the status of other. It modifies neither.
func withStatus(content, other map[string]any) map[string]any {
	status, has := other["status"]
	if old, had := content["status"]; !has && !had || has && had && reflect.DeepEqual(old, status) {
		return content
	}
	content = maps.Clone(content)
	if content == nil {
		content = map[string]any{}
	}
	delete(content, "status")
	if has {
		content["status"] = status
	}
	return content
}
