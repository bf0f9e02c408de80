package store

import (
	"github.com/volsim/volsim/api"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Create stores a new object (API-001) and returns it as stored: defaulted, admitted, with uid, creationTimestamp and
// resourceVersion. Errors are those of the API server: Invalid, AlreadyExists, Forbidden.
func (t *Table[T]) Create(obj T) (T, error) { return t.CreateWith(obj, api.CreateOptions{}) }

// CreateWith is Create with options.
func (t *Table[T]) CreateWith(obj T, opts api.CreateOptions) (T, error) {
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
	now := t.store.instant()
	meta.CreationTimestamp = *now

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
		if versioned {
			return none, errVersionOnCreate()
		}
		key := api.Key(meta.Namespace, meta.Name)
		if c := t.cells.Get(key); c != nil {
			if generated && attempt+1 < generateNameAttempts {
				continue
			}
			return none, t.alreadyExists(meta, c.obj)
		}
		// API-057: whoever comes after an object of the same name is another one.
		meta.UID = newUID(t.resource.kind, key, t.removed[key])
		if !opts.DryRun {
			if t.strategy.compact != nil {
				t.strategy.compact(obj, &t.store.commons, t.store.objects)
			}
			t.insert(key, obj, !opts.SkipValidation && !t.store.asGiven)
		}
		return obj, nil
	}
}
