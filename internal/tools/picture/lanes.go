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

// The kinds of lanes that are not objects.
const (
	componentKind = "Component" // an actor
	storageKind   = "Storage"   // a volume of a backend without a PersistentVolume in the run
)

type laneKey struct{ kind, name string }

// index finds the objects of entries that do not name them.
type index struct {
	byUID    map[string]api.Ref
	byHandle map[string]string // the PersistentVolume, by the handle at the backend
	stops    map[string]bool   // actors that stop during the run
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

// lane returns the lane of that kind and name, and creates it if there is none.
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
	if named, ok := b.index.byUID[ref.Key]; ok {
		ref = named // a kubelet that restarted knows a pod by its uid
	}
	return b.lane(string(ref.Kind), ref.Key)
}

// volumeLane returns the lane of the volume with that handle.
func (b *builder) volumeLane(handle string) int {
	if name, ok := b.index.byHandle[handle]; ok {
		return b.lane(string(api.PersistentVolume), name)
	}
	return b.lane(storageKind, handle)
}

// componentLane returns the lane of an actor, -1 for one that never stops.
func (b *builder) componentLane(actor string) int {
	if !b.index.stops[actor] {
		return -1
	}
	return b.lane(componentKind, actor)
}

// callLanes returns the lanes of a call; the first one owns it.
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

// attachmentKey is the volume and the node of a VolumeAttachment.
type attachmentKey struct{ volume, node string }

// retryLane returns the lane of the object that an actor retries, or the lane of the actor if the object has none.
func (b *builder) retryLane(e trace.Entry) int {
	if i, ok := b.lanes[laneKey{string(e.Object.Kind), e.Object.Key}]; ok {
		return i
	}
	return b.componentLane(e.Actor)
}

// relate records the objects that an object names.
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
	case *corev1.Node:
		b.relateNode(to, obj.Name)
	case *corev1.Pod:
		if node := obj.Spec.NodeName; node != "" {
			to(api.Node, node)
			b.relateNode(to, node)
			b.pods[i] = node
		}
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

// The actors of a node are its machine and its kubelet.
const machinePrefix, kubeletPrefix = "machine/", "kubelet/"

// relateNode relates an object to the actors of a node.
func (b *builder) relateNode(to func(kind api.Kind, key string), node string) {
	to(componentKind, machinePrefix+node)
	to(componentKind, kubeletPrefix+node)
}

// relation is a lane and the lane that it names, which may not exist.
type relation struct {
	from int
	to   laneKey
}

// fillRelated sets Related of both lanes of each relation.
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
