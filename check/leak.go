package check

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/objects"
	"github.com/volsim/volsim/storage"
	"github.com/volsim/volsim/trace"
)

// made is a volume that a backend created.
type made struct {
	backend, name string
	entry         trace.Entry
	edits         []trace.Entry // the user edits that prevented its deletion
	retained      bool          // its PersistentVolume is gone and had another policy than Delete
	elsewhere     trace.Entry   // the write that bound its claim to another volume
	lost          trace.Entry   // the fault that hid its creation from the provisioner
	id            volumeID      // the name, until a PersistentVolume has the ID
}

func (m *made) key() string { return m.backend + "\x00" + m.name }

// claimPrefix precedes the uid of a claim in the name under which storage for it is requested.
const claimPrefix = "pvc-"

var noLeak = Invariant{
	Name:        "no-leaked-volume",
	Description: "storage without a PersistentVolume and without a waiting claim is deleted within the time limit",
	Rules:       []string{"XPROV-011", "XPROV-040", "RECL-043"},
	Within:      15 * time.Minute,
	Exceptions: []string{
		"storage of a PersistentVolume with another policy than Delete, which stays on purpose",
		"forced by binding the claim to another volume during provisioning, which the provisioner does not notice (XPROV-014)",
		"forced by a user who changes the policy to Delete and deletes the PersistentVolume before a finalizer is back (kubernetes-csi/external-provisioner the finalizer was added because of issue 546)",
		"backends whose IDs differ from the requested names, until a PersistentVolume has the ID",
		"forced by a fault: storage is forgotten if the provisioner crashes or gets a final error, and the claim is gone before the next attempt (kubernetes-csi/external-provisioner issue 486)",
	},
	watch: func(inv *watched, s *state) Watcher {
		l := &leaks{inv: inv, state: s, due: newDeadlines(s, inv.Within)}
		return Watcher{called: l.called, written: l.written, due: l.due, forget: l.clear}
	},
}

// leaks tracks storage that was created and not deleted.
type leaks struct {
	inv    *watched
	state  *state
	due    *deadlines
	made   map[string]*made
	byName map[string][]*made
	byID   map[volumeID]*made
	// policies are the changes of policy by users, by PersistentVolume.
	policies map[string]trace.Entry
}

func (l *leaks) clear() {
	clear(l.made)
	clear(l.byName)
	clear(l.byID)
	clear(l.policies)
}

func (l *leaks) called(e *trace.Entry) {
	switch {
	case e.Verb == "end" && e.Err != nil && e.Call.Verb == string(storage.Create):
		if m := l.made[e.Call.Target+"\x00"+e.Call.Key]; m != nil && l.state.final(e.Call, e.Err) {
			m.lost = *e
		}
	case done(e, storage.Create):
		m := &made{backend: e.Call.Target, name: e.Call.Key, entry: *e, id: idOfCall(e)}
		if known := l.made[m.key()]; known != nil {
			m = known
		} else {
			set(&l.made, m.key(), m)
			set(&l.byName, m.name, append(l.byName[m.name], m))
			set(&l.byID, m.id, m)
		}
		m.lost = l.state.lost
		l.review(m.name)
	case done(e, storage.Delete):
		if m := l.byID[idOfCall(e)]; m != nil {
			l.forget(m)
		}
	}
}

func (l *leaks) forget(m *made) {
	delete(l.made, m.key())
	delete(l.byID, m.id)
	rest := l.byName[m.name][:0]
	for _, other := range l.byName[m.name] {
		if other != m {
			rest = append(rest, other)
		}
	}
	l.byName[m.name] = rest
	if len(rest) == 0 {
		delete(l.byName, m.name)
	}
	l.due.end(m.key())
}

func (l *leaks) written(e *trace.Entry) {
	switch e.Object.Kind {
	case api.PersistentVolume:
		name := e.Object.Key
		if pv, _ := e.New.(*corev1.PersistentVolume); pv != nil {
			l.identify(pv)
		}
		if old, _ := e.Old.(*corev1.PersistentVolume); old != nil && e.New == nil {
			for _, m := range l.byName[name] {
				policy, changed := l.policies[name]
				if changed && !slices.Contains(old.Finalizers, objects.InTreeFinalizer) && !slices.Contains(old.Finalizers, objects.ExternalFinalizer) {
					m.edits = append(m.edits, policy)
				}
				m.retained = old.Spec.PersistentVolumeReclaimPolicy != corev1.PersistentVolumeReclaimDelete
				if why, _ := l.state.userEdit(e.Object); why != "" {
					m.edits = append(m.edits, l.state.userEdits[e.Object])
				}
			}
		}
		l.notePolicy(e)
		l.review(name)
	case api.PersistentVolumeClaim:
		if len(l.byName) == 0 {
			return // no storage was created, so the claim concerns none
		}
		obj := e.New
		if obj == nil {
			obj = e.Old
		}
		if claim, _ := e.New.(*corev1.PersistentVolumeClaim); claim != nil && claim.Spec.VolumeName != "" {
			l.noteBound(e, claim)
		}
		l.review(claimPrefix + string(obj.GetUID()))
	}
}

// notePolicy records that a user changed the reclaim policy.
func (l *leaks) notePolicy(e *trace.Entry) {
	old, _ := e.Old.(*corev1.PersistentVolume)
	pv, _ := e.New.(*corev1.PersistentVolume)
	switch {
	case pv == nil:
		delete(l.policies, e.Object.Key)
	case old != nil && api.IsUser(e.Actor) && old.Spec.PersistentVolumeReclaimPolicy != pv.Spec.PersistentVolumeReclaimPolicy:
		set(&l.policies, e.Object.Key, *e)
	}
}

// noteBound records that a claim is bound to another volume than the one created for it (XPROV-014).
func (l *leaks) noteBound(e *trace.Entry, claim *corev1.PersistentVolumeClaim) {
	for _, m := range l.byName[claimPrefix+string(claim.UID)] {
		if claim.Spec.VolumeName != m.name && m.elsewhere.Seq == 0 {
			m.elsewhere = *e
		}
	}
}

// identify takes the ID of created storage from its PersistentVolume.
func (l *leaks) identify(pv *corev1.PersistentVolume) {
	id, ok := l.state.idOf(pv)
	for _, m := range l.byName[pv.Name] {
		if ok && m.backend == id.Backend && m.id != id {
			delete(l.byID, m.id)
			m.id = id
			set(&l.byID, id, m)
		}
	}
}

// review starts and ends the deadline of created storage.
func (l *leaks) review(name string) {
	for _, m := range l.byName[name] {
		if m.retained || l.wanted(m) {
			l.due.end(m.key())
			continue
		}
		l.due.begin(m.key(), l.state.now, "", func() { l.report(m) })
	}
}

func (l *leaks) wanted(m *made) bool {
	if pv := l.state.volumes[m.name]; pv != nil {
		return true
	}
	uid, _ := strings.CutPrefix(m.name, claimPrefix)
	claim := l.state.claims[l.state.claimKeys[types.UID(uid)]]
	return claim != nil && claim.Spec.VolumeName == ""
}

func (l *leaks) report(m *made) {
	v := Violation{
		Backend: m.backend, Volume: m.name,
		Text:    fmt.Sprintf("%s was created, and for %v there was neither a PersistentVolume nor a claim for it", volumeID{m.backend, m.name}, l.inv.Within),
		Witness: []trace.Entry{m.entry},
	}
	switch {
	case len(m.edits) > 0:
		v.Forced = "a user edited " + m.edits[0].Object.String()
		v.Witness = append(v.Witness, m.edits[0])
	case m.lost.Seq != 0:
		v.Forced = lostReply
		v.Witness = append(v.Witness, m.lost)
	case m.elsewhere.Seq != 0:
		v.Forced = "its claim was bound to another volume meanwhile (XPROV-014)"
		v.Witness = append(v.Witness, m.elsewhere)
	case l.state.lastCrash[m.entry.Actor].Seq > m.entry.Seq:
		v.Forced = m.entry.Actor + " crashed after it had created it"
		v.Witness = append(v.Witness, l.state.lastCrash[m.entry.Actor])
	}
	l.state.report(l.inv, v)
}
