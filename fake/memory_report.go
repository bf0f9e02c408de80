package fake

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/volsim/volsim/internal/core/backends"
)

// Problem is a misuse of a volume, which a correct control plane does not cause.
type Problem struct {
	// Kind is one of these:
	//
	//   - TwoWriters: two nodes can write to a volume that is not ReadWriteMany.
	//   - DetachedInUse: it was detached from a node on which it is published.
	//   - DeletedInUse: it was deleted while attached, staged or published.
	//   - RecycledInUse: it was scrubbed while published.
	//   - DoubleCreate: it was created again with the same name and other properties.
	//   - Leaked: it was created, and no PersistentVolume has it.
	//   - DeletedWhenWanted: it was deleted, and a PersistentVolume that is or may be used has it.
	Kind   string
	Volume string // ID of the volume
	Detail string // a sentence that names the nodes and pods
}

const (
	leaked            = "Leaked"
	deletedWhenWanted = "DeletedWhenWanted"
	doubleCreate      = "DoubleCreate"
	twoWriters        = "TwoWriters"
	deletedInUse      = "DeletedInUse"
	detachedInUse     = "DetachedInUse"
	recycledInUse     = "RecycledInUse"
)

// String returns "<kind> <volume>: <detail>".
func (p Problem) String() string { return fmt.Sprintf("%s %s: %s", p.Kind, p.Volume, p.Detail) }

func (m *model) problem(kind, id, format string, args ...any) {
	m.problems = append(m.problems, Problem{Kind: kind, Volume: id, Detail: fmt.Sprintf(format, args...)})
}

// Problems implements Memory.Problems.
func (m *model) Problems() []Problem { return slices.Clone(m.problems) }

// watchWriters records a problem if the last operation enabled a second node to write.
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
		m.problem(twoWriters, v.id, "can be written on nodes %s", strings.Join(nodes, ", "))
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
		if isWanted(pv) && m.isLost(id, pv.UID) {
			problems = append(problems, Problem{deletedWhenWanted, id, fmt.Sprintf("PersistentVolume %s is %s", pv.Name, phase(pv))})
		}
	}
	for id, v := range m.volumes {
		if v.request != nil && !known[id] {
			problems = append(problems, Problem{leaked, id, "no PersistentVolume has it"})
		}
	}
	sortProblems(problems)
	return problems
}

// isWanted reports whether the volume is in use or may be used later.
func isWanted(pv *corev1.PersistentVolume) bool {
	switch phase(pv) {
	case corev1.VolumeBound:
		return true // even while it is being deleted, because the claim still exists
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

// isLost reports whether the data of the PersistentVolume was deleted. A PersistentVolume that was created again after the deletion has
// another UID and lost nothing.
func (m *model) isLost(id string, uid types.UID) bool {
	if v, ok := m.volumes[id]; ok && !v.revived {
		return false
	}
	v := m.lastDeleted(id)
	return v != nil && (uid == "" || v.deletedPV == "" || v.deletedPV == uid)
}
