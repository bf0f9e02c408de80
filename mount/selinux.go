package mount

import (
	"fmt"
	"hash/fnv"

	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/internal/core/objects"
	"github.com/volsim/volsim/mount/internal/volumes"
)

// labelSELinux on a Node says that its kernel runs SELinux. node-feature-discovery sets it. [SIM] MNT-341: it alone decides.
const labelSELinux = "feature.node.kubernetes.io/kernel-selinux.enabled"

// labeling returns what decides about the SELinux label of a volume.
func (k *kubelet) labeling(spec *volumes.Spec) volumes.Labeling {
	if k.object != nil {
		// MNT-341: a kubelet that cannot see the Node keeps what it knew.
		k.node.selinux = k.object.Labels[labelSELinux] == "true"
	}
	if !k.node.selinux {
		return volumes.Labeling{}
	}
	supported := volumes.LabelPlugin(spec.Plugin)
	if spec.Plugin.Name == objects.CSIPluginName {
		supported = k.plugins.MountsWithLabel(spec.Plugin.Driver)
	}
	return volumes.Labeling{Host: true, Plugin: supported, Level: k.freeLevel}
}

// freeLevel returns a level of two categories, another one each time.
func (k *kubelet) freeLevel() string {
	// MNT-338: a hash instead of chance, so that other choices of the run stay as they are.
	k.levels++
	h := fnv.New32a()
	fmt.Fprintf(h, "%s %d %d", k.node.name, k.began.UnixNano(), k.levels)
	const categories = 1024
	sum := h.Sum32()
	low, high := sum%categories, sum/categories%categories
	if low == high {
		high = (high + 1) % categories
	}
	return fmt.Sprintf("s0:c%d,c%d", min(low, high), max(low, high))
}

// otherLabel reports whether the volume is mounted with another label than its pods want.
func (rc *reconciler) otherLabel(v *volumes.DesiredVolume) bool {
	av, ok := rc.k.actual.Volume(v.Name)
	return ok && av.Label != nil && *av.Label != v.Label
}

// waitForLabel records for the pod that the volume has to be unmounted first.
func (rc *reconciler) waitForLabel(pr volumes.DesiredPair) {
	// MNT-134: each pass records it, as long as the volume is mounted.
	rc.k.desired.AddPodError(pr.Pod.Pod.UID, fmt.Sprintf(
		"waiting for unmount of volume %q, because it is already mounted to a different pod with a different SELinux label", pr.Volume.Name))
	rc.k.podVolumesChanged(pr.Pod.Pod.UID)
	rc.ticker.ArmBackground()
}

// takeLabel settles the SELinux label of a volume for a pod.
func (k *kubelet) takeLabel(id volumes.Identity, pod *corev1.Pod, spec *volumes.Spec) error {
	return k.desired.TakeLabel(id, pod, spec, k.labeling(spec))
}
