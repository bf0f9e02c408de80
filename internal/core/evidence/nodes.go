package evidence

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/internal/core/actors"
	"github.com/volsim/volsim/internal/core/objects"
)

// readNodes reads heartbeats.
func (r *reader) readNodes() {
	for _, node := range r.nodes {
		for _, c := range node.Status.Conditions {
			age := r.now.Sub(c.LastHeartbeatTime.Time)
			if c.Type != corev1.NodeReady || c.Status != corev1.ConditionTrue || c.LastHeartbeatTime.IsZero() || age <= staleHeartbeat {
				continue
			}
			if r.renewed(node.Name) {
				continue
			}
			r.found = append(r.found, Assumption{Subject: "node/" + node.Name, Behaviour: Silent, Since: c.LastHeartbeatTime.Time,
				Evidence: fmt.Sprintf("the kubelet of node %s has not reported since %s", node.Name, clock(c.LastHeartbeatTime.Time, r.now))})
		}
		if !objects.Healthy(node) {
			since, reported := time.Time{}, ""
			for _, c := range node.Status.Conditions {
				if c.Type == corev1.NodeReady {
					since = c.LastTransitionTime.Time
				}
				if c.Type == corev1.NodeReady && c.Status == corev1.ConditionFalse && c.Message != "" {
					reported = " (" + c.Message + ")"
				}
			}
			text := reported
			if !since.IsZero() {
				text = " since " + clock(since, r.now) + reported
			}
			r.found = append(r.found, Assumption{Subject: "node/" + node.Name, Behaviour: Silent, Since: since,
				Evidence: fmt.Sprintf("node %s is NotReady%s", node.Name, text)})
		}
	}
}

// renewed reports whether a lease shows that the kubelet of the node works.
func (r *reader) renewed(node string) bool {
	for _, lease := range r.leases {
		if lease.Namespace == corev1.NamespaceNodeLease && lease.Name == node && lease.Spec.RenewTime != nil {
			return r.now.Sub(lease.Spec.RenewTime.Time) <= Patience
		}
	}
	return false
}

// leased are the controllers that hold a lease, by the name of the lease in kube-system.
var leased = map[string][]string{
	"kube-scheduler": {actors.Scheduler},
	"kube-controller-manager": {actors.PersistentVolume, actors.PVProtection, actors.PVCProtection, actors.AttachDetach, actors.Expander,
		actors.Ephemeral, actors.PodGC, actors.NodeLifecycle, actors.TaintEviction, actors.GarbageCollector, actors.Namespace,
		actors.StatefulSet, actors.ReplicaSet, actors.ReplicationController, actors.Deployment, actors.DaemonSet, actors.Job, actors.TTLAfterFinished, actors.CronJob, actors.Disruption,
		actors.ResourceQuota, actors.VACProtection},
}

// readLeases reads the leases of nodes and controllers that were not renewed.
func (r *reader) readLeases() {
	healthy := map[string]bool{}
	for _, node := range r.nodes {
		healthy[node.Name] = objects.Healthy(node)
	}
	for _, lease := range r.leases {
		if lease.Spec.RenewTime == nil || r.now.Sub(lease.Spec.RenewTime.Time) <= Patience {
			continue
		}
		since := lease.Spec.RenewTime.Time
		text := fmt.Sprintf("has not renewed its lease since %s", clock(since, r.now))
		switch {
		case lease.Namespace == corev1.NamespaceNodeLease && healthy[lease.Name]:
			r.found = append(r.found, Assumption{Subject: "node/" + lease.Name, Behaviour: Silent, Since: since,
				Evidence: fmt.Sprintf("the kubelet of node %s %s", lease.Name, text)})
		case lease.Namespace == "kube-system" && leased[lease.Name] != nil:
			for _, actor := range leased[lease.Name] {
				r.add(Assumption{Subject: "controller/" + actor, Behaviour: Absent, Since: since, actor: actor,
					Evidence: fmt.Sprintf("%s %s", lease.Name, text)})
			}
		default:
			r.readSidecar(lease, since, text)
		}
	}
}

// readSidecar reads the lease of a sidecar, whose name is that of the driver with other separators (leaderelection.sanitizeName of
// csi-lib-utils).
func (r *reader) readSidecar(lease interface{ GetName() string }, since time.Time, text string) {
	for _, driver := range slices.Sorted(maps.Keys(r.signs)) {
		name := strings.NewReplacer(".", "-", "/", "-", "_", "-").Replace(driver)
		actor := ""
		switch lease.GetName() {
		case name:
			actor = actors.Provisioner(driver)
		case "external-attacher-leader-" + name:
			actor = actors.Attacher(driver)
		case "external-resizer-" + name:
			actor = actors.Resizer(driver)
		default:
			continue
		}
		r.add(Assumption{Subject: "driver/" + driver, Behaviour: Absent, Since: since, actor: actor,
			Evidence: fmt.Sprintf("%s %s", actor, text)})
	}
}
