package check

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/objects"
	"github.com/volsim/volsim/trace"
)

// podInfo is the state of a pod. It outlives the pod object, because a node that is cut off keeps running deleted pods.
type podInfo struct {
	pod     *corev1.Pod
	gone    bool
	end     trace.Entry // the write that deleted it
	since   trace.Entry // the write that bound it to its node
	claims  []string
	allowed []volumeID // the volumes that its claims are or were bound to
	mounted []volumeID // the volumes that were published for it
}

// active reports whether the pod exists and has not ended.
func (p *podInfo) active() bool { return !p.gone && !objects.Terminated(p.pod) }

// waits reports whether the kubelet still wants the volume for a pod that has ended: the pod exists, and its volume was never mounted (MNT-901).
func (p *podInfo) waits(id volumeID) bool { return !p.gone && !slices.Contains(p.mounted, id) }

func (s *state) applyWrite(e *trace.Entry) {
	key := e.Object.Key
	switch e.Object.Kind {
	case api.PersistentVolume:
		old, _ := e.Old.(*corev1.PersistentVolume)
		pv, _ := e.New.(*corev1.PersistentVolume)
		s.putVolume(key, old, pv)
	case api.PersistentVolumeClaim:
		old, _ := e.Old.(*corev1.PersistentVolumeClaim)
		claim, _ := e.New.(*corev1.PersistentVolumeClaim)
		put(&s.claims, key, claim)
		if old != nil {
			delete(s.claimKeys, old.UID)
		}
		if claim != nil {
			set(&s.claimKeys, claim.UID, key)
		}
		s.review(key)
		for _, c := range []*corev1.PersistentVolumeClaim{old, claim} {
			if c == nil {
				continue
			}
			if pv := s.volumes[c.Spec.VolumeName]; pv != nil {
				s.touchVolume(pv)
			}
		}
	case api.Pod:
		old, _ := e.Old.(*corev1.Pod)
		pod, _ := e.New.(*corev1.Pod)
		s.putPod(e, old, pod)
	case api.Node:
		node, _ := e.New.(*corev1.Node)
		put(&s.nodes, key, node)
	case api.CSIDriver:
		driver, _ := e.New.(*storagev1.CSIDriver)
		put(&s.drivers, key, driver)
	case api.VolumeAttachment:
		va, _ := e.New.(*storagev1.VolumeAttachment)
		old, _ := e.Old.(*storagev1.VolumeAttachment)
		put(&s.attachments, key, va)
		if va == nil {
			va = old
		}
		if name := va.Spec.Source.PersistentVolumeName; name != nil && s.volumes[*name] != nil {
			s.touchVolume(s.volumes[*name])
		}
	}
}

// put stores an object under its key, or deletes it if obj is nil.
func put[T any](objs *map[string]*T, key string, obj *T) {
	if obj == nil {
		delete(*objs, key)
		return
	}
	set(objs, key, obj)
}

func (s *state) touchVolume(pv *corev1.PersistentVolume) {
	if id, ok := s.idOf(pv); ok {
		s.touch(id)
	}
}

func (s *state) putVolume(name string, old, pv *corev1.PersistentVolume) {
	put(&s.volumes, name, pv)
	if old != nil {
		if id, ok := s.idOf(old); ok {
			if r := s.records[id]; r != nil {
				r.pvs = slices.DeleteFunc(r.pvs, func(n string) bool { return n == name })
				s.drop(r)
			}
			s.touch(id)
		}
	}
	if pv != nil {
		if id, ok := s.idOf(pv); ok {
			r := s.record(id)
			r.last = pv
			at, _ := slices.BinarySearch(r.pvs, name)
			r.pvs = slices.Insert(r.pvs, at, name)
			s.touch(id)
		}
		if ref := pv.Spec.ClaimRef; ref != nil {
			s.review(api.Key(ref.Namespace, ref.Name))
		}
	}
}

func (s *state) putPod(e *trace.Entry, old, pod *corev1.Pod) {
	if info := s.infoOf(old); info != nil && (pod == nil || pod.UID != old.UID) {
		info.pod, info.gone, info.end = old, true, *e
		for _, claim := range info.claims {
			s.podsByClaim[claim] = without(s.podsByClaim[claim], info)
			if len(s.podsByClaim[claim]) == 0 {
				delete(s.podsByClaim, claim)
			}
		}
		for _, id := range info.allowed {
			s.podsOf[id] = without(s.podsOf[id], info)
			if len(s.podsOf[id]) == 0 {
				delete(s.podsOf, id)
			}
			s.touch(id)
		}
	}
	if pod == nil {
		return
	}
	info := s.pods[pod.UID]
	if info == nil {
		info = &podInfo{claims: objects.ClaimsOf(pod)}
		set(&s.pods, pod.UID, info)
		for _, claim := range info.claims {
			set(&s.podsByClaim, claim, append(s.podsByClaim[claim], info))
		}
	}
	if pod.Spec.NodeName != "" && info.since.Type == "" {
		info.since = *e
	}
	info.pod = pod
	for _, claim := range info.claims {
		s.allow(info, claim)
	}
	for _, id := range info.allowed {
		s.touch(id)
	}
}

// infoOf returns the state of a pod, nil for nil.
func (s *state) infoOf(pod *corev1.Pod) *podInfo {
	if pod == nil {
		return nil
	}
	return s.pods[pod.UID]
}

func without(pods []*podInfo, gone *podInfo) []*podInfo {
	return slices.DeleteFunc(pods, func(p *podInfo) bool { return p == gone })
}

// review updates which pods may use the volume of a claim.
func (s *state) review(claim string) {
	for _, info := range s.podsByClaim[claim] {
		s.allow(info, claim)
	}
}

// allow records that the pod may use the volume that its claim is bound to, if there is one (MNT-072g, MNT-072h).
func (s *state) allow(info *podInfo, key string) {
	claim := s.claims[key]
	if claim == nil || claim.Spec.VolumeName == "" {
		return
	}
	pv := s.volumes[claim.Spec.VolumeName]
	if pv == nil || pv.Spec.ClaimRef == nil || pv.Spec.ClaimRef.UID != claim.UID {
		return
	}
	id, ok := s.idOf(pv)
	if !ok || slices.Contains(info.allowed, id) {
		return
	}
	info.allowed = append(info.allowed, id)
	set(&s.podsOf, id, append(s.podsOf[id], info))
	s.touch(id)
}
