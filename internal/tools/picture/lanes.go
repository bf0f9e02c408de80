package picture

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/backends"
	"github.com/volsim/volsim/internal/core/objects"
	"github.com/volsim/volsim/internal/core/store"
	"github.com/volsim/volsim/storage"
	"github.com/volsim/volsim/trace"
)

// Kinds of lanes that are no objects.
const (
	componentKind = "Component" // an actor
	storageKind   = "Storage"   // a volume of a backend that no PersistentVolume of the run is about
)

type laneKey struct{ kind, name string }

// index finds the objects that entries are about without naming them.
type index struct {
	byUID    map[string]api.Ref
	byHandle map[string]string // the PersistentVolume, by the backend's handle
	stops    map[string]bool   // actors that do not run all the time
}

// indexOf reads the whole trace.
func indexOf(log *trace.Trace) index {
	ix := index{byUID: map[string]api.Ref{}, byHandle: map[string]string{}, stops: map[string]bool{}}
	for e := range log.Entries() {
		if e.Type == trace.Crashed {
			ix.stops[e.Actor] = true
		}
		for _, obj := range []api.Object{e.Old, e.New} {
			if e.Type != trace.Write || objects.IsNil(obj) {
				continue
			}
			ix.byUID[string(obj.GetUID())] = e.Object
			if pv, ok := obj.(*corev1.PersistentVolume); ok {
				for _, handle := range []string{backends.Handle(pv), pv.Name} {
					if _, known := ix.byHandle[handle]; !known {
						ix.byHandle[handle] = pv.Name
					}
				}
			}
		}
	}
	return ix
}

// lane finds the lane of that kind and name, or makes it.
func (b *builder) lane(kind, name string) int {
	key := laneKey{kind, name}
	if i, ok := b.lanes[key]; ok {
		return i
	}
	i := len(b.doc.Lanes)
	l := &lane{Kind: kind, Name: name, Bars: []int64{}, Versions: []version{}, Related: []int{}}
	if gvk := store.GroupVersionKind(api.Kind(kind)); gvk.Kind != "" {
		l.APIVersion = gvk.GroupVersion().String()
	}
	b.doc.Lanes = append(b.doc.Lanes, l)
	b.states = append(b.states, &laneState{phase: -1})
	b.lanes[key] = i
	return i
}

func (b *builder) objectLane(ref api.Ref) int {
	if ref == (api.Ref{}) {
		return -1
	}
	return b.lane(string(ref.Kind), ref.Key)
}

// volumeLane is the lane of what a backend knows under the handle.
func (b *builder) volumeLane(handle string) int {
	if name, ok := b.index.byHandle[handle]; ok {
		return b.lane(string(api.PersistentVolume), name)
	}
	return b.lane(storageKind, handle)
}

// componentLane is the lane of an actor, -1 for one that runs from its start to the end.
func (b *builder) componentLane(actor string) int {
	if !b.index.stops[actor] {
		return -1
	}
	return b.lane(componentKind, actor)
}

// callLanes are the lanes that a call is about: the first is the one it belongs to.
func (b *builder) callLanes(call api.Call) []int {
	var lanes []int
	add := func(i int) {
		if i >= 0 && !slices.Contains(lanes, i) {
			lanes = append(lanes, i)
		}
	}
	if call.Kind != "" {
		add(b.objectLane(api.Ref{Kind: api.Kind(call.Kind), Key: call.Key}))
		return lanes
	}
	if call.Key != "" {
		add(b.volumeLane(call.Key))
	}
	if ref, ok := b.index.byUID[call.Pod]; ok {
		add(b.objectLane(ref))
	}
	if call.Verb == string(storage.Attach) || call.Verb == string(storage.Detach) {
		if name, ok := b.attachments[attachmentKey{b.index.byHandle[call.Key], call.Node}]; ok {
			add(b.lane(string(api.VolumeAttachment), name))
		}
	}
	return lanes
}

// attachmentKey is what a VolumeAttachment is about.
type attachmentKey struct{ volume, node string }

// retryLane is the lane of the object that an actor tries again, or that of the actor if the object has none.
func (b *builder) retryLane(e trace.Entry) int {
	if i, ok := b.lanes[laneKey{string(e.Object.Kind), e.Object.Key}]; ok {
		return i
	}
	return b.componentLane(e.Actor)
}

// relate notes what an object says it is bound up with.
func (b *builder) relate(i int, obj api.Object) {
	to := func(kind api.Kind, key string) {
		if key != "" {
			b.related[relation{i, laneKey{string(kind), key}}] = struct{}{}
		}
	}
	switch obj := obj.(type) {
	case *corev1.PersistentVolumeClaim:
		to(api.PersistentVolume, obj.Spec.VolumeName)
		if class := obj.Spec.StorageClassName; class != nil {
			to(api.StorageClass, *class)
		}
	case *corev1.PersistentVolume:
		if ref := obj.Spec.ClaimRef; ref != nil {
			to(api.PersistentVolumeClaim, api.Key(ref.Namespace, ref.Name))
		}
	case *corev1.Pod:
		to(api.Node, obj.Spec.NodeName)
		for _, v := range obj.Spec.Volumes {
			switch {
			case v.PersistentVolumeClaim != nil:
				to(api.PersistentVolumeClaim, api.Key(obj.Namespace, v.PersistentVolumeClaim.ClaimName))
			case v.Ephemeral != nil:
				to(api.PersistentVolumeClaim, api.Key(obj.Namespace, obj.Name+"-"+v.Name))
			}
		}
	case *storagev1.VolumeAttachment:
		to(api.Node, obj.Spec.NodeName)
		if pv := obj.Spec.Source.PersistentVolumeName; pv != nil {
			to(api.PersistentVolume, *pv)
			b.doc.Lanes[i].Label = *pv + " → " + obj.Spec.NodeName
			b.attachments[attachmentKey{*pv, obj.Spec.NodeName}] = obj.Name
		}
	}
}

// relation is a lane that names another, which need not exist.
type relation struct {
	from int
	to   laneKey
}

// fillRelated has lanes that are bound up with each other say so, both of them.
func (b *builder) fillRelated() {
	for r := range b.related {
		if j, ok := b.lanes[r.to]; ok && j != r.from {
			b.doc.Lanes[r.from].Related = append(b.doc.Lanes[r.from].Related, j)
			b.doc.Lanes[j].Related = append(b.doc.Lanes[j].Related, r.from)
		}
	}
	for _, l := range b.doc.Lanes {
		slices.Sort(l.Related)
		l.Related = slices.Compact(l.Related)
	}
}
