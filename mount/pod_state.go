package mount

import "fmt"

// podState is the state of a pod on its node. Exactly one applies at a time:
//
//	syncing ──sync failed──────► retrying ──due──► syncing
//	syncing ──sync succeeded──► synced ──due──► syncing
//	syncing ──refused──► rejected
//	syncing, retrying, synced, rejected ──end requested──► stopping ──containers stopped──► unmounting ──volumes unmounted──► finished
//
// A periodic sync would find the same again, so it is skipped until something changes.
type podState int

const (
	// podSyncing: a sync waits for the volumes of the pod, or starts its containers.
	podSyncing podState = iota
	// podRetrying: the last sync failed, and the next one is scheduled (MNT-009: RetryPeriod later).
	podRetrying
	// podSynced: the last sync succeeded, and the next one comes when it may find something new (MNT-009: a multiple of SyncPeriod later).
	podSynced
	// podRejected: the node does not run the pod, which keeps its status until it changes (MNT-404).
	podRejected
	// podStopping: the pod gets no more containers and no more volumes; its containers are stopping (MNT-062, MNT-387).
	podStopping
	// podUnmounting: no container of the pod runs or ever will; its volumes are unmounted (MNT-387).
	podUnmounting
	// podFinished: nothing of the pod is left on the node; it waits for its deletion from the API (MNT-387, MNT-388).
	podFinished
)

// podEvent moves a pod from one state to the next.
type podEvent int

const (
	syncFailed podEvent = iota
	syncSucceeded
	syncDue
	refused
	endRequested
	containersStopped
	volumesUnmounted
)

// podTransitions lists all transitions. Any other event in a state is a broken invariant.
var podTransitions = map[podState]map[podEvent]podState{
	podSyncing: {
		syncFailed:    podRetrying, // MNT-009: another sync soon
		syncSucceeded: podSynced,   // MNT-009: the periodic sync
		refused:       podRejected, // MNT-403
		endRequested:  podStopping, // MNT-356: what the sync waits for is canceled
	},
	podRetrying: {
		syncDue:      podSyncing,
		endRequested: podStopping,
	},
	podSynced: {
		syncDue:      podSyncing,
		endRequested: podStopping,
	},
	podRejected: {
		endRequested: podStopping, // MNT-404
	},
	podStopping: {
		containersStopped: podUnmounting, // MNT-387: from here on the populator may drop its volumes
	},
	podUnmounting: {
		volumesUnmounted: podFinished, // MNT-387: from here on the pod may be deleted from the API
	},
	podFinished: {},
}

// after returns the state that follows an event.
func (s podState) after(e podEvent) podState {
	next, ok := podTransitions[s][e]
	if !ok {
		panic(fmt.Sprintf("mount: pod in state %d: unexpected event %d", s, e))
	}
	return next
}

// ending reports whether the pod gets no more containers and no more volumes (MNT-062).
func (s podState) ending() bool { return s >= podStopping }

// containersGone reports whether no container of the pod runs or ever will (MNT-387).
func (s podState) containersGone() bool { return s >= podUnmounting || s == podRejected }

// mounts reports whether volumes are mounted for the pod (MNT-062, MNT-404).
func (s podState) mounts() bool { return s < podRejected }
