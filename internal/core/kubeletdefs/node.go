package kubeletdefs

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Node gives the tools and comparisons of this module access to more of a node than mount.Node does. internals.Node returns it.
type Node interface {
	// Resume makes the node continue as the API describes it, for a cluster that is loaded from a dump. The node has not booted since its
	// status was written, the CSI drivers of its CSINode are registered, and the kubelet has been running for long, so that nothing it
	// finds is new. If the kubelet does not run, only the node itself continues.
	//
	// Call it after the Node object was loaded and before virtual time passes. Otherwise it returns an error and changes nothing.
	Resume() error
	// SyncPods makes the kubelet sync its pods now, as if the minute between two syncs of each were over.
	SyncPods()
	// Adopt puts the node into the state in which a pod of the API already runs here: its containers run, and its volumes are attached,
	// staged and published in the backends and mounted on the disk. The kubelet knows, so it neither mounts anything nor writes about it.
	// Calls to storage are not traced, take no time and meet no faults. The node resumes first, as with Resume. If the kubelet does not
	// run, it finds the pod when it starts, as after a restart.
	//
	// The pod, its claims, their PersistentVolumes, the CSIDrivers and the Node must be in the API. The status of claims does not matter;
	// for a missing claim, the PersistentVolume that points at it is used. Volumes that no container uses are ignored. Volumes that are
	// not attached are attached in the backends; one that is already attached in another way is no error.
	//
	// Adopt returns an error for a pod that belongs to another node, has ended or is already here, for an unknown volume, and for an error
	// of a backend. Then nothing has changed except what is attached.
	Adopt(pod *corev1.Pod) error
	// Containers lists the uids of the pods whose containers run, sorted.
	Containers() []types.UID
	// Groups returns the supplemental groups that the volumes of a pod give to its containers (MNT-386).
	Groups(pod types.UID) []int64
	// MountedVolumes lists the names of the volumes that are mounted for a pod according to the kubelet, sorted. Nil while it is down.
	MountedVolumes(pod types.UID) []string
	// Paths lists everything on the disk, sorted. Directories end with a slash; links show their target.
	Paths() []string
	// FileGroup returns the group that owns the files of the mount at the path, zero if none was set.
	FileGroup(path string) int64
	// Locked reports whether a loop device holds the device file at the path.
	Locked(path string) bool
}
