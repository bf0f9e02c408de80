package controller

import (
	"fmt"
	"strings"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/objects"
)

// Get reads the newest version of an object from the API server. key is namespace/name, or name for kinds without a namespace. An object
// that does not exist is an error for which apierrors.IsNotFound holds. A key that lacks the namespace is an error, here and below.
func Get[T api.Object](p *Process, key string) (T, error) {
	if err := checkKey[T](p, "get", key); err != nil {
		return none[T](), err
	}
	return copied(clientOf[T](p).Get(p.proc, key))
}

// Create creates an object and returns it as stored.
func Create[T api.Object](p *Process, obj T) (T, error) {
	if err := checkWritten(p, "create", obj); err != nil {
		return obj, err
	}
	return copied(clientOf[T](p).Create(p.proc, copyOf(obj)))
}

// Update replaces an object except for its status, and returns it as stored. A resourceVersion that is not the stored one is a conflict.
func Update[T api.Object](p *Process, obj T) (T, error) {
	if err := checkWritten(p, "update", obj); err != nil {
		return obj, err
	}
	return copied(clientOf[T](p).Update(p.proc, copyOf(obj)))
}

// UpdateStatus replaces the status of an object and returns it as stored.
func UpdateStatus[T api.Object](p *Process, obj T) (T, error) {
	if err := checkWritten(p, "update", obj); err != nil {
		return obj, err
	}
	return copied(clientOf[T](p).UpdateStatus(p.proc, copyOf(obj)))
}

// Patch applies a JSON merge patch to the object, not to its status, and returns it as stored.
func Patch[T api.Object](p *Process, key, patch string) (T, error) {
	if err := checkKey[T](p, "patch", key); err != nil {
		return none[T](), err
	}
	return copied(clientOf[T](p).Patch(p.proc, key, []byte(patch), api.Main))
}

// PatchStatus applies a JSON merge patch to the status of the object, and returns it as stored.
func PatchStatus[T api.Object](p *Process, key, patch string) (T, error) {
	if err := checkKey[T](p, "patch", key); err != nil {
		return none[T](), err
	}
	return copied(clientOf[T](p).Patch(p.proc, key, []byte(patch), api.Status))
}

// Delete deletes an object. One with finalizers stays, marked, until they are gone.
func Delete[T api.Object](p *Process, key string) error {
	if err := checkKey[T](p, "delete", key); err != nil {
		return err
	}
	_, err := clientOf[T](p).Delete(p.proc, key, api.DeleteOptions{})
	return err
}

func copied[T api.Object](obj T, err error) (T, error) {
	if err != nil {
		return none[T](), err
	}
	return copyOf(obj), nil
}

func none[T api.Object]() (obj T) { return obj }

// checkWritten returns an error for an object that cannot be written, and for a process that has ended.
func checkWritten(p *Process, verb string, obj api.Object) error {
	if err := p.check(verb); err != nil {
		return err
	}
	return objects.CheckWritten(verb, obj)
}

// checkKey returns an error for a key without a namespace if objects of type T have one, and for a process that has ended.
func checkKey[T api.Object](p *Process, verb, key string) error {
	if err := p.check(verb); err != nil {
		return err
	}
	kind := kindOf[T]()
	if known := p.proc.Engine().Store().Describe(kind); known != nil && known.Namespaced && !strings.Contains(key, "/") {
		return fmt.Errorf("%s %s %q: the key has no namespace; want namespace/name", verb, kind, key)
	}
	return nil
}

// client makes calls about objects of type T.
type client[T api.Object] interface {
	Get(p *engine.Process, key string) (T, error)
	Create(p *engine.Process, obj T) (T, error)
	Update(p *engine.Process, obj T) (T, error)
	UpdateStatus(p *engine.Process, obj T) (T, error)
	Patch(p *engine.Process, key string, patch []byte, sub api.Subresource) (T, error)
	Delete(p *engine.Process, key string, opts api.DeleteOptions) (T, error)
}

// clientOf finds the client for objects of type T.
func clientOf[T api.Object](p *Process) client[T] {
	server := p.proc.API()
	for _, client := range []any{
		server.Volumes, server.Claims, server.Classes, server.AttributesClasses, server.Pods, server.Nodes, server.Attachments,
		server.CSIDrivers, server.CSINodes, server.Capacities, server.Events,
	} {
		if client, ok := client.(engine.Client[T]); ok {
			return client
		}
	}
	return otherClient[T]{server}
}
