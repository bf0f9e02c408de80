package deployment

import (
	"cmp"
	"math"
	"slices"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/volsim/volsim/internal/core/engine"
)

// unlimited is the value of limits and deadlines that stands for none.
const unlimited = math.MaxInt32

// limits returns how many pods a rolling update may have in addition, and how many may be unavailable (DEP-032).
func limits(d *appsv1.Deployment) (surge, unavailable int32) {
	rolling := d.Spec.Strategy.RollingUpdate
	if d.Spec.Strategy.Type != appsv1.RollingUpdateDeploymentStrategyType || rolling == nil {
		return 0, 0
	}
	n := int(*d.Spec.Replicas)
	zero := intstr.FromInt32(0)
	up, errUp := intstr.GetScaledValueFromIntOrPercent(intstr.ValueOrDefault(rolling.MaxSurge, zero), n, true)
	down, errDown := intstr.GetScaledValueFromIntOrPercent(intstr.ValueOrDefault(rolling.MaxUnavailable, zero), n, false)
	if errUp != nil || errDown != nil {
		return 0, 0
	}
	// DEP-032: percentages of few replicas round to nothing; then one pod may be unavailable.
	if up == 0 && down == 0 {
		down = 1
	}
	return int32(up), int32(min(down, n))
}

// newReplicas returns the number of replicas that the new set may have now (DEP-030).
func (u *rollout) newReplicas(newSet *appsv1.ReplicaSet, old []*appsv1.ReplicaSet) int32 {
	want, has := *u.d.Spec.Replicas, *newSet.Spec.Replicas
	if u.d.Spec.Strategy.Type == appsv1.RecreateDeploymentStrategyType {
		return want
	}
	surge, _ := limits(u.d)
	// DEP-030: all sets together have at most replicas and maxSurge.
	room := want + surge - replicas(old) - has
	if room <= 0 {
		return has
	}
	return has + min(room, want-has)
}

// replicas adds the replicas that sets should have.
func replicas(sets []*appsv1.ReplicaSet) (n int32) {
	for _, set := range sets {
		if set != nil {
			n += *set.Spec.Replicas
		}
	}
	return n
}

// active returns the sets that should have pods.
func active(sets []*appsv1.ReplicaSet) []*appsv1.ReplicaSet {
	var list []*appsv1.ReplicaSet
	for _, set := range sets {
		if set != nil && *set.Spec.Replicas > 0 {
			list = append(list, set)
		}
	}
	return list
}

// with returns the old sets and the new one.
func with(old []*appsv1.ReplicaSet, newSet *appsv1.ReplicaSet) []*appsv1.ReplicaSet {
	return append(slices.Clip(old), newSet)
}

// noted returns a number in the annotations of a set.
func noted(set *appsv1.ReplicaSet, annotation string) (int32, bool) {
	value, ok := set.Annotations[annotation]
	if !ok {
		return 0, false
	}
	n, err := strconv.ParseUint(value, 10, 31)
	return int32(n), err == nil
}

// annotateReplicas notes the replicas of the Deployment in a set (DEP-004), and reports whether that changed the set.
func annotateReplicas(d *appsv1.Deployment, set *appsv1.ReplicaSet) bool {
	surge, _ := limits(d)
	desired, limit := strconv.Itoa(int(*d.Spec.Replicas)), strconv.Itoa(int(*d.Spec.Replicas+surge))
	if set.Annotations[desiredAnnotation] == desired && set.Annotations[maxAnnotation] == limit {
		return false
	}
	if set.Annotations == nil {
		set.Annotations = map[string]string{}
	}
	set.Annotations[desiredAnnotation], set.Annotations[maxAnnotation] = desired, limit
	return true
}

// wasScaled reports whether the replicas of the Deployment have changed since its sets got theirs (DEP-020).
func (u *rollout) wasScaled(p *engine.Process) (bool, error) {
	newSet, old, err := u.findSets(p, false)
	if err != nil {
		return false, err
	}
	for _, set := range active(with(old, newSet)) {
		if n, ok := noted(set, desiredAnnotation); ok && n != *u.d.Spec.Replicas {
			return true, nil
		}
	}
	return false, nil
}

// scale gives all sets their share of the replicas, without a rollout (DEP-020).
func (u *rollout) scale(p *engine.Process) error {
	newSet, old, err := u.findSets(p, false)
	if err != nil {
		return err
	}
	if err := u.distribute(p, newSet, old); err != nil {
		return err
	}
	if _, ok := rollbackTo(u.d); u.d.Spec.Paused && !ok {
		if err := u.cleanUp(p, old); err != nil {
			return err
		}
	}
	return u.writeStatus(p, u.status(p.Now(), newSet, old))
}

func (u *rollout) distribute(p *engine.Process, newSet *appsv1.ReplicaSet, old []*appsv1.ReplicaSet) error {
	want := *u.d.Spec.Replicas
	newestFirst := slices.Clone(old)
	slices.Reverse(newestFirst)
	running := active(with(newestFirst, newSet))
	// DEP-021: a single set with pods has all of them; without one, the new set does, or else the newest.
	var only *appsv1.ReplicaSet
	switch {
	case len(running) == 1:
		only = running[0]
	case len(running) == 0 && newSet != nil:
		only = newSet
	case len(running) == 0 && len(old) > 0:
		only = newestFirst[0]
	case len(running) == 0:
		return nil
	}
	if only != nil {
		_, _, err := u.resize(p, only, want, false)
		return err
	}
	if u.saturated(newSet) {
		// DEP-022: the new set has all pods, so the others get none.
		for _, set := range active(newestFirst) {
			if _, _, err := u.resize(p, set, 0, false); err != nil {
				return err
			}
		}
		return nil
	}
	if u.d.Spec.Strategy.Type != appsv1.RollingUpdateDeploymentStrategyType {
		return nil
	}
	sizes := u.shares(running)
	for i, set := range running {
		if _, _, err := u.resize(p, set, sizes[i], true); err != nil {
			return err
		}
	}
	return nil
}

// saturated reports whether the new set has all the pods of the Deployment, and they are available.
func (u *rollout) saturated(set *appsv1.ReplicaSet) bool {
	if set == nil {
		return false
	}
	want := *u.d.Spec.Replicas
	desired, err := strconv.Atoi(set.Annotations[desiredAnnotation])
	return err == nil && *set.Spec.Replicas == want && int32(desired) == want && set.Status.AvailableReplicas == want
}

// shares sorts the sets by size, and returns the size of each in proportion to what it has now (DEP-023).
func (u *rollout) shares(sets []*appsv1.ReplicaSet) []int32 {
	want, allowed := *u.d.Spec.Replicas, int32(0)
	if surge, _ := limits(u.d); want > 0 {
		allowed = want + surge
	}
	add := allowed - replicas(sets)
	sizes := make([]int32, len(sets))
	if add != 0 {
		// DEP-023: the largest first; of equal ones the newer grows and the older shrinks first.
		slices.SortStableFunc(sets, func(a, b *appsv1.ReplicaSet) int {
			age := byAge(a, b)
			if add > 0 {
				age = -age
			}
			return cmp.Or(cmp.Compare(*b.Spec.Replicas, *a.Spec.Replicas), age)
		})
	}
	added := int32(0)
	for i, set := range sets {
		share := int32(0)
		switch {
		case add == added:
		case add > 0:
			share = min(u.share(set), add-added)
		default:
			share = max(u.share(set), add-added)
		}
		sizes[i] = *set.Spec.Replicas + share
		added += share
	}
	if add != 0 {
		// DEP-023: the largest gets the remainder.
		sizes[0] = max(sizes[0]+add-added, 0)
	}
	return sizes
}

// share returns the change of a set in proportion to its size.
func (u *rollout) share(set *appsv1.ReplicaSet) int32 {
	want, has := *u.d.Spec.Replicas, *set.Spec.Replicas
	if want == 0 {
		return -has
	}
	before, ok := noted(set, maxAnnotation)
	if !ok || before == 0 {
		if before = u.d.Status.Replicas; before == 0 {
			return 0
		}
	}
	surge, _ := limits(u.d)
	return int32(math.Round(float64(has*(want+surge))/float64(before))) - has
}

// resize changes the replicas of a set. With force it also corrects annotations if the number is right. It reports whether the number
// changed, and returns the set as it is stored.
func (u *rollout) resize(p *engine.Process, set *appsv1.ReplicaSet, n int32, force bool) (bool, *appsv1.ReplicaSet, error) {
	was := *set.Spec.Replicas
	if was == n && !force {
		return false, set, nil
	}
	c := set.DeepCopy()
	c.Spec.Replicas = &n
	if !annotateReplicas(u.d, c) && was == n {
		return false, set, nil
	}
	p.Decide("DEP-020", set, "deployment %s sets replicas from %d to %d", u.d.Name, was, n)
	updated, err := u.writeSet(p, c)
	if err != nil || was == n {
		return false, updated, err
	}
	direction := "up"
	if was > n {
		direction = "down"
	}
	// DEP-075: an Event for each set whose replicas change.
	u.recorder.Event(p, u.obj, corev1.EventTypeNormal, "ScalingReplicaSet", "Scaled %s replica set %s from %d to %d", direction, updated.Name, was, n)
	return true, updated, nil
}
