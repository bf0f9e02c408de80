package kubeletstatus_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/strategicpatch"

	"github.com/volsim/volsim/internal/core/kubeletstatus"
)

// TestPatched: MNT-465, a patch of a status that another writer has changed meanwhile leaves the conditions in the order of a strategic merge patch.
func TestPatched(t *testing.T) {
	types := []corev1.PodConditionType{corev1.PodReadyToStartContainers, corev1.PodInitialized, corev1.PodReady, corev1.ContainersReady, corev1.PodScheduled}
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 1))
		some := func(types []corev1.PodConditionType) (list []corev1.PodCondition) {
			for _, i := range r.Perm(len(types)) {
				if r.IntN(3) > 0 {
					list = append(list, corev1.PodCondition{Type: types[i], Status: corev1.ConditionTrue, Reason: fmt.Sprint(r.IntN(2))})
				}
			}
			return list
		}
		from := corev1.PodStatus{Conditions: some(types)}
		// Nobody removes a condition. Another writer appends its own.
		to, newest := from, from
		to.Conditions = append([]corev1.PodCondition{}, from.Conditions...)
		for _, c := range some(types) {
			at := 0
			for at < len(to.Conditions) && to.Conditions[at].Type != c.Type {
				at++
			}
			to.Conditions = append(append(append([]corev1.PodCondition{}, to.Conditions[:at]...), c), to.Conditions[min(at+1, len(to.Conditions)):]...)
		}
		r.Shuffle(len(to.Conditions), func(i, j int) { to.Conditions[i], to.Conditions[j] = to.Conditions[j], to.Conditions[i] })
		newest.Conditions = append(append([]corev1.PodCondition{}, from.Conditions...), some([]corev1.PodConditionType{corev1.DisruptionTarget, "a", "b"})...)

		patch, err := strategicpatch.CreateTwoWayMergePatch(marshal(t, from), marshal(t, to), corev1.Pod{})
		require.NoError(t, err)
		merged, err := strategicpatch.StrategicMergePatch(marshal(t, newest), patch, corev1.Pod{})
		require.NoError(t, err)
		var want corev1.Pod
		require.NoError(t, json.Unmarshal(merged, &want))
		got := kubeletstatus.Patched(newest, from, to)
		require.Equal(t, fmt.Sprint(want.Status.Conditions), fmt.Sprint(got.Conditions), "MNT-465, seed %d: %s", seed, patch)
	}
}

// TestMerge: what a kubelet keeps of a status that other writers have changed.
func TestMerge(t *testing.T) {
	condition := func(kind corev1.PodConditionType, reason string) corev1.PodCondition {
		return corev1.PodCondition{Type: kind, Reason: reason}
	}
	for _, tt := range []struct {
		rule, name          string
		stored, known, want corev1.PodStatus
	}{
		{"MNT-374", "pod GC has failed the pod",
			corev1.PodStatus{Phase: corev1.PodFailed}, corev1.PodStatus{Phase: corev1.PodPending}, corev1.PodStatus{Phase: corev1.PodPending}},
		{"MNT-465", "conditions of others stay, and come first",
			corev1.PodStatus{Conditions: []corev1.PodCondition{condition(corev1.PodReady, "old"), condition("a", "new")}},
			corev1.PodStatus{Conditions: []corev1.PodCondition{condition(corev1.PodReady, "new"), condition("a", "old")}},
			corev1.PodStatus{Conditions: []corev1.PodCondition{condition("a", "new"), condition(corev1.PodReady, "new")}}},
	} {
		t.Run(tt.rule+" "+tt.name, func(t *testing.T) {
			require.Equal(t, tt.want, kubeletstatus.Merge(nil, &tt.stored, &tt.known))
		})
	}
}

func marshal(t *testing.T, status corev1.PodStatus) []byte {
	t.Helper()
	data, err := json.Marshal(corev1.Pod{Status: status})
	require.NoError(t, err)
	return data
}
