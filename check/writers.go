package check

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/objects"
	"github.com/volsim/volsim/storage"
	"github.com/volsim/volsim/trace"
)

var oneWriter = Invariant{
	Name:        "one-writer",
	Description: "a single-node volume that needs attachment is published on one node at a time",
	Rules:       []string{"ATT-069", "ATT-070", "MNT-174"},
	Exceptions: []string{
		"volumes that are not attached: then only the scheduler's ReadWriteOncePod check reads access modes, so a ReadWriteOnce NFS share is mounted by every node with a pod for it (kubernetes/kubernetes issue 111799)",
	},
	watch: func(inv *watched, s *state) Watcher {
		return Watcher{called: func(e *trace.Entry) {
			if done(e, storage.Publish) {
				s.checkSingle(inv, e, storage.Publish, "published")
			}
		}}
	},
}

var oneAttachment = Invariant{
	Name:        "one-attachment",
	Description: "a single-node volume is attached to one node at a time",
	Rules:       []string{"ATT-069", "ATT-070", "ATT-089"},
	watch: func(inv *watched, s *state) Watcher {
		return Watcher{called: func(e *trace.Entry) {
			if done(e, storage.Attach) {
				s.checkSingle(inv, e, storage.Attach, "attached")
			}
		}}
	},
}

// done reports whether e is the end of a successful call of op.
func done(e *trace.Entry, op storage.Op) bool {
	return e.Verb == "end" && e.Err == nil && e.Call.Verb == string(op)
}

// checkSingle reports uses of the volume of a call on other nodes.
func (s *state) checkSingle(inv *watched, e *trace.Entry, op storage.Op, how string) {
	id := volumeID{e.Call.Target, e.Call.Key}
	r := s.records[id]
	if r == nil || r.last == nil || objects.MultiAttachAllowed(objects.SpecOf(r.last)) || !s.attachable(r.last) {
		return
	}
	// A repeated call changes nothing.
	if r.uses[len(r.uses)-1].Entry.Seq != e.Seq {
		return
	}
	for _, u := range r.uses {
		if u.Op != op || u.Node == e.Call.Node {
			continue
		}
		v := Violation{
			Backend: id.Backend, Volume: id.ID,
			Objects: []api.Ref{api.RefTo(r.last)},
			Text:    fmt.Sprintf("%s is %s on %s and on %s, and its access modes are %v", id, how, u.Node, e.Call.Node, modes(r.last)),
			Witness: []trace.Entry{u.Entry, *e},
		}
		if decision, ok := r.forced[u.Node]; ok {
			v.Forced = decision.Detach.Why
			v.Witness = append(v.Witness, decision)
		}
		s.report(inv, v)
		return
	}
}

func modes(pv *corev1.PersistentVolume) []corev1.PersistentVolumeAccessMode {
	return slices.Clone(pv.Spec.AccessModes)
}
