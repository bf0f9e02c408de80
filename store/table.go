package store

import (
	"iter"
	"strconv"

	"github.com/tidwall/btree"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Subresource says which part of an object a write is about.
type Subresource string

const (
	// Main is the object itself, without its status.
	Main Subresource = ""
	// Status is the subresource of that name.
	Status Subresource = "status"
)

// CreateOptions changes how an object is created. The zero value is what a client does.
type CreateOptions struct {
	// SkipValidation stores the object even if a real API server would refuse it; defaults and admission still apply.
	// It is for studying what controllers do with objects that should not exist.
	SkipValidation bool
	// DryRun does everything but store the object.
	DryRun bool
}

// UpdateOptions changes how an object is updated. The zero value is what a client does.
type UpdateOptions struct {
	// SkipValidation as in CreateOptions.
	SkipValidation bool
}

// DeleteOptions are those of the API that matter to the kinds held here. The zero value sets no precondition.
type DeleteOptions struct {
	// GracePeriodSeconds overrides the grace period of a pod (API-062); other kinds ignore it.
	GracePeriodSeconds *int64
	// UID and ResourceVersion, when not empty, must be those of the stored object, else the delete is a Conflict (API-058).
	UID             types.UID
	ResourceVersion string
}

// Table holds the objects of one kind, ordered by key.
type Table[T Object] struct {
	store    *Store
	resource resource
	strategy strategy[T]
	rows     btree.Map[string, T]
	indexes  []*index[T]
	watchers []*Watch[T]
	history  history[T]
	// removed counts, by key, the objects of that name that are gone, so that the next one gets a uid of its own.
	removed map[string]uint32
}

func newTable[T Object](s *Store, kind Kind, strategy strategy[T], history int) *Table[T] {
	if s.asGiven {
		strategy = strategy.withoutRules()
	}
	t := &Table[T]{store: s, resource: resourceOf(kind), strategy: strategy, removed: map[string]uint32{}}
	t.history.limit = max(history, 0)
	s.tables[kind] = t
	return t
}

// Kind is the kind of the objects in the table.
func (t *Table[T]) Kind() Kind { return t.resource.kind }

// Len is the number of objects.
func (t *Table[T]) Len() int { return t.rows.Len() }

// Lookup returns the object of that key and whether there is one.
func (t *Table[T]) Lookup(key string) (T, bool) { return t.rows.Get(key) }

// Get returns the object of that key, or a NotFound error (API-022).
func (t *Table[T]) Get(key string) (T, error) {
	obj, ok := t.rows.Get(key)
	if !ok {
		return obj, t.notFound(key)
	}
	return obj, nil
}

// All walks the objects in the order of their keys. The table may be written to meanwhile: the walk goes on over what was there
// when it began.
func (t *Table[T]) All() iter.Seq[T] {
	return func(yield func(T) bool) {
		rows := t.rows.Copy()
		rows.Scan(func(_ string, obj T) bool { return yield(obj) })
	}
}

// List returns the objects in the order of their keys.
func (t *Table[T]) List() []T {
	objs := make([]T, 0, t.rows.Len())
	t.rows.Scan(func(_ string, obj T) bool {
		objs = append(objs, obj)
		return true
	})
	return objs
}

// Create stores a new object (API-001) and returns it as stored: defaulted, admitted, with uid, creationTimestamp and
// resourceVersion. Errors are those of the API server: Invalid, AlreadyExists, Forbidden.
func (t *Table[T]) Create(obj T) (T, error) { return t.CreateWith(obj, CreateOptions{}) }

// CreateWith is Create with options.
func (t *Table[T]) CreateWith(obj T, opts CreateOptions) (T, error) {
	var none T
	if absent(obj) {
		return none, t.badRequest("create", "the object is nil")
	}
	obj = t.strategy.shallow(obj)
	meta := metaOf(obj)
	// API-009: a namespace on a cluster-scoped object is cleared.
	if !t.resource.namespaced {
		meta.Namespace = ""
	}
	if t.strategy.defaults != nil {
		t.strategy.defaults(obj)
	}
	// API-001: what only the server may say is wiped.
	meta.UID = ""
	meta.CreationTimestamp = metav1.Time{}
	meta.DeletionTimestamp = nil
	meta.DeletionGracePeriodSeconds = nil
	versioned := versionOf(obj) != 0
	meta.ResourceVersion = ""
	meta.OwnerReferences = distinctOwners(meta.OwnerReferences)
	if t.strategy.admitCreate != nil {
		if err := t.strategy.admitCreate(t.store, obj); err != nil {
			return none, err
		}
	}
	now := clock(t.store.now())
	meta.CreationTimestamp = now

	// API-008: a generated name that is taken is drawn again, with all that follows.
	base, generated := meta.GenerateName, meta.Name == "" && meta.GenerateName != ""
	for attempt := 0; ; attempt++ {
		if generated {
			meta.Name = generateName(base, t.store.version, attempt)
		}
		if t.strategy.prepareCreate != nil {
			t.strategy.prepareCreate(obj, now)
		}
		if !opts.SkipValidation && !t.store.asGiven {
			errs := validateMetaCreate(meta, t.resource)
			if t.strategy.validateCreate != nil {
				errs = append(errs, t.strategy.validateCreate(obj)...)
			}
			if err := t.invalid(meta.Name, errs); err != nil {
				return none, err
			}
		}
		// API-017: a new object has no version. That comes out last, when it is to be stored.
		if versioned && !opts.DryRun {
			return none, errVersionOnCreate()
		}
		key := Key(meta.Namespace, meta.Name)
		if old, exists := t.rows.Get(key); exists {
			if generated && attempt+1 < generateNameAttempts {
				continue
			}
			return none, t.alreadyExists(meta, old)
		}
		// API-057: whoever comes after an object of the same name is another one.
		meta.UID = newUID(t.resource.kind, key, t.removed[key])
		if !opts.DryRun {
			t.put(key, obj, none)
		}
		return obj, nil
	}
}

// Update replaces the object's main resource (API-002) and returns it as stored. Status is kept. An object that is being deleted
// and has lost its last finalizer is removed (API-055); the answer is then the request itself (API-056).
// Errors are those of the API server: NotFound, Conflict, Invalid, Forbidden.
func (t *Table[T]) Update(obj T) (T, error) { return t.UpdateWith(obj, Main, UpdateOptions{}) }

// UpdateStatus replaces the object's status (API-003); its metadata goes with it as section 10 of the API rules says.
func (t *Table[T]) UpdateStatus(obj T) (T, error) { return t.UpdateWith(obj, Status, UpdateOptions{}) }

// UpdateWith is Update or UpdateStatus with options.
func (t *Table[T]) UpdateWith(obj T, sub Subresource, opts UpdateOptions) (T, error) {
	var none T
	if absent(obj) {
		return none, t.badRequest("update", "the object is nil")
	}
	if err := t.checkSubresource(sub); err != nil {
		return none, err
	}
	obj = t.strategy.shallow(obj)
	meta := metaOf(obj)
	if meta.Name == "" && !t.store.asGiven {
		return none, errOtherName("", "")
	}
	// API-009: a namespace on a cluster-scoped object is cleared.
	if !t.resource.namespaced {
		meta.Namespace = ""
	}
	key := Key(meta.Namespace, meta.Name)
	old, ok := t.rows.Get(key)
	if !ok {
		// API-004, API-246: nothing is created by an update.
		return none, t.notFound(key)
	}
	oldMeta := metaOf(old)
	// API-013: the uid is looked at before the version.
	if meta.UID != "" && meta.UID != oldMeta.UID {
		return none, t.conflict(meta.Name, errUID(meta.UID, oldMeta.UID))
	}
	return t.replace(key, obj, old, sub, opts.SkipValidation)
}

// checkVersion compares the version that an update is based on with the stored one. Versions are numbers: "0" is none, and what is
// no number is a server error.
func (t *Table[T]) checkVersion(meta, old *metav1.ObjectMeta) error {
	if meta.ResourceVersion == old.ResourceVersion {
		return nil
	}
	version := uint64(0)
	if meta.ResourceVersion != "" {
		var err error
		if version, err = strconv.ParseUint(meta.ResourceVersion, 10, 64); err != nil {
			return serverError(err.Error())
		}
	}
	switch stored, _ := strconv.ParseUint(old.ResourceVersion, 10, 64); version {
	case stored:
		return nil
	case 0:
		// API-012: some kinds overwrite whatever is there.
		if t.resource.unconditional {
			return nil
		}
		return t.versionMissing(meta.Name)
	default:
		// API-011: stale, even if nothing would change.
		return t.conflict(meta.Name, errStale)
	}
}

// replace carries an update through from the check of the version on (API-002, API-246). obj is a private shallow copy of the
// request. An object that is being deleted is written to under the same rules as any other (API-054).
func (t *Table[T]) replace(key string, obj, old T, sub Subresource, skipValidation bool) (T, error) {
	var none T
	meta, oldMeta := metaOf(obj), metaOf(old)
	if err := t.checkVersion(meta, oldMeta); err != nil {
		return none, err
	}
	if t.strategy.defaults != nil {
		t.strategy.defaults(obj)
	}
	meta.OwnerReferences = distinctOwners(meta.OwnerReferences)
	carryOver(meta, oldMeta)
	if sub == Status {
		if t.strategy.prepareStatus != nil {
			t.strategy.prepareStatus(obj, old, clock(t.store.now()))
		}
	} else if t.strategy.prepareUpdate != nil {
		t.strategy.prepareUpdate(obj, old)
	}
	if t.strategy.specChanged != nil && sub == Main && t.strategy.specChanged(obj, old) {
		meta.Generation++
	}
	if !skipValidation && !t.store.asGiven {
		errs := validateMetaUpdate(meta, oldMeta)
		validate := t.strategy.validateUpdate
		if sub == Status {
			validate = t.strategy.validateStatus
		}
		if validate != nil {
			errs = append(errs, validate(obj, old)...)
		}
		if err := t.invalid(meta.Name, errs); err != nil {
			return none, err
		}
	}
	// API-003: the admission of updates looks at the main resource only.
	if sub == Main && t.strategy.admitUpdate != nil {
		if err := t.strategy.admitUpdate(t.store, obj, old); err != nil {
			return none, err
		}
	}
	// API-055, API-066: with its last finalizer a deleted object goes, unless it still has grace.
	if oldMeta.DeletionTimestamp != nil && len(meta.Finalizers) == 0 && graceOver(oldMeta) {
		// API-056: watchers see what was stored, the caller what it sent.
		t.remove(key, old)
		meta.ResourceVersion = oldMeta.ResourceVersion
		return obj, nil
	}
	// API-014: the same bytes again are no write.
	if sameMeta(meta, oldMeta) && t.strategy.equal(obj, old) {
		return old, nil
	}
	t.put(key, obj, old)
	return obj, nil
}

// Load stores an object as it is: uid, timestamps, finalizers, status and all, nothing validated but that it has a name. Defaults
// are filled in, so that whatever is read has them (API-007). An object of the same key is replaced. It is for bringing in the
// state of another cluster; the object gets a resourceVersion of this one, and a uid if it has none.
func (t *Table[T]) Load(obj T) (T, error) {
	var none T
	if absent(obj) {
		return none, t.badRequest("load", "the object is nil")
	}
	obj = t.strategy.shallow(obj)
	meta := metaOf(obj)
	if !t.resource.namespaced {
		meta.Namespace = ""
	}
	errs := validateMetaCreate(&metav1.ObjectMeta{Name: meta.Name, Namespace: meta.Namespace}, t.resource)
	if len(errs) > 0 && !t.store.asGiven {
		return none, t.invalid(meta.Name, errs)
	}
	if t.strategy.defaults != nil {
		t.strategy.defaults(obj)
	}
	key := Key(meta.Namespace, meta.Name)
	old, _ := t.rows.Get(key)
	if meta.UID == "" {
		meta.UID = newUID(t.resource.kind, key, t.removed[key])
	}
	if meta.CreationTimestamp.IsZero() {
		meta.CreationTimestamp = clock(t.store.now())
	}
	// API-006: no other way leads a time of its own into an object's metadata.
	meta.CreationTimestamp = *wholeSecond(&meta.CreationTimestamp)
	meta.DeletionTimestamp = wholeSecond(meta.DeletionTimestamp)
	t.put(key, obj, old)
	return obj, nil
}

// put stores obj under the next version and tells the watchers.
func (t *Table[T]) put(key string, obj, old T) {
	t.store.version++
	metaOf(obj).ResourceVersion = strconv.FormatUint(t.store.version, 10)
	t.rows.Set(key, obj)
	change := Change[T]{Type: Modified, Key: key, Object: obj, Old: old, Version: t.store.version}
	if absent(old) {
		change.Type = Added
	}
	t.tell(change)
}

// remove takes the object out and tells the watchers (API-070, API-072). An object that is created under the same key later on is
// another one, with another uid, and Added (API-075).
func (t *Table[T]) remove(key string, old T) T {
	t.store.version++
	last := t.strategy.shallow(old)
	metaOf(last).ResourceVersion = strconv.FormatUint(t.store.version, 10)
	t.rows.Delete(key)
	t.removed[key]++
	t.tell(Change[T]{Type: Deleted, Key: key, Object: last, Old: old, Version: t.store.version})
	return last
}

func (t *Table[T]) tell(change Change[T]) {
	for _, ix := range t.indexes {
		ix.apply(change)
	}
	t.history.add(change)
	for _, w := range t.watchers {
		w.deliver(change)
	}
}

func (t *Table[T]) invalid(name string, errs field.ErrorList) error {
	if len(errs) == 0 {
		return nil
	}
	return newInvalid(t.resource, name, errs)
}

// metaOf is the metadata of an object, for reading and writing.
func metaOf[T Object](obj T) *metav1.ObjectMeta {
	return any(obj).(metav1.ObjectMetaAccessor).GetObjectMeta().(*metav1.ObjectMeta)
}

// absent reports whether obj is the nil of its type.
func absent[T Object](obj T) bool {
	var none T
	return any(obj) == any(none)
}
