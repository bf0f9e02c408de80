// Package actors names the actors of a cluster: its controllers, sidecars, kubelets and nodes.
//
// A name identifies an actor in the trace, in Config.Without and Config.Lag, and in faults. Packages that only need a name import this
// package and not the controller's.
package actors

import (
	"fmt"
	"strings"

	"github.com/volsim/volsim/internal/core/similar"
)

// Controllers of kube-controller-manager, under the names that they have there.
const (
	PersistentVolume      = "persistentvolume-controller"
	PVProtection          = "pv-protection-controller"
	PVCProtection         = "pvc-protection-controller"
	Ephemeral             = "ephemeral-volume-controller"
	GarbageCollector      = "garbage-collector"
	AttachDetach          = "attachdetach-controller"
	PodGC                 = "pod-garbage-collector-controller"
	NodeLifecycle         = "node-lifecycle-controller"
	TaintEviction         = "taint-eviction-controller"
	Expander              = "persistentvolume-expander-controller"
	Namespace             = "namespace-controller"
	ResourceQuota         = "resourcequota-controller"
	StatefulSet           = "statefulset-controller"
	ReplicaSet            = "replicaset-controller"
	ReplicationController = "replication-controller"
	Deployment            = "deployment-controller"
	DaemonSet             = "daemonset-controller"
	Job                   = "job-controller"
	TTLAfterFinished      = "ttl-after-finished-controller"
	CronJob               = "cronjob-controller"
	// DataSourceValidator is the volume-data-source-validator, a component of kubernetes-csi.
	DataSourceValidator = "volume-data-source-validator"
	Disruption          = "disruption-controller"
	VACProtection       = "volumeattributesclass-protection-controller"
)

// Named are the controllers whose names do not depend on a driver or a node.
var Named = []string{PersistentVolume, PVProtection, PVCProtection, Ephemeral, GarbageCollector, AttachDetach, PodGC, NodeLifecycle, TaintEviction, Expander,
	Namespace, ResourceQuota, StatefulSet, ReplicaSet, ReplicationController, Deployment, DaemonSet, Job, TTLAfterFinished, CronJob, DataSourceValidator, Disruption, VACProtection,
	Scheduler, RecyclerPodRunner, Snapshot}

// Unknown says that there is no controller of that name, and which one was probably meant or else which there are.
func Unknown(name string, known []string) string {
	meant := similar.To(name, known)
	if rest, ok := strings.CutPrefix(name, "pv-"); ok && meant == "" {
		meant = similar.To("persistentvolume-"+rest, known)
	}
	for _, k := range known {
		if meant == "" && strings.HasSuffix(k, "-"+name) {
			meant = k // scheduler
		}
	}
	if meant != "" {
		return fmt.Sprintf("there is no such controller; did you mean %q", meant)
	}
	if len(known) == 0 {
		return "there is no such controller; there are none"
	}
	return "there is no such controller; there are " + strings.Join(known, ", ")
}

// NodeFailure are the controllers that act on failing nodes: clusters without them are as if no node ever failed.
var NodeFailure = []string{NodeLifecycle, TaintEviction}

// Scheduler is the kube-scheduler.
const Scheduler = "kube-scheduler"

// RecyclerPodRunner runs recycler pods, which have no node.
const RecyclerPodRunner = "recycler-pod-runner"

const (
	attacherPrefix = "external-attacher/"
	kubeletPrefix  = "kubelet/"
	nodePrefix     = "machine/"
)

// Provisioner is the external-provisioner of a CSI driver.
func Provisioner(driver string) string { return "external-provisioner/" + driver }

// Attacher is the external-attacher of a CSI driver.
func Attacher(driver string) string { return attacherPrefix + driver }

// IsAttacher reports whether the actor is an external-attacher.
func IsAttacher(actor string) bool { return strings.HasPrefix(actor, attacherPrefix) }

// Resizer is the external-resizer of a CSI driver.
func Resizer(driver string) string { return "external-resizer/" + driver }

// DriverOf returns the CSI driver whose provisioner, attacher or resizer the actor is. It reports false for all other actors.
func DriverOf(actor string) (driver string, ok bool) {
	sidecar, driver, ok := strings.Cut(actor, "/")
	switch sidecar + "/" {
	case "external-provisioner/", attacherPrefix, "external-resizer/":
		return driver, ok
	}
	return "", false
}

// Snapshot is the snapshot controller of external-snapshotter.
const Snapshot = "snapshot-controller"

// Snapshotter is the csi-snapshotter of a CSI driver.
func Snapshotter(driver string) string { return "csi-snapshotter/" + driver }

// HealthMonitor is the external-health-monitor of a CSI driver.
func HealthMonitor(driver string) string { return "external-health-monitor/" + driver }

// Kubelet is the kubelet of a node.
func Kubelet(node string) string { return kubeletPrefix + node }

// NodeOfKubelet returns the node whose kubelet the actor is. It reports false for all other actors.
func NodeOfKubelet(actor string) (node string, ok bool) {
	return strings.CutPrefix(actor, kubeletPrefix)
}

// Node is the node itself: the part that survives a crash of its kubelet.
func Node(node string) string { return nodePrefix + node }

// NodeName returns the node that the actor is. It reports false for all other actors.
func NodeName(actor string) (node string, ok bool) { return strings.CutPrefix(actor, nodePrefix) }
