package store

import (
	"cmp"
	"time"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/strategy"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Create stores a new object (API-001) and returns it as stored: defaulted, admitted, with uid, creationTimestamp and
// resourceVersion. Errors are those of the API server: Invalid, AlreadyExists, Forbidden.
func (t *table[T]) Create(obj T) (T, error) { return t.CreateWith(obj, CreateOptions{}) }

// CreateWith is Create with options.
func (t *table[T]) CreateWith(obj T, opts CreateOptions) (T, error) {
	var none T
	if absent(obj) {
		return none, t.badRequest("create", "the object is nil")
	}
	if opts.Tried.key != "" {
		return t.createPrepared(obj, opts.Tried.key)
	}
	if !opts.Owned {
		obj = t.strategy.Shallow(obj)
	}
	meta := metaOf(obj)
	if t.resource.custom {
		if err := t.store.terminating(t.resource, meta.Name); err != nil {
			return none, err
		}
	}
	// API-009: a namespace on a cluster-scoped object is cleared.
	if !t.resource.namespaced {
		meta.Namespace = ""
	}
	if t.strategy.Defaults != nil {
		t.strategy.Defaults(obj)
	}
	version := meta.ResourceVersion
	clearServerFields(meta)
	meta.OwnerReferences = distinctOwners(meta.OwnerReferences)
	t.trackFields(obj, none, api.Main)
	if err := t.admitNew(obj, opts); err != nil {
		return none, err
	}
	if t.store.reviewer != nil {
		// API-388: webhooks that change the object come after the rest of the admission.
		reviewed, err := t.reviewCreate(obj, opts)
		if err != nil {
			return none, err
		}
		obj, meta = reviewed, metaOf(reviewed)
		version = cmp.Or(meta.ResourceVersion, version)
		meta.ResourceVersion = ""
	}
	meta.CreationTimestamp = clock(t.store.now())
	if meta.Name == "" && meta.GenerateName != "" {
		return t.createGenerated(obj, version, opts)
	}
	stored, _, err := t.createNamed(obj, version, opts)
	if err != nil {
		return none, err
	}
	return stored, nil
}

// createGenerated stores an object under a name that is generated. One that is taken is drawn again, and everything after it is repeated (API-008).
func (t *table[T]) createGenerated(obj T, version string, opts CreateOptions) (T, error) {
	var none T
	meta := metaOf(obj)
	base, nth := meta.GenerateName, t.store.nthName(meta.GenerateName)
	if t.store.reviewer != nil {
		nth = t.store.reviewer.Number(nth)
	}
	for attempt := 0; ; attempt++ {
		meta.Name = generateName(base, nth, attempt)
		stored, taken, err := t.createNamed(obj, version, opts)
		switch {
		case err == nil:
			return stored, nil
		case !taken || attempt+1 == generateNameAttempts:
			return none, err
		}
	}
}

// admitNew completes a new object as admission does, or rejects it.
func (t *table[T]) admitNew(obj T, opts CreateOptions) error {
	if t.resource.namespaced {
		if err := t.store.admitNamespace(t.resource, metaOf(obj)); err != nil {
			return err
		}
	}
	if t.admission.create != nil {
		if err := t.admission.create(t.store, obj); err != nil {
			return err
		}
	}
	if opts.Admit != nil {
		if err := opts.Admit(obj); err != nil {
			return err
		}
	}
	t.store.completeLimits(obj)
	if err := t.store.completeAccount(t.resource, obj); err != nil {
		return err
	}
	if err := t.store.completePriority(t.resource, obj); err != nil {
		return err
	}
	return t.store.completeRuntime(t.resource, obj)
}

// clearServerFields clears the metadata that only the server sets (API-001).
func clearServerFields(meta *metav1.ObjectMeta) {
	meta.UID = ""
	meta.ResourceVersion = ""
	meta.SelfLink = ""
	meta.CreationTimestamp = metav1.Time{}
	meta.DeletionTimestamp = nil
	meta.DeletionGracePeriodSeconds = nil
}

// mayRead counts the writes of objects that admission and validation of a new object of the table may read. Objects of its own kind are not
// among them, nor are volumes, claims and pods.
func (t *table[T]) mayRead() uint64 {
	if t.unread {
		return t.store.read
	}
	return t.store.read - t.written
}

// createNamed prepares, validates and stores a new object whose name is known. taken reports that the error is AlreadyExists. version
// is the resourceVersion that the request named, if any.
func (t *table[T]) createNamed(obj T, version string, opts CreateOptions) (stored T, taken bool, err error) {
	meta := metaOf(obj)
	key := api.Key(meta.Namespace, meta.Name)
	// API-057: an object created after one of the same name is another object. The selector of a Job contains the uid.
	meta.UID = newUID(t.resource.kind, key, t.removed[key])
	if t.strategy.Sync != nil {
		for _, text := range t.strategy.Sync(obj) {
			t.store.warned.warn(text)
		}
	}
	if t.strategy.PrepareCreate != nil {
		t.strategy.PrepareCreate(obj, meta.CreationTimestamp)
	}
	validated := !opts.SkipValidation && !t.store.asGiven
	if validated && t.admission.allocate != nil {
		var none T
		if err := t.admission.allocate(t.store, obj, none); err != nil {
			return obj, false, err
		}
	}
	if validated && !(opts.Tried.accepted && opts.Tried.read == t.mayRead()) {
		if err := t.invalid(meta.Name, t.validateNew(obj)); err != nil {
			return obj, false, err
		}
	}
	t.warnOf(obj, nil)
	// QUO-026: the rest of the admission comes after validation, and before the name turns out to be taken.
	if err := t.store.checkLimits(t.resource, obj, nil, api.Main); err != nil {
		return obj, false, err
	}
	if err := t.store.checkRuntime(t.resource, obj); err != nil {
		return obj, false, err
	}
	// API-390: webhooks that refuse are asked about an object that is valid, before it counts for a quota.
	if err := t.reviewValid(obj, nil, api.Main); err != nil {
		return obj, false, err
	}
	if err := t.store.chargeQuotas(t.resource, obj, nil, api.Main, opts.DryRun || t.store.dry); err != nil {
		return obj, false, err
	}
	// API-017: a new object has no version. The server finds out when it stores the object, after validation; a dry run of a client never does.
	if !t.store.dry && parseVersion(version) != 0 {
		return obj, false, errVersionOnCreate()
	}
	if c := t.whole().Get(key); c != nil {
		return obj, true, t.alreadyExists(meta, c.obj)
	}
	if t.store.dry {
		meta.ResourceVersion = version // API-017: as it was sent
	}
	if opts.DryRun {
		t.encode(obj)
		return obj, false, nil
	}
	if stored, err = t.toStorage(obj); err != nil {
		return obj, false, err
	}
	t.insert(key, stored, validated)
	return stored, false, nil
}

// validateNew validates a new object.
func (t *table[T]) validateNew(obj T) field.ErrorList {
	var errs field.ErrorList
	if t.strategy.ValidateName != nil {
		errs = t.strategy.ValidateName(obj)
	}
	errs = append(errs, validateMetaCreate(metaOf(obj), t.resource)...)
	if t.strategy.ValidateCreate == nil {
		return errs
	}
	own := t.strategy.ValidateCreate(obj)
	// API-545: the metadata of an Event of the core group are validated only if the rest is valid.
	if event, ok := any(obj).(*corev1.Event); ok && len(own) > 0 && !strategy.OfEventsGroup(event) {
		return own
	}
	return append(errs, own...)
}

// createPrepared stores an object that Prepare completed, and returns it as stored.
func (t *table[T]) createPrepared(obj T, key string) (T, error) {
	var none T
	t.warnOf(obj, nil)
	if err := t.store.chargeQuotas(t.resource, obj, nil, api.Main, t.store.dry); err != nil {
		return none, err
	}
	if c := t.whole().Get(key); c != nil {
		return none, t.alreadyExists(metaOf(obj), c.obj)
	}
	stored, err := t.toStorage(obj)
	if err != nil {
		return none, err
	}
	t.insert(key, stored, !t.store.asGiven)
	return stored, nil
}

// clock returns the time as the API server stores it: in whole seconds (API-006).
func clock(now time.Time) metav1.Time {
	return metav1.NewTime(now.UTC().Truncate(time.Second))
}
