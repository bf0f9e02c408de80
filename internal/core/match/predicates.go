package match

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/volsim/volsim/internal/core/objects"
)

// Options select the caller's variant of the search. The zero value is the PersistentVolume controller, for a claim that is not delayed.
type Options struct {
	// Delayed is the delay flag of the claim's class (PROV-010): only volumes that point at the claim match.
	Delayed bool
	// Scheduler searches as the scheduler does before it checks nodes (MATCH-022): access modes are checked volume by volume, not by
	// group, and Delayed has no effect.
	Scheduler bool
	// Node implies Scheduler, and admits only volumes that this node can reach.
	Node *corev1.Node
	// Exclude holds the names of volumes that were chosen already, for another claim of the same pod (MATCH-022).
	Exclude map[string]bool
	// Explain fills Decision.Rejections, which costs much more than the match.
	Explain bool
}

// Request holds what a claim demands of a volume.
type Request struct {
	claim           *corev1.PersistentVolumeClaim
	modes           modeSet
	unknownModes    bool // the claim asks for access modes that no group has
	capacity        resource.Quantity
	volumeMode      corev1.PersistentVolumeMode
	attributesClass string
	class           string
	selector        labels.Selector // nil selects all
	opts            Options
}

// NewRequest reads the claim. An error means that its selector is malformed; the rest of the Request is valid then.
func NewRequest(claim *corev1.PersistentVolumeClaim, opts Options) (Request, error) {
	r := newRequest(claim)
	r.opts = opts
	r.opts.Scheduler = opts.Scheduler || opts.Node != nil
	var err error
	if claim.Spec.Selector != nil {
		var selector labels.Selector
		if selector, err = metav1.LabelSelectorAsSelector(claim.Spec.Selector); err == nil {
			r.selector = selector
		}
	}
	return r, err
}

// newRequest reads everything but the selector.
func newRequest(claim *corev1.PersistentVolumeClaim) Request {
	r := Request{
		claim:           claim,
		capacity:        requestOf(claim),
		volumeMode:      objects.VolumeModeOf(claim.Spec.VolumeMode),
		attributesClass: objects.ValueOf(claim.Spec.VolumeAttributesClassName),
		class:           objects.ClassOf(claim),
	}
	r.modes, r.unknownModes = modesOf(claim.Spec.AccessModes)
	return r
}

// Demand returns what the claim demands of a volume, as text. Best and Failures answer alike for two claims with the same demand and options,
// unless a volume has a claimRef with the name of one of them, or the selector is malformed.
func Demand(claim *corev1.PersistentVolumeClaim) string {
	r := newRequest(claim)
	return fmt.Sprintf("%q %q %q %q %q %v", r.class, r.attributesClass, r.volumeMode, claim.Spec.AccessModes, r.capacity.String(), claim.Spec.Selector)
}

// Accepts reports whether the volume passes all predicates, and whether it is reserved for the claim.
func (r *Request) Accepts(pv *corev1.PersistentVolume) (ok, reserved bool) {
	failed, reserved := r.check(pv)
	return failed == nil, reserved
}

// check returns the first predicate that the volume fails, nil if it passes all, and whether it is reserved for the claim.
func (r *Request) check(pv *corev1.PersistentVolume) (failed *predicate, reserved bool) {
	for _, p := range anyVolume {
		if !p.holds(r, pv) {
			return p, false
		}
	}
	// MATCH-015: a volume that points at the claim needs no more. MATCH-022: except that the node must reach it.
	if objects.IsMine(pv, r.claim) {
		if !reachable.holds(r, pv) {
			return reachable, true
		}
		return nil, true
	}
	for _, p := range freeVolume {
		if !p.holds(r, pv) {
			return p, false
		}
	}
	return nil, false
}

// predicate is one condition that a volume must meet.
type predicate struct {
	rule  string
	holds func(*Request, *corev1.PersistentVolume) bool
	// explain describes what a volume that fails has, and what is needed; needed is "" where the first says it all.
	explain func(*Request, *corev1.PersistentVolume) (got, needed string)
}

// anyVolume are the predicates for every volume, in the order in which they are checked.
var anyVolume = [...]*predicate{notChosen, unclaimed, largeEnough, sameVolumeMode, sameAttributesClass, notTerminating}

// freeVolume are the further predicates for volumes that are not reserved for the claim.
var freeVolume = [...]*predicate{notDelayed, available, selected, sameClass, reachable, hasAccessModes}

var (
	// MATCH-022: volumes chosen for another claim of the pod are taken.
	notChosen = &predicate{"MATCH-022",
		func(r *Request, pv *corev1.PersistentVolume) bool { return !r.opts.Exclude[pv.Name] },
		func(*Request, *corev1.PersistentVolume) (got, needed string) {
			return "already chosen for another claim of the pod", ""
		}}

	// MATCH-010: the volume is free, or reserved for this claim.
	unclaimed = &predicate{"MATCH-010",
		func(r *Request, pv *corev1.PersistentVolume) bool {
			return pv.Spec.ClaimRef == nil || objects.IsMine(pv, r.claim)
		},
		func(r *Request, pv *corev1.PersistentVolume) (got, needed string) {
			return "already " + DescribeOwner(pv, r.claim), ""
		}}

	// MATCH-011: the volume is large enough, compared exactly.
	largeEnough = &predicate{"MATCH-011",
		func(r *Request, pv *corev1.PersistentVolume) bool {
			capacity := capacityOf(pv)
			return capacity.Cmp(r.capacity) >= 0
		}, explainCapacity}

	// wholeBytes is the same for a volume that the claim names, where sizes are rounded up to bytes (MATCH-030).
	wholeBytes = &predicate{"MATCH-030",
		func(r *Request, pv *corev1.PersistentVolume) bool {
			capacity := capacityOf(pv)
			return capacity.Value() >= r.capacity.Value()
		}, explainCapacity}

	// MATCH-012: same volumeMode.
	sameVolumeMode = &predicate{"MATCH-012",
		func(r *Request, pv *corev1.PersistentVolume) bool {
			return objects.VolumeModeOf(pv.Spec.VolumeMode) == r.volumeMode
		},
		func(r *Request, pv *corev1.PersistentVolume) (got, needed string) {
			return "volumeMode " + string(objects.VolumeModeOf(pv.Spec.VolumeMode)), string(r.volumeMode)
		}}

	// MATCH-013: same volumeAttributesClassName.
	sameAttributesClass = &predicate{"MATCH-013",
		func(r *Request, pv *corev1.PersistentVolume) bool {
			return objects.ValueOf(pv.Spec.VolumeAttributesClassName) == r.attributesClass
		},
		func(r *Request, pv *corev1.PersistentVolume) (got, needed string) {
			return named("volumeAttributesClassName", objects.ValueOf(pv.Spec.VolumeAttributesClassName)), quoted(r.attributesClass)
		}}

	// MATCH-014: the volume is not being deleted.
	notTerminating = &predicate{"MATCH-014",
		func(_ *Request, pv *corev1.PersistentVolume) bool { return pv.DeletionTimestamp == nil },
		func(_ *Request, pv *corev1.PersistentVolume) (got, needed string) {
			return "being deleted since " + pv.DeletionTimestamp.UTC().Format(time.RFC3339), ""
		}}

	// MATCH-016: the PersistentVolume controller leaves free volumes to the scheduler if the claim is delayed.
	notDelayed = &predicate{"MATCH-016",
		func(r *Request, _ *corev1.PersistentVolume) bool { return !r.opts.Delayed || r.opts.Scheduler },
		func(*Request, *corev1.PersistentVolume) (got, needed string) {
			return "not reserved for this claim, and the scheduler chooses among free volumes (WaitForFirstConsumer)", ""
		}}

	// MATCH-017: the volume is Available; any other phase is about to change.
	available = &predicate{"MATCH-017",
		func(_ *Request, pv *corev1.PersistentVolume) bool { return pv.Status.Phase == corev1.VolumeAvailable },
		func(_ *Request, pv *corev1.PersistentVolume) (got, needed string) {
			if pv.Status.Phase == "" {
				return "no phase yet", string(corev1.VolumeAvailable)
			}
			return "phase " + string(pv.Status.Phase), string(corev1.VolumeAvailable)
		}}

	// MATCH-018: the claim's selector matches the labels.
	selected = &predicate{"MATCH-018",
		func(r *Request, pv *corev1.PersistentVolume) bool {
			return r.selector == nil || r.selector.Matches(labels.Set(pv.Labels))
		},
		func(r *Request, pv *corev1.PersistentVolume) (got, needed string) {
			if len(pv.Labels) == 0 {
				return "no labels", r.selector.String()
			}
			return "labels " + labels.Set(pv.Labels).String(), r.selector.String()
		}}

	// MATCH-019: same class.
	sameClass = &predicate{"MATCH-019",
		func(r *Request, pv *corev1.PersistentVolume) bool { return objects.ClassOfVolume(pv) == r.class },
		func(r *Request, pv *corev1.PersistentVolume) (got, needed string) {
			return named("storageClassName", objects.ClassOfVolume(pv)), quoted(r.class)
		}}

	// MATCH-022: the node can reach the volume.
	reachable = &predicate{"MATCH-022",
		func(r *Request, pv *corev1.PersistentVolume) bool {
			return r.opts.Node == nil || Reaches(pv, r.opts.Node)
		},
		func(r *Request, pv *corev1.PersistentVolume) (got, needed string) {
			return fmt.Sprintf("not reachable from node %s: its node affinity is %s", r.opts.Node.Name, DescribeAffinity(pv)), ""
		}}

	// MATCH-022: without groups, access modes are checked volume by volume. Unknown modes count as well.
	hasAccessModes = &predicate{"MATCH-022",
		func(r *Request, pv *corev1.PersistentVolume) bool { return !r.opts.Scheduler || hasModes(pv, r.claim) },
		explainModes}

	// namedModes is the same for a volume that the claim names (MATCH-030).
	namedModes = &predicate{"MATCH-030",
		func(r *Request, pv *corev1.PersistentVolume) bool { return hasModes(pv, r.claim) },
		explainModes}
)

func explainCapacity(r *Request, pv *corev1.PersistentVolume) (got, needed string) {
	capacity := capacityOf(pv)
	return "capacity " + capacity.String(), "at least " + r.capacity.String()
}

func explainModes(r *Request, pv *corev1.PersistentVolume) (got, needed string) {
	return "access modes " + describeModes(pv.Spec.AccessModes), describeModes(r.claim.Spec.AccessModes)
}

// named renders a field that may be empty.
func named(field, value string) string {
	if value == "" {
		return "no " + field
	}
	return fmt.Sprintf("%s %q", field, value)
}

func quoted(value string) string {
	if value == "" {
		return "none"
	}
	return fmt.Sprintf("%q", value)
}
