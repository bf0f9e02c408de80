package check

import (
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/objects"
	"github.com/volsim/volsim/internal/core/objkinds"
	"github.com/volsim/volsim/internal/core/plain"
	"github.com/volsim/volsim/internal/core/snapshots"
	"github.com/volsim/volsim/storage"
	"github.com/volsim/volsim/trace"
)

var noOrphanedContent = Invariant{
	Name:        "no-orphaned-snapshot-content",
	Description: "a VolumeSnapshotContent with the policy Delete goes within the time limit when its VolumeSnapshot is gone",
	Rules:       []string{"SNAP-012", "SNAP-025"},
	Within:      15 * time.Minute,
	Exceptions: []string{
		"contents of VolumeSnapshots that never existed, because they may have been copied from another cluster with their data (SNAP-013)",
		"forced by a user who removes the finalizers of the VolumeSnapshot",
	},
	watch: func(inv *watched, s *state) Watcher {
		o := &orphans{inv: inv, state: s, due: newDeadlines(s, inv.Within)}
		return Watcher{written: o.written, due: o.due, forget: o.forget}
	},
}

// orphans tracks contents whose VolumeSnapshot is gone.
type orphans struct {
	inv   *watched
	state *state
	due   *deadlines
	gone  map[types.UID]trace.Entry // the deletions of VolumeSnapshots, by uid
	// edited are the writes with which users removed finalizers of VolumeSnapshots, by uid.
	edited map[types.UID]trace.Entry
	// contents are the last writes of contents with the policy Delete that are bound, by the uid of the snapshot and by name.
	contents map[types.UID]map[string]trace.Entry
}

func (o *orphans) forget() {
	clear(o.gone)
	clear(o.edited)
	clear(o.contents)
}

func (o *orphans) written(e *trace.Entry) {
	switch e.Object.Kind {
	case snapshots.SnapshotKind:
		old, ok := e.Old.(*plain.Object)
		if !ok {
			return
		}
		if e.New == nil {
			set(&o.gone, old.UID, *e)
			o.review(old.UID)
		} else if api.IsUser(e.Actor) && len(e.New.GetFinalizers()) < len(old.Finalizers) {
			set(&o.edited, old.UID, *e)
		}
	case snapshots.ContentKind:
		if old, ok := e.Old.(*plain.Object); ok {
			uid := snapshots.Of[snapshots.Content](old).Spec.Snapshot.UID
			delete(o.contents[uid], e.Object.Key)
			if len(o.contents[uid]) == 0 {
				delete(o.contents, uid)
			}
		}
		o.due.end(e.Object.Key)
		content, ok := e.New.(*plain.Object)
		if !ok {
			return
		}
		spec := snapshots.Of[snapshots.Content](content).Spec
		if uid := spec.Snapshot.UID; uid != "" && spec.DeletionPolicy == snapshots.Delete {
			if o.contents[uid] == nil {
				set(&o.contents, uid, map[string]trace.Entry{})
			}
			o.contents[uid][e.Object.Key] = *e
			o.review(uid)
		}
	}
}

// review starts the deadlines of the contents of a snapshot.
func (o *orphans) review(uid types.UID) {
	gone, ok := o.gone[uid]
	if !ok {
		return
	}
	for name, written := range o.contents[uid] {
		o.due.begin(name, gone.Time, "", func() {
			v := Violation{
				Objects: []api.Ref{written.Object, gone.Object},
				Text: fmt.Sprintf("VolumeSnapshotContent %s with the policy Delete exists, %v after its VolumeSnapshot %s was gone", name, o.inv.Within,
					gone.Object.Key),
				Witness: []trace.Entry{gone},
			}
			if edit, ok := o.edited[uid]; ok {
				v.Forced, v.Witness = "a user edited "+edit.Object.String(), []trace.Entry{edit, gone}
			}
			o.state.report(o.inv, v)
		})
	}
}

var restoredData = Invariant{
	Name:        "restored-data",
	Description: "a volume that was created from a snapshot has the data of that snapshot",
	Rules:       []string{"SNAP-030", "SNAP-035"},
	Exceptions: []string{
		"drivers that cannot say what their volumes and snapshots contain (storage.ContentReporter)",
		"a VolumeSnapshot that is replaced by another of the same name while the volume is being created",
	},
	watch: func(inv *watched, s *state) Watcher {
		r := &restores{inv: inv, state: s}
		return Watcher{called: r.called, forget: func() { clear(r.handles) }}
	},
}

// restores compares restored volumes with their snapshots.
type restores struct {
	inv     *watched
	state   *state
	handles map[volumeID]string // of the snapshot that the claim named at the first call, until the volume is created
}

func (r *restores) called(e *trace.Entry) {
	if e.Call.Verb != string(storage.Create) {
		return
	}
	id := idOfCall(e)
	// The content of a snapshot never changes, so the claim decides which one it is when the volume is first requested.
	if _, known := r.handles[id]; !known {
		if handle := r.state.snapshotFor(e.Call.Key); handle != "" {
			set(&r.handles, id, handle)
		}
	}
	handle := r.handles[id]
	if !done(e, storage.Create) || handle == "" {
		return
	}
	delete(r.handles, id)
	backend, ok := r.state.backends.Get(id.Backend)
	reporter, can := backend.(storage.ContentReporter)
	if !ok || !can {
		return
	}
	want, exists := reporter.SnapshotContent(handle)
	got, created := reporter.VolumeContent(id.ID)
	if exists && created && got != want {
		r.state.report(r.inv, Violation{
			Backend: id.Backend, Volume: id.ID,
			Text:    fmt.Sprintf("%s was created from snapshot %s and contains %s, but the snapshot contains %s", id, handle, contentText(got), contentText(want)),
			Witness: []trace.Entry{*e},
		})
	}
}

// contentText describes the content of a volume.
func contentText(w storage.Write) string {
	if w == (storage.Write{}) {
		return "nothing"
	}
	return fmt.Sprintf("write %d of pod %s", w.Version, api.Key(w.Pod.Namespace, w.Pod.Name))
}

// snapshotFor returns the handle of the snapshot from which the volume with that name is created; "" for none, or if it is not known.
func (s *state) snapshotFor(name string) string {
	uid, ok := strings.CutPrefix(name, claimPrefix)
	claim := s.claims[s.claimKeys[types.UID(uid)]]
	if !ok || claim == nil {
		return ""
	}
	source := objects.DataSourceOf(claim)
	if source == nil || source.Kind != "VolumeSnapshot" || source.APIGroup == nil || *source.APIGroup != objkinds.SnapshotGroup {
		return ""
	}
	snapshot, ok := s.objects[api.Ref{Kind: snapshots.SnapshotKind, Key: api.Key(*source.Namespace, source.Name)}].(*plain.Object)
	if !ok {
		return ""
	}
	content, ok := s.objects[api.Ref{Kind: snapshots.ContentKind, Key: snapshots.Of[snapshots.Snapshot](snapshot).Bound()}].(*plain.Object)
	if !ok {
		return ""
	}
	status := snapshots.Of[snapshots.Content](content).Status
	if status == nil || status.Handle == nil {
		return ""
	}
	return *status.Handle
}
