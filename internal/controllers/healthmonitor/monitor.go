package healthmonitor

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/actors"
	"github.com/volsim/volsim/internal/core/backends"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/sidecar"
	"github.com/volsim/volsim/internal/core/store"
	"github.com/volsim/volsim/storage"
)

// The defaults of the sidecar's flags.
const (
	timeout      = 15 * time.Second // --timeout
	listPeriod   = 5 * time.Minute  // --list-volumes-interval, --volume-list-add-interval, --node-list-add-interval
	workerPeriod = time.Minute      // --monitor-interval
	workers      = 10               // --worker-threads
	eventsLast   = time.Hour        // --event-ttl of kube-apiserver
)

// The Events about volumes, with their texts.
const (
	abnormal  = "VolumeConditionAbnormal"
	normal    = "VolumeConditionNormal"
	recovered = "The Volume returns to the healthy state"
)

// monitor is the sidecar of one driver between two crashes.
type monitor struct {
	driver  sidecar.Driver
	actor   *engine.Actor
	events  *engine.Recorder
	volumes engine.Informer[*corev1.PersistentVolume]
	claims  engine.Informer[*corev1.PersistentVolumeClaim]
	// reported are the Events that say that a volume is abnormal, by the uid of their claim.
	reported engine.Informer[*corev1.Event]
	byUID    store.Index[*corev1.Event]
}

// New adds the external-health-monitor of a CSI driver, as actors.HealthMonitor of its name. nodes is --enable-node-watcher.
func New(e *engine.Engine, driver storage.Backend, nodes bool) (*engine.Actor, error) {
	// HEALTH-001: the program ends if the driver can do neither.
	if !Monitors(driver) {
		return nil, fmt.Errorf("healthmonitor: the driver %s can neither %s nor %s", driver.Name(), storage.ListConditions, storage.GetCondition)
	}
	byUID := e.Store().Events.NewIndexWith(uidOf, func(_, _ *corev1.Event) bool { return true })
	return e.NewActor(actors.HealthMonitor(driver.Name()), func(a *engine.Actor) {
		s := e.Store()
		m := &monitor{
			driver: sidecar.Driver{Backend: driver, Timeout: timeout}, actor: a, byUID: byUID,
			events:   a.NewRecorder("csi-pv-monitor-controller-" + driver.Name()),
			volumes:  engine.NewInformer(a, s.Volumes),
			claims:   engine.NewInformer(a, s.Claims),
			reported: engine.NewSelectiveInformer(a, s.Events, isReport),
		}
		if nodes {
			newNodeWatcher(m)
		}
		// HEALTH-002: ListVolumes is preferred.
		if backends.Can(driver, storage.ListConditions) {
			m.startListing()
		} else {
			newVolumeQueue(m)
		}
	})
}

// Monitors reports whether a driver can have the sidecar (HEALTH-001).
func Monitors(driver storage.Backend) bool {
	return !backends.IsInTree(driver) && (backends.Can(driver, storage.ListConditions) || backends.Can(driver, storage.GetCondition))
}

// uidOf indexes reports by the uid of the claim.
func uidOf(e *corev1.Event, uids []string) []string {
	if !isReport(e) {
		return uids
	}
	return append(uids, string(e.InvolvedObject.UID))
}

// isReport reports whether the Event says that a volume is abnormal. Its source does not matter.
func isReport(e *corev1.Event) bool { return e.Type == corev1.EventTypeWarning && e.Reason == abnormal }

// startListing asks about all volumes at intervals.
func (m *monitor) startListing() {
	// HEALTH-003: the first time at the start, then five minutes after the end of the last time.
	var ticker *engine.Ticker
	ticker = m.actor.NewTicker(engine.TickerConfig{Name: "ListVolumes", Period: listPeriod, Pass: func(p *engine.Process) {
		m.listAll(p)
		ticker.ArmBackground()
	}})
	ticker.ArmBackground()
}

// listAll asks for the condition of all volumes.
func (m *monitor) listAll(p *engine.Process) {
	var problems map[string]string
	err := m.driver.Call(p, storage.ListConditions, "", "", func() (err error) {
		problems, err = m.driver.Backend.(storage.ConditionReporter).ListConditions()
		return err
	})
	if err != nil {
		// HEALTH-003: an error says nothing about any volume.
		return
	}
	for _, pv := range m.mine() {
		// HEALTH-003: volumes that are not bound, or not in the list, are skipped.
		if problem, listed := problems[pv.Spec.CSI.VolumeHandle]; listed && pv.Status.Phase == corev1.VolumeBound {
			m.report(p, pv, problem)
		}
	}
}

// mine returns the volumes of the driver by name. Upstream the order is that of a map.
func (m *monitor) mine() []*corev1.PersistentVolume {
	var mine []*corev1.PersistentVolume
	for _, pv := range m.volumes.List() {
		if m.isMine(pv) {
			mine = append(mine, pv)
		}
	}
	return mine
}

// isMine reports whether the driver has the volume. One of an in-tree plugin that the driver replaced is not translated (HEALTH-003).
func (m *monitor) isMine(pv *corev1.PersistentVolume) bool {
	return pv.Spec.CSI != nil && pv.Spec.CSI.Driver == m.driver.Name()
}

// report emits an Event about the claim of a volume that is abnormal, or not any more.
func (m *monitor) report(p *engine.Process, pv *corev1.PersistentVolume, problem string) {
	ref := pv.Spec.ClaimRef
	if ref == nil {
		return
	}
	// HEALTH-004: the claim of that name, whatever its uid.
	claim, ok := m.claims.Get(api.Key(ref.Namespace, ref.Name))
	switch {
	case !ok:
	case problem != "":
		// HEALTH-004: with each check.
		m.events.Event(p, claim, corev1.EventTypeWarning, abnormal, "%s", problem)
	case m.wasAbnormal(p, claim):
		// HEALTH-005: with each check, as long as the API server has the Event.
		m.events.Event(p, claim, corev1.EventTypeNormal, normal, recovered)
	}
}

// wasAbnormal reports whether the API server still has an Event that says that the volume of the claim is abnormal.
func (m *monitor) wasAbnormal(p *engine.Process, claim *corev1.PersistentVolumeClaim) bool {
	for _, e := range m.reported.ByIndex(m.byUID, string(claim.UID)) {
		// HEALTH-005: [SIM] Events do not expire here, so older ones count as expired.
		if p.Now().Sub(e.LastTimestamp.Time) < eventsLast {
			return true
		}
	}
	return false
}
