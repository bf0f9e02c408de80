package binder

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/internal/core/match"
)

// Options are options of Match. The zero value asks as the controller does for a claim that is not delayed.
type Options struct {
	// Delayed says that the claim's class has volumeBindingMode WaitForFirstConsumer (PROV-010): only volumes that point at the
	// claim match, because the scheduler chooses among the free ones.
	Delayed bool
	// Explain fills Decision.Rejections, which costs much more than the match.
	Explain bool
}

// Decision is the answer of Match.
type Decision struct {
	// Volume is the volume to bind, nil for none.
	Volume *corev1.PersistentVolume
	// Rule decided: MATCH-015 for a volume that points at the claim, MATCH-020 for the smallest that fits. Without a volume it
	// is MATCH-021 with an Err, MATCH-016 for a delayed claim, else MATCH-003.
	Rule string
	// Err is set when the claim's selector is malformed and there are volumes to search. No volume was checked then.
	Err error
	// Rejections has one entry for every volume but the chosen one, in the order of the search. It is empty unless Options.Explain is
	// set, and with Err.
	Rejections []Rejection
}

// Rejection says why a volume was not picked.
type Rejection struct {
	// Volume is the name of the volume.
	Volume string
	// Rule is the first rule that rejected it: MATCH-002 to MATCH-020.
	Rule string
	// Got describes the volume: "capacity 5Gi". Needed describes what the claim needs instead: "at least 10Gi"; "" if Got suffices.
	Got, Needed string
}

// String renders one line: `pv-a: capacity 5Gi, needs at least 10Gi (MATCH-011)`.
func (r Rejection) String() string { return match.Rejection(r).String() }

// Match picks the volume for a claim. Among the volumes with every access mode of the claim, those with the fewest modes come first
// (MATCH-002), up to the first group with a match (MATCH-003). In a group, a volume that points at the claim wins (MATCH-015), then the
// smallest that fits (MATCH-020); ties go by name (MATCH-004).
//
// It only reads its arguments. The order of volumes does not matter; their names must differ. A volume that points at
// the claim but fails one of MATCH-011 to MATCH-014 is skipped, and another may be picked (MATCH-023).
//
// Match defines the result; the controller gets the same one from an index. Both are in internal/core/match.
func Match(claim *corev1.PersistentVolumeClaim, volumes []*corev1.PersistentVolume, opts Options) Decision {
	best := match.Best(claim, volumes, match.Options{Delayed: opts.Delayed, Explain: opts.Explain})
	d := Decision{Volume: best.Volume, Rule: best.Rule, Err: best.Err}
	for _, r := range best.Rejections {
		d.Rejections = append(d.Rejections, Rejection(r))
	}
	return d
}

// Satisfies reports whether the volume can serve a claim that names it in volumeName (MATCH-030). If it cannot, why is
// the text that ends the VolumeMismatch Event. Phase, claimRef, selector and node affinity do not count.
func Satisfies(claim *corev1.PersistentVolumeClaim, pv *corev1.PersistentVolume) (ok bool, why string) {
	ok, why, _ = match.Named(claim, pv)
	return ok, why
}
