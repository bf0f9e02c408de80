package mount

import (
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/kubeletstatus"
)

// statusManager writes the statuses of a kubelet's pods, one after the other, and deletes pods that have ended from the API. No worker waits
// for it. A status that cannot be written is written with the next one that changes, at the latest at the next tick (MNT-465).
type statusManager struct {
	k *kubelet
	// unsent are the pods whose status is to be written, in the order in which it changed; unchecked are those that the next tick looks at.
	unsent, unchecked []*podWorker
	// wanted says that a batch is wanted.
	wanted bool
	signal engine.Signal
	ticker *engine.Ticker
	// isWanted, begins and writes are functions for wait and begin; sent is the batch.
	isWanted       func() bool
	begins, writes func(*engine.Process)
	sent           []sentStatus
	// read is the pod that is being written, and status the one that it gets.
	read   *corev1.Pod
	status corev1.PodStatus
	patch  func(*corev1.Pod) error
}

// statusSyncPeriod is the time between two ticks of the status manager (MNT-465, NODE-091).
const statusSyncPeriod = 10 * time.Second

// podStatus is the record of the status manager about a pod.
type podStatus struct {
	// known is the status that the kubelet knows, if there is one. version counts its changes; final says that it is the last one.
	known         corev1.PodStatus
	exists, final bool
	version       int
	// written is the version of the pod in the API that has the status.
	written uint64
	// unsent and unchecked say that the manager's lists have the pod.
	unsent, unchecked bool
	// deleted is true after the kubelet has deleted the pod from the API.
	deleted bool
}

// sentStatus is the status of a pod when a batch began.
type sentStatus struct {
	worker  *podWorker
	known   corev1.PodStatus
	version int
	final   bool
}

// computeStatus computes a status from the one that the pod has.
type computeStatus func(l *kubeletstatus.Lists, pod *corev1.Pod) corev1.PodStatus

func (m *statusManager) start() {
	m.ticker = m.k.actor.NewTicker(engine.TickerConfig{
		Name: "statuses of pods", First: statusSyncPeriod, Period: statusSyncPeriod, Pass: func(*engine.Process) { m.tick() },
	})
	m.isWanted, m.patch = func() bool { return m.wanted }, m.apply
	m.begins, m.writes = m.begin, m.batches
	m.k.actor.Go("statuses of pods", m.wait)
}

// wait waits until a batch is wanted.
func (m *statusManager) wait(p *engine.Process) {
	m.signal.ThenWhen(p, m.isWanted, m.begins)
}

// begin begins a batch. Its requests come after what is due already.
func (m *statusManager) begin(p *engine.Process) {
	m.take()
	p.ExpectPasses(0)
	p.WaitThen(passed, m.writes)
}

// take makes a batch of all statuses that are not written yet, as they are now. One that changes from now on is written by the next batch
// (MNT-465).
func (m *statusManager) take() {
	m.wanted = false
	m.sent = slices.Grow(m.sent, len(m.unsent))
	for i, w := range m.unsent {
		m.sent = append(m.sent, sentStatus{w, w.status.known, w.status.version, w.status.final})
		m.unsent[i] = nil
	}
	m.unsent = m.unsent[:0]
}

// batches writes batches until none is wanted.
func (m *statusManager) batches(p *engine.Process) {
	m.batch(p)
	for m.wanted {
		m.take()
		m.batch(p)
	}
	m.wait(p)
}

// batch writes a batch.
func (m *statusManager) batch(p *engine.Process) {
	failed := false
	for i := range m.sent {
		s := &m.sent[i]
		w := s.worker
		err := m.write(p, s)
		failed = failed || err != nil
		if err == nil && s.version == w.status.version {
			w.status.unsent = false
		} else {
			m.unsent = append(m.unsent, w)
		}
	}
	clear(m.sent)
	m.sent = m.sent[:0]
	if failed {
		m.arm()
	}
}

// arm requests the next tick. While the API server cannot be reached, Settle does not wait for it.
func (m *statusManager) arm() {
	if m.k.node.partitioned {
		m.ticker.ArmBackground()
	} else {
		m.ticker.Arm()
	}
}

// tick looks at the pods that were changed by others.
func (m *statusManager) tick() {
	all := m.unchecked
	m.unchecked = nil
	for _, w := range all {
		w.status.unchecked = false
		if w.overwritten() || w.deletable(w.pod) {
			m.send(w)
		}
	}
	m.request()
}

// check lets the next tick look at a pod.
func (m *statusManager) check(w *podWorker) {
	if !w.status.unchecked {
		w.status.unchecked = true
		m.unchecked = append(m.unchecked, w)
	}
	m.arm()
}

// send requests that the status of a pod is written.
func (m *statusManager) send(w *podWorker) {
	w.status.version++
	if !w.status.unsent {
		w.status.unsent = true
		m.unsent = append(m.unsent, w)
	}
	m.request()
}

// request requests a batch. An idle manager begins it as soon as the process that calls request waits: it belongs to the same program.
func (m *statusManager) request() {
	m.wanted = true
	m.signal.Release()
}

// write writes the status of a pod, and deletes the pod if that was the last one. An error says that the status is not written.
func (m *statusManager) write(p *engine.Process, s *sentStatus) error {
	w, lists := s.worker, &m.k.node.nodes.lists
	pod, err := reach(m.k, func() (*corev1.Pod, error) { return p.API().Pods.Get(p, w.key) })
	switch {
	case err != nil && apierrors.IsNotFound(err), err == nil && pod.UID != w.uid:
		// MNT-465: nothing is left to write.
		return nil
	case err != nil:
		return err
	}
	m.read, m.status = pod, kubeletstatus.Merge(lists, &pod.Status, &s.known)
	if !kubeletstatus.Equal(&m.status, &pod.Status) {
		pod, err = reach(m.k, func() (*corev1.Pod, error) { return p.API().Pods.PatchWith(p, w.key, m.patch, api.Status) })
		if err != nil {
			return err
		}
	}
	w.status.written = version(pod)
	if s.final && w.deletable(pod) {
		m.delete(p, w)
	}
	return nil
}

// apply patches the newest version of a pod: with what differs from the version that was read, for this uid only (MNT-465).
func (m *statusManager) apply(newest *corev1.Pod) error {
	newest.UID = m.read.UID
	if newest.ResourceVersion == m.read.ResourceVersion {
		newest.Status = m.status
	} else {
		newest.Status = kubeletstatus.Patched(newest.Status, m.read.Status, m.status)
	}
	return nil
}

// finish writes the last status of a pod of which nothing is left on the node (MNT-370). Even if that does not change, the pod is read, and then
// deleted if it is marked for deletion (MNT-387).
func (m *statusManager) finish(w *podWorker) {
	st := &w.status
	if !st.exists {
		st.known, st.exists = w.pod.Status, true
	}
	st.known = kubeletstatus.Final(st.known, w.initialized, metav1.NewTime(m.k.actor.Engine().Now().Truncate(time.Second)))
	st.final = true
	m.send(w)
}

// delete deletes a pod from the API, for this uid only. If that fails, the next tick tries again (MNT-387).
func (m *statusManager) delete(p *engine.Process, w *podWorker) {
	now := int64(0)
	_, err := reach(m.k, func() (*corev1.Pod, error) {
		return p.API().Pods.Delete(p, w.key, api.DeleteOptions{GracePeriodSeconds: &now, UID: w.uid})
	})
	if err != nil {
		m.check(w)
		return
	}
	w.status.deleted = true
}

// deletable reports whether nothing is left of a pod but its object, which is marked for deletion (MNT-387).
func (w *podWorker) deletable(pod *corev1.Pod) bool {
	return w.state == podFinished && pod.DeletionTimestamp != nil && terminal(pod.Status.Phase) && !w.status.deleted && !w.deleted
}

// report takes over a new status of the pod, which is then written.
func (w *podWorker) report(compute computeStatus) {
	st, nodes := &w.status, w.k.node.nodes
	lists, pod := &nodes.lists, &nodes.podRoom
	*pod = *w.pod
	if st.exists {
		pod.Status = kubeletstatus.Merge(lists, &w.pod.Status, &st.known)
	}
	status := compute(lists, pod)
	same := kubeletstatus.Same(&status, &pod.Status)
	// MNT-380: a new generation is a change. One that was never reported is not: the pod ran before volsim.
	sameGeneration := status.ObservedGeneration == pod.Generation || status.ObservedGeneration == 0
	switch {
	case same && sameGeneration && st.exists && w.pod.DeletionTimestamp == nil:
		// MNT-380: the status is the same, so no request is made.
		return
	case same && !st.exists && (w.pod.DeletionTimestamp == nil || status.ObservedGeneration == pod.Generation):
		// After the start of the kubelet, the API server has the status already. MNT-372: but of a pod that is being deleted, the generation counts.
		status = pod.Status
	default:
		kubeletstatus.Complete(lists, &status, pod, w.k.actor.Engine().Now())
	}
	st.known, st.exists = status, true
	w.k.statuses.send(w)
}

// currentStatus is the status of a pod whose containers run, or do not run yet. A pod that ends keeps the status it has.
func (w *podWorker) currentStatus(l *kubeletstatus.Lists, pod *corev1.Pod) corev1.PodStatus {
	switch {
	case w.state.ending():
		return pod.Status
	case w.k.node.runtime.runs(w.uid):
		return w.withReadiness(l, pod, kubeletstatus.Running(l, pod))
	}
	return kubeletstatus.Waiting(l, pod)
}

// withReadiness returns the status of a pod whose containers run and are ready: the kubelet knows that, whatever the API says (NODE-091).
func (w *podWorker) withReadiness(l *kubeletstatus.Lists, pod *corev1.Pod, status corev1.PodStatus) corev1.PodStatus {
	if w.unready {
		return status
	}
	return kubeletstatus.AsReady(l, pod, status)
}

// repair requests that the next tick writes the status again if another writer, such as the node lifecycle controller, has changed it (NODE-091),
// and deletes a pod that ended before it was marked for deletion.
func (w *podWorker) repair() {
	if w.overwritten() || w.deletable(w.pod) {
		w.k.statuses.check(w)
	}
}

// overwritten reports whether the status of the pod is another than the kubelet wrote. The watch may show a version that is older than its write.
func (w *podWorker) overwritten() bool {
	st := &w.status
	return st.written > 0 && !st.unsent && !w.deleted && version(w.pod) > st.written && !kubeletstatus.Same(&w.pod.Status, &st.known)
}

// reconcileGates reports a new status at once if a change of the pod's other conditions changes whether it is ready (MNT-389).
func (w *podWorker) reconcileGates() {
	if len(w.pod.Spec.ReadinessGates) > 0 && w.started && !w.state.ending() && w.k.node.runtime.runs(w.uid) {
		w.report(w.currentStatus)
	}
}

// version returns the version of a pod as a number.
func version(pod *corev1.Pod) uint64 {
	v, _ := strconv.ParseUint(pod.ResourceVersion, 10, 64)
	return v
}

// markedNotReady reports whether a pod has the condition Ready with status False.
func markedNotReady(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionFalse
	})
}
