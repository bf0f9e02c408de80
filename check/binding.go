package check

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/trace"
)

var boundOnce = Invariant{
	Name:        "bound-one-to-one",
	Description: "no two claims are Bound to one PersistentVolume, and no two PersistentVolumes are Bound to one claim for longer than the time limit",
	Rules:       []string{"BIND-003", "BIND-060e", "BIND-067", "BIND-068"},
	Within:      time.Minute,
	Exceptions: []string{
		"a short time: a PersistentVolume is Bound before its claim; if the claim changes meanwhile, another PersistentVolume made for it may be chosen, and the first is released at its next sync",
		"forced by a user who edits claimRef, or the annotations of controllers",
	},
	watch: func(inv *watched, s *state) Watcher {
		// The writes that made them Bound, by what they are bound to.
		var claims, volumes bonds
		due := newDeadlines(s, inv.Within)
		return Watcher{
			written: func(e *trace.Entry) {
				switch e.Object.Kind {
				case api.PersistentVolumeClaim:
					old, _ := e.Old.(*corev1.PersistentVolumeClaim)
					claim, _ := e.New.(*corev1.PersistentVolumeClaim)
					if to := volumeOfBound(claim); claims.move(e, volumeOfBound(old), to) && len(claims.of[to]) == 2 {
						s.reportBonds(inv, claims.of[to], "PersistentVolume "+to, api.Ref{Kind: api.PersistentVolume, Key: to})
					}
				case api.PersistentVolume:
					old, _ := e.Old.(*corev1.PersistentVolume)
					pv, _ := e.New.(*corev1.PersistentVolume)
					from, to := string(claimOfBound(old)), string(claimOfBound(pv))
					if !volumes.move(e, from, to) {
						return
					}
					if len(volumes.of[from]) < 2 {
						due.end(from)
					}
					if len(volumes.of[to]) >= 2 {
						due.begin(to, e.Time, "", func() { s.reportBonds(inv, volumes.of[to], "the claim with uid "+to) })
					}
				}
			},
			due:    due,
			forget: func() { claims.forget(); volumes.forget() },
		}
	},
}

// bonds are the writes that made objects Bound, by what they are bound to, oldest first.
type bonds struct {
	of     map[string][]trace.Entry
	unused [][]trace.Entry // empty lists with memory
}

// move records that an object that was Bound to from is now Bound to to. It reports whether that is a change.
func (b *bonds) move(e *trace.Entry, from, to string) bool {
	if from == to {
		return false
	}
	if list := b.of[from]; len(list) > 0 {
		list = slices.DeleteFunc(list, func(other trace.Entry) bool { return other.Object == e.Object })
		b.of[from] = list
		if len(list) == 0 {
			delete(b.of, from)
			b.unused = append(b.unused, list)
		}
	}
	if to == "" {
		return true
	}
	list := b.of[to]
	if last := len(b.unused) - 1; list == nil && last >= 0 {
		list, b.unused = b.unused[last], b.unused[:last]
	}
	set(&b.of, to, append(list, *e))
	return true
}

func (b *bonds) forget() {
	for _, list := range b.of {
		clear(list)
		b.unused = append(b.unused, list[:0])
	}
	clear(b.of)
}

// reportBonds reports the first two of several objects that are Bound to the same object.
func (s *state) reportBonds(inv *watched, bound []trace.Entry, to string, refs ...api.Ref) {
	first, second := bound[0], bound[1]
	v := Violation{
		Objects: []api.Ref{first.Object, second.Object},
		Text:    fmt.Sprintf("%s and %s are both Bound to %s", first.Object, second.Object, to),
	}
	v.Forced, v.Witness = s.userEdit(append(refs, first.Object, second.Object)...)
	v.Witness = append(v.Witness, first, second)
	s.report(inv, v)
}

// volumeOfBound returns the volume to which a claim is Bound, "" if it is not Bound.
func volumeOfBound(claim *corev1.PersistentVolumeClaim) string {
	if claim == nil || claim.Status.Phase != corev1.ClaimBound {
		return ""
	}
	return claim.Spec.VolumeName
}

// claimOfBound returns the uid of the claim to which a volume is Bound, "" if it is not Bound.
func claimOfBound(pv *corev1.PersistentVolume) types.UID {
	if pv == nil || pv.Status.Phase != corev1.VolumeBound || pv.Spec.ClaimRef == nil {
		return ""
	}
	return pv.Spec.ClaimRef.UID
}

var boundBothWays = Invariant{
	Name:        "bound-both-ways",
	Description: "a Bound claim and its Bound PersistentVolume refer to each other",
	Rules:       []string{"BIND-003", "BIND-070"},
	Exceptions:  []string{"forced by a user who edits claimRef, or the annotations of controllers"},
	watch: func(inv *watched, s *state) Watcher {
		wrong := map[string]bool{} // by claim
		return Watcher{forget: func() { clear(wrong) }, written: func(e *trace.Entry) {
			var claim *corev1.PersistentVolumeClaim
			switch obj := e.New.(type) {
			case *corev1.PersistentVolumeClaim:
				claim = obj
			case *corev1.PersistentVolume:
				if obj.Spec.ClaimRef != nil {
					claim = s.claims[api.Key(obj.Spec.ClaimRef.Namespace, obj.Spec.ClaimRef.Name)]
				}
			default:
				return
			}
			if claim == nil {
				return
			}
			pv := s.volumes[volumeOfBound(claim)]
			if pv == nil || pv.Status.Phase != corev1.VolumeBound || claimOfBound(pv) == claim.UID {
				if len(wrong) > 0 {
					delete(wrong, api.KeyOf(claim))
				}
				return
			}
			key := api.KeyOf(claim)
			if wrong[key] {
				return
			}
			wrong[key] = true
			v := Violation{
				Objects: []api.Ref{api.RefTo(claim), api.RefTo(pv)},
				Text:    fmt.Sprintf("claim %s is Bound to PersistentVolume %s, which is Bound to a claim with uid %q", key, pv.Name, claimOfBound(pv)),
			}
			v.Forced, v.Witness = s.userEdit(v.Objects...)
			v.Witness = append(v.Witness, *e)
			s.report(inv, v)
		}}
	},
}

var protected = Invariant{
	Name:        "protected-while-used",
	Description: "a claim is not deleted while a pod uses it, nor a PersistentVolume while a claim is bound to it",
	Rules:       []string{"PROT-001", "PROT-012", "PROT-026"},
	Exceptions: []string{"pods bound to their node after the deletion of the claim was requested",
		"forced by a user who removes the finalizer"},
	watch: func(inv *watched, s *state) Watcher {
		return Watcher{written: func(e *trace.Entry) {
			if e.New != nil {
				return
			}
			switch old := e.Old.(type) {
			case *corev1.PersistentVolumeClaim:
				s.checkClaimGone(inv, e, old)
			case *corev1.PersistentVolume:
				s.checkVolumeGone(inv, e, old)
			}
		}}
	},
}

func (s *state) checkClaimGone(inv *watched, e *trace.Entry, claim *corev1.PersistentVolumeClaim) {
	for _, info := range s.podsByClaim[e.Object.Key] {
		late := claim.DeletionTimestamp != nil && !info.since.Time.Before(claim.DeletionTimestamp.Time)
		if !info.active() || info.pod.Spec.NodeName == "" || late {
			continue
		}
		v := Violation{
			Objects: []api.Ref{e.Object, api.RefTo(info.pod)},
			Text:    fmt.Sprintf("claim %s is gone while pod %s uses it", e.Object.Key, api.KeyOf(info.pod)),
		}
		v.Forced, v.Witness = s.userEdit(e.Object)
		v.Witness = append(v.Witness, info.since, *e)
		s.report(inv, v)
		return
	}
}

func (s *state) checkVolumeGone(inv *watched, e *trace.Entry, pv *corev1.PersistentVolume) {
	if pv.Spec.ClaimRef == nil {
		return
	}
	claim := s.claims[api.Key(pv.Spec.ClaimRef.Namespace, pv.Spec.ClaimRef.Name)]
	if claim == nil || claim.UID != pv.Spec.ClaimRef.UID || volumeOfBound(claim) != pv.Name || pv.Status.Phase != corev1.VolumeBound {
		return
	}
	v := Violation{
		Objects: []api.Ref{e.Object, api.RefTo(claim)},
		Text:    fmt.Sprintf("PersistentVolume %s is gone while claim %s is bound to it", pv.Name, api.KeyOf(claim)),
	}
	v.Forced, v.Witness = s.userEdit(e.Object)
	v.Witness = append(v.Witness, *e)
	s.report(inv, v)
}
