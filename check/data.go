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
	Name:   "one-volume-per-claim",
	Says:   "no two volumes are made for one claim, nor one volume twice with other properties",
	Rules:  []string{"XPROV-032"},
	Except: []string{"a second backend that a user brings in by replacing the class while the claim waits"},
	Watch: func(inv Invariant, w *World) Watcher {
		live := map[string][]trace.Entry{} // by name
		return Watcher{Called: func(e trace.Entry) {
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
				live[name] = append(live[name], e)
				if len(live[name]) > 1 {
					first := live[name][0]
					w.Report(inv, Violation{
						Volume:  idOfCall(e),
						Text:    fmt.Sprintf("%s is made although %s is there for the same claim", idOfCall(e), idOfCall(first)),
						Witness: []trace.Entry{first, e},
					})
				}
			case e.Verb == "end" && e.Call.Verb == string(storage.Create) && storage.CodeOf(e.Err) == storage.AlreadyExists && len(live[name]) > 0:
				w.Report(inv, Violation{
					Volume:  idOfCall(e),
					Text:    fmt.Sprintf("%s is asked for again with other properties", idOfCall(e)),
					Witness: []trace.Entry{live[name][0], e},
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
	Name:   "wanted-data-stays",
	Says:   "storage is not deleted or scrubbed while a claim is bound to it, nor deleted when its PersistentVolume has said Retain for the time",
	Rules:  []string{"RECL-010", "BIND-003"},
	Within: time.Minute,
	Except: []string{"a policy that is changed while the deletion is under way comes too late: it is not read again"},
	Watch: func(inv Invariant, w *World) Watcher {
		d := &deletions{inv: inv, world: w, retained: map[string]trace.Entry{}, begun: map[VolumeID]*Violation{}}
		return Watcher{Called: d.called, Written: d.written}
	},
}

// deletions judges calls that destroy data.
type deletions struct {
	inv      Invariant
	world    *World
	retained map[string]trace.Entry  // the writes that made a PersistentVolume say Retain
	begun    map[VolumeID]*Violation // what was to be said when a call began
}

func (d *deletions) written(e trace.Entry) {
	if e.Object.Kind != api.PersistentVolume {
		return
	}
	pv, _ := e.New.(*corev1.PersistentVolume)
	if pv == nil || pv.Spec.PersistentVolumeReclaimPolicy != corev1.PersistentVolumeReclaimRetain {
		delete(d.retained, e.Object.Key)
	} else if _, known := d.retained[e.Object.Key]; !known {
		d.retained[e.Object.Key] = e
	}
}

func (d *deletions) called(e trace.Entry) {
	if e.Call.Verb != string(storage.Delete) && e.Call.Verb != string(storage.Recycle) {
		return
	}
	id := idOfCall(e)
	if e.Verb == "begin" {
		d.begun[id] = d.judge(id, e)
		return
	}
	v, began := d.begun[id]
	delete(d.begun, id)
	if e.Err != nil {
		return
	}
	if !began {
		v = d.judge(id, e)
	}
	if v != nil {
		if v.Witness[len(v.Witness)-1].Seq != e.Seq {
			v.Witness = append(v.Witness, e)
		}
		d.world.Report(d.inv, *v)
	}
}

// judge says what is wrong with destroying the data of a volume now, nil if nothing is.
func (d *deletions) judge(id VolumeID, e trace.Entry) *Violation {
	w := d.world
	for _, pv := range w.VolumesOf(id) {
		ref := api.RefTo(pv)
		v := Violation{Volume: id, Objects: []api.Ref{ref}}
		if owner := pv.Spec.ClaimRef; owner != nil {
			key := api.Key(owner.Namespace, owner.Name)
			claim := w.claims[key]
			if claim != nil && claim.UID == owner.UID && claim.Spec.VolumeName == pv.Name {
				v.Objects = append(v.Objects, api.RefTo(claim))
				v.Text = fmt.Sprintf("%s: %s while claim %s is bound to PersistentVolume %s", id, strings.ToLower(e.Call.Verb), key, pv.Name)
				v.Forced, v.Witness = w.meddling(ref, api.RefTo(claim))
				if fault, ok := w.unsure[ref]; ok && v.Forced == "" {
					v.Forced = "the caller was told that it had not created " + ref.String()
					v.Witness = append(v.Witness, fault)
				}
				v.Witness = append(v.Witness, e)
				return &v
			}
		}
		since, retain := d.retained[pv.Name]
		if retain && e.Call.Verb == string(storage.Delete) && w.now.Sub(since.Time) > d.inv.Within {
			v.Text = fmt.Sprintf("%s: delete although PersistentVolume %s says Retain", id, pv.Name)
			v.Witness = []trace.Entry{since, e}
			return &v
		}
	}
	return nil
}

var usedDataStays = Invariant{
	Name:  "used-data-stays",
	Says:  "storage is not deleted or scrubbed while it is attached, staged or published",
	Rules: []string{"PROT-001", "RECL-027"},
	Except: []string{
		"hostPath volumes of pods that their nodes have let go: there is nothing to unpublish for a kubelet that was restarted",
	},
	Watch: func(inv Invariant, w *World) Watcher {
		return Watcher{Called: func(e trace.Entry) {
			if !done(e, storage.Delete) && !done(e, storage.Recycle) {
				return
			}
			r := w.records[idOfCall(e)]
			if r == nil {
				return
			}
			at := len(r.uses) - 1
			for at >= 0 && w.letGo(r, r.uses[at]) {
				at--
			}
			if at < 0 {
				return
			}
			u := r.uses[at]
			v := w.about(r, fmt.Sprintf("%s: %s while %s %s", r.id, strings.ToLower(e.Call.Verb), pastWords[u.Op], u.Node), u.Entry, e)
			if u.Pod != "" {
				v.Text += " for " + w.podName(u.Pod)
				why, witness := w.takenByForce(u.Pod)
				v.Forced = why
				v.Witness = append(v.Witness, witness...)
			}
			w.Report(inv, v)
		}}
	},
}

// letGo reports whether the pod of a hostPath is gone because its node was done with it.
func (w *World) letGo(r *record, u Use) bool {
	info := w.pods[u.Pod]
	// MNT-036: a kubelet that comes back finds nothing of it.
	return r.last != nil && r.last.Spec.HostPath != nil && info != nil && info.gone && info.end.Actor == actors.Kubelet(u.Node)
}
