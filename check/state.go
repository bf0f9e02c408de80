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

// state is the state of the cluster after the entries so far: the objects at the API server, and the volumes as storage calls left them.
// Objects are shared and must not be modified.
type state struct {
	backends  *backends.Set
	reachable func(node string) bool
	start     time.Time
	now       time.Time
	passed    time.Time // the time of the last Advance
	objects   map[api.Ref]api.Object

	volumes     map[string]*corev1.PersistentVolume
	claims      map[string]*corev1.PersistentVolumeClaim
	claimKeys   map[types.UID]string
	nodes       map[string]*corev1.Node
	drivers     map[string]*storagev1.CSIDriver
	attachments map[string]*storagev1.VolumeAttachment
	pods        map[types.UID]*podInfo
	podsByClaim map[string][]*podInfo // existing pods, by the claims they name
	records     map[volumeID]*record
	podsOf      map[volumeID][]*podInfo // existing pods, by the volumes they may use

	// The effects of the current entry.
	changed []volumeID
	ended   []use
	lost    trace.Entry // the fault that hid the success of a call from its caller

	faults map[api.Call]trace.Entry // errors injected into running calls
	disruptions
	userEdits        map[api.Ref]trace.Entry
	uncertainCreates map[api.Ref]trace.Entry // errors injected into create requests, which may have taken effect
	violations       []Violation
}

// renew makes the state that of an empty cluster. It keeps the memory of its maps.
func (s *state) renew() {
	old := *s
	clear(old.objects)
	clear(old.volumes)
	clear(old.claims)
	clear(old.claimKeys)
	clear(old.nodes)
	clear(old.attachments)
	clear(old.pods)
	clear(old.podsByClaim)
	clear(old.records)
	clear(old.podsOf)
	*s = state{
		objects: old.objects, volumes: old.volumes, claims: old.claims, claimKeys: old.claimKeys, nodes: old.nodes,
		attachments: old.attachments, pods: old.pods, podsByClaim: old.podsByClaim, records: old.records, podsOf: old.podsOf,
	}
}

// set puts an entry into a map, which is made for the first one: most clusters need few of the maps.
func set[M ~map[K]V, K comparable, V any](m *M, key K, value V) {
	if *m == nil {
		*m = M{}
	}
	(*m)[key] = value
}

// volumesOf returns the PersistentVolumes of a volume, by name.
func (s *state) volumesOf(id volumeID) []*corev1.PersistentVolume {
	r := s.records[id]
	if r == nil {
		return nil
	}
	pvs := make([]*corev1.PersistentVolume, 0, len(r.pvs))
	for _, name := range r.pvs {
		pvs = append(pvs, s.volumes[name])
	}
	return pvs
}

// report adds a violation. It sets the time, and sorts the witness.
func (s *state) report(inv *watched, v Violation) {
	v.Invariant, v.At, v.start = inv.Name, s.now, s.start
	slices.SortStableFunc(v.Witness, func(a, b trace.Entry) int { return int(a.Seq) - int(b.Seq) })
	v.Witness = slices.CompactFunc(v.Witness, func(a, b trace.Entry) bool { return a.Seq == b.Seq && a.Seq != 0 })
	s.violations = append(s.violations, v)
}

// record returns the record of a volume and creates it if there is none.
func (s *state) record(id volumeID) *record {
	r := s.records[id]
	if r == nil {
		r = &record{id: id}
		set(&s.records, id, r)
	}
	return r
}

func (s *state) touch(id volumeID) {
	if !slices.Contains(s.changed, id) {
		s.changed = append(s.changed, id)
	}
}

// apply applies the next entry.
func (s *state) apply(e *trace.Entry) {
	s.changed, s.ended = s.changed[:0], s.ended[:0]
	switch e.Type {
	case trace.Write:
		if e.Err == nil && e.Old != e.New {
			s.noteUserEdit(e)
			if e.New == nil {
				delete(s.objects, e.Object)
			} else {
				set(&s.objects, e.Object, e.New)
			}
			s.applyWrite(e)
		}
	case trace.Storage:
		if e.Verb == "end" {
			s.noteReply(e)
			if e.Err == nil {
				s.applyCall(e)
			}
		}
	case trace.Decision:
		s.applyDecision(e)
	case trace.Injected:
		s.lastDisruption = e.Time
		switch {
		case e.Err == nil:
		case e.Call.Target != api.APIServer:
			set(&s.faults, e.Call, *e)
		case e.Call.Verb == "create":
			set(&s.uncertainCreates, api.Ref{Kind: api.Kind(e.Call.Kind), Key: e.Call.Key}, *e)
		}
	case trace.Started, trace.Crashed:
		s.applyLifecycle(e)
	}
}
