package picture

import (
	"maps"
	"slices"
	"strings"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/objects"
	"github.com/volsim/volsim/trace"
)

// entry adds an entry of the trace.
func (b *builder) entry(e trace.Entry) {
	b.reasons.Add(e)
	r := row{seq: e.Seq, time: int64(e.Time.Sub(b.start)), actor: e.Actor, err: e.Err, text: e.Text}
	if lane := b.objectLane(e.Object); lane >= 0 {
		r.lanes = []int{lane}
	}
	switch e.Type {
	case trace.Decision:
		b.decision(e, r)
	case trace.Write:
		b.writeEntry(e, r)
	case trace.Storage:
		b.call(e, r)
	case trace.Emitted:
		r.mark, r.head = markEvent, e.Reason
		if e.Verb != "Normal" {
			r.mark = markWarning
		}
		b.add(r)
	case trace.Injected:
		r.mark, r.head = markFault, callText(e.Call)
		r.lanes = b.callLanes(e.Call)
		if len(r.lanes) == 0 {
			r.lanes = one(b.componentLane(e.Actor))
		}
		b.add(r)
	case trace.KeyFailed, trace.OperationFailed:
		r.mark, r.head = markRetry, e.Reason
		if e.Type == trace.OperationFailed {
			r.head = "operation"
		}
		r.lanes = one(b.retryLane(e))
		b.add(r)
	case trace.Started, trace.Crashed:
		b.lifecycle(e, r)
	}
}

func (b *builder) decision(e trace.Entry, r row) {
	r.mark, r.rule = markDecision, e.Rule
	if e.Rule == "" {
		r.mark = markNote
	}
	i := b.add(r)
	b.bySeq[e.Seq] = i
}

func (b *builder) writeEntry(e trace.Entry, r row) {
	r.mark, r.head, r.text = markWrite, e.Verb, outcome(e)
	if api.IsUser(e.Actor) {
		r.mark = markUser
	}
	i := b.add(r)
	if decision, ok := b.reasons.Behind(e); ok {
		if j, known := b.bySeq[decision.Seq]; known {
			b.doc.Entries.Because[i] = j
		}
	}
	if len(r.lanes) > 0 {
		b.write(e, r.lanes[0], i, r.time)
	}
}

// call adds the start or the end of a storage call, and connects both.
func (b *builder) call(e trace.Entry, r row) {
	r.mark, r.head, r.text = markStorage, callText(e.Call), progress(e)
	r.lanes = b.callLanes(e.Call)
	i := b.add(r)
	if e.Verb == "begin" {
		b.begun[e.Call] = i
		return
	}
	if j, ok := b.begun[e.Call]; ok {
		b.doc.Entries.Until[j] = i
		delete(b.begun, e.Call)
	}
}

// lifecycle adds the start or the stop of an actor. Only actors that stop during the run have a lane.
func (b *builder) lifecycle(e trace.Entry, r row) {
	r.mark, r.head = markCrash, string(e.Type)
	if e.Type == trace.Started {
		r.mark = markStart
	}
	lane := b.componentLane(e.Actor)
	r.lanes = one(lane)
	i := b.add(r)
	if lane < 0 {
		return
	}
	p := phase{"Down", toneBad}
	if e.Type == trace.Started {
		p = phase{"Running", toneThere}
	}
	node, isMachine := strings.CutPrefix(e.Actor, machinePrefix)
	if isMachine && e.Type == trace.Crashed {
		p.Name = "Off"
	}
	b.bars(lane, r.time, b.phase(p), false, i)
	if isMachine {
		b.power(node, e.Type == trace.Started, r.time, i)
	}
}

// power marks the pods of a node whose power goes or comes: their containers end with it, whatever the API server says.
func (b *builder) power(node string, on bool, at int64, entry int) {
	b.off[node] = !on
	for _, lane := range slices.Sorted(maps.Keys(b.pods)) {
		if obj := b.states[lane].seen; b.pods[lane] == node && !objects.IsNil(obj) {
			b.bar(lane, at, obj, entry)
		}
	}
}

func one(lane int) []int {
	if lane < 0 {
		return nil
	}
	return []int{lane}
}

// outcome returns the result of a write in one word.
func outcome(e trace.Entry) string {
	switch {
	case e.Err != nil:
		return "rejected"
	case objects.IsNil(e.New):
		return "gone"
	case objects.IsNil(e.Old):
		return "created"
	case e.Old == e.New:
		return "unchanged"
	}
	return "changed"
}

// progress returns the state of a call.
func progress(e trace.Entry) string {
	switch {
	case e.Err != nil:
		return "failed"
	case e.Verb == "begin":
		return "begins"
	}
	return "done"
}

func callText(c api.Call) string {
	text := c.Target + " " + c.Verb
	if c.Kind != "" {
		text += " " + c.Kind + "/" + c.Key
	} else if c.Key != "" {
		text += " " + c.Key
	}
	if c.Node != "" {
		text += " on " + c.Node
	}
	return text
}
