package statefulset

import (
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/controllers/workload"
	"github.com/volsim/volsim/internal/core/engine"
)

// record emits the Event about a change of a pod (STS-051).
func (u *update) record(p *engine.Process, verb string, pod *corev1.Pod, err error) {
	// STS-051: the outcome is in reason and message.
	if err == nil {
		u.recorder.Event(p, u.obj, corev1.EventTypeNormal, "Successful"+title(verb),
			fmt.Sprintf("%s Pod %s in StatefulSet %s successful", title(verb), pod.Name, u.set.Name))
		return
	}
	u.recorder.Event(p, u.obj, corev1.EventTypeWarning, "Failed"+title(verb),
		fmt.Sprintf("%s Pod %s in StatefulSet %s failed error: %s", title(verb), pod.Name, u.set.Name, err))
}

func title(verb string) string { return strings.ToUpper(verb[:1]) + verb[1:] }

func (u *update) recordClaim(p *engine.Process, pod *corev1.Pod, claim *corev1.PersistentVolumeClaim, err error) {
	// STS-051: so it is for claims.
	if err == nil {
		u.recorder.Event(p, u.obj, corev1.EventTypeNormal, "SuccessfulCreate",
			fmt.Sprintf("Create Claim %s Pod %s in StatefulSet %s success", claim.Name, pod.Name, u.set.Name))
		return
	}
	u.recorder.Event(p, u.obj, corev1.EventTypeWarning, "FailedCreate",
		fmt.Sprintf("Create Claim %s for Pod %s in StatefulSet %s failed error: %s", claim.Name, pod.Name, u.set.Name, err))
}

// createPod creates a pod after its claims (STS-021).
func (u *update) createPod(p *engine.Process, set *appsv1.StatefulSet, pod *corev1.Pod) error {
	if err := u.createClaims(p, set, pod); err != nil {
		u.record(p, "create", pod, err)
		return err
	}
	p.Decide("STS-021", u.obj, "pod %s does not exist", pod.Name)
	created, err := p.API().Pods.Create(p, pod)
	if apierrors.IsAlreadyExists(err) {
		return err
	}
	if err == nil {
		u.written.Wrote(u.key, "pods", created)
	}
	// STS-032: owners are set as far as they are known: the pod has no uid yet.
	if failed := u.updateOwners(p, set, pod); failed != nil {
		u.record(p, "update", pod, failed)
		return failed
	}
	u.record(p, "create", pod, err)
	return err
}

// createClaims creates the claims of a pod that do not exist (STS-021).
func (u *update) createClaims(p *engine.Process, set *appsv1.StatefulSet, pod *corev1.Pod) error {
	var errs []error
	for _, claim := range claimsOf(set, ordinalOf(pod)) {
		existing, ok := u.claims.Get(api.KeyOf(claim))
		if ok {
			// STS-021: a claim that is being deleted blocks its pod.
			if existing.DeletionTimestamp != nil {
				errs = append(errs, fmt.Errorf("pvc %s is being deleted", claim.Name))
			}
			continue
		}
		created, err := p.API().Claims.Create(p, claim)
		if err == nil {
			u.written.Wrote(u.key, "persistentvolumeclaims", created)
		} else {
			errs = append(errs, fmt.Errorf("failed to create PVC %s: %w", claim.Name, err))
		}
		if !apierrors.IsAlreadyExists(err) {
			u.recordClaim(p, pod, claim, err)
		}
	}
	return workload.Aggregate(errs)
}

// createMissingClaims creates the claims of a pending pod again (STS-024).
func (u *update) createMissingClaims(p *engine.Process, set *appsv1.StatefulSet, pod *corev1.Pod) error {
	if err := u.createClaims(p, set, pod); err != nil {
		return err
	}
	if err := u.updateOwners(p, set, pod); err != nil {
		u.record(p, "update", pod, err)
		return err
	}
	return nil
}

func (u *update) deletePod(p *engine.Process, why string, pod *corev1.Pod) error {
	p.Decide("STS-020", pod, "%s", why)
	_, err := p.API().Pods.Delete(p, api.KeyOf(pod), api.DeleteOptions{})
	if apierrors.IsNotFound(err) {
		err = nil
	}
	u.record(p, "delete", pod, err)
	return err
}

// ownersOK reports whether the claims of a pod have the owners that the policy requires. Missing claims do not matter.
func (u *update) ownersOK(pod *corev1.Pod) bool {
	for i := range u.set.Spec.VolumeClaimTemplates {
		claim, ok := u.claims.Get(api.Key(u.set.Namespace, claimName(u.set, &u.set.Spec.VolumeClaimTemplates[i], ordinalOf(pod))))
		if ok && !ownersMatch(claim, u.set, pod) {
			return false
		}
	}
	return true
}

// updateOwners gives the claims of a pod the owners that the policy requires (STS-030).
func (u *update) updateOwners(p *engine.Process, set *appsv1.StatefulSet, pod *corev1.Pod) error {
	for i := range set.Spec.VolumeClaimTemplates {
		name := claimName(set, &set.Spec.VolumeClaimTemplates[i], ordinalOf(pod))
		claim, ok := u.claims.Get(api.Key(set.Namespace, name))
		if !ok {
			continue
		}
		// STS-034: the policy does not apply to a claim that something else controls.
		if otherController(claim, set, pod) {
			u.recorder.Event(p, u.obj, corev1.EventTypeWarning, "ConflictingController", fmt.Sprintf("PersistentVolumeClaim %s has a conflicting "+
				"OwnerReference that acts as a manging controller, the retention policy is ignored for this claim", name))
		}
		if ownersMatch(claim, set, pod) {
			continue
		}
		p.Decide("STS-030", claim, "the owners do not match the retention policy of %s", set.Name)
		updated, err := p.API().Claims.Update(p, withOwners(claim, set, pod))
		if err != nil {
			return fmt.Errorf("could not update claim %s for delete policy ownerRefs: %w", name, err)
		}
		u.written.Wrote(u.key, "persistentvolumeclaims", updated)
	}
	return nil
}

// blockedByClaim reports whether a claim of a new pod belongs to an earlier pod, with which it will be deleted (STS-033).
func (u *update) blockedByClaim(pod *corev1.Pod) bool {
	if _, whenScaled := policyOf(u.set); !whenScaled {
		return false
	}
	for _, claim := range claimsOf(u.set, ordinalOf(pod)) {
		existing, ok := u.claims.Get(api.KeyOf(claim))
		if ok && stale(existing, pod, func(ref *metav1.OwnerReference) bool { return isPod(ref, pod) }) {
			return true
		}
	}
	return false
}

// correct gives a pod and its claims what the set requires (STS-025).
func (u *update) correct(p *engine.Process, pod *corev1.Pod) error {
	tried := false
	// STS-025: a repetition continues with what the one before it changed, unless the cache has the pod.
	changed := pod.DeepCopy()
	try := func() error {
		consistent := true
		if !identified(u.set, changed) {
			identify(u.set, changed, ordinalOf(changed))
			consistent = false
		}
		if !mountsClaims(u.set, changed) {
			mountClaims(u.set, changed, ordinalOf(changed))
			consistent = false
			if err := u.createClaims(p, u.set, changed); err != nil {
				u.record(p, "update", changed, err)
				return err
			}
		}
		if !u.ownersOK(changed) {
			if err := u.updateOwners(p, u.set, changed); err != nil {
				u.record(p, "update", changed, err)
				return err
			}
			consistent = false
		}
		if consistent {
			return nil
		}
		tried = true
		updated, err := p.API().Pods.Update(p, changed)
		if err == nil {
			u.written.Wrote(u.key, "pods", updated)
			return nil
		}
		if cached, ok := u.pods.Get(api.KeyOf(pod)); ok {
			changed = cached.DeepCopy()
		}
		return err
	}
	err := try()
	// STS-025: a conflict is repeated, also that of a claim.
	for attempt := 1; apierrors.IsConflict(err) && attempt < workload.Attempts; attempt++ {
		p.Sleep(workload.Backoff(attempt))
		err = try()
	}
	if tried {
		u.record(p, "update", pod, err)
	}
	return err
}
