package binder

import (
	"fmt"
	"iter"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/volsim/volsim/internal/core/objects"
)

// Options says how Match is asked. The zero value asks as the controller does for a claim that is not delayed.
type Options struct {
	// Delayed is the delay flag of the claim's class (PROV-010, IsDelayed): only volumes that point at the claim match.
	Delayed bool
	// Node, when set, asks as the scheduler does (MATCH-022): volumes must be reachable from the node's labels, there are no
	// groups, and Delayed has no effect.
	Node *corev1.Node
	// Exclude holds the names of volumes that were chosen already, for another claim of the same pod (MATCH-022).
	Exclude map[string]bool
	// Explain fills Decision.Refusals, which costs much more than the match.
	Explain bool
}

// Decision is the answer of Match.
type Decision struct {
	// Volume is the volume to bind, nil for none.
	Volume *corev1.PersistentVolume
	// Rule decided: MATCH-015 for a volume that points at the claim, MATCH-020 for the smallest that fits. Without a volume it
	// is MATCH-021 with an Err, MATCH-022 when a node was given, MATCH-016 for a delayed claim, else MATCH-003.
	Rule string
	// Err is set when the claim's selector is malformed and there is a group to search. No volume was looked at then.
	Err error
	// Refusals has one entry for every volume but the chosen one, in the order of the search: group by group, then by name,
	// and last the volumes that lack an access mode. Empty unless Options.Explain, and with Err.
	Refusals []Refusal
}

// Match picks the volume for a claim. The volumes are searched in groups of equal access modes (MATCH-001), those with
// every mode of the claim, the fewest modes first (MATCH-002); the first group that yields a volume ends the search
// (MATCH-003). A group yields the first volume that points at the claim (MATCH-015), else the smallest that fits
// (MATCH-020); ties go by name (MATCH-004).
//
// It reads its arguments only. The order of volumes does not matter; their names must differ. A volume that points at
// the claim but fails one of MATCH-011 to MATCH-014 is passed over, and another may be picked (MATCH-023).
func Match(claim *corev1.PersistentVolumeClaim, volumes []*corev1.PersistentVolume, opts Options) Decision {
	q, err := newQuery(claim, opts)
	if err != nil && q.searchesAny(slices.Values(volumes)) {
		// MATCH-021: the whole search fails before any volume is looked at.
		return Decision{Rule: "MATCH-021", Err: err}
	}
	var best candidate
	for _, pv := range volumes {
		rank, ok := q.rank(pv)
		if !ok || best.pv != nil && rank > best.rank {
			continue
		}
		refusal, mine := q.judge(pv)
		if refusal == "" || mine && refusal == "MATCH-022" {
			if c := (candidate{pv: pv, rank: rank, mine: mine, refusal: refusal}); best.pv == nil || c.before(best) {
				best = c
			}
		}
	}
	d := Decision{Volume: best.pv, Rule: q.rule(best)}
	if best.refusal != "" {
		d.Volume = nil
	}
	if opts.Explain {
		d.Refusals = q.refusals(volumes, best)
	}
	return d
}

// query is what a claim asks of a volume.
type query struct {
	claim    *corev1.PersistentVolumeClaim
	modes    modeSet
	unknown  bool // the claim asks for modes that no group has
	request  resource.Quantity
	mode     corev1.PersistentVolumeMode
	vac      string
	class    string
	selector labels.Selector // nil selects all
	opts     Options
	// me names the claim and free what MATCH-010 asks for, for people to read; filled in by refusals.
	me, free string
}

func newQuery(claim *corev1.PersistentVolumeClaim, opts Options) (query, error) {
	q := query{
		claim:   claim,
		request: requestOf(claim),
		mode:    objects.VolumeModeOf(claim.Spec.VolumeMode),
		vac:     objects.ValueOf(claim.Spec.VolumeAttributesClassName),
		class:   ClassOf(claim),
		opts:    opts,
	}
	q.modes, q.unknown = modesOf(claim.Spec.AccessModes)
	if claim.Spec.Selector != nil {
		selector, err := metav1.LabelSelectorAsSelector(claim.Spec.Selector)
		if err != nil {
			return q, fmt.Errorf("selector of claim %s/%s: %w", claim.Namespace, claim.Name, err)
		}
		q.selector = selector
	}
	return q, nil
}

// rank is the place of the volume's group in the search; ok is false when the group is not searched.
func (q *query) rank(pv *corev1.PersistentVolume) (rank int, ok bool) {
	// MATCH-022: with a node there is one group, and access modes are checked volume by volume.
	if q.opts.Node != nil {
		return 0, true
	}
	// MATCH-002: only groups with all modes of the claim.
	group := groupOf(pv)
	return group.rank(), q.searches(group)
}

func (q *query) searches(group modeSet) bool { return !q.unknown && group.containsAll(q.modes) }

// searchesAny reports whether any group is searched. If none is, a malformed selector is never read (MATCH-021).
func (q *query) searchesAny(volumes iter.Seq[*corev1.PersistentVolume]) bool {
	if q.opts.Node != nil {
		return true
	}
	for pv := range volumes {
		if _, ok := q.rank(pv); ok {
			return true
		}
	}
	return false
}

// judge is the rule that refuses the volume, "" if none does. mine reports whether the volume points at the claim;
// a mine volume that only its node affinity refuses (MATCH-022) ends the search all the same.
func (q *query) judge(pv *corev1.PersistentVolume) (refusal string, mine bool) {
	// MATCH-022: volumes chosen for another claim are out of the question.
	if q.opts.Exclude[pv.Name] {
		return "MATCH-022", false
	}
	// MATCH-010: free, or reserved for this claim.
	mine = IsMine(pv, q.claim)
	if pv.Spec.ClaimRef != nil && !mine {
		return "MATCH-010", false
	}
	// MATCH-011: large enough, compared exactly.
	if capacity := capacityOf(pv); capacity.Cmp(q.request) < 0 {
		return "MATCH-011", false
	}
	// MATCH-012: same volumeMode.
	if objects.VolumeModeOf(pv.Spec.VolumeMode) != q.mode {
		return "MATCH-012", false
	}
	// MATCH-013: same volumeAttributesClassName.
	if objects.ValueOf(pv.Spec.VolumeAttributesClassName) != q.vac {
		return "MATCH-013", false
	}
	// MATCH-014: not terminating.
	if pv.DeletionTimestamp != nil {
		return "MATCH-014", false
	}
	// MATCH-015: a volume that points at the claim needs no more. MATCH-022: except that the node must reach it.
	if mine {
		if q.opts.Node != nil && !nodeAffinityMatches(pv, q.opts.Node) {
			return "MATCH-022", true
		}
		return "", true
	}
	// MATCH-016: a delayed claim leaves free volumes to the scheduler.
	if q.opts.Delayed && q.opts.Node == nil {
		return "MATCH-016", false
	}
	// MATCH-017: Available; any other phase is about to change.
	if pv.Status.Phase != corev1.VolumeAvailable {
		return "MATCH-017", false
	}
	// MATCH-018: labels as the claim's selector wants them.
	if q.selector != nil && !q.selector.Matches(labels.Set(pv.Labels)) {
		return "MATCH-018", false
	}
	// MATCH-019: same class.
	if ClassOfVolume(pv) != q.class {
		return "MATCH-019", false
	}
	// MATCH-022: reachable from the node, and with all modes of the claim.
	if q.opts.Node != nil && !(nodeAffinityMatches(pv, q.opts.Node) && accessModesMatch(q.claim, pv)) {
		return "MATCH-022", false
	}
	return "", false
}

// rule is Decision.Rule for the outcome of a search.
func (q *query) rule(best candidate) string {
	switch {
	case best.refusal != "":
		return best.refusal
	case best.mine:
		return "MATCH-015"
	case best.pv != nil:
		return "MATCH-020"
	case q.opts.Node != nil:
		return "MATCH-022"
	case q.opts.Delayed:
		return "MATCH-016"
	}
	return "MATCH-003"
}

// candidate is a volume that may end the search of its group. The zero value is no volume.
type candidate struct {
	pv      *corev1.PersistentVolume
	rank    int
	mine    bool
	refusal string // MATCH-022 for a volume that ends the search without being picked
}

// before reports whether a search meets c's claim to the answer before that of other.
func (c candidate) before(other candidate) bool {
	// MATCH-003: an earlier group wins, whatever it holds.
	if c.rank != other.rank {
		return c.rank < other.rank
	}
	// MATCH-015: within the group, a volume that points at the claim is returned at once.
	if c.mine != other.mine {
		return c.mine
	}
	// MATCH-020: the smaller wins; a claim must not eat a large volume while a small one would do.
	if !c.mine {
		capacity := capacityOf(c.pv)
		if order := capacity.Cmp(capacityOf(other.pv)); order != 0 {
			return order < 0
		}
	}
	// MATCH-004: volumes are seen by name ascending.
	return c.pv.Name < other.pv.Name
}
