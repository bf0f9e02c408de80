package upstream

import (
	"cmp"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"github.com/volsim/volsim/internal/core/kubeletstatus"
	"github.com/volsim/volsim/internal/proof/differential/harness"
)

// podManager knows the pods of a node and their state there, for the volume manager.
type podManager struct {
	kubelet *kubelet

	mu      sync.Mutex
	pods    map[types.UID]*corev1.Pod // that the API server has
	workers map[types.UID]*podWorker
}

func newPodManager(k *kubelet) *podManager {
	return &podManager{kubelet: k, pods: map[types.UID]*corev1.Pod{}, workers: map[types.UID]*podWorker{}}
}

// GetPods lists the pods of the API server. A pass of the populator calls it first.
func (m *podManager) GetPods() []*corev1.Pod {
	m.kubelet.pass(harness.Populator)
	m.mu.Lock()
	defer m.mu.Unlock()
	var pods []*corev1.Pod
	for _, pod := range m.pods {
		pods = append(pods, pod)
	}
	if m.kubelet.cluster.cfg.Sorted {
		slices.SortFunc(pods, func(a, b *corev1.Pod) int { return cmp.Compare(a.UID, b.UID) })
	}
	return pods
}

// GetPodByUID returns one of them.
func (m *podManager) GetPodByUID(uid types.UID) (*corev1.Pod, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	pod, ok := m.pods[uid]
	return pod, ok
}

// ShouldPodContainersBeTerminating reports whether the pod is ending or was never admitted (MNT-062).
func (m *podManager) ShouldPodContainersBeTerminating(uid types.UID) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	w, known := m.workers[uid]
	return !known || w.ending
}

// ShouldPodRuntimeBeRemoved reports whether no container of the pod runs or will ever run (MNT-387).
func (m *podManager) ShouldPodRuntimeBeRemoved(uid types.UID) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	w, known := m.workers[uid]
	return !known || w.runtimeGone
}

var _ cache.ResourceEventHandler = (*podManager)(nil)

// OnAdd, OnUpdate and OnDelete receive pods from the watch.
func (m *podManager) OnAdd(obj any, _ bool) { m.changed(obj.(*corev1.Pod)) }

func (m *podManager) OnUpdate(before, obj any) {
	old, pod := before.(*corev1.Pod), obj.(*corev1.Pod)
	if old.UID != pod.UID {
		m.deleted(old)
	}
	m.changed(pod)
}

func (m *podManager) OnDelete(obj any) {
	if unknown, ok := obj.(cache.DeletedFinalStateUnknown); ok {
		obj = unknown.Obj
	}
	m.deleted(obj.(*corev1.Pod))
}

func (m *podManager) changed(pod *corev1.Pod) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.pods[pod.UID] = pod
	w, known := m.workers[pod.UID]
	if !known {
		w = newPodWorker(m.kubelet, pod)
		m.workers[pod.UID] = w
	}
	w.pod = pod
	if pod.DeletionTimestamp != nil || !known && kubeletstatus.Terminal(pod.Status.Phase) {
		w.end("")
	}
	if phase := m.kubelet.exited(pod.UID); !known && phase != "" {
		// Containers that exited while no kubelet ran are noticed immediately.
		w.end(phase)
	}
	w.look()
	if !known {
		m.kubelet.cluster.Running.Go(w.run)
	}
}

func (m *podManager) deleted(pod *corev1.Pod) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.pods, pod.UID)
	w, known := m.workers[pod.UID]
	if !known {
		return
	}
	w.gone = true
	w.look()
	if w.finished {
		delete(m.workers, pod.UID)
		return
	}
	w.end("")
}

// knows reports whether the API server has the pod, or a worker handles it.
func (m *podManager) knows(uid types.UID) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.pods[uid] != nil || m.workers[uid] != nil
}

// uids are those of the pods that the API server has.
func (m *podManager) uids() map[types.UID]bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	uids := map[types.UID]bool{}
	for uid := range m.pods {
		uids[uid] = true
	}
	return uids
}
