package upstream

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/kubelet/volumemanager"
	volumetypes "k8s.io/kubernetes/pkg/volume/util/types"
	mountutils "k8s.io/mount-utils"

	"github.com/volsim/volsim/internal/core/kubeletdefs"
	"github.com/volsim/volsim/internal/core/kubeletstatus"
	"github.com/volsim/volsim/internal/proof/differential/harness"
)

// podWorker takes one pod from its arrival at the node to its end, like those of package mount.
type podWorker struct {
	k   *kubelet
	uid types.UID
	// sync is the context of waits for mounted volumes; it ends when the pod begins to end.
	sync    context.Context
	cancel  context.CancelFunc
	changed chan struct{} // not empty if something below may have changed

	// The lock of the podManager guards these.
	pod                    *corev1.Pod
	ending, gone, finished bool
	runtimeGone            bool
	exit                   corev1.PodPhase
	ran                    bool
	reason, message        string // of a rejection
}

func newPodWorker(k *kubelet, pod *corev1.Pod) *podWorker {
	ctx, cancel := context.WithCancel(klog.NewContext(k.ctx, harness.Discard))
	w := &podWorker{k: k, uid: pod.UID, pod: pod, sync: ctx, cancel: cancel, changed: make(chan struct{}, 1)}
	w.ran = pod.Status.Phase == corev1.PodRunning || k.runs(pod.UID)
	return w
}

// locked calls fn with the lock of the podManager.
func (w *podWorker) locked(fn func()) {
	w.k.pods.mu.Lock()
	defer w.k.pods.mu.Unlock()
	fn()
}

// end begins the end of the pod. The caller holds the lock.
func (w *podWorker) end(phase corev1.PodPhase) {
	if w.exit == "" {
		w.exit = phase
	}
	w.ending = true
	w.cancel()
	w.look()
}

// look wakes the worker.
func (w *podWorker) look() {
	select {
	case w.changed <- struct{}{}:
	default:
	}
}

// wait waits until a condition holds, which is evaluated with the lock held. It returns false if the kubelet is dead.
func (w *podWorker) wait(cond func() bool) bool {
	for {
		holds := false
		w.locked(func() { holds = cond() })
		if holds {
			return true
		}
		select {
		case <-w.changed:
		case <-w.k.ctx.Done():
			return false
		}
	}
}

// run handles a pod on a node from start to end.
func (w *podWorker) run() {
	ctx := w.k.ctx
	if w.sync.Err() == nil && !w.k.runs(w.uid) {
		w.report(kubeletstatus.Waiting)
	}
	for w.sync.Err() == nil {
		pause := kubeletdefs.SyncPeriod
		if err := w.syncPod(); err != nil {
			pause = kubeletdefs.RetryPeriod
		}
		// The pause ends when the pod begins to end.
		_ = sleepUntil(w.sync, pause)
	}
	if w.k.dead() {
		return
	}
	w.stopContainers()
	w.waitForVolumes(ctx)
	w.finish()
}

// syncPod syncs the pod (MNT-380).
func (w *podWorker) syncPod() error {
	k := w.k
	var pod *corev1.Pod
	w.locked(func() { pod = w.pod })
	for _, dir := range []string{"volumes", "plugins"} {
		if err := os.MkdirAll(filepath.Join(k.podDir(w.uid), dir), 0o750); err != nil {
			return err
		}
	}
	k.begins.Store(volumetypes.UniquePodName(w.uid), true)
	err := k.volumes.WaitForAttachAndMount(w.sync, pod)
	limit, full := errors.AsType[*volumemanager.VolumeAttachLimitExceededError](err)
	switch {
	case full:
		w.reject(pod, limit)
		return err
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return err
	case err != nil:
		recorder{k}.Event(pod, corev1.EventTypeWarning, "FailedMount", "Unable to attach or mount volumes: "+err.Error())
		return err
	case w.sync.Err() != nil:
		return nil
	}
	compute := stillReady
	if !k.runs(w.uid) {
		compute = nowReady
		if err := w.checkContainers(pod); err != nil {
			return err
		}
		if err := k.mountSubpaths(pod); err != nil {
			return err
		}
		k.startContainers(w.uid, k.volumes.GetExtraSupplementalGroupsForPod(pod), kubeletdefs.WorkloadOf(pod))
	}
	w.locked(func() { w.ran = true })
	w.report(compute)
	return nil
}

// checkContainers reports a volume that a container needs and that is not mounted (MNT-385).
func (w *podWorker) checkContainers(pod *corev1.Pod) error {
	mounted := w.k.volumes.GetMountedVolumesForPod(volumetypes.UniquePodName(w.uid))
	for _, c := range pod.Spec.Containers {
		for _, m := range c.VolumeMounts {
			if _, ok := mounted[m.Name]; !ok {
				return fmt.Errorf("cannot find volume %q to mount into container %q", m.Name, c.Name)
			}
		}
		for _, d := range c.VolumeDevices {
			if _, ok := mounted[d.Name]; !ok {
				return fmt.Errorf("cannot find volume %q to pass into container %q", d.Name, c.Name)
			}
		}
	}
	return nil
}

// stopContainers is the first phase of the end (MNT-387).
func (w *podWorker) stopContainers() {
	ran := w.k.removeContainers(w.uid)
	how := kubeletstatus.Exited
	w.locked(func() {
		w.runtimeGone = true
		if w.exit == "" {
			w.exit = map[bool]corev1.PodPhase{true: corev1.PodSucceeded, false: corev1.PodFailed}[ran]
		}
		switch {
		case !w.ran:
			how = kubeletstatus.NeverStarted
		case !ran:
			how = kubeletstatus.Lost
		}
	})
	w.report(func(l *kubeletstatus.Lists, pod *corev1.Pod) corev1.PodStatus {
		return kubeletstatus.Terminated(l, pod, how, w.exit, w.reason, w.message)
	})
}

// waitForVolumes is the second phase.
func (w *podWorker) waitForVolumes(ctx context.Context) {
	k := w.k
	wait := func() error {
		k.begins.Store(volumetypes.UniquePodName(w.uid), true)
		return k.volumes.WaitForUnmount(klog.NewContext(ctx, harness.Discard), w.latest())
	}
	for wait() != nil {
		if sleepUntil(ctx, kubeletdefs.RetryPeriod) != nil {
			return
		}
	}
	for w.leftovers() {
		if sleepUntil(ctx, leftoverPeriod) != nil {
			return
		}
	}
}

// leftovers reports whether anything may be mounted for the pod.
func (w *podWorker) leftovers() bool {
	k := w.k
	k.pass(harness.Looks)
	return k.volumes.HasPossiblyMountedVolumesForPod(volumetypes.UniquePodName(w.uid)) ||
		k.mountsBelow(filepath.Join(k.podDir(w.uid), "volumes"))
}

// leftoverPeriod is how often a terminated pod checks for remaining volumes (MNT-011).
const leftoverPeriod = 100 * time.Millisecond

func (w *podWorker) latest() (pod *corev1.Pod) {
	w.locked(func() { pod = w.pod })
	return pod
}

// finish is the last phase: nothing of the pod remains, so the status manager computes its last status, and may delete it from the API.
func (w *podWorker) finish() {
	w.locked(func() {
		w.finished = true
		if _, managed := w.k.pods.pods[w.uid]; !managed {
			delete(w.k.pods.workers, w.uid)
		}
	})
	w.k.statuses.TerminatePod(harness.Discard, w.latest())
}

// startContainers starts the containers of a pod. If their workload says so, they exit by themselves.
func (m *machine) startContainers(pod types.UID, groups []int64, load kubeletdefs.Workload) {
	m.mu.Lock()
	defer m.mu.Unlock()
	c := &containers{groups: groups}
	m.containers[pod] = c
	if load.RunFor <= 0 {
		return
	}
	phase := load.Phase
	if phase == "" {
		phase = corev1.PodSucceeded
	}
	time.AfterFunc(load.RunFor, func() { m.exit(pod, c, phase) })
}

// exit ends containers of a pod if they still run, and notifies the kubelet if there is one.
func (m *machine) exit(pod types.UID, c *containers, phase corev1.PodPhase) {
	m.mu.Lock()
	ended := m.containers[pod] == c && c.exit == ""
	k := m.kubelet
	if ended {
		c.exit = phase
	}
	m.mu.Unlock()
	if !ended || k == nil || k.pods == nil {
		return
	}
	k.pods.mu.Lock()
	defer k.pods.mu.Unlock()
	if w, ok := k.pods.workers[pod]; ok {
		w.end(phase)
	}
}

// runs reports whether containers of the pod run.
func (m *machine) runs(pod types.UID) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	c, there := m.containers[pod]
	return there && c.exit == ""
}

// exited returns how the pod's containers ended, "" if they did not.
func (m *machine) exited(pod types.UID) corev1.PodPhase {
	m.mu.Lock()
	defer m.mu.Unlock()
	if c, there := m.containers[pod]; there {
		return c.exit
	}
	return ""
}

// removeContainers removes the pod's containers, and reports whether there were any.
func (m *machine) removeContainers(pod types.UID) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	_, there := m.containers[pod]
	delete(m.containers, pod)
	return there
}

// mountsBelow reports whether anything is mounted in or below a directory.
func (m *machine) mountsBelow(dir string) bool {
	points, err := m.mounter.List()
	return err != nil || slices.ContainsFunc(points, func(p mountutils.MountPoint) bool { return strings.HasPrefix(p.Path+"/", dir+"/") })
}
