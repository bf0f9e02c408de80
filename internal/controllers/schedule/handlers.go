package schedule

import (
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/engine"
)

// The handlers of changes in the informers.
var (
	nodeHandlers = engine.Handlers[*scheduler, *corev1.Node]{
		Add: func(s *scheduler, node *corev1.Node) {
			s.table.built = false
			s.queue.nodesAdded()
			s.moved(api.Node, added, nil, node)
		},
		Update: func(s *scheduler, old, node *corev1.Node) {
			s.table.update(node)
			s.moved(api.Node, updated, old, node)
		},
		Delete: func(s *scheduler, node *corev1.Node) {
			s.table.built = false
			s.moved(api.Node, deleted, node, nil)
		},
	}
	volumeHandlers = engine.Handlers[*scheduler, *corev1.PersistentVolume]{
		Add: func(s *scheduler, pv *corev1.PersistentVolume) { s.moved(api.PersistentVolume, added, nil, pv) },
		Update: func(s *scheduler, old, pv *corev1.PersistentVolume) {
			s.volumes.delivered(pv)
			s.moved(api.PersistentVolume, updated, old, pv)
		},
		Delete: func(s *scheduler, pv *corev1.PersistentVolume) {
			s.volumes.deleted(pv)
			s.moved(api.PersistentVolume, deleted, pv, nil)
		},
	}
	claimHandlers = engine.Handlers[*scheduler, *corev1.PersistentVolumeClaim]{
		Add: func(s *scheduler, claim *corev1.PersistentVolumeClaim) {
			s.moved(api.PersistentVolumeClaim, added, nil, claim)
		},
		Update: func(s *scheduler, old, claim *corev1.PersistentVolumeClaim) {
			s.claims.delivered(claim)
			s.moved(api.PersistentVolumeClaim, updated, old, claim)
		},
		Delete: func(s *scheduler, claim *corev1.PersistentVolumeClaim) {
			s.claims.deleted(claim)
			s.moved(api.PersistentVolumeClaim, deleted, claim, nil)
		},
	}
	classHandlers   = requeues[*storagev1.StorageClass](api.StorageClass)
	driverHandlers  = requeues[*storagev1.CSIDriver](api.CSIDriver)
	csiNodeHandlers = engine.Handlers[*scheduler, *storagev1.CSINode]{
		Add: func(s *scheduler, node *storagev1.CSINode) {
			s.table.updateCSI(node.Name, node)
			s.moved(api.CSINode, added, nil, node)
		},
		Update: func(s *scheduler, old, node *storagev1.CSINode) {
			s.table.updateCSI(node.Name, node)
			s.moved(api.CSINode, updated, old, node)
		},
		Delete: func(s *scheduler, node *storagev1.CSINode) { s.table.updateCSI(node.Name, nil) },
	}
	capacityHandlers   = requeues[*storagev1.CSIStorageCapacity](api.CSIStorageCapacity)
	attachmentHandlers = engine.Handlers[*scheduler, *storagev1.VolumeAttachment]{
		Delete: func(s *scheduler, a *storagev1.VolumeAttachment) { s.moved(api.VolumeAttachment, deleted, a, nil) },
	}
	podHandlers = engine.Handlers[*scheduler, *corev1.Pod]{
		Add: (*scheduler).podAdded, Update: (*scheduler).podUpdated, Delete: (*scheduler).podDeleted,
	}
)

// requeues returns the handlers of a kind of which an added or updated object may help pods.
func requeues[T api.Object](kind api.Kind) engine.Handlers[*scheduler, T] {
	return engine.Handlers[*scheduler, T]{
		Add:    func(s *scheduler, obj T) { s.moved(kind, added, nil, obj) },
		Update: func(s *scheduler, old, obj T) { s.moved(kind, updated, old, obj) },
	}
}
