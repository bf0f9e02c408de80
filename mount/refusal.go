package mount

import (
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/mount/internal/volumes"
)

// refusal is a volume that has grown, of which a pass has found that it is not expanded because those who have it may only read (MNT-406).
// The next pass finds the same, and tells it again. As long as nothing changes, the passes are left out of which no Event is stored, since
// there were too many about the pod and about the claim (BIND-004), and are counted by the next one.
type refusal struct {
	pod   *corev1.Pod
	claim *corev1.PersistentVolumeClaim
	text  string
	began time.Time     // the pass
	took  time.Duration // until it was told
}

// slow reports whether the next pass came before it was told, so that there is no telling which ones do something.
func (r *refusal) slow() bool { return r.took >= passPeriod }

// refusedReason is that of the Events that tell of it (MNT-395).
const refusedReason = "FileSystemResizeFailed"

// refuse is the operation for a pod that may only read (MNT-406).
func (k *kubelet) refuse(p *engine.Proc, v volumes.DesiredVolume, spec *volumes.Spec, pod *corev1.Pod, av *volumes.ActualVolume) error {
	began := p.Now()
	claim, err := k.claimOf(p, spec)
	if err != nil {
		return err
	}
	text := k.refuseReadOnly(p, spec, pod, claim)
	// MNT-406: as if it were done, so the operation succeeds and there is no backoff. What the volume has more is left for whoever may write.
	av.Size = claimSize(claim)
	if av.Size < v.Size {
		k.refusals[v.Name] = &refusal{pod: pod, claim: claim, text: text, began: began, took: p.Now().Sub(began)}
	}
	return nil
}

// refuseReadOnly tells that a volume is not expanded because this pod may not write to it (MNT-395).
func (k *kubelet) refuseReadOnly(p *engine.Proc, spec *volumes.Spec, pod *corev1.Pod, claim *corev1.PersistentVolumeClaim) (text string) {
	text = fmt.Sprintf("MountVolume.NodeExpandVolume failed for volume %q requested read-only file system", spec.Name())
	// MNT-395, MNT-334, EXP-042
	for _, obj := range []api.Object{pod, claim} {
		k.event(p, obj, corev1.EventTypeWarning, refusedReason, "%s", text)
	}
	return text
}

// nextRefusal is from when on a pass is to be played for a refusal that was just told.
func (k *kubelet) nextRefusal(r *refusal, soonest time.Time) time.Time {
	if r.slow() {
		return soonest
	}
	next := k.events.StoredFrom(r.pod, corev1.EventTypeWarning)
	if claim := k.events.StoredFrom(r.claim, corev1.EventTypeWarning); claim.Before(next) {
		next = claim
	}
	if next = next.Add(-r.took); next.Before(soonest) {
		return soonest
	}
	return next
}

// countRefusals counts what the passes since the last one would have told. Nothing has changed since, or there would have been another pass.
func (k *kubelet) countRefusals() {
	now := k.actor.Engine().Now()
	for _, name := range slices.Sorted(maps.Keys(k.refusals)) {
		r := k.refusals[name]
		if left := int(now.Sub(r.began)/passPeriod) - 1; !r.slow() {
			// MNT-395, MNT-406
			for _, obj := range []api.Object{r.pod, r.claim} {
				k.events.Dropped(obj, corev1.EventTypeWarning, refusedReason, r.text, left)
			}
		}
		delete(k.refusals, name)
	}
}

// refused reports whether the last look at a claim ended in a refusal.
func (k *kubelet) refused(claim string) bool {
	for _, r := range k.refusals {
		if api.KeyOf(r.claim) == claim {
			return true
		}
	}
	return false
}
