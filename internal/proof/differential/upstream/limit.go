package upstream

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/kubernetes/pkg/kubelet/volumemanager"
	"k8s.io/kubernetes/pkg/volume"

	"github.com/volsim/volsim/internal/proof/differential"
)

// VerifyExhaustedResource reports whether a volume cannot be attached because the node is full, using the plugin's code. The reaction is
// ours, because the plugin would ask the driver through a socket.
func (p *csiPlugin) VerifyExhaustedResource(spec *volume.Spec) bool {
	if !p.realCSI.VerifyExhaustedResource(spec) {
		return false
	}
	// A failed write changes nothing.
	_ = p.node.kubelet.refreshLimit()
	return true
}

// refreshLimit writes the node's attach limit into the CSINode, using the plugin's code.
func (k *kubelet) refreshLimit() error {
	return k.csiNode.UpdateCSIDriver(differential.Driver, k.name, int64(k.cluster.Backends[differential.Driver].Limit()), nil)
}

// reject rejects a pod that the node cannot take, like package mount (MNT-383).
func (w *podWorker) reject(pod *corev1.Pod, limit *volumemanager.VolumeAttachLimitExceededError) {
	recorder{w.k}.Event(pod, corev1.EventTypeWarning, volumemanager.VolumeAttachmentLimitExceededReason, limit.Error())
	w.locked(func() {
		w.reason, w.message = volumemanager.VolumeAttachmentLimitExceededReason, "Pod was rejected: "+limit.Error()
		w.end(corev1.PodFailed)
	})
}
