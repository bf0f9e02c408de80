package store

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/volsim/volsim/api"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// Conflicts: an update, a patch that names a version, a delete with preconditions, or a binding is based on another state of the object
// than the stored one.

// errStale is the reason of the Conflict for a write that is based on an old version (API-011).
var errStale = errors.New("the object has been modified; please apply your changes to the latest version and try again")

// checkVersion compares the version that an update or a patch is based on with the stored one. Versions are numbers: "0" is none, and
// anything else that is not a number is a server error.
func (t *table[T]) checkVersion(meta, old *metav1.ObjectMeta) error {
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
		// API-012: some kinds overwrite whatever is stored.
		if t.resource.unconditional {
			return nil
		}
		return t.versionMissing(meta.Name)
	default:
		// API-011: an old version conflicts, even if nothing would change.
		return t.conflict(meta.Name, errStale)
	}
}

// checkPreconditions compares the preconditions of a delete with the stored object (API-058, API-024). This one conflict names the kind
// instead of the resource, as upstream does.
func (t *table[T]) checkPreconditions(meta *metav1.ObjectMeta, opts api.DeleteOptions) error {
	var why error
	switch {
	case opts.UID != "" && opts.UID != meta.UID:
		why = fmt.Errorf("the UID in the precondition (%s) does not match the UID in record (%s). "+
			"The object might have been deleted and then recreated", opts.UID, meta.UID)
	case opts.ResourceVersion != "" && opts.ResourceVersion != meta.ResourceVersion:
		why = fmt.Errorf("the ResourceVersion in the precondition (%s) does not match the ResourceVersion in record (%s). "+
			"The object might have been modified", opts.ResourceVersion, meta.ResourceVersion)
	default:
		return nil
	}
	kind := t.resource.groupKind()
	return apierrors.NewConflict(schema.GroupResource{Group: kind.Group, Resource: kind.Kind}, meta.Name, why)
}

// conflict returns a Conflict, which names the resource (API-024).
func (t *table[T]) conflict(name string, why error) error {
	return apierrors.NewConflict(t.resource.groupResource(), name, why)
}

// errUID returns the reason of a Conflict about the uid that a write names (API-013, API-261). key is that of the object in etcd.
func errUID(key string, asked, stored types.UID) error {
	return errPrecondition(key, "UID in precondition: %s, UID in object meta: %s", asked, stored)
}

// errVersion returns the reason of a Conflict about the version that a binding names (API-261).
func errVersion(key, asked, stored string) error {
	return errPrecondition(key, "ResourceVersion in precondition: %s, ResourceVersion in object meta: %s", asked, stored)
}

// errPrecondition returns the error of upstream's storage.
func errPrecondition(key, format string, args ...any) error {
	return fmt.Errorf("StorageError: invalid object, Code: 4, Key: %s, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: %s",
		key, fmt.Sprintf(format, args...))
}

// prefixes are the parts of keys in etcd for kinds that do not have the plural name there.
var prefixes = map[api.Kind]string{
	api.Node:                            "minions",
	"Endpoints":                         "services/endpoints",
	"Ingress.networking.k8s.io":         "ingress",
	"ReplicationController":             "controllers",
	"Service":                           "services/specs",
	"APIService.apiregistration.k8s.io": "apiregistration.k8s.io/apiservices",
	"CustomResourceDefinition.apiextensions.k8s.io": "apiextensions.k8s.io/customresourcedefinitions",
}

// etcdKey returns the key in etcd of the object with that key.
func (r *resource) etcdKey(key string) string {
	prefix := prefixes[r.kind]
	switch {
	case prefix != "":
	case r.custom:
		prefix = r.group + "/" + r.plural
	default:
		prefix = r.plural
	}
	return "/registry/" + prefix + "/" + key
}
