package mount

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/objects"
	"github.com/volsim/volsim/mount/internal/volumes"
)

// expansionDeferral is a volume that a pass did not expand because its pods may only read (MNT-406). Each following pass finds the same
// and repeats the Events. Passes whose Events client-go would drop as too many (BIND-004) are skipped; the next pass counts them.
// The engine cannot skip these passes for the kubelet, because their Events change the counts of later ones.
type expansionDeferral struct {
	pod   *corev1.Pod
	claim *corev1.PersistentVolumeClaim
	text  string
	began time.Time     // the pass
	took  time.Duration // until its Events were emitted
}

// slow reports whether emitting the Events took a whole pass. Then it is unknown which passes would change something.
func (r *expansionDeferral) slow() bool { return r.took >= passPeriod }

// deferralReason is the reason of the Events about a deferral (MNT-395).
const deferralReason = "FileSystemResizeFailed"

// deferExpansion runs the operation for a pod that may only read (MNT-406).
func (ex *volumeExpansion) deferExpansion(p *engine.Process, v volumes.DesiredVolume, spec *volumes.Spec, pod *corev1.Pod,
	av *volumes.ActualVolume) error {
	began := p.Now()
	claim, err := ex.claimOf(p, spec)
	if err != nil {
		return err
	}
	text := ex.reportReadOnly(p, spec, pod, claim)
	// MNT-406: the operation succeeds, so there is no backoff; a pod that may write expands the volume later.
	av.Size = claimSize(claim)
	if av.Size < v.Size {
		ex.deferrals[v.Name] = &expansionDeferral{pod: pod, claim: claim, text: text, began: began, took: p.Now().Sub(began)}
	}
	return nil
}

// reportReadOnly emits the Events about a volume that is not expanded because this pod may not write to it (MNT-395).
func (ex *volumeExpansion) reportReadOnly(p *engine.Process, spec *volumes.Spec, pod *corev1.Pod,
	claim *corev1.PersistentVolumeClaim) (text string) {
	text = fmt.Sprintf("MountVolume.NodeExpandVolume failed for volume %q requested read-only file system", spec.Name())
	// MNT-395, MNT-334, EXP-042: a read-only mount is not expanded; both the pod and the claim get an Event.
	for _, obj := range []api.Object{pod, claim} {
		ex.k.Event(p, obj, corev1.EventTypeWarning, deferralReason, "%s", text)
	}
	return text
}

// nextDeferral returns when the next pass must run for a deferral whose Events were just emitted, soonest at the earliest.
func (ex *volumeExpansion) nextDeferral(r *expansionDeferral, soonest time.Time) time.Time {
	if r.slow() {
		return soonest
	}
	next := ex.k.events.StoredFrom(r.pod, corev1.EventTypeWarning)
	if claim := ex.k.events.StoredFrom(r.claim, corev1.EventTypeWarning); claim.Before(next) {
		next = claim
	}
	if next = next.Add(-r.took); next.Before(soonest) {
		return soonest
	}
	return next
}

// countSkippedDeferrals counts the Events of the skipped passes. Nothing has changed since the last pass, or another would have run.
func (ex *volumeExpansion) countSkippedDeferrals() {
	now := ex.k.actor.Engine().Now()
	for _, name := range objects.SortedKeys(ex.deferrals) {
		r := ex.deferrals[name]
		if left := int(now.Sub(r.began)/passPeriod) - 1; !r.slow() {
			// MNT-395, MNT-406: each skipped pass would have emitted both Events.
			for _, obj := range []api.Object{r.pod, r.claim} {
				ex.k.events.Dropped(obj, corev1.EventTypeWarning, deferralReason, r.text, left)
			}
		}
		delete(ex.deferrals, name)
	}
}

// isDeferred reports whether the last pass deferred the expansion of the claim's volume.
func (ex *volumeExpansion) isDeferred(claim string) bool {
	for _, r := range ex.deferrals {
		if api.KeyOf(r.claim) == claim {
			return true
		}
	}
	return false
}
