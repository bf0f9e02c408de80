package deployment

import (
	"slices"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/volsim/volsim/internal/controllers/workload"
	"github.com/volsim/volsim/internal/core/engine"
)

// roll makes one step of a rolling update: the new set grows, or else the old ones shrink.
func (u *rollout) roll(p *engine.Process) error {
	newSet, old, err := u.findSets(p, true)
	if err != nil {
		return err
	}
	scaled, err := u.grow(p, newSet, old)
	if err != nil {
		return err
	}
	if !scaled {
		if scaled, err = u.shrink(p, newSet, active(old)); err != nil {
			return err
		}
	}
	if !scaled && complete(u.d, &u.d.Status) {
		if err := u.cleanUp(p, old); err != nil {
			return err
		}
	}
	return u.writeProgress(p, newSet, old)
}

// grow gives the new set as many replicas as it may have (DEP-030).
func (u *rollout) grow(p *engine.Process, newSet *appsv1.ReplicaSet, old []*appsv1.ReplicaSet) (bool, error) {
	n := *u.d.Spec.Replicas
	if *newSet.Spec.Replicas < n {
		n = u.newReplicas(newSet, old)
	}
	scaled, _, err := u.resize(p, newSet, n, false)
	return scaled, err
}

// shrink removes replicas of the old sets, as far as enough pods stay available (DEP-031).
func (u *rollout) shrink(p *engine.Process, newSet *appsv1.ReplicaSet, old []*appsv1.ReplicaSet) (bool, error) {
	if len(old) == 0 {
		return false, nil
	}
	_, unavailable := limits(u.d)
	least := *u.d.Spec.Replicas - unavailable
	// DEP-031: pods of the new set that are not available do not count.
	most := replicas(old) + newSet.Status.AvailableReplicas - least
	if most <= 0 {
		return false, nil
	}
	slices.SortStableFunc(old, byAge)
	unhealthy := int32(0)
	for i, set := range old {
		missing := *set.Spec.Replicas - set.Status.AvailableReplicas
		if unhealthy >= most {
			break
		}
		if missing == 0 {
			continue
		}
		if missing < 0 {
			// The set has not removed its surplus pods yet: nothing shrinks before it has.
			return false, nil
		}
		// DEP-031: first the replicas that are not available, from the oldest set on.
		n := min(most-unhealthy, missing)
		_, updated, err := u.resize(p, set, *set.Spec.Replicas-n, false)
		if err != nil {
			// Upstream drops the error: the sync goes on, and the next one tries again.
			return false, nil
		}
		unhealthy += n
		old[i] = updated
	}
	surplus := -least
	for _, set := range with(old, newSet) {
		surplus += set.Status.AvailableReplicas
	}
	removed := int32(0)
	for _, set := range old {
		if removed >= surplus {
			break
		}
		n := min(*set.Spec.Replicas, surplus-removed)
		if n == 0 {
			continue
		}
		// DEP-031: then available ones, down to replicas without maxUnavailable.
		if _, _, err := u.resize(p, set, *set.Spec.Replicas-n, false); err != nil {
			return false, nil
		}
		removed += n
	}
	return unhealthy+removed > 0, nil
}

// recreate removes all old pods, waits until they are gone, and then creates the new ones (DEP-040).
func (u *rollout) recreate(p *engine.Process) error {
	newSet, old, err := u.findSets(p, false)
	if err != nil {
		return err
	}
	scaled := false
	for _, set := range active(old) {
		if _, _, err := u.resize(p, set, 0, false); err != nil {
			return err
		}
		scaled = true
	}
	// DEP-040: a pod that has not ended blocks the new set, also while it is being deleted.
	if scaled || u.oldPodsRun(newSet, old) {
		return u.writeProgress(p, newSet, old)
	}
	if newSet == nil {
		if newSet, old, err = u.findSets(p, true); err != nil {
			return err
		}
	}
	if _, _, err := u.resize(p, newSet, *u.d.Spec.Replicas, false); err != nil {
		return err
	}
	if complete(u.d, &u.d.Status) {
		if err := u.cleanUp(p, old); err != nil {
			return err
		}
	}
	return u.writeProgress(p, newSet, old)
}

// oldPodsRun reports whether an old set has pods that have not ended.
func (u *rollout) oldPodsRun(newSet *appsv1.ReplicaSet, old []*appsv1.ReplicaSet) bool {
	for _, set := range old {
		if set.Status.Replicas > 0 {
			return true
		}
	}
	for _, set := range u.sets {
		if newSet != nil && set.UID == newSet.UID {
			continue
		}
		for _, pod := range u.pods.ByIndex(u.byOwner, string(set.UID)) {
			if !workload.Ended(pod) {
				return true
			}
		}
	}
	return false
}
