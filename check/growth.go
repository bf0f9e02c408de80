package check

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apiresource "k8s.io/apimachinery/pkg/api/resource"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/internal/core/objects"
	"github.com/volsim/volsim/storage"
	"github.com/volsim/volsim/trace"
)

var expandedFirst = Invariant{
	Name:        "expanded-before-reported",
	Description: "no controller reports a larger volume before its backend has expanded it, or a larger capacity of a claim than of its PersistentVolume",
	Rules:       []string{"EXP-004", "EXP-022", "EXP-024", "EXP-041"},
	Exceptions:  []string{"backends that do not report the size of their volumes", "a capacity of a PersistentVolume that a user writes"},
	watch: func(inv *watched, s *state) Watcher {
		return Watcher{written: func(e *trace.Entry) {
			switch obj := e.New.(type) {
			case *corev1.PersistentVolume:
				old, _ := e.Old.(*corev1.PersistentVolume)
				if old != nil && old.UID == obj.UID && !api.IsUser(e.Actor) {
					s.checkGrown(inv, old, obj, e)
				}
			case *corev1.PersistentVolumeClaim:
				old, _ := e.Old.(*corev1.PersistentVolumeClaim)
				if old != nil && old.UID == obj.UID && !api.IsUser(e.Actor) {
					s.checkShown(inv, old, obj, e)
				}
			}
		}}
	},
}

// sizer is a backend that reports the size of its volumes.
type sizer interface {
	Volume(id string) (fake.VolumeState, bool)
}

func storageOf(list corev1.ResourceList) apiresource.Quantity { return list[corev1.ResourceStorage] }

// checkGrown compares the increased capacity of a PersistentVolume with the size at the backend.
func (s *state) checkGrown(inv *watched, old, pv *corev1.PersistentVolume, e *trace.Entry) {
	capacity := storageOf(pv.Spec.Capacity)
	if capacity.Cmp(storageOf(old.Spec.Capacity)) <= 0 {
		return
	}
	id, ok := s.idOf(pv)
	if !ok {
		return
	}
	var b storage.Backend
	if objects.CSIOf(pv) != nil {
		b, ok = s.backends.Driver(id.Backend)
	} else if named, err := s.backends.ByName(id.Backend); err == nil {
		b = named
	}
	backend, reports := b.(sizer)
	if !ok || !reports {
		return
	}
	// EXP-022: the backend expands first.
	if v, exists := backend.Volume(id.ID); exists && v.Size > 0 && capacity.CmpInt64(v.Size) > 0 {
		s.report(inv, Violation{Backend: id.Backend, Volume: id.ID, Objects: []api.Ref{e.Object}, Witness: []trace.Entry{*e},
			Text: fmt.Sprintf("PersistentVolume %s has capacity %s, but %s has %d bytes", pv.Name, capacity.String(), id, v.Size)})
	}
}

// checkShown compares the increased capacity of a claim with that of its PersistentVolume.
func (s *state) checkShown(inv *watched, old, claim *corev1.PersistentVolumeClaim, e *trace.Entry) {
	capacity := storageOf(claim.Status.Capacity)
	pv := s.volumes[claim.Spec.VolumeName]
	if pv == nil || capacity.Cmp(storageOf(old.Status.Capacity)) <= 0 {
		return
	}
	// EXP-024, EXP-041: the PersistentVolume is written first.
	if capacity.Cmp(storageOf(pv.Spec.Capacity)) > 0 {
		size := storageOf(pv.Spec.Capacity)
		v := Violation{Objects: []api.Ref{e.Object, api.RefTo(pv)},
			Text: fmt.Sprintf("claim %s has capacity %s, but PersistentVolume %s has %s", e.Object.Key, capacity.String(), pv.Name, size.String())}
		v.Forced, v.Witness = s.userEdit(e.Object, api.RefTo(pv))
		v.Witness = append(v.Witness, *e)
		s.report(inv, v)
	}
}

var allocatedEnough = Invariant{
	Name:        "allocated-covers-capacity",
	Description: "status.allocatedResources is a size that was requested, and during an expansion it is more than the capacity of the claim",
	Rules:       []string{"EXP-004", "EXP-021", "EXP-030"},
	Exceptions:  []string{"claims that were loaded, or whose status a user wrote"},
	watch: func(inv *watched, s *state) Watcher {
		asked := map[string][]apiresource.Quantity{} // by uid of the claim
		return Watcher{forget: func() { clear(asked) }, written: func(e *trace.Entry) {
			if e.Object.Kind != api.PersistentVolumeClaim {
				return
			}
			claim, _ := e.New.(*corev1.PersistentVolumeClaim)
			if claim == nil {
				if e.Old != nil {
					delete(asked, string(e.Old.GetUID()))
				}
				return
			}
			uid := string(claim.UID)
			request := claim.Spec.Resources.Requests[corev1.ResourceStorage]
			known := false
			for _, size := range asked[uid] {
				known = known || size.Cmp(request) == 0
			}
			if !known {
				asked[uid] = append(asked[uid], request)
			}
			if !api.IsUser(e.Actor) {
				s.checkAllocated(inv, claim, asked[uid], e)
			}
		}}
	},
}

func (s *state) checkAllocated(inv *watched, claim *corev1.PersistentVolumeClaim, asked []apiresource.Quantity, e *trace.Entry) {
	allocated, ok := objects.Allocated(claim)
	if !ok {
		return
	}
	wrong := ""
	wanted := false
	for _, size := range asked {
		wanted = wanted || size.Cmp(allocated) == 0
	}
	capacity := storageOf(claim.Status.Capacity)
	switch {
	case !wanted:
		// EXP-030: only requested sizes are allocated.
		wrong = fmt.Sprintf("claim %s: %s is allocated but was never requested", e.Object.Key, allocated.String())
	case objects.ResizeStatus(claim) != "" && allocated.Cmp(capacity) <= 0:
		// EXP-021: an expansion allocates more than the claim has.
		wrong = fmt.Sprintf("claim %s: an expansion has allocated %s, but its capacity is %s", e.Object.Key, allocated.String(), capacity.String())
	}
	if wrong == "" {
		return
	}
	v := Violation{Objects: []api.Ref{e.Object}, Text: wrong}
	v.Forced, v.Witness = s.userEdit(e.Object)
	v.Witness = append(v.Witness, *e)
	s.report(inv, v)
}
