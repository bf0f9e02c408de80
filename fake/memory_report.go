package fake

import (
	"fmt"
	"slices"
	"strings"

	"github.com/volsim/volsim/storage"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// ProblemKind says what is wrong with the use of a volume.
type ProblemKind string

// What a [Memory] finds wrong.
const (
	Leaked            ProblemKind = "Leaked"            // it was created, and no PersistentVolume knows it
	DeletedWhenWanted ProblemKind = "DeletedWhenWanted" // a PersistentVolume that may be used describes a deleted volume
	DoubleCreate      ProblemKind = "DoubleCreate"      // created again by the same name with other properties
	TwoWriters        ProblemKind = "TwoWriters"        // two nodes can write to it, and it is not ReadWriteMany
	DeletedInUse      ProblemKind = "DeletedInUse"      // deleted while attached, staged or published
	DetachedInUse     ProblemKind = "DetachedInUse"     // detached from a node on which a pod had it
	RecycledInUse     ProblemKind = "RecycledInUse"     // scrubbed while a pod had it
)

// Problem is one thing that went wrong with a volume, or that a well-behaved control plane would not ask for.
type Problem struct {
	Kind   ProblemKind
	Volume string // the ID
	Detail string
}

// String is "<kind> <volume>: <detail>".
func (p Problem) String() string { return fmt.Sprintf("%s %s: %s", p.Kind, p.Volume, p.Detail) }

func (m *Memory) problem(kind ProblemKind, id, format string, args ...any) {
	m.problems = append(m.problems, Problem{Kind: kind, Volume: id, Detail: fmt.Sprintf(format, args...)})
}

// Problems are those that showed as they happened, in that order: all kinds but Leaked and DeletedWhenWanted.
func (m *Memory) Problems() []Problem { return slices.Clone(m.problems) }

// watchWriters notes it when the last step made a second node able to write.
func (m *Memory) watchWriters(v *volume) {
	var nodes []string
	many := true
	for _, p := range m.writers(v) {
		if !slices.Contains(nodes, p.Node) {
			nodes = append(nodes, p.Node)
		}
		many = many && p.Mode == corev1.ReadWriteMany
	}
	if len(nodes) > 1 && !many {
		m.problem(TwoWriters, v.id, "can be written on nodes %s", strings.Join(nodes, ", "))
	}
}

// Report lists the problems so far, and after them, by volume, what does not fit the PersistentVolumes of the cluster, of which
// it takes all, also those of other backends:
//
//   - Leaked: created here, not deleted, and in no PersistentVolume. While a volume is being provisioned that is no mistake yet.
//   - DeletedWhenWanted: deleted here, and the same PersistentVolume is Bound; or it is neither Bound, Released, Failed nor being deleted.
func (m *Memory) Report(pvs []*corev1.PersistentVolume) []Problem {
	return append(m.Problems(), m.compare(pvs, m.owns)...)
}

// owns reports whether a CSI driver is in charge of the source.
func (m *Memory) owns(source *corev1.PersistentVolumeSource) bool {
	return source.CSI != nil && source.CSI.Driver == m.name
}

func (m *Memory) compare(pvs []*corev1.PersistentVolume, owns func(*corev1.PersistentVolumeSource) bool) []Problem {
	var problems []Problem
	known := map[string]bool{}
	for _, pv := range pvs {
		if pv == nil || !owns(&pv.Spec.PersistentVolumeSource) {
			continue
		}
		id := storage.Handle(pv)
		known[id] = true
		if wanted(pv) && m.lost(id, pv.UID) {
			problems = append(problems, Problem{DeletedWhenWanted, id, fmt.Sprintf("PersistentVolume %s is %s", pv.Name, phase(pv))})
		}
	}
	for id, v := range m.volumes {
		if v.request != nil && !known[id] {
			problems = append(problems, Problem{Leaked, id, "no PersistentVolume knows it"})
		}
	}
	sortProblems(problems)
	return problems
}

// wanted reports whether somebody uses the volume, or could come to.
func wanted(pv *corev1.PersistentVolume) bool {
	switch phase(pv) {
	case corev1.VolumeBound:
		return true // also when it is being deleted: the claim is still there
	case corev1.VolumeReleased, corev1.VolumeFailed:
		return false
	}
	return pv.DeletionTimestamp == nil
}

func phase(pv *corev1.PersistentVolume) corev1.PersistentVolumePhase {
	if pv.Status.Phase == "" {
		return corev1.VolumePending
	}
	return pv.Status.Phase
}

// lost reports whether the data that the PersistentVolume was about is gone. A PersistentVolume that was made anew after the
// deletion has another UID.
func (m *Memory) lost(id string, uid types.UID) bool {
	if v, ok := m.volumes[id]; ok && !v.revived {
		return false
	}
	dead := m.tombstone(id)
	return dead != nil && (uid == "" || dead.pv.UID == "" || dead.pv.UID == uid)
}
