package match

import (
	"fmt"
	"math"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/internal/core/objects"
)

// Rejection says why a volume was not picked.
type Rejection struct {
	// Volume is the name of the volume.
	Volume string
	// Rule is the first rule that rejected it: MATCH-002 for a group that lacks an access mode, MATCH-003 for a group that was
	// not reached, MATCH-010 to MATCH-019 for a predicate, MATCH-022 for what only the scheduler checks, MATCH-030 for a volume
	// that the claim names, MATCH-015 and MATCH-020 for losing to another volume of the group.
	Rule string
	// Got describes the volume, and Needed what the claim needs instead; Needed is "" where Got says it all.
	Got, Needed string
}

// String renders one line: `pv-a: capacity 5Gi, needs at least 10Gi (MATCH-011)`.
func (r Rejection) String() string {
	text := r.Volume + ": " + r.Got
	if r.Needed != "" {
		text += ", needs " + r.Needed
	}
	return text + " (" + r.Rule + ")"
}

// rejections explains every volume but the winner.
func (r *Request) rejections(volumes []*corev1.PersistentVolume, best candidate) []Rejection {
	type ranked struct {
		pv   *corev1.PersistentVolume
		rank int
	}
	order := make([]ranked, 0, len(volumes))
	for _, pv := range volumes {
		rank, ok := r.rank(pv)
		if !ok {
			rank += math.MaxUint8 // after all groups that are searched
		}
		order = append(order, ranked{pv: pv, rank: rank})
	}
	slices.SortFunc(order, func(a, b ranked) int {
		if a.rank != b.rank {
			return a.rank - b.rank
		}
		return strings.Compare(a.pv.Name, b.pv.Name)
	})
	rejections := make([]Rejection, 0, len(order))
	for _, o := range order {
		if o.pv == best.pv && !best.unreachable {
			continue
		}
		rejections = append(rejections, r.reject(o.pv, best))
	}
	return rejections
}

// reject returns the first rule that rejected the volume in the search that picked best.
func (r *Request) reject(pv *corev1.PersistentVolume, best candidate) Rejection {
	rejection := Rejection{Volume: pv.Name}
	rank, ok := r.rank(pv)
	switch {
	case !ok:
		// MATCH-002: the group lacks an access mode.
		rejection.Rule = "MATCH-002"
		rejection.Got, rejection.Needed = explainModes(r, pv)
		return rejection
	case best.pv != nil && rank > best.rank:
		// MATCH-003: the search ended before it reached the group.
		rejection.Rule = "MATCH-003"
		rejection.Got = fmt.Sprintf("volume %s fits with fewer access modes (%s)", best.pv.Name, describeModes(best.pv.Spec.AccessModes))
		return rejection
	case best.reserved && rank == best.rank && pv.Name > best.pv.Name:
		// MATCH-015: the search ended before it reached this volume.
		return r.lostTo(rejection, pv, best)
	}
	if failed, _ := r.check(pv); failed != nil {
		rejection.Rule = failed.rule
		rejection.Got, rejection.Needed = failed.explain(r, pv)
		return rejection
	}
	return r.lostTo(rejection, pv, best)
}

// Failures returns every condition of a claim that a volume does not meet, in the order in which they are checked; a Rejection has only
// the first. It is empty for a volume that fits.
func Failures(claim *corev1.PersistentVolumeClaim, pv *corev1.PersistentVolume, opts Options) []Rejection {
	r, err := NewRequest(claim, opts)
	if err != nil {
		return nil
	}
	var all []Rejection
	if _, ok := r.rank(pv); !ok {
		// MATCH-002: the group lacks an access mode.
		got, needed := explainModes(&r, pv)
		all = append(all, Rejection{Volume: pv.Name, Rule: "MATCH-002", Got: got, Needed: needed})
	}
	conditions := anyVolume[:]
	if objects.IsMine(pv, claim) {
		// MATCH-015: a volume that points at the claim needs no more, except that the node must reach it.
		conditions = append(conditions[:len(conditions):len(conditions)], reachable)
	} else {
		conditions = append(conditions[:len(conditions):len(conditions)], freeVolume[:]...)
	}
	for _, p := range conditions {
		if p.holds(&r, pv) {
			continue
		}
		got, needed := p.explain(&r, pv)
		all = append(all, Rejection{Volume: pv.Name, Rule: p.rule, Got: got, Needed: needed})
	}
	return all
}

// lostTo explains a volume of the group that best won.
func (r *Request) lostTo(rejection Rejection, pv *corev1.PersistentVolume, best candidate) Rejection {
	rejection.Rule = r.rule(best)
	capacity, smallest := capacityOf(pv), capacityOf(best.pv)
	switch {
	case best.unreachable:
		rejection.Got = fmt.Sprintf("not considered: volume %s is reserved for this claim, and node %s cannot reach it", best.pv.Name,
			r.opts.Node.Name)
	case best.reserved:
		rejection.Got = fmt.Sprintf("volume %s is reserved for this claim", best.pv.Name)
	case capacity.Cmp(smallest) == 0:
		rejection.Got = fmt.Sprintf("capacity %s; volume %s has the same and comes first by name", capacity.String(), best.pv.Name)
	default:
		rejection.Got = fmt.Sprintf("capacity %s; volume %s fits with %s", capacity.String(), best.pv.Name, smallest.String())
	}
	return rejection
}

func describeModes(modes []corev1.PersistentVolumeAccessMode) string {
	if len(modes) == 0 {
		return "none"
	}
	names := make([]string, len(modes))
	for i, mode := range modes {
		names[i] = string(mode)
	}
	return strings.Join(names, ", ")
}

// DescribeOwner says for which claim a volume is reserved, as seen by another claim: "reserved for claim default/other".
func DescribeOwner(pv *corev1.PersistentVolume, claim *corev1.PersistentVolumeClaim) string {
	ref := pv.Spec.ClaimRef
	if ref.Namespace == claim.Namespace && ref.Name == claim.Name {
		return fmt.Sprintf("reserved for an earlier claim named %s/%s (different uid)", ref.Namespace, ref.Name)
	}
	return fmt.Sprintf("reserved for claim %s/%s", ref.Namespace, ref.Name)
}
