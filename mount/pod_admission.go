package mount

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/kubeletstatus"
	"github.com/volsim/volsim/internal/core/objects"
	"github.com/volsim/volsim/internal/core/podresources"
)

// A kubelet checks each pod that it sees for the first time, also one that the scheduler has placed: what the scheduler knew may be out of date, and a pod
// may name its node itself.

// rejectionTime is the time from when a kubelet sees a pod until it rejects it. SIM: upstream it takes some milliseconds. If it took none, a controller that
// replaces rejected pods would go on forever at one instant.
const rejectionTime = 100 * time.Millisecond

// refusal is why a node rejects a pod. The zero value rejects none.
type refusal struct {
	reason, message string
	// byLabels says that the pod only selects other nodes.
	byLabels bool
	// lacking are the resources of which the node has too little, if nothing else speaks against the pod.
	lacking []shortage
}

func (r refusal) refuses() bool { return r.reason != "" }

// shortage is a resource of which a node has too little.
type shortage struct {
	name                      corev1.ResourceName
	requested, used, capacity int64
}

// mustAdmit reports whether a pod that the kubelet sees for the first time is checked (MNT-403).
func (k *kubelet) mustAdmit(pod *corev1.Pod) bool {
	if k.resumed && pod.Status.StartTime != nil {
		return false // the kubelet admitted it before the dump
	}
	return pod.DeletionTimestamp == nil && !terminal(pod.Status.Phase)
}

// refusalOf returns why a node rejects a pod (MNT-403).
func (k *kubelet) refusalOf(pod *corev1.Pod, node *corev1.Node) refusal {
	if r := refusedSysctl(pod); r.refuses() {
		return r
	}
	system := systemOf(node)
	switch label, labeled := pod.Labels[corev1.LabelOSStable]; {
	case labeled && label != system:
		// MNT-403: a label of the pod itself, not its node selector.
		return refusal{reason: "PodOSSelectorNodeLabelDoesNotMatch", message: "Failed to admit pod as the `kubernetes.io/os` label doesn't match node label"}
	case pod.Spec.OS != nil && string(pod.Spec.OS.Name) != system:
		return refusal{reason: "PodOSNotSupported", message: "Failed to admit pod as the OS field doesn't match node OS"}
	}
	lacking := k.shortages(pod, node)
	other := k.predicate(pod, node)
	if len(lacking) == 0 || other.refuses() && objects.IsCriticalPod(pod) {
		return other
	}
	// MNT-403: resources come first.
	r := refusal{reason: "OutOf" + string(lacking[0].name), message: lacking[0].String()}
	if !other.refuses() {
		r.lacking = lacking
	}
	return r
}

func (s shortage) String() string {
	return fmt.Sprintf("Node didn't have enough resource: %s, requested: %d, used: %d, capacity: %d", s.name, s.requested, s.used, s.capacity)
}

// predicate returns the first thing besides resources that keeps a pod off a node (MNT-403).
func (k *kubelet) predicate(pod *corev1.Pod, node *corev1.Node) refusal {
	failed := func(name, why string) refusal {
		return refusal{reason: name, message: "Predicate " + name + " failed: " + why}
	}
	untolerated := slices.ContainsFunc(node.Spec.Taints, func(taint corev1.Taint) bool {
		return taint.Effect == corev1.TaintEffectNoExecute && !objects.Tolerated(pod, &taint)
	})
	taken := objects.UsesHostPorts(pod) && k.portTaken(pod)
	switch {
	case !objects.SelectsNode(pod, node):
		r := failed("NodeAffinity", "node(s) didn't match Pod's node affinity/selector")
		r.byLabels = !taken && !untolerated
		return r
	case taken:
		return failed("NodePorts", "node(s) didn't have free ports for the requested pod ports")
	case untolerated:
		return failed("TaintToleration", "node(s) had taints that the pod didn't tolerate")
	}
	return refusal{}
}

// others calls visit for the pods that hold resources of the node (MNT-403). Their order does not matter.
func (k *kubelet) others(pod *corev1.Pod, visit func(w *podWorker)) {
	for uid, w := range k.workers {
		if !w.deleted && uid != pod.UID && !w.refusal.refuses() && !w.state.containersGone() {
			visit(w)
		}
	}
}

// portTaken reports whether another pod has a port that the pod needs.
func (k *kubelet) portTaken(pod *corev1.Pod) (taken bool) {
	k.others(pod, func(w *podWorker) {
		_, conflict := objects.HostPortConflict(pod, w.pod)
		taken = taken || conflict
	})
	return taken
}

// shortages returns the resources of which the node has too little: the number of pods, and then the others (MNT-403).
func (k *kubelet) shortages(pod *corev1.Pod, node *corev1.Node) (lacking []shortage) {
	if len(node.Status.Allocatable) == 0 {
		return nil
	}
	requests, allocatable := podresources.Requests(pod), podresources.Of(node.Status.Allocatable)
	used, pods := make(podresources.Amounts, len(requests)), 0
	k.others(pod, func(w *podWorker) {
		pods++
		for name := range requests {
			used[name] += w.requested(name)
		}
	})
	names, tooMany, _ := podresources.Lacking(requests, used, allocatable, pods)
	if tooMany {
		lacking = append(lacking, shortage{corev1.ResourcePods, 1, int64(pods), allocatable[corev1.ResourcePods]})
	}
	for _, name := range names {
		lacking = append(lacking, shortage{name, requests[name], used[name], allocatable[name]})
	}
	return lacking
}

// knownNode returns the Node as watched, or what a kubelet knows without it.
func (k *kubelet) knownNode() *corev1.Node {
	if k.object != nil {
		return k.object
	}
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: k.node.name}}
}

// systemOf returns the operating system of a node.
func systemOf(node *corev1.Node) string {
	if system := node.Status.NodeInfo.OperatingSystem; system != "" {
		return system
	}
	return string(corev1.Linux)
}

// safeSysctls are the sysctls that pods may set (MNT-403).
var safeSysctls = []string{
	"kernel.shm_rmid_forced", "net.ipv4.ip_local_port_range", "net.ipv4.tcp_syncookies", "net.ipv4.ping_group_range", "net.ipv4.ip_unprivileged_port_start",
	"net.ipv4.ip_local_reserved_ports", "net.ipv4.tcp_keepalive_time", "net.ipv4.tcp_fin_timeout", "net.ipv4.tcp_keepalive_intvl", "net.ipv4.tcp_keepalive_probes",
	"net.ipv4.tcp_rmem", "net.ipv4.tcp_wmem",
}

// refusedSysctl rejects a pod that sets a sysctl which kubelets do not allow by default.
func refusedSysctl(pod *corev1.Pod) refusal {
	if pod.Spec.SecurityContext == nil {
		return refusal{}
	}
	for _, s := range pod.Spec.SecurityContext.Sysctls {
		if name := strings.ReplaceAll(s.Name, "/", "."); !slices.Contains(safeSysctls, name) {
			return refusal{reason: "SysctlForbidden", message: fmt.Sprintf("forbidden sysctl: %q not allowlisted", name)}
		}
	}
	return refusal{}
}

// admit checks a pod once more if its node may have got the labels that it selects, and makes room for a critical pod. It reports whether the node takes
// the pod.
func (w *podWorker) admit(p *engine.Process) bool {
	k := w.k
	if w.refusal.byLabels {
		// MNT-403: the Node is read from the API server, because the watch may be late.
		if node, err := reach(k, func() (*corev1.Node, error) { return p.API().Nodes.Get(p, k.node.name) }); err == nil {
			w.refusal = k.refusalOf(w.pod, node)
		}
	}
	if len(w.refusal.lacking) > 0 && objects.IsCriticalPod(w.pod) {
		w.refusal = w.makeRoom(p)
	}
	return !w.refusal.refuses()
}

// rejectNow rejects a pod before anything is done for it (MNT-403, MNT-404).
func (w *podWorker) rejectNow(p *engine.Process) {
	k := w.k
	k.Event(p, w.pod, corev1.EventTypeWarning, w.refusal.reason, "%s", w.refusal.message)
	w.reason, w.message = w.refusal.reason, "Pod was rejected: "+w.refusal.message
	if k.node.runtime.runs(w.uid) {
		// MNT-404: its containers ran before the kubelet restarted. SIM: they are stopped as those of a pod that ends.
		w.end(corev1.PodFailed)
	}
	if w.state.ending() {
		w.stop(p)
		return
	}
	w.state = w.state.after(refused)
	st := &w.status
	st.known, st.exists = kubeletstatus.Rejected(w.pod, w.reason, w.message, metav1.NewTime(p.Now().Truncate(time.Second))), true
	k.statuses.send(w)
	// MNT-404: nothing happens before the pod changes.
	w.signal.ThenWhen(p, func() bool { return w.state.ending() }, w.stop)
}
