package check

import (
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/actors"
	"github.com/volsim/volsim/storage"
	"github.com/volsim/volsim/trace"
)

var oneCreate = Invariant{
	Name:        "one-volume-per-claim",
	Description: "no two volumes are created for one claim, and no volume is created again with other properties",
	Rules:       []string{"XPROV-032"},
	Exceptions:  []string{"a second backend, because a user replaced the class while the claim was waiting"},
	watch: func(inv *watched, s *state) Watcher {
		live := map[string][]trace.Entry{} // by name
		return Watcher{forget: func() { clear(live) }, called: func(e *trace.Entry) {
			name := e.Call.Key
			switch {
			case done(e, storage.Delete):
				live[name] = deleteOf(live[name], e.Call.Target)
				if len(live[name]) == 0 {
					delete(live, name)
				}
			case done(e, storage.Create):
				for _, other := range live[name] {
					if other.Call.Target == e.Call.Target {
						return
					}
				}
				live[name] = append(live[name], *e)
				if len(live[name]) > 1 {
					first := live[name][0]
					s.report(inv, Violation{
						Backend: e.Call.Target, Volume: e.Call.Key,
						Text:    fmt.Sprintf("%s is created although %s exists for the same claim", idOfCall(e), idOfCall(&first)),
						Witness: []trace.Entry{first, *e},
					})
				}
			case e.Verb == "end" && e.Call.Verb == string(storage.Create) && storage.CodeOf(e.Err) == storage.AlreadyExists && len(live[name]) > 0:
				s.report(inv, Violation{
					Backend: e.Call.Target, Volume: e.Call.Key,
					Text:    fmt.Sprintf("%s is requested again with other properties", idOfCall(e)),
					Witness: []trace.Entry{live[name][0], *e},
				})
			}
		}}
	},
}

func deleteOf(entries []trace.Entry, backend string) []trace.Entry {
	rest := entries[:0]
	for _, e := range entries {
		if e.Call.Target != backend {
			rest = append(rest, e)
		}
	}
	return rest
}

var wantedDataStays = Invariant{
	Name:        "wanted-data-stays",
	Description: "storage is not deleted or scrubbed while a claim is bound to it, and not deleted if its PersistentVolume has had the policy Retain for longer than the time limit",
	Rules:       []string{"RECL-010", "BIND-003"},
	Within:      time.Minute,
	Exceptions:  []string{"a policy that is changed during the deletion, because the policy is not read again"},
	watch: func(inv *watched, s *state) Watcher {
		d := &deletions{inv: inv, state: s}
		return Watcher{called: d.called, written: d.written, forget: d.forget}
	},
}

// deletions checks calls that destroy data.
type deletions struct {
	inv      *watched
	state    *state
	retained map[string]trace.Entry  // the writes that set the policy Retain, by PersistentVolume
	begun    map[volumeID]*Violation // the violations found when a call began
}

func (d *deletions) forget() {
	clear(d.retained)
	clear(d.begun)
}

func (d *deletions) written(e *trace.Entry) {
	if e.Object.Kind != api.PersistentVolume {
		return
	}
	pv, _ := e.New.(*corev1.PersistentVolume)
	if pv == nil || pv.Spec.PersistentVolumeReclaimPolicy != corev1.PersistentVolumeReclaimRetain {
		delete(d.retained, e.Object.Key)
	} else if _, known := d.retained[e.Object.Key]; !known {
		set(&d.retained, e.Object.Key, *e)
	}
}

func (d *deletions) called(e *trace.Entry) {
	if e.Call.Verb != string(storage.Delete) && e.Call.Verb != string(storage.Recycle) {
		return
	}
	id := idOfCall(e)
	if e.Verb == "begin" {
		set(&d.begun, id, d.evaluate(id, e))
		return
	}
	v, began := d.begun[id]
	delete(d.begun, id)
	if e.Err != nil {
		return
	}
	if !began {
		v = d.evaluate(id, e)
	}
	if v != nil {
		if v.Witness[len(v.Witness)-1].Seq != e.Seq {
			v.Witness = append(v.Witness, *e)
		}
		d.state.report(d.inv, *v)
	}
}

// evaluate returns the violation if the data of a volume is destroyed now, nil if there is none.
func (d *deletions) evaluate(id volumeID, e *trace.Entry) *Violation {
	s := d.state
	for _, pv := range s.volumesOf(id) {
		ref := api.RefTo(pv)
		v := Violation{Backend: id.Backend, Volume: id.ID, Objects: []api.Ref{ref}}
		if owner := pv.Spec.ClaimRef; owner != nil {
			key := api.Key(owner.Namespace, owner.Name)
			claim := s.claims[key]
			if claim != nil && claim.UID == owner.UID && claim.Spec.VolumeName == pv.Name {
				v.Objects = append(v.Objects, api.RefTo(claim))
				v.Text = fmt.Sprintf("%s: %s while claim %s is bound to PersistentVolume %s", id, strings.ToLower(e.Call.Verb), key, pv.Name)
				v.Forced, v.Witness = s.userEdit(ref, api.RefTo(claim))
				if fault, ok := s.uncertainCreates[ref]; ok && v.Forced == "" {
					v.Forced = "a fault hid from its creator that it was created: " + ref.String()
					v.Witness = append(v.Witness, fault)
				}
				v.Witness = append(v.Witness, *e)
				return &v
			}
		}
		since, retain := d.retained[pv.Name]
		if retain && e.Call.Verb == string(storage.Delete) && s.now.Sub(since.Time) > d.inv.Within {
			v.Text = fmt.Sprintf("%s: delete although PersistentVolume %s has the policy Retain", id, pv.Name)
			v.Witness = []trace.Entry{since, *e}
			return &v
		}
	}
	return nil
}

var usedDataStays = Invariant{
	Name:        "used-data-stays",
	Description: "storage is not deleted or scrubbed while it is attached, staged or published",
	Rules:       []string{"PROT-001", "RECL-027"},
	Exceptions: []string{
		"hostPath volumes of pods that their kubelet has removed: a restarted kubelet has nothing to unpublish",
	},
	watch: func(inv *watched, s *state) Watcher {
		return Watcher{called: func(e *trace.Entry) {
			if !done(e, storage.Delete) && !done(e, storage.Recycle) {
				return
			}
			r := s.records[idOfCall(e)]
			if r == nil {
				return
			}
			at := len(r.uses) - 1
			for at >= 0 && s.releasedByNode(r, r.uses[at]) {
				at--
			}
			if at < 0 {
				return
			}
			u := r.uses[at]
			v := s.about(r, fmt.Sprintf("%s: %s while %s %s", r.id, strings.ToLower(e.Call.Verb), pastWords[u.Op], u.Node), u.Entry, *e)
			if u.Pod != "" {
				v.Text += " for " + s.podName(u.Pod)
				why, witness := s.deletedByForce(u.Pod)
				v.Forced = why
				v.Witness = append(v.Witness, witness...)
			}
			s.report(inv, v)
		}}
	},
}

// releasedByNode reports whether the use is a hostPath of a pod that its kubelet has removed.
func (s *state) releasedByNode(r *record, u use) bool {
	info := s.pods[u.Pod]
	// MNT-036: a restarted kubelet does not find hostPath volumes.
	return r.last != nil && r.last.Spec.HostPath != nil && info != nil && info.gone && info.end.Actor == actors.Kubelet(u.Node)
}
