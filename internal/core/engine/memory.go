package engine

import (
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
)

// memory is the memory of what every engine has from its start: most clusters are small and live short.
type memory struct {
	actors    slab[Actor]
	queues    slab[Queue]
	recorders slab[Recorder]
	tickers   slab[Ticker]

	firstActors    [16]Actor
	firstQueues    [16]Queue
	firstRecorders [slabLen]Recorder
	firstTickers   [slabLen]Ticker
	listed         [16]*Actor // of Engine.actors

	api       API
	user      Process
	userActor Actor

	volumes           dispatcher[*corev1.PersistentVolume]
	claims            dispatcher[*corev1.PersistentVolumeClaim]
	classes           dispatcher[*storagev1.StorageClass]
	attributesClasses dispatcher[*storagev1.VolumeAttributesClass]
	pods              dispatcher[*corev1.Pod]
	nodes             dispatcher[*corev1.Node]
	attachments       dispatcher[*storagev1.VolumeAttachment]
	csiDrivers        dispatcher[*storagev1.CSIDriver]
	csiNodes          dispatcher[*storagev1.CSINode]
	capacities        dispatcher[*storagev1.CSIStorageCapacity]
}

// prepare lets the dispatchers follow the tables of a new store.
func (m *memory) prepare(e *Engine) {
	m.actors.unused, m.queues.unused = m.firstActors[:], m.firstQueues[:]
	m.recorders.unused, m.tickers.unused = m.firstRecorders[:], m.firstTickers[:]
	e.actors = m.listed[:0]
	s := e.store
	m.volumes.follow(e, s.Volumes)
	m.claims.follow(e, s.Claims)
	m.classes.follow(e, s.Classes)
	m.attributesClasses.follow(e, s.AttributesClasses)
	m.pods.follow(e, s.Pods)
	m.nodes.follow(e, s.Nodes)
	m.attachments.follow(e, s.Attachments)
	m.csiDrivers.follow(e, s.CSIDrivers)
	m.csiNodes.follow(e, s.CSINodes)
	m.capacities.follow(e, s.Capacities)
}
