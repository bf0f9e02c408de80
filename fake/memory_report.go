package fake

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/volsim/volsim/internal/core/backends"
)

// ProblemKind is a way to misuse a volume.
type ProblemKind string

// The kinds of problems.
const (
	Leaked            ProblemKind = "Leaked"            // it was created, and no PersistentVolume knows it
	DeletedWhenWanted ProblemKind = "DeletedWhenWanted" // a PersistentVolume that may be used describes a deleted volume
	DoubleCreate      ProblemKind = "DoubleCreate"      // created again by the same name with other properties
	TwoWriters        ProblemKind = "TwoWriters"        // two nodes can write to it, and it is not ReadWriteMany
	DeletedInUse      ProblemKind = "DeletedInUse"      // deleted while attached, staged or published
	DetachedInUse     ProblemKind = "DetachedInUse"     // detached from a node on which a pod had it
	RecycledInUse     ProblemKind = "RecycledInUse"     // scrubbed while a pod had it
)

// Problem is one misuse of a volume, which a well-behaved control plane would not cause.
type Problem struct {
	Kind   ProblemKind
	Volume string // its ID
	Detail string // a sentence that names the nodes and pods
}

// String returns "<kind> <volume>: <detail>".
func (p Problem) String() string { return fmt.Sprintf("%s %s: %s", p.Kind, p.Volume, p.Detail) }

func (m *model) problem(kind ProblemKind, id, format string, args ...any) {
	m.problems = append(m.problems, Problem{Kind: kind, Volume: id, Detail: fmt.Sprintf(format, args...)})
}

// Problems implements Memory.Problems.
func (m *model) Problems() []Problem { return slices.Clone(m.problems) }

// watchWriters records a problem when the last step made a second node able to write.
func (m *model) watchWriters(v *volume) {
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

// Report implements Memory.Report.
func (m *model) Report(pvs []*corev1.PersistentVolume) []Problem {
	return append(m.Problems(), m.compare(pvs)...)
}

func (m *model) compare(pvs []*corev1.PersistentVolume) []Problem {
	var problems []Problem
	known := map[string]bool{}
	for _, pv := range pvs {
		if pv == nil || !m.supports(&pv.Spec.PersistentVolumeSource) {
			continue
		}
		id := backends.Handle(pv)
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

// wanted reports whether the volume is in use or may be used later.
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

// lost reports whether the data of the PersistentVolume is gone. A PersistentVolume that was created again after the deletion has
// another UID.
func (m *model) lost(id string, uid types.UID) bool {
	if v, ok := m.volumes[id]; ok && !v.revived {
		return false
	}
	dead := m.tombstone(id)
	return dead != nil && (uid == "" || dead.pv.UID == "" || dead.pv.UID == uid)
}
