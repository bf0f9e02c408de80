package mount

// skips reports whether the kubelet skips requests that would find nothing new; see engine.Actor.Skips. While it cannot reach the API
// server, no fault can hit its requests.
func (k *kubelet) skips() bool {
	if k.node.partitioned {
		return !k.actor.Engine().NoSkipping()
	}
	return k.actor.Skips()
}

// resumeSkipped schedules what was skipped, at the times that it always had. What was due at this instant is over.
func (k *kubelet) resumeSkipped() {
	if !k.watching || k.skips() {
		return
	}
	next := k.actor.Engine().Now().Add(1)
	for _, uid := range sorted(k.workers) {
		// MNT-009: the periodic syncs of a pod keep their times.
		if w := k.workers[uid]; w.state == podIdle {
			w.requeue(false)
		}
	}
	if len(k.expansion.undecided) > 0 || len(k.expansion.deferrals) > 0 {
		// MNT-406, MNT-925: each pass checks these volumes again.
		k.reconciler.ticker.ArmBackgroundAt(next)
	}
	// MNT-359: the limits of drivers are read at each tick.
	k.registrar.recheckLimits()
	// MNT-008, MNT-172: unchanged reports, and reads of a missing Node object.
	k.status.scheduleReport()
	k.status.reportMissingNode()
}
