package store

import (
	"reflect"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apiresource "k8s.io/apimachinery/pkg/api/resource"
)

// commons is what many stored objects have in common, down to the piece of memory: who creates a million volumes says a million times
// over that each is for a file system, and what is stored once takes less room, and less time to collect garbage around.
type commons struct {
	// lists have storage in them and nothing else. Such a list is a map of several hundred bytes, the largest part of a small volume or claim.
	lists       pool[apiresource.Quantity, corev1.ResourceList]
	modes       pool[corev1.PersistentVolumeMode, *corev1.PersistentVolumeMode]
	classes     pool[string, *string]
	hostPaths   pool[corev1.HostPathType, *corev1.HostPathType]
	accessModes pool[corev1.PersistentVolumeAccessMode, []corev1.PersistentVolumeAccessMode]
	finalizers  pool[string, []string]
}

// pool holds one value of each sort, the first that came.
type pool[K comparable, V any] map[K]V

// poolSize bounds the memory for what no object may have any more. Where there are more objects, there may be as many as these.
const poolSize = 1024

// share is the value that the pool has under the key, or else the value itself, which it has from then on. objects is how many there are.
func (p *pool[K, V]) share(key K, value V, objects int) V {
	if same, ok := (*p)[key]; ok {
		return same
	}
	if *p == nil || len(*p) >= max(poolSize, objects) {
		*p = pool[K, V]{}
	}
	(*p)[key] = value
	return value
}

// sharePointer is share for what a pointer leads to.
func sharePointer[E comparable](p *pool[E, *E], pointer *E, objects int) *E {
	if pointer == nil {
		return nil
	}
	return p.share(*pointer, pointer, objects)
}

// shareOne is share for slices of one element.
func shareOne[E comparable](p *pool[E, []E], items []E, objects int) []E {
	if len(items) != 1 {
		return items
	}
	return p.share(items[0], items[:1:1], objects)
}

// shareList is share for lists of resources.
func (c *commons) shareList(list corev1.ResourceList, objects int) corev1.ResourceList {
	if size, only := onlyStorage(list); only {
		return c.lists.share(size, list, objects)
	}
	return list
}

func compactVolume(volume *corePV, c *commons, objects int) {
	spec := &volume.Spec
	volume.Finalizers = shareOne(&c.finalizers, volume.Finalizers, objects)
	spec.Capacity = c.shareList(spec.Capacity, objects)
	spec.AccessModes = shareOne(&c.accessModes, spec.AccessModes, objects)
	spec.VolumeMode = sharePointer(&c.modes, spec.VolumeMode, objects)
	if path := spec.HostPath; path != nil {
		if shared := sharePointer(&c.hostPaths, path.Type, objects); shared != path.Type {
			spec.HostPath = &corev1.HostPathVolumeSource{Path: path.Path, Type: shared}
		}
	}
}

func compactClaim(claim *corePVC, c *commons, objects int) {
	spec := &claim.Spec
	claim.Finalizers = shareOne(&c.finalizers, claim.Finalizers, objects)
	spec.Resources.Requests = c.shareList(spec.Resources.Requests, objects)
	spec.AccessModes = shareOne(&c.accessModes, spec.AccessModes, objects)
	spec.VolumeMode = sharePointer(&c.modes, spec.VolumeMode, objects)
	spec.StorageClassName = sharePointer(&c.classes, spec.StorageClassName, objects)
}

// lazyCopy is a slice that belongs to somebody else until it is written to.
type lazyCopy[E any] struct {
	items []E
	own   bool
}

// at gives access to an item for writing. The first call copies the slice.
func (l *lazyCopy[E]) at(i int) *E {
	if !l.own {
		l.items, l.own = slices.Clone(l.items), true
	}
	return &l.items[i]
}

// sharesAll reports whether two structs have the same values down to where their pointers, slices and maps lead. It is the case
// for copies of a struct, and saves comparing what they share.
func sharesAll[S any](a, b *S) bool {
	return a == b || sharesFields(reflect.ValueOf(a).Elem(), reflect.ValueOf(b).Elem())
}

func sharesFields(a, b reflect.Value) bool {
	for i := range a.NumField() {
		x, y := a.Field(i), b.Field(i)
		same := false
		switch x.Kind() {
		case reflect.Pointer, reflect.Map:
			same = x.UnsafePointer() == y.UnsafePointer()
		case reflect.Slice:
			same = x.Len() == y.Len() && (x.Len() == 0 || x.UnsafePointer() == y.UnsafePointer())
		case reflect.Struct:
			same = sharesFields(x, y)
		default:
			same = x.Equal(y)
		}
		if !same {
			return false
		}
	}
	return true
}
