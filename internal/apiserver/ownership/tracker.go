// Package ownership maintains managedFields: it says which manager owns which field of an object. Server-side apply rests on it.
//
//   - tracker.go: the owners after a write; shape.go: writes of the same sort, whose owners are known; created.go: the owner of a new object;
//   - types.go, customtypes.go: the types of fields, from the OpenAPI documents and from definitions;
//   - apply.go, applyerrors.go: an apply; merge.go: a merge that asks for no owners.
package ownership

import (
	"cmp"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/apiserver/kinds"
	"github.com/volsim/volsim/internal/apiserver/openapi"
	"github.com/volsim/volsim/internal/apiserver/resources"
	"github.com/volsim/volsim/internal/core/plain"
	"github.com/volsim/volsim/internal/core/strategy"
)

// Config says what a tracker needs.
type Config struct {
	Resources *resources.Table
	Documents *openapi.Documents
	// Now is the clock of the cluster.
	Now func() time.Time
	// Writer returns the actor who makes a write that no request makes. Nil records no manager for such writes.
	Writer func() string
	// InVersion returns an object in the version of a resource, and Convert one in another version of its definition.
	InVersion func(*resources.Resource, api.Object) (api.Object, error)
	Convert   func(*resources.Conversion, *plain.Object, string) (api.Object, error)
	// NoShortcuts lets the field manager compute each result, to compare it with that of a shortcut.
	NoShortcuts bool
}

// Write is a write of a request.
type Write struct {
	Resource    *resources.Resource
	Subresource string // "" for none
	Manager     string // owns the fields that are written
}

// Tracker maintains the managedFields of all objects: for requests under the name of their manager, for other writes under the name that
// the writer has on a real cluster.
type Tracker struct {
	Config
	// Shortcuts is how many results so far needed no field manager.
	Shortcuts int

	write    Write // that takes effect; zero for none of a request
	applying bool  // the object to store has its managedFields already
	managers map[managerKey]cachedManager
	types    map[schema.GroupVersion]managedfields.TypeConverter
	known    ownerships
	shape    []byte // of the write before, to use its memory again
}

// managerKey identifies a field manager: that of a resource or a subresource.
type managerKey struct {
	resource    *resources.Resource
	subresource string
}

// cachedManager is a field manager, made for one version of the definition of a custom kind.
type cachedManager struct {
	*managedfields.FieldManager
	definition *resources.DefinedVersion
}

// New returns a tracker.
func New(cfg Config) *Tracker {
	return &Tracker{
		Config: cfg, managers: map[managerKey]cachedManager{}, types: map[schema.GroupVersion]managedfields.TypeConverter{},
	}
}

// Begin attributes the writes that follow to a request, until the returned function is called. A nil tracker does nothing.
func (f *Tracker) Begin(w Write) (end func()) {
	if f == nil {
		return func() {}
	}
	outer := f.write
	f.write = w
	return func() { f.write = outer }
}

// Writing returns the write of a request that takes effect at the moment, zero for none.
func (f *Tracker) Writing() Write {
	if f == nil {
		return Write{}
	}
	return f.write
}

// Keep calls fn. Objects that it stores keep the managedFields that they have.
func (f *Tracker) Keep(fn func() (api.Object, error)) (api.Object, error) {
	f.applying = true
	defer func() { f.applying = false }()
	return fn()
}

// Track implements store.FieldTracker.
func (f *Tracker) Track(obj, old api.Object, sub api.Subresource) []metav1.ManagedFieldsEntry {
	if f.applying {
		return obj.GetManagedFields()
	}
	var res *resources.Resource
	manager := ""
	if f.write.Resource != nil {
		res, manager = f.write.Resource, f.write.Manager
		if res.Kind != api.KindOf(obj) {
			res = nil
		} else if name := f.write.Subresource; name == resources.SubresourceScale || name == resources.SubresourceApproval {
			sub = api.Subresource(name) // the store sees an update of the main resource, or of the status
		}
	} else if f.Writer != nil {
		manager = managerOfActor(f.Writer())
	}
	if res == nil {
		res = f.Resources.OfKind(api.KindOf(obj))
	}
	if res == nil || manager == "" {
		return obj.GetManagedFields()
	}
	base := obj.GetManagedFields()
	if sub != api.Main || len(base) == 0 {
		base = nil
		if old != nil {
			base = old.GetManagedFields()
		}
	}
	key, remember := shapeOf(f.shape[:0], res, sub, manager, obj, old)
	if remember {
		f.shape = key
		if entries, ok := f.known.known[string(key)]; ok && !f.NoShortcuts {
			f.Shortcuts++
			return f.withTimes(slices.Clone(entries), base)
		}
	}
	entries, err := f.Owners(res, sub, manager, obj, old)
	if err != nil {
		return nil // the schema of the kind cannot be used, or the object does not conform to it
	}
	if remember {
		f.known.keep(key, slices.Clone(entries))
	}
	entries = f.withTimes(entries, base)
	for i := range entries {
		// kube-apiserver does not record when an object was scaled.
		if entries[i].Subresource == resources.SubresourceScale {
			entries[i].Time = nil
		}
	}
	slices.SortStableFunc(entries, compareEntries)
	return entries
}

// Owners returns the managedFields after a write. The entries that change have a time, the others have none.
func (f *Tracker) Owners(res *resources.Resource, sub api.Subresource, manager string, obj, old api.Object) ([]metav1.ManagedFieldsEntry, error) {
	fm, err := f.manager(res, string(sub))
	if err != nil {
		return nil, err
	}
	updated, err := f.versioned(res, obj, false)
	if err != nil {
		return nil, err
	}
	if old == nil && sub == api.Main && len(obj.GetManagedFields()) == 0 && !f.NoShortcuts {
		if entries, ok := f.Created(res, updated, manager); ok {
			return entries, nil
		}
	}
	live := f.Empty(res)
	if old != nil {
		if live, err = f.Stored(res, old); err != nil {
			return nil, err
		}
	}
	forgetTimes(live.(api.Object))
	forgetTimes(updated.(api.Object))
	result, err := fm.Update(live, updated, manager)
	if err != nil {
		return nil, err
	}
	return result.(api.Object).GetManagedFields(), nil
}

// Stored returns a copy of a stored object in the Go type and the version of a resource. The copy shares what the field manager does not modify.
func (f *Tracker) Stored(r *resources.Resource, obj api.Object) (runtime.Object, error) {
	return f.versioned(r, obj, true)
}

// versioned returns a copy of an object in the Go type and the version of a resource. The copy shares what the field manager does not
// modify. stored reports that the object does not change any more.
func (f *Tracker) versioned(r *resources.Resource, obj api.Object, stored bool) (runtime.Object, error) {
	if r.Presented != nil {
		typed, err := r.Presented(obj)
		if err != nil {
			return nil, err
		}
		typed.GetObjectKind().SetGroupVersionKind(r.GVK())
		return typed, nil
	}
	if data, ok := obj.(*plain.Object); ok && r.Typed && stored {
		typed, err := data.SharedAs(r.Sample)
		if err != nil {
			return nil, err
		}
		return shallowCopy(typed, r.GVK()), nil
	}
	if r.Simulated {
		return shallowCopy(obj, r.GVK()), nil
	}
	if r.Typed {
		typed := resources.NewObject(r.GVK())
		err := plain.Write(obj, typed)
		typed.GetObjectKind().SetGroupVersionKind(r.GVK())
		return typed, err
	}
	obj, err := f.InVersion(r, obj)
	if err != nil {
		return nil, err
	}
	u, err := plain.Unstructured(obj)
	if err == nil {
		u.SetGroupVersionKind(r.GVK())
	}
	return u, err
}

// shallowCopy returns a copy with a kind that shares everything that obj points to.
func shallowCopy(obj api.Object, gvk schema.GroupVersionKind) api.Object {
	typed := plain.Shallow(obj)
	typed.GetObjectKind().SetGroupVersionKind(gvk)
	return typed
}

// Empty returns an object that has no fields.
func (f *Tracker) Empty(r *resources.Resource) runtime.Object {
	obj, _ := fieldTypes{f, r}.New(r.GVK())
	return obj
}

// forgetTimes removes the times of managedFields. The field manager sets those that change by the clock of the computer.
func forgetTimes(obj metav1.Object) {
	entries := slices.Clone(obj.GetManagedFields())
	for i := range entries {
		entries[i].Time = nil
	}
	obj.SetManagedFields(entries)
}

// withTimes sets the times of entries: those that the field manager has set to now, the others as before.
func (f *Tracker) withTimes(entries, before []metav1.ManagedFieldsEntry) []metav1.ManagedFieldsEntry {
	now := metav1.NewTime(f.Now().UTC().Truncate(1e9))
	for i := range entries {
		e := &entries[i]
		if e.Time != nil {
			e.Time = &now
			continue
		}
		for _, old := range before {
			if sameManager(e, &old) && old.Time != nil {
				// Times that a client sent have another location, which would make them differ from the stored ones.
				t := metav1.NewTime(old.Time.UTC())
				e.Time = &t
			}
		}
	}
	slices.SortStableFunc(entries, compareEntries)
	return entries
}

func sameManager(a, b *metav1.ManagedFieldsEntry) bool {
	return a.Manager == b.Manager && a.Operation == b.Operation && a.APIVersion == b.APIVersion && a.Subresource == b.Subresource
}

// compareEntries orders entries: applies first, then by time, those without first, then by the rest.
func compareEntries(a, b metav1.ManagedFieldsEntry) int {
	if n := strings.Compare(string(a.Operation), string(b.Operation)); n != 0 {
		return n
	}
	if n := cmp.Compare(seconds(a.Time), seconds(b.Time)); n != 0 {
		return n
	}
	if n := strings.Compare(a.Manager, b.Manager); n != 0 {
		return n
	}
	if n := strings.Compare(a.APIVersion, b.APIVersion); n != 0 {
		return n
	}
	return strings.Compare(a.Subresource, b.Subresource)
}

func seconds(t *metav1.Time) int64 {
	if t == nil {
		return 0
	}
	return t.Unix()
}

// manager returns the field manager of a resource or a subresource.
func (f *Tracker) manager(r *resources.Resource, sub string) (*managedfields.FieldManager, error) {
	key, definition := managerKey{r, sub}, f.Resources.Definition(r)
	if known, ok := f.managers[key]; ok && known.definition == definition {
		return known.FieldManager, nil
	}
	converter, err := f.typeConverter(r)
	if err != nil {
		return nil, err
	}
	types := fieldTypes{f, r}
	create := managedfields.NewDefaultFieldManager
	if r.Custom {
		create = managedfields.NewDefaultCRDFieldManager
	}
	fm, err := create(converter, types, types, types, r.GVK(), r.GroupVersion(), sub, resetFields(r, sub))
	if err == nil {
		f.managers[key] = cachedManager{fm, definition}
	}
	return fm, err
}

// resetFields are the fields that a write of the resource or subresource cannot change.
func resetFields(r *resources.Resource, sub string) map[fieldpath.APIVersion]fieldpath.Filter {
	// API-506: who changes ephemeral containers owns all that was sent.
	if !r.Status || sub == string(strategy.EphemeralContainers) {
		return nil
	}
	var reset *fieldpath.Set
	set := func(paths ...[]any) {
		reset = fieldpath.NewSet()
		for _, path := range paths {
			reset.Insert(fieldpath.MakePathOrDie(path...))
		}
	}
	status := sub == string(api.Status)
	switch {
	case r.Kind == kinds.SigningRequest && status:
		set([]any{"spec"}, []any{"status", "conditions"})
	case r.Kind == kinds.SigningRequest && sub == resources.SubresourceApproval:
		set([]any{"spec"}, []any{"status", "certificate"})
	case r.Kind == kinds.SigningRequest:
		set([]any{"spec"}, []any{"status"})
	case !status:
		set([]any{"status"})
	case r.Custom || r.StatusAlone || r.Kind == api.VolumeAttachment:
		set([]any{"spec"}, []any{"metadata"})
	case r.Kind == "Deployment.apps":
		set([]any{"spec"}, []any{"metadata", "labels"})
	case r.Kind == api.Pod:
		set([]any{"spec"}, []any{"metadata", "deletionTimestamp"}, []any{"metadata", "ownerReferences"})
	default:
		set([]any{"spec"})
	}
	return map[fieldpath.APIVersion]fieldpath.Filter{fieldpath.APIVersion(r.GroupVersion().String()): fieldpath.NewExcludeSetFilter(reset)}
}

// managerOfActor returns the name under which an actor owns fields on a real cluster: that of its program.
func managerOfActor(actor string) string {
	program, _, _ := strings.Cut(actor, "/")
	switch program {
	case "root-ca-cert-publisher":
		return "kube-controller-manager"
	case "kube-scheduler", "kubelet":
		return program
	case "external-provisioner":
		return "csi-provisioner"
	case "external-attacher":
		return "csi-attacher"
	case "external-resizer":
		return "csi-resizer"
	case "external-snapshotter":
		return "csi-snapshotter"
	case "snapshot-controller":
		return program
	case "machine":
		return "kubelet"
	}
	if strings.HasSuffix(program, "-controller") || program == "garbage-collector" || program == "recycler-pod-runner" {
		return "kube-controller-manager"
	}
	if name, ok := strings.CutPrefix(actor, api.User+"/"); ok {
		return name
	}
	if actor == api.User {
		return "volsim"
	}
	return actor
}
