package upstream

import (
	"context"
	"net/http"
	goruntime "runtime"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/kubelet/status"
	kubetypes "k8s.io/kubernetes/pkg/kubelet/types"

	"github.com/volsim/volsim/internal/core/kubeletstatus"
	"github.com/volsim/volsim/internal/proof/differential/apiserver"
	"github.com/volsim/volsim/internal/proof/differential/harness"
)

// podStatuses is the real status manager of a kubelet. It learns the pods from the podManager.
type podStatuses struct {
	status.Manager
	*podManager
}

// ending ends the goroutine of a status manager with its first request after the cluster has ended: it has no other end.
type ending struct {
	http.RoundTripper
	over *atomic.Bool
}

// RoundTrip implements http.RoundTripper.
func (e ending) RoundTrip(req *http.Request) (*http.Response, error) {
	if e.over.Load() {
		goruntime.Goexit()
	}
	resp, err := e.RoundTripper.RoundTrip(req)
	if e.over.Load() {
		goruntime.Goexit()
	}
	return resp, err
}

// startStatuses starts the status manager.
func (k *kubelet) startStatuses() error {
	over := &atomic.Bool{}
	client, err := apiserver.ClientThrough(ending{mortal{k}, over}, k.actor)
	if err != nil {
		return err
	}
	s := &podStatuses{podManager: k.pods}
	s.Manager = status.NewManager(client, s, s, s)
	k.statuses = s
	// The end of the cluster does not stop its requests before they reach ending.
	s.Start(klog.NewContext(context.WithoutCancel(k.ctx), harness.Discard))
	k.cluster.Running.Go(func() {
		<-k.cluster.Context.Done()
		over.Store(true)
		// A status wakes the manager.
		s.SetPodStatus(harness.Discard, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "last", UID: "last"}}, corev1.PodStatus{Phase: corev1.PodFailed})
	})
	return nil
}

// GetMirrorPodByPod, TranslatePodUID and GetUIDTranslations: there are no static pods.
func (*podStatuses) GetMirrorPodByPod(*corev1.Pod) (*corev1.Pod, bool) { return nil, false }

func (*podStatuses) TranslatePodUID(uid types.UID) kubetypes.ResolvedPodUID {
	return kubetypes.ResolvedPodUID(uid)
}

func (*podStatuses) GetUIDTranslations() (map[kubetypes.ResolvedPodUID]kubetypes.MirrorPodUID, map[kubetypes.MirrorPodUID]kubetypes.ResolvedPodUID) {
	return nil, nil
}

// PodCouldHaveRunningContainers reports whether a container of the pod runs or will run.
func (s *podStatuses) PodCouldHaveRunningContainers(pod *corev1.Pod) bool {
	return !s.ShouldPodRuntimeBeRemoved(pod.UID)
}

// RecordStatusUpdated and DeletePodStartupState: the latency of a pod's start is not measured.
func (*podStatuses) RecordStatusUpdated(*corev1.Pod)        {}
func (*podStatuses) DeletePodStartupState(podUID types.UID) {}

// computed returns the status computed from the pod.
type computed func(*kubeletstatus.Lists, *corev1.Pod) corev1.PodStatus

// report gives the status manager a status. The caller does not hold the lock.
func (w *podWorker) report(compute computed) {
	s := w.k.statuses
	pod := w.latest().DeepCopy()
	if known, ok := s.GetPodStatus(w.uid); ok {
		pod.Status = kubeletstatus.Merge(nil, &pod.Status, &known)
	}
	next := compute(nil, pod)
	kubeletstatus.Complete(nil, &next, pod, time.Now())
	s.SetPodStatus(harness.Discard, w.latest(), *next.DeepCopy())
}

// stillReady is the status of a pod whose containers run: it is ready, whatever the API server says.
func stillReady(l *kubeletstatus.Lists, pod *corev1.Pod) corev1.PodStatus {
	return kubeletstatus.AsReady(l, pod, kubeletstatus.StillRunning(l, pod))
}

// nowReady is the status of a pod whose containers have just been started.
func nowReady(l *kubeletstatus.Lists, pod *corev1.Pod) corev1.PodStatus {
	return kubeletstatus.AsReady(l, pod, kubeletstatus.Running(l, pod))
}
