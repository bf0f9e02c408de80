package store

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	apiresource "k8s.io/apimachinery/pkg/api/resource"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/strategy"
)

// copies is what the copies of a store share, because stored objects have it in common: the resources of the newest one, its class, and
// what nearly all have.
type copies struct {
	size  apiresource.Quantity
	sizes corev1.ResourceList // with that size of storage; nil at first
	class *string
}

// readWriteOnce is shared by stored objects.
var readWriteOnce = [1]corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}

// Copy returns a copy of an object that the store may keep. It shares nothing with obj, but may with stored objects: what it refers to must be
// replaced, and not written to. A copied list of resources takes 670 bytes, more than the rest of a claim.
func (s *Store) Copy(obj api.Object) api.Object {
	switch obj := obj.(type) {
	case *corev1.PersistentVolume:
		rest, spec := *obj, &obj.Spec
		rest.Spec.Capacity, rest.Spec.AccessModes, rest.Spec.VolumeMode = nil, nil, nil
		c := new(corev1.PersistentVolume)
		rest.DeepCopyInto(c)
		c.Spec.Capacity = s.copies.list(spec.Capacity)
		c.Spec.AccessModes, c.Spec.VolumeMode = copyModes(spec.AccessModes), copyMode(spec.VolumeMode)
		return c
	case *corev1.PersistentVolumeClaim:
		rest, spec := *obj, &obj.Spec
		rest.Spec.Resources.Requests, rest.Spec.AccessModes, rest.Spec.VolumeMode, rest.Spec.StorageClassName = nil, nil, nil, nil
		c := new(corev1.PersistentVolumeClaim)
		rest.DeepCopyInto(c)
		c.Spec.Resources.Requests = s.copies.list(spec.Resources.Requests)
		c.Spec.AccessModes, c.Spec.VolumeMode = copyModes(spec.AccessModes), copyMode(spec.VolumeMode)
		c.Spec.StorageClassName = s.copies.name(spec.StorageClassName)
		return c
	}
	return obj.DeepCopyObject().(api.Object)
}

// Share returns a copy of an object that a store may keep. It shares with obj what that refers to, if a store never writes to it. So obj must
// not change, as long as the copy exists.
func Share(obj api.Object) api.Object {
	switch obj := obj.(type) {
	case *corev1.PersistentVolume:
		return strategy.PersistentVolume.Shallow(obj)
	case *corev1.PersistentVolumeClaim:
		return strategy.PersistentVolumeClaim.Shallow(obj)
	case *corev1.Pod:
		return strategy.Pod.Shallow(obj)
	}
	return obj.DeepCopyObject().(api.Object)
}

// list copies a list of resources.
func (c *copies) list(list corev1.ResourceList) corev1.ResourceList {
	size, only := strategy.OnlyStorage(list)
	if !only {
		return list.DeepCopy()
	}
	if c.sizes == nil || c.size != size {
		c.size = size.DeepCopy()
		c.sizes = corev1.ResourceList{corev1.ResourceStorage: c.size}
	}
	return c.sizes
}

// name copies the name of a class.
func (c *copies) name(name *string) *string {
	if name == nil {
		return nil
	}
	if c.class == nil || *c.class != *name {
		c.class = new(*name)
	}
	return c.class
}

func copyModes(modes []corev1.PersistentVolumeAccessMode) []corev1.PersistentVolumeAccessMode {
	if len(modes) == 1 && modes[0] == corev1.ReadWriteOnce {
		return readWriteOnce[:]
	}
	return slices.Clone(modes)
}

func copyMode(mode *corev1.PersistentVolumeMode) *corev1.PersistentVolumeMode {
	switch {
	case mode == nil:
		return nil
	case *mode == strategy.Filesystem:
		return &strategy.Filesystem
	}
	return new(*mode)
}
