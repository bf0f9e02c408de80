package explore

import (
	"cmp"
	"maps"
	"reflect"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/api"
	coreobjects "github.com/volsim/volsim/internal/core/objects"
)

// versions are the resourceVersions of an object. A resourceVersion counts the writes to all objects, so it differs between runs that
// differ in nothing else. A state therefore has only the index of a version among those of its object.
type versions struct {
	known   []version // ascending; never written to
	gone    int       // how often the object was deleted
	content digest    // zero for a deleted object
	share   digest    // of objects.all
}

// version is a resourceVersion of an object, with the digest of the object.
type version struct {
	number  uint64
	content digest
}

// find returns the index of a resourceVersion, or else the index that it would have.
func (v *versions) find(number uint64) (int, bool) {
	return slices.BinarySearchFunc(v.known, number, func(at version, number uint64) int { return cmp.Compare(at.number, number) })
}

// objects are the objects of the store as of the last readStore.
type objects struct {
	version uint64 // of the store
	byRef   map[api.Ref]versions
	shared  bool // byRef is that of a copy, too
	all     digest
}

// put sets the versions of an object.
func (o *objects) put(ref api.Ref, v versions) {
	o.all = o.all.minus(v.share)
	v.share = digest{}.mix(bytesOf(string(ref.Kind)), bytesOf(ref.Key), v.content[:], number(len(v.known)), number(v.gone))
	o.all = o.all.plus(v.share)
	o.byRef[ref] = v
}

// readStore returns the objects that have changed since the last call, in no order. It skips Kubernetes Events, because no controller reads
// them.
func (t *tracker) readStore() (changed []api.Ref) {
	s := t.engine.Store()
	if t.now.objects.version == s.Version() && t.now.objects.version != 0 {
		return nil
	}
	o := &t.now.objects
	o.version = s.Version()
	if o.shared {
		o.byRef, o.shared = maps.Clone(o.byRef), false
	}
	for _, kind := range kindsOfOutcome(s) {
		if n := s.Writes(kind); n == t.writes[kind] {
			continue
		} else {
			t.writes[kind] = n
		}
		for _, obj := range s.List(kind) {
			ref := api.RefTo(obj)
			v := o.byRef[ref]
			number := versionOf(obj.GetResourceVersion())
			if n := len(v.known); n > 0 && v.known[n-1].number == number {
				continue
			}
			v.known = append(slices.Clip(v.known), version{number: number})
			o.byRef[ref] = v
			v.content = t.content(obj)
			v.known[len(v.known)-1].content = v.content
			o.put(ref, v)
			changed = append(changed, ref)
			t.wrote(ref.Kind, obj)
		}
	}
	for ref, v := range o.byRef {
		if v.content != (digest{}) && s.Lookup(ref.Kind, ref.Key) == nil {
			v.content = digest{}
			v.gone++
			o.put(ref, v)
			changed = append(changed, ref)
		}
	}
	return changed
}

func versionOf(text string) uint64 {
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// version reads the index of a resourceVersion among those of an object.
func (r *reader) version(ref api.Ref, version string) {
	r.flag(version == "")
	if version == "" {
		return
	}
	v := r.tracker.now.objects.byRef[ref]
	i, exact := v.find(versionOf(version))
	r.number(uint64(i))
	r.flag(exact)
}

// recall takes over the digests of the objects that are stored or undelivered, which the run whose path this one repeats has read. It is not
// for other objects: a controller may have changed a copy that has the resourceVersion of a stored one.
func (t *tracker) recall() {
	note := func(ref api.Ref, obj api.Object) {
		if obj == nil {
			return
		}
		v := t.now.objects.byRef[ref]
		if i, ok := v.find(versionOf(obj.GetResourceVersion())); ok {
			t.contents[obj] = v.known[i].content
		}
	}
	for ref := range t.now.objects.byRef {
		note(ref, t.engine.Store().Lookup(ref.Kind, ref.Key))
	}
	for a := range t.engine.EachActor {
		for _, view := range a.Views() {
			if view.Current() {
				continue
			}
			for late := range view.Undelivered {
				ref := api.Ref{Kind: view.Kind(), Key: late.Key}
				if late.Type != api.Deleted {
					note(ref, late.Object)
				}
				note(ref, late.Old)
			}
		}
	}
}

// content returns the digest of an object, with the index of its version in place of the resourceVersion. Stored objects are immutable, so
// each is read once.
func (t *tracker) content(obj api.Object) digest {
	if coreobjects.IsNil(obj) {
		return digest{}
	}
	if d, ok := t.contents[obj]; ok {
		return d
	}
	r := t.newReader()
	r.object = true
	ref := api.RefTo(obj)
	r.version(ref, obj.GetResourceVersion())
	switch obj := obj.(type) {
	case *corev1.PersistentVolume:
		if claim := obj.Spec.ClaimRef; claim != nil {
			r.unversioned = claim
			r.version(api.Ref{Kind: api.PersistentVolumeClaim, Key: api.Key(claim.Namespace, claim.Name)}, claim.ResourceVersion)
		}
	case *corev1.Event:
		about := &obj.InvolvedObject
		r.unversioned = about
		r.version(api.Ref{Kind: api.Kind(about.Kind), Key: api.Key(about.Namespace, about.Name)}, about.ResourceVersion)
	}
	r.read(reflect.ValueOf(obj).Elem())
	d := r.close()
	t.contents[obj] = d
	return d
}
