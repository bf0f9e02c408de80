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

	first firstInformers
}

// firstInformers is the memory of the informers that a cluster has without CSI drivers and nodes, and of lists of these and some more.
type firstInformers struct {
	volumes struct {
		informers [5]informer[*corev1.PersistentVolume]
		prompt    [8]*informer[*corev1.PersistentVolume]
	}
	claims struct {
		informers [7]informer[*corev1.PersistentVolumeClaim]
		prompt    [12]*informer[*corev1.PersistentVolumeClaim]
	}
	classes struct {
		informers [3]informer[*storagev1.StorageClass]
		prompt    [6]*informer[*storagev1.StorageClass]
	}
	attributesClasses struct {
		informers [2]informer[*storagev1.VolumeAttributesClass]
		prompt    [4]*informer[*storagev1.VolumeAttributesClass]
	}
	pods struct {
		informers [9]informer[*corev1.Pod]
		prompt    [10]*informer[*corev1.Pod]
	}
	nodes struct {
		informers [6]informer[*corev1.Node]
		prompt    [8]*informer[*corev1.Node]
	}
	attachments struct {
		informers [2]informer[*storagev1.VolumeAttachment]
		prompt    [6]*informer[*storagev1.VolumeAttachment]
	}
	csiDrivers struct {
		informers [2]informer[*storagev1.CSIDriver]
		prompt    [4]*informer[*storagev1.CSIDriver]
	}
	csiNodes struct {
		informers [2]informer[*storagev1.CSINode]
		prompt    [6]*informer[*storagev1.CSINode]
	}
	capacities struct {
		informers [2]informer[*storagev1.CSIStorageCapacity]
		prompt    [4]*informer[*storagev1.CSIStorageCapacity]
	}
}

// kind has the dispatcher and the client of an engine for one kind of object.
type kind[T api.Object] struct {
	dispatcher dispatcher[T]
	client     client[T]
}

func (k *kind[T]) prepare(e *Engine, table store.Table[T], informers []informer[T], prompt []*informer[T]) *client[T] {
	k.dispatcher.follow(e, table, informers, prompt)
	k.client.table = table
	return &k.client
}

// renew empties the memory of an engine that was closed, for the next one.
func (k *kinds) renew() {
	m := &k.engine.memory
	actors, queues, recorders, tickers := m.actors.renewed(), m.queues.renewed(), m.recorders.renewed(), m.tickers.renewed()
	k.engine, k.events, k.first = Engine{}, client[*corev1.Event]{}, firstInformers{}
	m.actors, m.queues, m.recorders, m.tickers = actors, queues, recorders, tickers
	for _, kind := range [...]interface{ renew() }{
		&k.volumes, &k.claims, &k.classes, &k.attributesClasses, &k.pods, &k.nodes, &k.attachments, &k.csiDrivers, &k.csiNodes, &k.capacities,
	} {
		kind.renew()
	}
}

func (k *kind[T]) renew() {
	d := &k.dispatcher
	d.shared.changes.drop()
	informers, pool := d.informers.renewed(), d.pool
	*k = kind[T]{}
	d.informers, d.pool = informers, pool
}

// prepare connects an engine with the tables of its store.
func (k *kinds) prepare(e *Engine) {
	s := e.store
	k.events.table = s.Events
	e.memory.api = API{
		engine:            e,
		Volumes:           k.volumes.prepare(e, s.Volumes, k.first.volumes.informers[:], k.first.volumes.prompt[:]),
		Claims:            k.claims.prepare(e, s.Claims, k.first.claims.informers[:], k.first.claims.prompt[:]),
		Classes:           k.classes.prepare(e, s.Classes, k.first.classes.informers[:], k.first.classes.prompt[:]),
		AttributesClasses: k.attributesClasses.prepare(e, s.AttributesClasses, k.first.attributesClasses.informers[:], k.first.attributesClasses.prompt[:]),
		Pods:              k.pods.prepare(e, s.Pods, k.first.pods.informers[:], k.first.pods.prompt[:]),
		Nodes:             k.nodes.prepare(e, s.Nodes, k.first.nodes.informers[:], k.first.nodes.prompt[:]),
		Attachments:       k.attachments.prepare(e, s.Attachments, k.first.attachments.informers[:], k.first.attachments.prompt[:]),
		CSIDrivers:        k.csiDrivers.prepare(e, s.CSIDrivers, k.first.csiDrivers.informers[:], k.first.csiDrivers.prompt[:]),
		CSINodes:          k.csiNodes.prepare(e, s.CSINodes, k.first.csiNodes.informers[:], k.first.csiNodes.prompt[:]),
		Capacities:        k.capacities.prepare(e, s.Capacities, k.first.capacities.informers[:], k.first.capacities.prompt[:]),
		Events:            &k.events,
	}
	e.api = &e.memory.api
}

// starter starts informers on one table. It is the dispatcher of the table.
type starter[T api.Object] interface {
	start(with selection[T]) Informer[T]
}

// dispatcherOf returns the dispatcher of a table.
func dispatcherOf[T api.Object](e *Engine, table store.Table[T]) starter[T] {
	if d, ok := table.Tracker().(starter[T]); ok {
		return d
	}
	return follow(e, table).(starter[T])
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
