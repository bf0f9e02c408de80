package kubeletstatus

import (
	"fmt"
	"reflect"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Pods whose conditions are equal share one list of them (MNT-384), and the statuses are those that each pod would have alone.
func TestLists(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC)
	scheduled := metav1.NewTime(now.Add(-time.Minute))
	pods := make([]*corev1.Pod, 6)
	for i := range pods {
		pods[i] = &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: fmt.Sprint("p", i), Generation: 1}}
		pods[i].Spec.Containers = []corev1.Container{{Name: "main", Image: "app"}}
		pods[i].Status.Conditions = []corev1.PodCondition{
			{Type: corev1.PodScheduled, Status: corev1.ConditionTrue, LastTransitionTime: scheduled}}
	}
	pods[2].Generation = 2
	for i := range 9 {
		// More conditions than fit into the room.
		pods[4].Status.Conditions = append(pods[4].Status.Conditions, corev1.PodCondition{Type: corev1.PodConditionType(fmt.Sprint("c", i))})
	}
	lists := &Lists{}
	steps := []computeStatus{Waiting, Running, func(l *Lists, pod *corev1.Pod) corev1.PodStatus {
		return AsReady(l, pod, StillRunning(l, pod))
	}, func(l *Lists, pod *corev1.Pod) corev1.PodStatus {
		return Terminated(l, pod, Exited, corev1.PodSucceeded, "", "")
	}}
	for at, compute := range steps {
		written, alone := make([]*corev1.Pod, len(pods)), make([]*corev1.Pod, len(pods))
		for i, pod := range pods {
			for _, how := range []struct {
				lists *Lists
				into  []*corev1.Pod
			}{{nil, alone}, {lists, written}} {
				status := compute(how.lists, pod)
				Complete(how.lists, &status, pod, now.Add(time.Duration(at)*time.Minute))
				next := *pod
				next.Status = status
				how.into[i] = &next
			}
		}
		// All were computed before they are compared: a list that is still in the room would have changed meanwhile.
		for i := range pods {
			if !reflect.DeepEqual(written[i], alone[i]) {
				t.Errorf("step %d, pod %d: with shared lists %+v, alone %+v", at, i, written[i].Status, alone[i].Status)
			}
			if got, want := same(written[0].Status.Conditions, written[i].Status.Conditions), i != 2 && i != 4; got != want {
				t.Errorf("step %d: pod %d shares the list of pod 0: %v, want %v", at, i, got, want)
			}
		}
		pods = written
	}
}

type computeStatus = func(*Lists, *corev1.Pod) corev1.PodStatus
