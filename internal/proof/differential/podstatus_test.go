package differential_test

import (
	"context"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/kubelet/status"
	kubetypes "k8s.io/kubernetes/pkg/kubelet/types"

	"github.com/volsim/volsim"
	volsimfake "github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/internal/proof/differential/harness"
)

// onlyPod tells the status manager of a kubelet about its pods: there is one.
type onlyPod struct{ client *fake.Clientset }

func (o onlyPod) GetPodByUID(types.UID) (*corev1.Pod, bool) {
	pod, err := o.client.CoreV1().Pods("default").Get(context.Background(), "db", metav1.GetOptions{})
	return pod, err == nil
}

func (onlyPod) GetMirrorPodByPod(*corev1.Pod) (*corev1.Pod, bool) { return nil, false }

func (onlyPod) TranslatePodUID(uid types.UID) kubetypes.ResolvedPodUID {
	return kubetypes.ResolvedPodUID(uid)
}

func (onlyPod) GetUIDTranslations() (map[kubetypes.ResolvedPodUID]kubetypes.MirrorPodUID, map[kubetypes.MirrorPodUID]kubetypes.ResolvedPodUID) {
	return nil, nil
}

func (onlyPod) PodCouldHaveRunningContainers(*corev1.Pod) bool { return true }
func (onlyPod) RecordStatusUpdated(*corev1.Pod)                {}
func (onlyPod) DeletePodStartupState(types.UID)                {}

func readyOf(pod *corev1.Pod) (ready corev1.PodCondition) {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady {
			ready = c
		}
	}
	return ready
}

// TestReadySince compares the time of the condition Ready with that of the kubelet's status manager, when another writer marked a pod as not
// ready and its kubelet, which ran on, marks it as ready again (NODE-091).
func TestReadySince(t *testing.T) {
	const failed, healed = 2 * time.Minute, 5 * time.Minute
	var real, ours time.Duration
	synctest.Test(t, func(t *testing.T) {
		pod := volsimfake.Pod("db", volsimfake.OnNode("n1"))
		pod.Namespace, pod.UID = "default", "u1"
		client, over := fake.NewClientset(pod), false
		client.PrependReactor("get", "pods", func(clienttesting.Action) (bool, apiruntime.Object, error) {
			if over {
				runtime.Goexit() // the manager has no end
			}
			return false, nil, nil
		})
		only := onlyPod{client}
		m := status.NewManager(client, only, only, only)
		m.Start(klog.NewContext(t.Context(), harness.Discard))
		ready := corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}}
		begin := time.Now()
		m.SetPodStatus(harness.Discard, pod, ready)
		time.Sleep(failed)
		stored, _ := only.GetPodByUID("")
		stored.Status.Conditions[0].Status, stored.Status.Conditions[0].LastTransitionTime = corev1.ConditionFalse, metav1.Now()
		_, err := client.CoreV1().Pods("default").UpdateStatus(t.Context(), stored, metav1.UpdateOptions{})
		require.NoError(t, err)
		time.Sleep(healed - failed)
		stored, _ = only.GetPodByUID("")
		require.Equal(t, corev1.ConditionTrue, readyOf(stored).Status)
		real = readyOf(stored).LastTransitionTime.Sub(begin)
		over = true
		m.SetPodStatus(harness.Discard, pod, corev1.PodStatus{Phase: corev1.PodFailed})
		synctest.Wait()
	})

	c, err := volsim.New(volsim.Config{})
	require.NoError(t, err)
	require.NoError(t, c.Create(volsimfake.Node("n1"), volsimfake.Pod("db", volsimfake.OnNode("n1"))))
	require.NoError(t, c.Settle())
	node, err := c.Node("n1")
	require.NoError(t, err)
	stored, err := c.Pods.Get("db")
	require.NoError(t, err)
	begin := readyOf(stored).LastTransitionTime
	require.NoError(t, c.Advance(failed))
	node.Partition(true)
	require.NoError(t, c.Advance(healed-failed))
	stored, err = c.Pods.Get("db")
	require.NoError(t, err)
	require.Equal(t, corev1.ConditionFalse, readyOf(stored).Status)
	node.Partition(false)
	require.NoError(t, c.Advance(time.Minute))
	stored, err = c.Pods.Get("db")
	require.NoError(t, err)
	require.Equal(t, corev1.ConditionTrue, readyOf(stored).Status)
	ours = readyOf(stored).LastTransitionTime.Sub(begin.Time)
	require.Equal(t, real, ours, "NODE-091: ready since")
}
