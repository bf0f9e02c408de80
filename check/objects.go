package check

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/objects"
	"github.com/volsim/volsim/trace"
)

// podInfo is what is remembered of a pod. It outlives the pod: a node that is cut off goes on with pods that are no longer there.
type podInfo struct {
	pod     *corev1.Pod
	gone    bool
	end     trace.Entry // what took it away
	since   trace.Entry // what gave it its node
	claims  []string
	allowed []VolumeID // the volumes of its claims, those that once were included
}

// active reports whether the pod is there and may come to run, or runs.
func (p *podInfo) active() bool { return !p.gone && !objects.Terminated(p.pod) }

func (w *World) applyWrite(e trace.Entry) {
	key := e.Object.Key
	switch e.Object.Kind {
	case api.PersistentVolume:
		old, _ := e.Old.(*corev1.PersistentVolume)
		pv, _ := e.New.(*corev1.PersistentVolume)
		w.putVolume(key, old, pv)
	case api.PersistentVolumeClaim:
		old, _ := e.Old.(*corev1.PersistentVolumeClaim)
		claim, _ := e.New.(*corev1.PersistentVolumeClaim)
		put(w.claims, key, claim)
		if old != nil {
			delete(w.claimKeys, old.UID)
		}
		if claim != nil {
			w.claimKeys[claim.UID] = key
		}
		w.review(key)
		for _, c := range []*corev1.PersistentVolumeClaim{old, claim} {
			if c == nil {
				continue
			}
			if pv := w.volumes[c.Spec.VolumeName]; pv != nil {
				w.touchVolume(pv)
			}
		}
	case api.Pod:
		old, _ := e.Old.(*corev1.Pod)
		pod, _ := e.New.(*corev1.Pod)
		w.putPod(e, old, pod)
	case api.Node:
		node, _ := e.New.(*corev1.Node)
		put(w.nodes, key, node)
	case api.CSIDriver:
		driver, _ := e.New.(*storagev1.CSIDriver)
		put(w.drivers, key, driver)
	case api.VolumeAttachment:
		va, _ := e.New.(*storagev1.VolumeAttachment)
		old, _ := e.Old.(*storagev1.VolumeAttachment)
		put(w.attachments, key, va)
		if va == nil {
			va = old
		}
		if name := va.Spec.Source.PersistentVolumeName; name != nil && w.volumes[*name] != nil {
			w.touchVolume(w.volumes[*name])
		}
	}
}

// put keeps an object under its key, or forgets it.
func put[T any](objs map[string]*T, key string, obj *T) {
	if obj == nil {
		delete(objs, key)
		return
	}
	objs[key] = obj
}

func (w *World) touchVolume(pv *corev1.PersistentVolume) {
	if id, _, ok := w.idOf(pv); ok {
		w.touch(id)
	}
}

func (w *World) putVolume(name string, old, pv *corev1.PersistentVolume) {
	put(w.volumes, name, pv)
	if old != nil {
		if id, _, ok := w.idOf(old); ok {
			if r := w.records[id]; r != nil {
				r.pvs = slices.DeleteFunc(r.pvs, func(n string) bool { return n == name })
				w.drop(r)
			}
			w.touch(id)
		}
	}
	if pv != nil {
		if id, _, ok := w.idOf(pv); ok {
			r := w.record(id)
			r.last = pv
			at, _ := slices.BinarySearch(r.pvs, name)
			r.pvs = slices.Insert(r.pvs, at, name)
			w.touch(id)
		}
		if ref := pv.Spec.ClaimRef; ref != nil {
			w.review(api.Key(ref.Namespace, ref.Name))
		}
	}
}

func (w *World) putPod(e trace.Entry, old, pod *corev1.Pod) {
	if info := w.infoOf(old); info != nil && (pod == nil || pod.UID != old.UID) {
		info.pod, info.gone, info.end = old, true, e
		for _, claim := range info.claims {
			w.podsByClaim[claim] = without(w.podsByClaim[claim], info)
			if len(w.podsByClaim[claim]) == 0 {
				delete(w.podsByClaim, claim)
			}
		}
		for _, id := range info.allowed {
			w.podsOf[id] = without(w.podsOf[id], info)
			if len(w.podsOf[id]) == 0 {
				delete(w.podsOf, id)
			}
			w.touch(id)
		}
	}
	if pod == nil {
		return
	}
	info := w.pods[pod.UID]
	if info == nil {
		info = &podInfo{claims: objects.ClaimsOf(pod)}
		w.pods[pod.UID] = info
		for _, claim := range info.claims {
			w.podsByClaim[claim] = append(w.podsByClaim[claim], info)
		}
	}
	if pod.Spec.NodeName != "" && info.since.Type == "" {
		info.since = e
	}
	info.pod = pod
	for _, claim := range info.claims {
		w.allow(info, claim)
	}
	for _, id := range info.allowed {
		w.touch(id)
	}
}

// infoOf is what is known of a pod, nil for nil.
func (w *World) infoOf(pod *corev1.Pod) *podInfo {
	if pod == nil {
		return nil
	}
	return w.pods[pod.UID]
}

func without(pods []*podInfo, gone *podInfo) []*podInfo {
	return slices.DeleteFunc(pods, func(p *podInfo) bool { return p == gone })
}

// review looks at who may have the volume of a claim.
func (w *World) review(claim string) {
	for _, info := range w.podsByClaim[claim] {
		w.allow(info, claim)
	}
}

// allow notes that the pod may have the volume that its claim is bound to, if there is one (MNT-072g, MNT-072h).
func (w *World) allow(info *podInfo, key string) {
	claim := w.claims[key]
	if claim == nil || claim.Spec.VolumeName == "" {
		return
	}
	pv := w.volumes[claim.Spec.VolumeName]
	if pv == nil || pv.Spec.ClaimRef == nil || pv.Spec.ClaimRef.UID != claim.UID {
		return
	}
	id, _, ok := w.idOf(pv)
	if !ok || slices.Contains(info.allowed, id) {
		return
	}
	info.allowed = append(info.allowed, id)
	w.podsOf[id] = append(w.podsOf[id], info)
	w.touch(id)
}
