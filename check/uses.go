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

// applyCall keeps account of where volumes are.
func (w *World) applyCall(e trace.Entry) {
	id := VolumeID{e.Call.Target, e.Call.Key}
	pod := types.UID(e.Call.Pod)
	switch op := storage.Op(e.Call.Verb); op {
	case storage.Attach, storage.Stage, storage.Publish:
		if op != storage.Publish {
			pod = ""
		}
		r := w.record(id)
		at := r.find(op, e.Call.Node, pod)
		if at < 0 {
			at = len(r.uses)
			r.uses = append(r.uses, Use{Op: op, Node: e.Call.Node, Pod: pod, Entry: e})
		}
		r.uses[at].Lost = w.lost
		switch op {
		case storage.Attach:
			delete(r.forced, e.Call.Node)
		case storage.Stage:
			delete(r.orphaned, e.Call.Node)
		}
	case storage.Detach:
		// storage.DetachRequest: without a node, from all.
		w.end(id, func(u Use) bool { return u.Op == storage.Attach && (e.Call.Node == "" || u.Node == e.Call.Node) })
	case storage.Unstage:
		w.end(id, func(u Use) bool { return u.Op == storage.Stage && u.Node == e.Call.Node })
		w.cleared(id, e.Call.Node)
	case storage.Unpublish:
		w.end(id, func(u Use) bool { return u.Op == storage.Publish && u.Node == e.Call.Node && u.Pod == pod })
	default:
		return
	}
	w.touch(id)
}

// noteReply notes whether the caller learns how the call ended. A call that succeeds although an error was injected had its effect, and
// the caller got the error. Where that error counts as final, nobody knows of the effect.
func (w *World) noteReply(e trace.Entry) {
	w.lost = trace.Entry{}
	fault, ok := w.faults[e.Call]
	if !ok {
		return
	}
	delete(w.faults, e.Call)
	if e.Err == nil && w.final(e.Call, fault.Err) {
		w.lost = fault
	}
}

// final reports whether the caller takes the error for the end of it: every one of an in-tree plugin, some of a CSI driver.
func (w *World) final(call api.Call, err error) bool {
	return strings.HasPrefix(call.Target, storage.InTreePrefix) || !backends.UnknownOutcome(storage.Op(call.Verb), err)
}

// lostReply is what a violation says when the caller was told that a call had failed for good.
const lostReply = "the caller was told that it had failed for good"

// end takes uses away.
func (w *World) end(id VolumeID, which func(Use) bool) {
	r := w.records[id]
	if r == nil {
		return
	}
	kept := r.uses[:0]
	for _, u := range r.uses {
		if which(u) {
			w.ended = append(w.ended, u)
			w.touch(id)
			continue
		}
		kept = append(kept, u)
	}
	clear(r.uses[len(kept):])
	r.uses = kept
	for _, u := range w.ended {
		if u.Op != storage.Attach && !r.mountedOn(u.Node) {
			delete(r.found, u.Node)
		}
		if u.Op == storage.Stage {
			delete(r.orphaned, u.Node)
		}
	}
	w.drop(r)
}

// cleared notes that the node has unstaged the volume: then nothing of it is left there, unless a pod has it.
func (w *World) cleared(id VolumeID, node string) {
	if r := w.records[id]; r != nil && !r.mountedOn(node) {
		delete(r.found, node)
		delete(r.files, node)
		w.drop(r)
	}
}

// drop forgets a record that says nothing.
func (w *World) drop(r *record) {
	if r.empty() {
		delete(w.records, r.id)
	}
}

// applyLifecycle follows which actors run, and machines that lose their mounts.
func (w *World) applyLifecycle(e trace.Entry) {
	w.noteLifecycle(e)
	if node, ok := strings.CutPrefix(e.Actor, actors.Kubelet("")); ok && e.Type == trace.Started {
		w.noteFound(node, e)
	}
	node, isMachine := strings.CutPrefix(e.Actor, actors.Node(""))
	if !isMachine || e.Type != trace.Crashed {
		return
	}
	// MNT-485: what was mounted is not any more; attachments and directories stay.
	var ids []VolumeID
	for id := range w.records {
		ids = append(ids, id)
	}
	slices.SortFunc(ids, compareIDs)
	for _, id := range ids {
		if r := w.records[id]; r.mountedOn(node) {
			if r.files == nil {
				r.files = map[string]bool{}
			}
			r.files[node] = true
		}
		w.end(id, func(u Use) bool { return u.Op != storage.Attach && u.Node == node })
	}
}

// noteFound remembers what a kubelet that starts finds on its disk.
func (w *World) noteFound(node string, e trace.Entry) {
	for _, r := range w.records {
		if !r.mountedOn(node) && !r.files[node] {
			continue
		}
		if r.found == nil {
			r.found = map[string]trace.Entry{}
		}
		r.found[node] = e
		if r.first(storage.Stage, node) != nil && r.first(storage.Publish, node) == nil {
			if r.orphaned == nil {
				r.orphaned = map[string]trace.Entry{}
			}
			r.orphaned[node] = e
		}
	}
}

// orphanedStage is why a volume stays staged that no pod had when the kubelet was started: only directories of pods tell of volumes
// (MNT-450).
const orphanedStage = "the kubelet was started when no pod had the volume, and does not know that it is staged (MNT-450)"

func compareIDs(a, b VolumeID) int {
	if order := strings.Compare(a.Backend, b.Backend); order != 0 {
		return order
	}
	return strings.Compare(a.ID, b.ID)
}
