package check

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/actors"
	"github.com/volsim/volsim/internal/core/backends"
	"github.com/volsim/volsim/storage"
	"github.com/volsim/volsim/trace"
)

// applyCall records where volumes are attached, staged and published.
func (s *state) applyCall(e *trace.Entry) {
	id := volumeID{e.Call.Target, e.Call.Key}
	pod := types.UID(e.Call.Pod)
	switch op := storage.Op(e.Call.Verb); op {
	case storage.Attach, storage.Stage, storage.Publish:
		if op != storage.Publish {
			pod = ""
		}
		r := s.record(id)
		at := r.find(op, e.Call.Node, pod)
		if at < 0 {
			at = len(r.uses)
			r.uses = append(r.uses, use{Op: op, Node: e.Call.Node, Pod: pod, Entry: *e})
		}
		r.uses[at].Lost = s.lost
		switch op {
		case storage.Attach:
			delete(r.forced, e.Call.Node)
		case storage.Stage:
			delete(r.orphaned, e.Call.Node)
		case storage.Publish:
			if info := s.pods[pod]; info != nil && info.waits(id) {
				info.mounted = append(info.mounted, id)
			}
		}
	case storage.Detach:
		// A DetachRequest without a node detaches from all nodes.
		s.end(id, func(u *use) bool { return u.Op == storage.Attach && (e.Call.Node == "" || u.Node == e.Call.Node) })
	case storage.Unstage:
		s.end(id, func(u *use) bool { return u.Op == storage.Stage && u.Node == e.Call.Node })
		s.cleared(id, e.Call.Node)
	case storage.Unpublish:
		s.end(id, func(u *use) bool { return u.Op == storage.Publish && u.Node == e.Call.Node && u.Pod == pod })
	default:
		return
	}
	s.touch(id)
}

// noteReply records whether a caller got a final error although its call took effect: then no component knows of the effect.
func (s *state) noteReply(e *trace.Entry) {
	s.lost = trace.Entry{}
	fault, ok := s.faults[e.Call]
	if !ok {
		return
	}
	delete(s.faults, e.Call)
	if e.Err == nil && s.final(e.Call, fault.Err) {
		s.lost = fault
	}
}

// final reports whether the caller treats the error as final: every error of an in-tree plugin, some of a CSI driver.
func (s *state) final(call api.Call, err error) bool {
	return strings.HasPrefix(call.Target, backends.InTreePrefix) || !backends.UnknownOutcome(storage.Op(call.Verb), err)
}

// lostReply is Violation.Forced for a caller that got a final error although its call took effect.
const lostReply = "a fault hid the success of the call from its caller, which treats the error as final"

// end removes uses.
func (s *state) end(id volumeID, which func(*use) bool) {
	r := s.records[id]
	if r == nil {
		return
	}
	kept := 0
	for i := range r.uses {
		if which(&r.uses[i]) {
			s.ended = append(s.ended, r.uses[i])
			s.touch(id)
			continue
		}
		if kept != i {
			r.uses[kept] = r.uses[i]
		}
		kept++
	}
	clear(r.uses[kept:])
	r.uses = r.uses[:kept]
	for i := range s.ended {
		u := &s.ended[i]
		if u.Op != storage.Attach && !r.mountedOn(u.Node) {
			delete(r.found, u.Node)
		}
		if u.Op == storage.Stage {
			delete(r.orphaned, u.Node)
		}
	}
	s.drop(r)
}

// cleared records that the node has unstaged the volume. Nothing of it is left there, unless a pod has it.
func (s *state) cleared(id volumeID, node string) {
	if r := s.records[id]; r != nil && !r.mountedOn(node) {
		delete(r.found, node)
		delete(r.files, node)
		s.drop(r)
	}
}

// drop deletes an empty record.
func (s *state) drop(r *record) {
	if r.empty() {
		delete(s.records, r.id)
	}
}

// applyLifecycle records which actors run, and nodes that lose their mounts.
func (s *state) applyLifecycle(e *trace.Entry) {
	s.noteLifecycle(e)
	if node, ok := actors.NodeOfKubelet(e.Actor); ok && e.Type == trace.Started {
		s.noteFound(node, e)
	}
	node, isMachine := actors.NodeName(e.Actor)
	if !isMachine || e.Type != trace.Crashed {
		return
	}
	// MNT-485: a reboot removes mounts; attachments and directories stay.
	var ids []volumeID
	for id := range s.records {
		ids = append(ids, id)
	}
	slices.SortFunc(ids, compareIDs)
	for _, id := range ids {
		if r := s.records[id]; r.mountedOn(node) {
			if r.files == nil {
				r.files = map[string]bool{}
			}
			r.files[node] = true
		}
		s.end(id, func(u *use) bool { return u.Op != storage.Attach && u.Node == node })
	}
}

// noteFound records what a starting kubelet finds on its disk.
func (s *state) noteFound(node string, e *trace.Entry) {
	for _, r := range s.records {
		if !r.mountedOn(node) && !r.files[node] {
			continue
		}
		if r.found == nil {
			r.found = map[string]trace.Entry{}
		}
		r.found[node] = *e
		if r.first(storage.Stage, node) != nil && r.first(storage.Publish, node) == nil {
			if r.orphaned == nil {
				r.orphaned = map[string]trace.Entry{}
			}
			r.orphaned[node] = *e
		}
	}
}

// orphanedStage is Violation.Forced for a volume that stays staged because no pod had it when the kubelet started: a kubelet finds volumes
// only by the directories of pods (MNT-450).
const orphanedStage = "the kubelet was started when no pod had the volume, and does not know that it is staged (MNT-450)"

func compareIDs(a, b volumeID) int {
	if order := strings.Compare(a.Backend, b.Backend); order != 0 {
		return order
	}
	return strings.Compare(a.ID, b.ID)
}
