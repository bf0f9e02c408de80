package csitest

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	spec "github.com/container-storage-interface/spec/lib/go/csi"

	"github.com/volsim/volsim/csi"
)

// isStuck reports why a goal was not reached: the last error of the driver.
func (e *examiner) isStuck(rec *recording) {
	if rec.missed[0] == registration {
		e.isUnregistered()
		return
	}
	last, volume := rejection{at: -1}, ""
	for _, v := range slices.Sorted(maps.Keys(e.rejected)) {
		if r := e.rejected[v]; r.at > last.at {
			last, volume = r, v
		}
	}
	if known := e.taken[last.snapshot]; last.snapshot != "" {
		volume = ""
		if known != nil {
			volume = known.volume
		}
	}
	if last.at < 0 {
		e.isIdle(rec)
		return
	}
	section, required := e.unmet(last)
	excused, known := e.excuses(last)
	e.flaws = append(e.flaws, flaw{kind: stuck, excused: excused, known: known, crowded: e.crowded(last), section: section, required: required, method: last.method, volume: volume, snapshot: last.snapshot, steps: e.steps[:last.at+1],
		detail: fmt.Sprintf("%s; %s never happens", last.detail, rec.missed[0])})
}

// isUnregistered reports the last error of NodeGetInfo as the reason why the driver is not registered on its nodes.
func (e *examiner) isUnregistered() {
	for i, s := range slices.Backward(e.steps) {
		if s.Call == nil || s.Call.Method != "NodeGetInfo" || len(s.Call.Replies) == 0 {
			continue
		}
		if code := s.Call.Replies[0].Status; code != nil {
			e.flaws = append(e.flaws, flaw{kind: stuck, method: s.Call.Method, section: s.Call.Method, required: registers, steps: e.steps[:i+1],
				detail: fmt.Sprintf("NodeGetInfo answers code %s: %s on node %s", code.Code(), code.Message(), s.Call.Node)})
		}
		return
	}
}

// isIdle reports why a goal was not reached although no call fails, if a reply says it.
func (e *examiner) isIdle(rec *recording) {
	if (len(rec.plan.faults) > 0 || rec.plan.seed != 0) && e.unready() < manyReplies {
		return // repetitions of the call may not have reached the driver
	}
	for i, s := range slices.Backward(e.steps) {
		if s.Call == nil || len(s.Call.Replies) == 0 {
			continue
		}
		switch r := s.Call.Replies[len(s.Call.Replies)-1].Message.(type) {
		case *spec.GetCapacityResponse:
			most := e.mostCapacity()
			e.never(rec, s.Call, i, s.Audit != nil || most >= e.caps.Size,
				"available_capacity and maximum_volume_size are in bytes; Kubernetes schedules no pod whose volume is larger than maximum_volume_size, or "+
					"than available_capacity without one",
				fmt.Sprintf("the replies to GetCapacity allow a volume of %d bytes at most, and a claim requests %d", most, e.caps.Size))
		case *spec.CreateSnapshotResponse:
			if !strings.HasSuffix(rec.missed[0], "is ready") {
				return
			}
			e.never(rec, s.Call, i, r.GetSnapshot().GetReadyToUse(), "a snapshot becomes ready: ready_to_use is false only while it is processed",
				"the last reply to CreateSnapshot has ready_to_use false")
		case *spec.CreateVolumeResponse:
			if preferred := s.Call.Request.(*spec.CreateVolumeRequest).GetAccessibilityRequirements().GetPreferred(); len(preferred) > 0 {
				e.never(rec, s.Call, i, e.reaches(r.GetVolume().GetAccessibleTopology(), preferred[:1]),
					"the plugin MUST attempt to make the volume accessible from the preferred topologies in order from first to last",
					"the volume cannot be reached from the first preferred topology, "+compact(preferred[0]))
			}
		}
		if len(e.flaws) > 0 {
			return
		}
	}
}

// mostCapacity returns the size of the largest volume for which Kubernetes schedules a pod, by the last replies to external-provisioner.
func (e *examiner) mostCapacity() (most int64) {
	last := map[string]int64{} // by request
	for _, s := range e.steps {
		if s.Call == nil || s.Audit != nil || len(s.Call.Replies) == 0 {
			continue
		}
		if r, ok := s.Call.Replies[len(s.Call.Replies)-1].Message.(*spec.GetCapacityResponse); ok {
			last[compact(s.Call.Request)] = r.GetAvailableCapacity()
			if r.GetMaximumVolumeSize() != nil {
				last[compact(s.Call.Request)] = r.GetMaximumVolumeSize().GetValue()
			}
		}
	}
	for _, bytes := range last {
		most = max(most, bytes)
	}
	return most
}

// manyReplies is the number of replies with ready_to_use false after which a snapshot does not become ready: they come within half an hour.
const manyReplies = 8

// unready returns how many of the last replies to CreateSnapshot have ready_to_use false.
func (e *examiner) unready() (n int) {
	for _, s := range slices.Backward(e.steps) {
		if s.Call == nil || s.Call.Method != "CreateSnapshot" {
			continue
		}
		for _, reply := range slices.Backward(s.Call.Replies) {
			if r, ok := reply.Message.(*spec.CreateSnapshotResponse); !ok || r.GetSnapshot().GetReadyToUse() {
				return n
			}
			n++
		}
	}
	return n
}

// never reports that a goal is never reached because of a reply, unless the reply is as it should be.
func (e *examiner) never(rec *recording, c *csi.Call, at int, right bool, required, detail string) {
	if right {
		return
	}
	e.flaws = append(e.flaws, flaw{kind: stuck, section: c.Method, required: required, method: c.Method, volume: c.Volume, snapshot: e.nameIn(c),
		steps: e.steps[:at+1], detail: detail + "; " + rec.missed[0] + " never happens"})
}
