package upstream

import (
	"reflect"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/kubernetes/pkg/kubelet/volumemanager"
	"k8s.io/kubernetes/pkg/volume"
	"k8s.io/kubernetes/pkg/volume/csi/nodeinfomanager"

	"github.com/volsim/volsim/internal/proof/differential"
)

// VerifyExhaustedResource reports whether a volume cannot be attached because the node has too many, as the plugin does. What that does
// then is done here: it would ask the driver through a socket.
func (p *csiPlugin) VerifyExhaustedResource(spec *volume.Spec) bool {
	if !p.realCSI.VerifyExhaustedResource(spec) {
		return false
	}
	// What cannot be written stays as it was.
	_ = p.node.kubelet.refreshLimit()
	return true
}

// refreshLimit has the CSINode say how many volumes the node can have attached, by the means of the plugin.
func (k *kubelet) refreshLimit() error {
	manager := nodeinfomanager.NewNodeInfoManager(types.NodeName(k.name), &volumeHost{kubelet: k}, nil)
	k.mu.Lock()
	uid := k.uid
	k.mu.Unlock()
	if uid == "" {
		return errNotHere
	}
	// By now a kubelet knows whose CSINode it is.
	unexported(reflect.ValueOf(manager).Elem().FieldByName("nodeID")).Set(reflect.ValueOf(uid))
	return manager.UpdateCSIDriver(differential.Driver, k.name, int64(k.cluster.backends[differential.Driver].Limit()), nil)
}

// reject ends a pod that the node cannot take, as package mount does (MNT-383).
func (w *podWorker) reject(pod *corev1.Pod, limit *volumemanager.VolumeAttachLimitExceededError) {
	recorder{w.k}.Event(pod, corev1.EventTypeWarning, volumemanager.VolumeAttachmentLimitExceededReason, limit.Error())
	w.locked(func() {
		w.reason, w.message = volumemanager.VolumeAttachmentLimitExceededReason, "Pod was rejected: "+limit.Error()
		w.end(corev1.PodFailed)
	})
}
