package mount

import (
	"errors"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/engine"
)

// CSIDriver returns the CSIDriver object of that name, nil if there is none.
func (k *kubelet) CSIDriver(name string) *storagev1.CSIDriver {
	if k.drivers == nil {
		object, _ := k.node.nodes.engine.Store().CSIDrivers.Lookup(name)
		return object
	}
	object, ok := k.drivers.Get(name)
	if !ok {
		return nil
	}
	return object
}

// Event emits an Event, unless the API server cannot be reached. The kubelet emits no Events about attaching; the attach/detach
// controller does (MNT-396).
func (k *kubelet) Event(p *engine.Process, obj api.Object, eventType, reason, text string, args ...any) {
	if !k.node.partitioned && !k.plugins.Silent {
		k.events.Event(p, obj, eventType, reason, text, args...)
	}
}

// errUnreachable is the error of every API call of a partitioned kubelet.
var errUnreachable = errors.New("dial tcp: connect: network is unreachable")

// Calls to the API server. They fail while the node is partitioned.

func (k *kubelet) getClaim(p *engine.Process, key string) (*corev1.PersistentVolumeClaim, error) {
	return reach(k, func() (*corev1.PersistentVolumeClaim, error) { return p.API().Claims.Get(p, key) })
}

func (k *kubelet) getVolume(p *engine.Process, name string) (*corev1.PersistentVolume, error) {
	return reach(k, func() (*corev1.PersistentVolume, error) { return p.API().Volumes.Get(p, name) })
}

func (k *kubelet) getNode(p *engine.Process) (*corev1.Node, error) {
	return reach(k, func() (*corev1.Node, error) { return p.API().Nodes.Get(p, k.node.name) })
}

func (k *kubelet) GetAttachment(p *engine.Process, name string) (*storagev1.VolumeAttachment, error) {
	return reach(k, func() (*storagev1.VolumeAttachment, error) { return p.API().Attachments.Get(p, name) })
}

func (k *kubelet) Secret(p *engine.Process, ref *corev1.SecretReference) (map[string]string, error) {
	if ref == nil {
		return nil, nil
	}
	return reach(k, func() (map[string]string, error) { return p.API().Secret(p, ref) })
}

// Files asks a watch, which a partition does not stop from answering.
func (k *kubelet) Files(kind api.Kind, namespace, name string, fields ...string) (value func(key string) (string, bool), ok bool) {
	return k.node.nodes.engine.Files(kind, namespace, name, fields...)
}

func reach[T any](k *kubelet, call func() (T, error)) (T, error) {
	var none T
	if k.node.partitioned {
		return none, errUnreachable
	}
	return call()
}
