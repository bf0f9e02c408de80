package store

import (
	"strconv"

	"github.com/volsim/volsim/api"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// UpdateOptions changes how an object is updated. The zero value is what a client does.
type UpdateOptions struct {
	// SkipValidation as in CreateOptions.
	SkipValidation bool
	// Own says that the object was made for this update alone: it is the store's from then on, whatever the answer is, and saves
	// it a copy. Whoever made it must not touch it again.
	Own bool
}

// Update replaces the object's main resource (API-002) and returns it as stored. Status is kept. An object that is being deleted
// and has lost its last finalizer is removed (API-055); the answer is then the request itself (API-056).
// Errors are those of the API server: NotFound, Conflict, Invalid, Forbidden.
func (t *Table[T]) Update(obj T) (T, error) { return t.UpdateWith(obj, api.Main, UpdateOptions{}) }

// UpdateStatus replaces the object's status (API-003); its metadata goes with it as section 10 of the API rules says.
func (t *Table[T]) UpdateStatus(obj T) (T, error) {
	return t.UpdateWith(obj, api.Status, UpdateOptions{})
}

// UpdateWith is Update or UpdateStatus with options.
func (t *Table[T]) UpdateWith(obj T, sub api.Subresource, opts UpdateOptions) (T, error) {
	var none T
	if absent(obj) {
		return none, t.badRequest("update", "the object is nil")
	}
	if err := t.checkSubresource(sub); err != nil {
		return none, err
	}
	if !opts.Own {
		obj = t.strategy.shallow(obj)
	}
	meta := metaOf(obj)
	if meta.Name == "" && !t.store.asGiven {
		return none, errOtherName("", "")
	}
	// API-009: a namespace on a cluster-scoped object is cleared.
	if !t.resource.namespaced {
		meta.Namespace = ""
	}
	c := t.cellOf(meta)
	if c == nil {
		// API-004, API-246: nothing is created by an update.
		return none, t.notFound(api.Key(meta.Namespace, meta.Name))
	}
	oldMeta := metaOf(c.obj)
	// API-013: the uid is looked at before the version.
	if meta.UID != "" && meta.UID != oldMeta.UID {
		return none, t.conflict(meta.Name, errUID(meta.UID, oldMeta.UID))
	}
	return t.replace(c, obj, sub, opts.SkipValidation)
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
func (t *Table[T]) replace(c *cell[T], obj T, sub api.Subresource, skipValidation bool) (T, error) {
	var none T
	old := c.obj
	meta, oldMeta := metaOf(obj), metaOf(old)
	if err := t.checkVersion(meta, oldMeta); err != nil {
		return none, err
	}
	switch {
	case t.strategy.defaultsOver != nil:
		t.strategy.defaultsOver(obj, old)
	case t.strategy.defaults != nil:
		t.strategy.defaults(obj)
	}
	meta.OwnerReferences = distinctOwners(meta.OwnerReferences)
	carryOver(meta, oldMeta)
	if sub == api.Status {
		if t.strategy.prepareStatus != nil {
			t.strategy.prepareStatus(obj, old, t.store.instant())
		}
	} else if t.strategy.prepareUpdate != nil {
		t.strategy.prepareUpdate(obj, old)
	}
	if t.strategy.specChanged != nil && sub == api.Main && t.strategy.specChanged(obj, old) {
		meta.Generation++
	}
	checked := !skipValidation && !t.store.asGiven
	if checked {
		errs := validateMetaUpdate(meta, oldMeta, c.checked, t.fine)
		validate := t.strategy.validateUpdate
		if sub == api.Status {
			validate = t.strategy.validateStatus
		}
		// What was valid, and is the same piece of memory, still is.
		trusted := sub == api.Main && c.valid && t.strategy.shared != nil && t.strategy.shared(obj, old)
		if validate != nil && !trusted {
			errs = append(errs, validate(obj, old)...)
		}
		if err := t.invalid(meta.Name, errs); err != nil {
			return none, err
		}
	}
	// API-003: the admission of updates looks at the main resource only.
	if sub == api.Main && t.strategy.admitUpdate != nil {
		if err := t.strategy.admitUpdate(t.store, obj, old); err != nil {
			return none, err
		}
	}
	// API-055, API-066: with its last finalizer a deleted object goes, unless it still has grace.
	if oldMeta.DeletionTimestamp != nil && len(meta.Finalizers) == 0 && graceOver(oldMeta) {
		// API-056: watchers see what was stored, the caller what it sent.
		t.remove(c)
		meta.ResourceVersion = oldMeta.ResourceVersion
		return obj, nil
	}
	// API-014: the same bytes again are no write.
	if sameMeta(meta, oldMeta) && t.strategy.equal(obj, old) {
		return old, nil
	}
	c.checked = checked
	if sub == api.Main {
		c.valid = checked
	}
	if checked {
		t.fine = meta.Annotations
	}
	t.put(c, obj)
	return obj, nil
}
