package mount

import (
	"maps"
	"slices"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/objects"
	"github.com/volsim/volsim/mount/internal/volumes"
)

// Work that would find nothing new is left out, but not while a fault waits for one of its requests: it is to meet that one, and none that
// comes later.

// faultPending reports whether a fault waits for such a request of the kubelet. While the API server cannot be reached none comes that far.
func (k *kubelet) faultPending(verb string, kind api.Kind, key string) bool {
	return !k.node.partitioned && k.actor.Awaited(api.Call{Target: api.APIServer, Verb: verb, Kind: string(kind), Key: key})
}

// faultPending reports whether a fault waits for what the populator reads after a sync of the pod (MNT-069).
func (w *podWorker) faultPending() bool {
	mounts, devices := volumes.UsedBy(w.pod)
	for i := range w.pod.Spec.Volumes {
		volume := &w.pod.Spec.Volumes[i]
		name := objects.ClaimOf(w.pod, volume)
		if name == "" || !mounts[volume.Name] && !devices[volume.Name] {
			continue
		}
		key := api.Key(w.pod.Namespace, name)
		if w.k.faultPending("get", api.PersistentVolumeClaim, key) {
			return true
		}
		claim, ok := w.k.actor.Engine().Store().Claims.Lookup(key)
		if ok && claim.Spec.VolumeName != "" && w.k.faultPending("get", api.PersistentVolume, claim.Spec.VolumeName) {
			return true
		}
	}
	return false
}

// faulted is called when there are new faults: what they wait for comes when it would have come. What would have come at this instant has been.
func (ns *Nodes) faulted() {
	for _, name := range ns.names {
		if k := ns.byName[name].kubelet; k != nil && k.watching {
			k.faultsChanged()
		}
	}
}

func (k *kubelet) faultsChanged() {
	next := k.actor.Engine().Now().Add(1)
	for _, uid := range sorted(k.workers) {
		// MNT-009: syncs that were left out have kept their times.
		if w := k.workers[uid]; w.state == podIdle && w.faultPending() {
			w.requeue(false)
		}
	}
	for _, claim := range slices.Sorted(maps.Keys(k.expansion.undecided)) {
		if k.faultPending("get", api.PersistentVolumeClaim, claim) {
			// MNT-406, MNT-925
			k.reconciler.ticker.ArmBackgroundAt(next)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(k.expansion.deferrals)) {
		if k.expansion.checksEveryPass(api.KeyOf(k.expansion.deferrals[name].claim)) {
			// MNT-406
			k.reconciler.ticker.ArmBackgroundAt(next)
		}
	}
	// MNT-359
	k.registrar.recheckLimits()
	// MNT-172
	k.status.scheduleReport()
	k.status.reportMissingNode()
}
