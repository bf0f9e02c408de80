package match

import (
	"fmt"
	"iter"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// Decision is the answer of Best.
type Decision struct {
	// Volume is the volume to bind, nil for none.
	Volume *corev1.PersistentVolume
	// Rule decided: MATCH-015 for a volume that points at the claim, MATCH-020 for the smallest that fits. Without a volume it
	// is MATCH-021 with an Err, MATCH-022 for the scheduler, MATCH-016 for a delayed claim, else MATCH-003.
	Rule string
	// Err is set when the claim's selector is malformed and there is a group to search. No volume was checked then.
	Err error
	// Rejections has one entry for every volume but the chosen one, in the order of the search: group by group, then by name,
	// and last the volumes that lack an access mode. Empty unless Options.Explain, and with Err.
	Rejections []Rejection
}

// Best picks the volume for a claim. The volumes are searched in groups of equal access modes (MATCH-001), those with
// every mode of the claim, the fewest modes first (MATCH-002); the first group that yields a volume ends the search
// (MATCH-003). A group yields the first volume that points at the claim (MATCH-015), else the smallest that fits
// (MATCH-020); ties go by name (MATCH-004).
//
// It only reads its arguments. The order of volumes does not matter; their names must differ. A volume that points at
// the claim but fails one of MATCH-011 to MATCH-014 is skipped, and another may be picked (MATCH-023).
func Best(claim *corev1.PersistentVolumeClaim, volumes []*corev1.PersistentVolume, opts Options) Decision {
	r, err := NewRequest(claim, opts)
	if err != nil && r.searchesAny(slices.Values(volumes)) {
		// MATCH-021: the whole search fails before any volume is checked.
		return Decision{Rule: "MATCH-021", Err: selectorError(claim, err)}
	}
	var best candidate
	for _, pv := range volumes {
		rank, ok := r.rank(pv)
		if !ok || best.pv != nil && rank > best.rank {
			continue
		}
		failed, reserved := r.check(pv)
		if failed == nil || reserved && failed == reachable {
			c := candidate{pv: pv, rank: rank, reserved: reserved, unreachable: failed != nil}
			if best.pv == nil || c.before(best) {
				best = c
			}
		}
	}
	d := Decision{Volume: best.pv, Rule: r.rule(best)}
	if best.unreachable {
		// MATCH-022: a reserved volume that the node cannot reach ends the search without a match.
		d.Volume = nil
	}
	if opts.Explain {
		d.Rejections = r.rejections(volumes, best)
	}
	return d
}

func selectorError(claim *corev1.PersistentVolumeClaim, err error) error {
	return fmt.Errorf("selector of claim %s/%s: %w", claim.Namespace, claim.Name, err)
}

// rank returns the position of the volume's group in the search; ok is false when the group is not searched.
func (r *Request) rank(pv *corev1.PersistentVolume) (rank int, ok bool) {
	// MATCH-022: for the scheduler there is one group, and access modes are checked volume by volume.
	if r.opts.Scheduler {
		return 0, true
	}
	// MATCH-002: only groups with all modes of the claim.
	group := groupOf(pv)
	return group.rank(), r.searches(group)
}

func (r *Request) searches(group modeSet) bool { return !r.unknownModes && group.containsAll(r.modes) }

// searchesAny reports whether any group is searched. If none is, a malformed selector is never read (MATCH-021).
func (r *Request) searchesAny(volumes iter.Seq[*corev1.PersistentVolume]) bool {
	if r.opts.Scheduler {
		return true
	}
	for pv := range volumes {
		if _, ok := r.rank(pv); ok {
			return true
		}
	}
	return false
}

// rule returns Decision.Rule for the result of a search.
func (r *Request) rule(best candidate) string {
	switch {
	case best.unreachable:
		return "MATCH-022"
	case best.reserved:
		return "MATCH-015"
	case best.pv != nil:
		return "MATCH-020"
	case r.opts.Scheduler:
		return "MATCH-022"
	case r.opts.Delayed:
		return "MATCH-016"
	}
	return "MATCH-003"
}

// candidate is a volume that may end the search of its group. The zero value is no volume.
type candidate struct {
	pv       *corev1.PersistentVolume
	rank     int
	reserved bool
	// unreachable marks a reserved volume that ends the search without being picked (MATCH-022).
	unreachable bool
}

// before reports whether c wins against other.
func (c candidate) before(other candidate) bool {
	// MATCH-003: an earlier group wins, whatever it holds.
	if c.rank != other.rank {
		return c.rank < other.rank
	}
	// MATCH-015: within the group, a volume that points at the claim wins.
	if c.reserved != other.reserved {
		return c.reserved
	}
	// MATCH-004: reserved volumes go by name.
	if c.reserved {
		return c.pv.Name < other.pv.Name
	}
	return Compare(c.pv, other.pv) < 0
}

// Compare orders volumes that fit: negative if a is preferred to b.
func Compare(a, b *corev1.PersistentVolume) int {
	// MATCH-020: the smaller wins; a claim must not take a large volume while a small one fits.
	capacity := capacityOf(a)
	if order := capacity.Cmp(capacityOf(b)); order != 0 {
		return order
	}
	// MATCH-004: ties go by name.
	return strings.Compare(a.Name, b.Name)
}
