package statefulset

import (
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/controllers/workload"
)

// policyOf returns whether the claims of a set are deleted with the set, and with surplus pods (STS-030).
func policyOf(set *appsv1.StatefulSet) (whenDeleted, whenScaled bool) {
	policy := set.Spec.PersistentVolumeClaimRetentionPolicy
	if policy == nil {
		return false, false
	}
	return policy.WhenDeleted == appsv1.DeletePersistentVolumeClaimRetentionPolicyType,
		policy.WhenScaled == appsv1.DeletePersistentVolumeClaimRetentionPolicyType
}

func refersTo(ref *metav1.OwnerReference, apiVersion, kind, name string) bool {
	return ref.APIVersion == apiVersion && ref.Kind == kind && ref.Name == name
}

func isSet(ref *metav1.OwnerReference, set *appsv1.StatefulSet) bool {
	return refersTo(ref, apiVersion, kindName, set.Name)
}

func isPod(ref *metav1.OwnerReference, pod *corev1.Pod) bool {
	return refersTo(ref, "v1", string(api.Pod), pod.Name)
}

func owns(claim *corev1.PersistentVolumeClaim, owner metav1.Object) bool {
	return slices.ContainsFunc(claim.OwnerReferences, func(ref metav1.OwnerReference) bool { return ref.UID == owner.GetUID() })
}

// stale reports whether the first reference of a claim that fits has another uid (STS-033).
func stale(claim *corev1.PersistentVolumeClaim, owner metav1.Object, fits func(*metav1.OwnerReference) bool) bool {
	for i := range claim.OwnerReferences {
		if ref := &claim.OwnerReferences[i]; fits(ref) {
			return ref.UID != owner.GetUID()
		}
	}
	return false
}

// otherController reports whether something else controls a claim for which there is a policy (STS-034).
func otherController(claim *corev1.PersistentVolumeClaim, set *appsv1.StatefulSet, pod *corev1.Pod) bool {
	if whenDeleted, whenScaled := policyOf(set); !whenDeleted && !whenScaled {
		return false
	}
	for i := range claim.OwnerReferences {
		switch ref := &claim.OwnerReferences[i]; {
		case isSet(ref, set):
			if ref.UID != set.UID {
				return true
			}
		case isPod(ref, pod):
			if ref.UID != pod.UID {
				return true
			}
		case ref.Controller != nil && *ref.Controller:
			return true
		}
	}
	return false
}

// wanted returns whether the set and the pod are to own a claim (STS-030, STS-031).
func wanted(set *appsv1.StatefulSet, pod *corev1.Pod) (bySet, byPod bool) {
	whenDeleted, whenScaled := policyOf(set)
	// STS-031: a surplus pod owns its claims instead of the set.
	surplus := !inRange(set, ordinalOf(pod))
	// STS-030: the set owns the claims that go with it.
	return whenDeleted && !(whenScaled && surplus), whenScaled && surplus
}

// ownersMatch reports whether the owners of a claim are as the policy requires. Claims with stale references are left alone.
func ownersMatch(claim *corev1.PersistentVolumeClaim, set *appsv1.StatefulSet, pod *corev1.Pod) bool {
	switch {
	// STS-033: a claim of an earlier set or pod is left to the garbage collector.
	case stale(claim, set, func(ref *metav1.OwnerReference) bool { return isSet(ref, set) }),
		stale(claim, pod, func(ref *metav1.OwnerReference) bool { return isPod(ref, pod) }):
		return true
	case otherController(claim, set, pod):
		return !owns(claim, set) && !owns(claim, pod)
	}
	for i := range claim.OwnerReferences {
		ref := &claim.OwnerReferences[i]
		if (ref.UID == set.UID || ref.UID == pod.UID) && (ref.Controller == nil || !*ref.Controller) {
			return false
		}
	}
	bySet, byPod := wanted(set, pod)
	return owns(claim, set) == bySet && owns(claim, pod) == byPod
}

// withOwners returns a copy of a claim with the owners that the policy requires.
func withOwners(claim *corev1.PersistentVolumeClaim, set *appsv1.StatefulSet, pod *corev1.Pod) *corev1.PersistentVolumeClaim {
	other := otherController(claim, set, pod)
	c := claim.DeepCopy()
	c.OwnerReferences = slices.DeleteFunc(c.OwnerReferences, func(ref metav1.OwnerReference) bool { return isSet(&ref, set) || isPod(&ref, pod) })
	if other {
		return c
	}
	bySet, byPod := wanted(set, pod)
	if byPod {
		c.OwnerReferences = append(c.OwnerReferences, workload.ControllerRef(pod, "v1", string(api.Pod)))
	}
	if bySet {
		c.OwnerReferences = append(c.OwnerReferences, workload.ControllerRef(set, apiVersion, kindName))
	}
	return c
}
