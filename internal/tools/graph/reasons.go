package graph

import (
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/trace"
)

// Reasons finds the decision behind a write. Add every entry of a trace, in order. The zero value is ready.
//
// It is the newest decision of the process that made the write, about the object written or about a related one: a claim and its volume,
// an attachment and its volume. A decision about the claim itself comes before one about its volume. If a process has made no such
// decision, as an operation may, the decision of the process that started it counts.
//
// Entries without a process are grouped by actor, from one start of it to the next.
type Reasons struct {
	processes map[uint64]*process
	byActor   map[string]map[api.Ref]trace.Entry
}

// process has the decisions of one process.
type process struct {
	cause     uint64
	decisions map[api.Ref]trace.Entry // the newest decision about each object
}

// Add records an entry. Call it for each entry, in order.
func (r *Reasons) Add(e trace.Entry) {
	switch {
	case e.Type == trace.Started, e.Type == trace.Crashed:
		// A started actor has made no decision yet.
		delete(r.byActor, e.Actor)
	case e.Activity > 0:
		r.process(e)
	case e.Type == trace.Decision && e.Rule != "":
		if r.byActor == nil {
			r.byActor = map[string]map[api.Ref]trace.Entry{}
		}
		if r.byActor[e.Actor] == nil {
			r.byActor[e.Actor] = map[api.Ref]trace.Entry{}
		}
		r.byActor[e.Actor][e.Object] = e
	}
}

func (r *Reasons) process(e trace.Entry) {
	a := r.processes[e.Activity]
	if a == nil {
		if r.processes == nil {
			r.processes = map[uint64]*process{}
		}
		a = &process{cause: e.Cause}
		r.processes[e.Activity] = a
	}
	if e.Type != trace.Decision || e.Rule == "" {
		return
	}
	if a.decisions == nil {
		a.decisions = map[api.Ref]trace.Entry{}
	}
	a.decisions[e.Object] = e
}

// Behind returns the decision behind a write; ok is false if none was traced, as for writes of users.
func (r *Reasons) Behind(e trace.Entry) (decision trace.Entry, ok bool) {
	if e.Type != trace.Write {
		return trace.Entry{}, false
	}
	if e.Activity == 0 {
		return behind(e, r.byActor[e.Actor])
	}
	// The chain ends, because a process is older than those it starts.
	for id, cause := e.Activity, e.Cause; id > 0; {
		if a := r.processes[id]; a != nil {
			if decision, ok := behind(e, a.decisions); ok {
				return decision, true
			}
			cause = a.cause
		}
		id, cause = cause, 0
	}
	return trace.Entry{}, false
}

// behind returns the newest of some decisions that concerns a write.
func behind(e trace.Entry, made map[api.Ref]trace.Entry) (decision trace.Entry, ok bool) {
	if len(made) == 0 {
		return trace.Entry{}, false
	}
	decision, ok = made[e.Object]
	if ok && e.Object.Kind == api.PersistentVolumeClaim {
		return decision, true
	}
	for _, ref := range partners(e) {
		if d, found := made[ref]; found && (!ok || d.Seq > decision.Seq) {
			decision, ok = d, true
		}
	}
	return decision, ok
}

// partners returns the objects related to the object of a write, before or after it.
func partners(e trace.Entry) []api.Ref {
	var refs []api.Ref
	for _, obj := range []api.Object{e.New, e.Old} {
		switch obj := obj.(type) {
		case *corev1.PersistentVolume:
			if ref := obj.Spec.ClaimRef; ref != nil {
				refs = append(refs, api.Ref{Kind: api.PersistentVolumeClaim, Key: api.Key(ref.Namespace, ref.Name)})
			}
		case *corev1.PersistentVolumeClaim:
			if obj.Spec.VolumeName != "" {
				refs = append(refs, api.Ref{Kind: api.PersistentVolume, Key: obj.Spec.VolumeName})
			}
		case *storagev1.VolumeAttachment:
			if name := obj.Spec.Source.PersistentVolumeName; name != nil {
				refs = append(refs, api.Ref{Kind: api.PersistentVolume, Key: *name})
			}
		}
	}
	return refs
}
