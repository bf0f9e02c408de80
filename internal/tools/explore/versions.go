package explore

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/api"
)

// versions are those that an object has had. A resourceVersion counts the writes of all, so it differs between runs that differ in nothing
// else; what counts is the order of the versions of one object, and that is what is kept of it.
type versions struct {
	known   []uint64 // ascending; never written to
	gone    int      // how often the object went
	content digest   // of one that is not there none
}

// objects are the objects of the store as they were at the last look.
type objects struct {
	version uint64 // of the store
	byRef   map[api.Ref]versions
	all     digest
}

// look reads the store, and lists the objects that have changed since the last look, in order. Kubernetes Events are left out: nothing
// that runs reads them.
func (t *tracker) look() (changed []api.Ref) {
	s := t.engine.Store()
	if t.now.objects.version == s.Version() && t.now.objects.version != 0 {
		return nil
	}
	o := &t.now.objects
	o.version = s.Version()
	seen := map[api.Ref]bool{}
	for _, kind := range kindsOfOutcome() {
		for _, obj := range s.List(kind) {
			ref := api.RefTo(obj)
			seen[ref] = true
			v := o.byRef[ref]
			number := versionOf(obj.GetResourceVersion())
			if n := len(v.known); n > 0 && v.known[n-1] == number {
				continue
			}
			v.known = append(slices.Clip(v.known), number)
			o.byRef[ref] = v
			v.content = t.content(obj)
			o.byRef[ref] = v
			changed = append(changed, ref)
			t.wrote(ref.Kind, obj)
		}
	}
	for _, ref := range sortedRefs(o.byRef) {
		if v := o.byRef[ref]; v.content != (digest{}) && !seen[ref] {
			v.content = digest{}
			v.gone++
			o.byRef[ref] = v
			changed = append(changed, ref)
		}
	}
	if len(changed) > 0 {
		o.all = digest{}
		for _, ref := range sortedRefs(o.byRef) {
			v := o.byRef[ref]
			o.all = o.all.mix([]byte(ref.String()), v.content[:], number(len(v.known)), number(v.gone))
		}
	}
	return changed
}

func sortedRefs[T any](m map[api.Ref]T) []api.Ref {
	return slices.SortedFunc(maps.Keys(m), func(a, b api.Ref) int {
		if a.Kind != b.Kind {
			return strings.Compare(string(a.Kind), string(b.Kind))
		}
		return strings.Compare(a.Key, b.Key)
	})
}

func versionOf(text string) uint64 {
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// place says which of the versions of an object a resourceVersion is.
func (t *tracker) place(ref api.Ref, version string) []byte {
	if version == "" {
		return nil
	}
	known := t.now.objects.byRef[ref].known
	i, exact := slices.BinarySearch(known, versionOf(version))
	return fmt.Appendf(nil, "%d %t", i, exact)
}

// content is the digest of an object, its version told by its place among those of the object. An object is never written to once it is
// shared, so each is read once.
func (t *tracker) content(obj api.Object) digest {
	if api.IsNil(obj) {
		return digest{}
	}
	if d, ok := t.contents[obj]; ok {
		return d
	}
	ref := api.RefTo(obj)
	place := t.place(ref, obj.GetResourceVersion())
	var named []byte
	bare := obj.DeepCopyObject().(api.Object)
	bare.SetResourceVersion("")
	switch obj := bare.(type) {
	case *corev1.PersistentVolume:
		if claim := obj.Spec.ClaimRef; claim != nil {
			named = t.place(api.Ref{Kind: api.PersistentVolumeClaim, Key: api.Key(claim.Namespace, claim.Name)}, claim.ResourceVersion)
			claim.ResourceVersion = ""
		}
	case *corev1.Event:
		about := &obj.InvolvedObject
		named = t.place(api.Ref{Kind: api.Kind(about.Kind), Key: api.Key(about.Namespace, about.Name)}, about.ResourceVersion)
		about.ResourceVersion = ""
	}
	data, err := json.Marshal(bare)
	if err != nil {
		data = fmt.Appendf(nil, "%#v", bare)
	}
	d := digest{}.mix(place, named, data)
	t.contents[obj] = d
	return d
}
