package graph

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/volsim/volsim/engine"
	"github.com/volsim/volsim/store"
)

// Reasons finds the decision that a write follows from, while one walks a trace from its beginning. The zero value is ready.
//
// A trace does not say which activity of an actor an entry belongs to. What counts is the newest decision of the same actor, in the
// same life of it, about the object written or about one that it is bound up with: a claim and its volume, an attachment and its
// volume. A claim's own decision comes before one about its volume, which another worker may have made meanwhile.
type Reasons struct {
	byActor map[string]map[store.Ref]reason
}

// reason is what an actor decided about an object.
type reason struct {
	newest engine.Entry
	// reclaim is the newest decision about what becomes of a volume: the operation that follows from it may take its time.
	reclaim engine.Entry
}

// stillRunning is the rule (RECL-008) of a sync that leaves a volume to the operation that works on it already. What that operation
// writes follows from what was decided before this sync.
const stillRunning = "RECL-008"

// Add takes notice of an entry. It must be called for each entry, in order.
func (r *Reasons) Add(e engine.Entry) {
	switch e.Type {
	case engine.Decision:
		if e.Rule == "" {
			return
		}
		if r.byActor == nil {
			r.byActor = map[string]map[store.Ref]reason{}
		}
		if r.byActor[e.Actor] == nil {
			r.byActor[e.Actor] = map[store.Ref]reason{}
		}
		why := r.byActor[e.Actor][e.Object]
		switch {
		case e.Rule == stillRunning:
			why.newest = why.reclaim
		case strings.HasPrefix(e.Rule, "RECL-"):
			why.newest, why.reclaim = e, e
		default:
			why.newest = e
		}
		r.byActor[e.Actor][e.Object] = why
	case engine.Lifecycle:
		// A new life has decided nothing yet.
		delete(r.byActor, e.Actor)
	}
}

// Behind is the decision that a write follows from; ok is false if none was traced, as for all that a user writes.
func (r *Reasons) Behind(e engine.Entry) (decision engine.Entry, ok bool) {
	made := r.byActor[e.Actor]
	if e.Type != engine.Write || len(made) == 0 {
		return engine.Entry{}, false
	}
	own, hasOwn := made[e.Object].decision()
	if hasOwn && e.Object.Kind == store.PersistentVolumeClaim {
		return own, true
	}
	decision, ok = own, hasOwn
	for _, ref := range partners(e) {
		if d, found := made[ref].decision(); found && (!ok || d.Seq > decision.Seq) {
			decision, ok = d, true
		}
	}
	return decision, ok
}

func (w reason) decision() (engine.Entry, bool) { return w.newest, w.newest.Rule != "" }

// partners are the objects that the object of a write is bound up with, before or after it.
func partners(e engine.Entry) []store.Ref {
	var refs []store.Ref
	for _, obj := range []store.Object{e.New, e.Old} {
		switch obj := obj.(type) {
		case *corev1.PersistentVolume:
			if ref := obj.Spec.ClaimRef; ref != nil {
				refs = append(refs, store.Ref{Kind: store.PersistentVolumeClaim, Key: store.Key(ref.Namespace, ref.Name)})
			}
		case *corev1.PersistentVolumeClaim:
			if obj.Spec.VolumeName != "" {
				refs = append(refs, store.Ref{Kind: store.PersistentVolume, Key: obj.Spec.VolumeName})
			}
		case *storagev1.VolumeAttachment:
			if name := obj.Spec.Source.PersistentVolumeName; name != nil {
				refs = append(refs, store.Ref{Kind: store.PersistentVolume, Key: *name})
			}
		}
	}
	return refs
}
