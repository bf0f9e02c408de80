package check

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/backends"
	"github.com/volsim/volsim/trace"
)

// World is what a history says of the cluster so far: the objects as the API server has them, and the volumes as calls to backends
// left them. Objects are shared: read only.
type World struct {
	backends  *backends.Set
	reachable func(node string) bool
	start     time.Time
	now       time.Time
	passed    time.Time // when Pass was called last

	volumes     map[string]*corev1.PersistentVolume
	claims      map[string]*corev1.PersistentVolumeClaim
	claimKeys   map[types.UID]string
	nodes       map[string]*corev1.Node
	drivers     map[string]*storagev1.CSIDriver
	attachments map[string]*storagev1.VolumeAttachment
	pods        map[types.UID]*podInfo
	podsByClaim map[string][]*podInfo // those that are there, by the claims they name
	records     map[VolumeID]*record
	podsOf      map[VolumeID][]*podInfo // those that are there, by the volumes they may have

	// What the entry at hand did.
	changed []VolumeID
	ended   []Use
	lost    trace.Entry // the fault that hid from the caller that a call succeeded

	faults map[api.Call]trace.Entry // errors injected into calls that have not ended
	troubles
	meddled    map[api.Ref]trace.Entry
	unsure     map[api.Ref]trace.Entry // errors injected into creations of objects
	violations []Violation
}

func newWorld(cfg Config) *World {
	return &World{
		backends:    cfg.Backends,
		reachable:   cfg.Reachable,
		start:       cfg.Start,
		now:         cfg.Start,
		volumes:     map[string]*corev1.PersistentVolume{},
		claims:      map[string]*corev1.PersistentVolumeClaim{},
		claimKeys:   map[types.UID]string{},
		nodes:       map[string]*corev1.Node{},
		drivers:     map[string]*storagev1.CSIDriver{},
		attachments: map[string]*storagev1.VolumeAttachment{},
		pods:        map[types.UID]*podInfo{},
		podsByClaim: map[string][]*podInfo{},
		records:     map[VolumeID]*record{},
		podsOf:      map[VolumeID][]*podInfo{},
		troubles:    newTroubles(),
		faults:      map[api.Call]trace.Entry{},
		unsure:      map[api.Ref]trace.Entry{},
		meddled:     map[api.Ref]trace.Entry{},
	}
}

// Now is the time of the entry at hand, or the time that has passed.
func (w *World) Now() time.Time { return w.now }

// Volume is the PersistentVolume of that name, nil if there is none.
func (w *World) Volume(name string) *corev1.PersistentVolume { return w.volumes[name] }

// Claim is the claim of that key, nil if there is none.
func (w *World) Claim(key string) *corev1.PersistentVolumeClaim { return w.claims[key] }

// Node is the Node object of that name, nil if there is none.
func (w *World) Node(name string) *corev1.Node { return w.nodes[name] }

// Pod is the newest state of the pod of that uid, nil if there never was one; gone says that it is no longer there.
func (w *World) Pod(uid types.UID) (pod *corev1.Pod, gone bool) {
	if info := w.pods[uid]; info != nil {
		return info.pod, info.gone
	}
	return nil, false
}

// VolumesOf are the PersistentVolumes about a volume, in the order of their names.
func (w *World) VolumesOf(id VolumeID) []*corev1.PersistentVolume {
	r := w.records[id]
	if r == nil {
		return nil
	}
	pvs := make([]*corev1.PersistentVolume, 0, len(r.pvs))
	for _, name := range r.pvs {
		pvs = append(pvs, w.volumes[name])
	}
	return pvs
}

// Uses are where the volume is attached, staged and published, in the order in which that came about.
func (w *World) Uses(id VolumeID) []Use {
	if r := w.records[id]; r != nil {
		return slices.Clone(r.uses)
	}
	return nil
}

// Report adds a violation. The caller fills in Text, and what else it knows; time and order of the witness are seen to.
func (w *World) Report(inv Invariant, v Violation) {
	v.Invariant, v.At, v.start = inv.Name, w.now, w.start
	slices.SortStableFunc(v.Witness, func(a, b trace.Entry) int { return int(a.Seq) - int(b.Seq) })
	v.Witness = slices.CompactFunc(v.Witness, func(a, b trace.Entry) bool { return a.Seq == b.Seq && a.Seq != 0 })
	w.violations = append(w.violations, v)
}

// record of a volume, made if there is none.
func (w *World) record(id VolumeID) *record {
	r := w.records[id]
	if r == nil {
		r = &record{id: id}
		w.records[id] = r
	}
	return r
}

func (w *World) touch(id VolumeID) {
	if !slices.Contains(w.changed, id) {
		w.changed = append(w.changed, id)
	}
}

// apply brings the world up to date.
func (w *World) apply(e trace.Entry) {
	w.changed, w.ended = w.changed[:0], w.ended[:0]
	switch e.Type {
	case trace.Write:
		if e.Err == nil && e.Old != e.New {
			w.noteMeddling(e)
			w.applyWrite(e)
		}
	case trace.Storage:
		if e.Verb == "end" {
			w.noteReply(e)
			if e.Err == nil {
				w.applyCall(e)
			}
		}
	case trace.Decision:
		w.applyDecision(e)
	case trace.Injected:
		w.trouble = e.Time
		switch {
		case e.Err == nil:
		case e.Call.Target != api.APIServer:
			w.faults[e.Call] = e
		case e.Call.Verb == "create":
			w.unsure[api.Ref{Kind: api.Kind(e.Call.Kind), Key: e.Call.Key}] = e
		}
	case trace.Started, trace.Crashed:
		w.applyLifecycle(e)
	}
}
