package kubeletstatus

import (
	"reflect"
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// owned reports whether a kubelet owns the condition (MNT-465).
func owned(c *corev1.PodCondition) bool { return slices.Contains(kubeletConditions, c.Type) }

// Merge returns the status that a kubelet which knows a status gives to a stored pod: everything but the conditions and claims of other writers
// (MNT-465). The phase is the one that the kubelet knows, even if the stored pod has ended (MNT-374).
func Merge(l *Lists, stored, known *corev1.PodStatus) corev1.PodStatus {
	merged := *known
	merged.ResourceClaimStatuses, merged.ExtendedResourceClaimStatus = stored.ResourceClaimStatuses, stored.ExtendedResourceClaimStatus
	merged.NodeAllocatableResourceClaimStatuses = stored.NodeAllocatableResourceClaimStatuses
	if !foreign(stored.Conditions) && !foreign(known.Conditions) {
		return merged
	}
	merged.Conditions = l.memory(len(stored.Conditions) + len(known.Conditions))
	for i := range stored.Conditions {
		if c := &stored.Conditions[i]; !owned(c) {
			merged.Conditions = append(merged.Conditions, *c)
		}
	}
	ends := Terminal(known.Phase) && !Terminal(stored.Phase)
	for i := range known.Conditions {
		c := &known.Conditions[i]
		if ends && c.Reason == corev1.PodReasonTerminationByKubelet {
			// MNT-407: the kubelet writes the condition DisruptionTarget when the pod ends, in place of any that another writer wrote.
			merged.Conditions = slices.DeleteFunc(merged.Conditions, func(other corev1.PodCondition) bool { return other.Type == c.Type })
		} else if !owned(c) {
			continue
		}
		merged.Conditions = append(merged.Conditions, *c)
	}
	merged.Conditions = l.share(merged.Conditions)
	return merged
}

// foreign reports whether another writer owns some of the conditions.
func foreign(conditions []corev1.PodCondition) bool {
	for i := range conditions {
		if !owned(&conditions[i]) {
			return true
		}
	}
	return false
}

// Same reports whether a kubelet that knows one of the statuses has nothing to write for the other: all that it owns is equal, and its
// conditions are but for their times (MNT-465).
func Same(a, b *corev1.PodStatus) bool {
	x, y := 0, 0
	for {
		for x < len(a.Conditions) && !owned(&a.Conditions[x]) {
			x++
		}
		for y < len(b.Conditions) && !owned(&b.Conditions[y]) {
			y++
		}
		if x == len(a.Conditions) || y == len(b.Conditions) {
			break
		}
		if c, d := &a.Conditions[x], &b.Conditions[y]; c.Type != d.Type || c.Status != d.Status || c.Reason != d.Reason || c.Message != d.Message {
			return false
		}
		x, y = x+1, y+1
	}
	return x == len(a.Conditions) && y == len(b.Conditions) && sameRest(a, b)
}

// Equal reports whether the statuses are equal.
func Equal(a, b *corev1.PodStatus) bool {
	return slices.Equal(a.Conditions, b.Conditions) && sameRest(a, b)
}

// sameRest reports whether everything but the conditions is equal.
func sameRest(a, b *corev1.PodStatus) bool {
	return a.Phase == b.Phase && a.Reason == b.Reason && a.Message == b.Message && a.HostIP == b.HostIP && a.PodIP == b.PodIP &&
		a.ObservedGeneration == b.ObservedGeneration && a.QOSClass == b.QOSClass && a.StartTime.Equal(b.StartTime) &&
		equal(a.ContainerStatuses, b.ContainerStatuses) && equal(a.InitContainerStatuses, b.InitContainerStatuses) &&
		equal(a.EphemeralContainerStatuses, b.EphemeralContainerStatuses) &&
		equal(a.HostIPs, b.HostIPs) && equal(a.PodIPs, b.PodIPs)
}

func equal[E any](a, b []E) bool {
	return len(a) == len(b) && (len(a) == 0 || same(a, b) || reflect.DeepEqual(a, b))
}

// Patched returns the newest status of a pod with what differs between two versions of it: the effect of a strategic merge patch on a status that
// another writer has changed since it was read (MNT-465).
func Patched(newest, from, to corev1.PodStatus) corev1.PodStatus {
	merged := newest
	target, before, after := reflect.ValueOf(&merged).Elem(), reflect.ValueOf(&from).Elem(), reflect.ValueOf(&to).Elem()
	for i := range target.NumField() {
		if target.Type().Field(i).Name == "Conditions" {
			continue
		}
		if wanted := after.Field(i); !reflect.DeepEqual(before.Field(i).Interface(), wanted.Interface()) {
			target.Field(i).Set(wanted)
		}
	}
	merged.Conditions = slices.Clone(newest.Conditions)
	patched := !slices.EqualFunc(from.Conditions, to.Conditions, func(a, b corev1.PodCondition) bool { return a.Type == b.Type })
	for _, c := range to.Conditions {
		if at := find(from.Conditions, c.Type); at >= 0 && from.Conditions[at] == c {
			continue
		}
		patched = true
		if at := find(merged.Conditions, c.Type); at >= 0 {
			merged.Conditions[at] = c
		} else {
			merged.Conditions = append(merged.Conditions, c)
		}
	}
	if patched {
		merged.Conditions = inOrder(merged.Conditions, to.Conditions, newest.Conditions)
	}
	return merged
}

// inOrder returns conditions in the order in which a strategic merge patch leaves them: those that the patch names as it orders them, the others as
// the server has them. One of the others comes before the next of the patch only if the server has both, in that order.
func inOrder(conditions, patch, server []corev1.PodCondition) []corev1.PodCondition {
	var others, ordered []corev1.PodCondition
	for _, c := range conditions {
		if find(patch, c.Type) < 0 {
			others = append(others, c)
		}
	}
	for _, c := range patch {
		at := find(conditions, c.Type)
		if at < 0 {
			continue
		}
		for place := find(server, c.Type); len(others) > 0 && find(server, others[0].Type) < place; others = others[1:] {
			ordered = append(ordered, others[0])
		}
		ordered = append(ordered, conditions[at])
	}
	return append(ordered, others...)
}
