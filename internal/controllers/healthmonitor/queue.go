package healthmonitor

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/storage"
)

// volumeQueue asks about one volume after the other (HEALTH-006 to HEALTH-008).
type volumeQueue struct {
	*monitor
	names []string // in the order in which workers take them
	// waiting are the names to take; busy those that a worker has.
	waiting, busy map[string]bool
	// known are the volumes that were queued at some time.
	known  map[string]bool
	added  engine.Signal
	lister *engine.Ticker
}

func newVolumeQueue(m *monitor) {
	q := &volumeQueue{monitor: m, waiting: map[string]bool{}, busy: map[string]bool{}, known: map[string]bool{}}
	// HEALTH-007: at the start and every five minutes; a look that would find no new volume is skipped.
	q.lister = m.actor.NewTicker(engine.TickerConfig{Name: "volumes", Period: listPeriod, Pass: func(*engine.Process) { q.addAll() }})
	m.volumes.Handle(engine.Handler[*corev1.PersistentVolume]{Add: q.volumeAdded})
	q.lister.ArmBackground()
	for range workers {
		m.actor.Go("worker", q.work)
	}
}

// volumeAdded receives a volume that is new to the cache.
func (q *volumeQueue) volumeAdded(pv *corev1.PersistentVolume) {
	q.lister.ArmBackground()
	// HEALTH-007: a volume that is bound when it is first seen is queued at once. Changes of volumes queue nothing.
	if q.isMine(pv) && pv.Status.Phase == corev1.VolumeBound {
		q.known[pv.Name] = true
		q.add(pv.Name)
	}
}

// addAll queues the volumes of the driver that never were in the queue (HEALTH-007).
func (q *volumeQueue) addAll() {
	for _, pv := range q.mine() {
		if !q.known[pv.Name] {
			q.known[pv.Name] = true
			q.add(pv.Name)
		}
	}
}

// add puts a volume at the end of the queue. One that a worker has gets there when the worker is done.
func (q *volumeQueue) add(name string) {
	if q.waiting[name] {
		return
	}
	q.waiting[name] = true
	if !q.busy[name] {
		q.names = append(q.names, name)
		q.added.Broadcast()
	}
}

// work is one turn of a worker: it waits for a volume, asks about it, and then pauses for a minute (HEALTH-006).
func (q *volumeQueue) work(p *engine.Process) {
	for len(q.names) == 0 {
		q.added.Wait(p, 0)
	}
	name := q.names[0]
	q.names = q.names[1:]
	delete(q.waiting, name)
	q.busy[name] = true
	if q.check(p, name) {
		q.add(name)
	}
	delete(q.busy, name)
	if q.waiting[name] {
		q.names = append(q.names, name)
		q.added.Broadcast()
	}
	q.actor.Background(workerPeriod, "worker", q.work)
}

// check asks about a volume. It reports whether it is checked again.
func (q *volumeQueue) check(p *engine.Process, name string) bool {
	pv, ok := q.volumes.Get(name)
	if !ok {
		// HEALTH-008: a deleted volume is forgotten.
		delete(q.known, name)
		return false
	}
	if pv.DeletionTimestamp != nil || pv.Status.Phase != corev1.VolumeBound {
		// HEALTH-008: it leaves the queue, but is remembered, so it is never checked again.
		p.Decide("HEALTH-008", pv, "the volume is not bound, or is being deleted: it is not checked any more")
		return false
	}
	var problem string
	err := q.driver.Call(p, storage.GetCondition, pv.Spec.CSI.VolumeHandle, "", func() (err error) {
		problem, err = q.driver.Backend.(storage.ConditionReporter).GetCondition(pv.Spec.CSI.VolumeHandle)
		return err
	})
	if err == nil {
		q.report(p, pv, problem)
	}
	return true
}
