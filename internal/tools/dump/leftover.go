package dump

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/evidence"
	"github.com/volsim/volsim/internal/core/internals"
	"github.com/volsim/volsim/mount"
)

// deletedPod is the name of pods that were deleted by force before the dump. It does not have their names.
const deletedPod = "a-deleted-pod"

// resumeLeftover lets nodes go on with pods that the API no longer has: they run there, and are deleted by force, as was done before the dump. The
// nodes that do not respond are cut off before they know that; on others, the calls that unmount fail.
func (c *Cluster) resumeLeftover() error {
	var cut []*mount.Node
	for _, left := range c.Evidence.Leftover() {
		node, err := c.leave(left)
		if err != nil {
			return err
		}
		if node != nil && slices.Contains(c.Evidence.Cut(), left.Node) {
			cut = append(cut, node)
		}
	}
	for _, node := range cut {
		node.Partition(true)
	}
	return nil
}

// leave runs a pod with a volume on a node, and deletes it from the API before the kubelet knows that. The node is nil if there is none.
func (c *Cluster) leave(left evidence.Assumption) (*mount.Node, error) {
	pv, err := c.Volumes.Get(strings.TrimPrefix(left.Object, "pv/"))
	if err != nil {
		return nil, err
	}
	node, err := c.Node(left.Node)
	if err != nil {
		c.note("%v.", err)
		return nil, nil
	}
	pod := leftoverPod(pv, left.Node)
	if err := internals.Load(c.Cluster, pod); err != nil {
		c.note("Not simulated: %s: %v.", left.Evidence, err)
		return nil, nil
	}
	if err := internals.Node(node).Adopt(pod); err != nil {
		c.note("Not simulated: %s: %v.", left.Evidence, err)
	}
	_, err = internals.Engine(c.Cluster).Store().Delete(api.Pod, api.KeyOf(pod), api.DeleteOptions{GracePeriodSeconds: new(int64)})
	return node, err
}

// leftoverPod returns a running pod on the node that uses the claim of a volume.
func leftoverPod(pv *corev1.PersistentVolume, node string) *corev1.Pod {
	const volume = "data"
	ref := pv.Spec.ClaimRef
	pod := &corev1.Pod{Status: corev1.PodStatus{Phase: corev1.PodRunning}}
	pod.Namespace, pod.Name = ref.Namespace, deletedPod
	pod.UID = types.UID(deletedPod + "-" + string(pv.UID) + "-" + node)
	container := corev1.Container{Name: "main", Image: "unknown"}
	if mode := pv.Spec.VolumeMode; mode != nil && *mode == corev1.PersistentVolumeBlock {
		container.VolumeDevices = []corev1.VolumeDevice{{Name: volume, DevicePath: "/dev/" + volume}}
	} else {
		container.VolumeMounts = []corev1.VolumeMount{{Name: volume, MountPath: "/" + volume}}
	}
	pod.Spec = corev1.PodSpec{NodeName: node, Containers: []corev1.Container{container}, Volumes: []corev1.Volume{{Name: volume,
		VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: ref.Name}}}}}
	return pod
}
