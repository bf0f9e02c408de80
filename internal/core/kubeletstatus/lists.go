package kubeletstatus

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// Lists lets pods share lists of conditions: many pods of a cluster start, become ready or end in the same second, and then their conditions are
// equal. The list of a status is in room until Complete replaces it by one that stays, so each status is completed or dropped before the next
// one is computed. A nil Lists shares nothing.
type Lists struct {
	room [8]corev1.PodCondition
	// recent are the last lists that differ; the oldest is at next.
	recent [4][]corev1.PodCondition
	next   int
}

// memory returns an empty list for n conditions.
func (l *Lists) memory(n int) []corev1.PodCondition {
	if l == nil || n > len(l.room) {
		return make([]corev1.PodCondition, 0, n)
	}
	return l.room[:0]
}

// own returns a list that may be written to: a copy of one that a stored pod has.
func (l *Lists) own(list, stored []corev1.PodCondition) []corev1.PodCondition {
	if same(list, stored) {
		return append(l.memory(len(list)), list...)
	}
	return list
}

// share returns a list that stays: an equal one that another pod has, or a copy of what is in room.
func (l *Lists) share(list []corev1.PodCondition) []corev1.PodCondition {
	if l == nil || !same(list, l.room[:]) {
		return list
	}
	for _, recent := range l.recent {
		if slices.Equal(list, recent) {
			return recent
		}
	}
	list = slices.Clone(list)
	l.recent[l.next] = list
	l.next = (l.next + 1) % len(l.recent)
	return list
}

// with returns a copy of the conditions, in the order of a kubelet, in which the new ones are added, or replace those of their type with another
// status.
func (l *Lists) with(conditions []corev1.PodCondition, new ...corev1.PodCondition) []corev1.PodCondition {
	added := 0
	for i := range new {
		if find(conditions, new[i].Type) < 0 {
			added++
		}
	}
	conditions = append(l.memory(len(conditions)+added), conditions...)
	for i := range new {
		switch at := find(conditions, new[i].Type); {
		case at < 0:
			conditions = append(conditions, new[i])
		case conditions[at].Status != new[i].Status:
			conditions[at] = new[i]
		}
	}
	for i := 1; i < len(conditions); i++ {
		if place(&conditions[i]) < place(&conditions[i-1]) {
			slices.SortStableFunc(conditions, func(a, b corev1.PodCondition) int { return place(&a) - place(&b) })
			break
		}
	}
	return conditions
}

// replace is like with, but the new conditions also replace those of their type whose status is the same and whose reason or message differs. Their
// times stay.
func (l *Lists) replace(conditions []corev1.PodCondition, new ...corev1.PodCondition) []corev1.PodCondition {
	conditions = l.with(conditions, new...)
	for i := range new {
		c := &conditions[find(conditions, new[i].Type)]
		c.Reason, c.Message = new[i].Reason, new[i].Message
	}
	return conditions
}
