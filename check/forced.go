package check

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/actors"
	"github.com/volsim/volsim/internal/core/objects"
	"github.com/volsim/volsim/trace"
)

// applyDecision records the decisions to detach by force (ATT-064).
func (s *state) applyDecision(e *trace.Entry) {
	if e.Detach == nil || !e.Detach.Forced {
		return
	}
	id, ok := idOfUnique(corev1.UniqueVolumeName(e.Detach.Volume))
	if !ok {
		return
	}
	r := s.records[id]
	if r == nil {
		return
	}
	if r.forced == nil {
		r.forced = map[string]trace.Entry{}
	}
	r.forced[e.Detach.Node] = *e
}

// idOfUnique returns the volume for which nodes use this name (ATT-001).
func idOfUnique(unique corev1.UniqueVolumeName) (volumeID, bool) {
	plugin, name, err := objects.SplitVolumeName(unique)
	if err != nil {
		return volumeID{}, false
	}
	if plugin != objects.CSIPluginName {
		return volumeID{plugin, name}, true
	}
	driver, handle, ok := objects.SplitCSIName(name)
	return volumeID{driver, handle}, ok
}

// deletedByForce describes who deleted a pod without waiting for its node, with the write; "" if the kubelet deleted it or it exists.
func (s *state) deletedByForce(uid types.UID) (string, []trace.Entry) {
	info := s.pods[uid]
	if info == nil || !info.gone || info.end.Actor == actors.Kubelet(info.pod.Spec.NodeName) {
		return "", nil
	}
	return "pod " + api.KeyOf(info.pod) + " was deleted by " + info.end.Actor + " without waiting for its node", []trace.Entry{info.end}
}

// noteUserEdit records edits by users of fields that belong to controllers: references, finalizers, annotations, status.
func (s *state) noteUserEdit(e *trace.Entry) {
	if !api.IsUser(e.Actor) {
		return
	}
	if e.Verb == "load" || strings.HasSuffix(e.Verb, "-status") {
		set(&s.userEdits, e.Object, *e)
		return
	}
	if e.Old == nil {
		return
	}
	if e.New == nil {
		// It was being deleted, and the user removed its last finalizer.
		if len(e.Old.GetFinalizers()) > 0 {
			set(&s.userEdits, e.Object, *e)
		}
		return
	}
	switch old := e.Old.(type) {
	case *corev1.PersistentVolume:
		pv := e.New.(*corev1.PersistentVolume)
		if !sameRef(old.Spec.ClaimRef, pv.Spec.ClaimRef) || !slices.Equal(old.Finalizers, pv.Finalizers) {
			set(&s.userEdits, e.Object, *e)
		}
	case *corev1.PersistentVolumeClaim:
		claim := e.New.(*corev1.PersistentVolumeClaim)
		lost := old.Annotations[objects.AnnBindCompleted] != claim.Annotations[objects.AnnBindCompleted] ||
			old.Annotations[objects.AnnBoundByController] != claim.Annotations[objects.AnnBoundByController]
		if lost || !slices.Equal(old.Finalizers, claim.Finalizers) {
			set(&s.userEdits, e.Object, *e)
		}
	}
}

func sameRef(a, b *corev1.ObjectReference) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Namespace == b.Namespace && a.Name == b.Name && a.UID == b.UID
}

// userEdit describes a user's edit of fields that belong to controllers in one of the objects; "" if there is none.
func (s *state) userEdit(refs ...api.Ref) (string, []trace.Entry) {
	for _, ref := range refs {
		if e, ok := s.userEdits[ref]; ok {
			return "a user edited " + ref.String(), []trace.Entry{e}
		}
	}
	return "", nil
}
