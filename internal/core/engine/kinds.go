package engine

import (
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/plain"
	"github.com/volsim/volsim/internal/core/store"
)

// kinds is an engine with what it has for each kind of object, in one allocation. Nothing refers to the whole: a type that other packages can
// reach must not mention a generic struct (see store.Table).
type kinds struct {
	engine Engine

	volumes           kind[*corev1.PersistentVolume]
	claims            kind[*corev1.PersistentVolumeClaim]
	classes           kind[*storagev1.StorageClass]
	attributesClasses kind[*storagev1.VolumeAttributesClass]
	pods              kind[*corev1.Pod]
	nodes             kind[*corev1.Node]
	attachments       kind[*storagev1.VolumeAttachment]
	csiDrivers        kind[*storagev1.CSIDriver]
	csiNodes          kind[*storagev1.CSINode]
	capacities        kind[*storagev1.CSIStorageCapacity]
	events            client[*corev1.Event]
}

// kind has the dispatcher and the client of an engine for one kind of object.
type kind[T api.Object] struct {
	dispatcher dispatcher[T]
	client     client[T]
}

func (k *kind[T]) prepare(e *Engine, table store.Table[T]) *client[T] {
	k.dispatcher.follow(e, table)
	k.client.table = table
	return &k.client
}

// prepare connects an engine with the tables of its store.
func (k *kinds) prepare(e *Engine) {
	s := e.store
	k.events.table = s.Events
	e.memory.api = API{
		engine:            e,
		Volumes:           k.volumes.prepare(e, s.Volumes),
		Claims:            k.claims.prepare(e, s.Claims),
		Classes:           k.classes.prepare(e, s.Classes),
		AttributesClasses: k.attributesClasses.prepare(e, s.AttributesClasses),
		Pods:              k.pods.prepare(e, s.Pods),
		Nodes:             k.nodes.prepare(e, s.Nodes),
		Attachments:       k.attachments.prepare(e, s.Attachments),
		CSIDrivers:        k.csiDrivers.prepare(e, s.CSIDrivers),
		CSINodes:          k.csiNodes.prepare(e, s.CSINodes),
		Capacities:        k.capacities.prepare(e, s.Capacities),
		Events:            &k.events,
	}
	e.api = &e.memory.api
}

// home starts informers on one table.
type home[T api.Object] interface {
	start(with selection[T]) Informer[T]
}

// homeOf returns the home of informers on a table.
func homeOf[T api.Object](e *Engine, table store.Table[T]) home[T] {
	if h, ok := table.Tracker().(home[T]); ok {
		return h
	}
	return follow(e, table).(home[T])
}

// follow makes a dispatcher for a table that has none yet.
func follow(e *Engine, table any) any {
	switch t := table.(type) {
	case store.Table[*corev1.Event]:
		return newDispatcher(e, t)
	default:
		return newDispatcher(e, t.(store.Table[*plain.Object]))
	}
}
