package conformance

import (
	"cmp"
	"slices"
	"time"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/storage"
	"github.com/volsim/volsim/trace"
)

// callLog finds storage calls in a trace.
type callLog struct {
	since uint64
	open  []*openCall // calls that have begun and not ended
}

// openCall is a running call. lost is the error that the caller gets instead of the answer.
type openCall struct {
	call api.Call
	lost error
}

// loggedCall is one line about a call.
type loggedCall struct {
	at     time.Time
	call   api.Call
	result string
}

// read returns the new lines, in order.
func (l *callLog) read(log *trace.Trace) []loggedCall {
	var lines []loggedCall
	note := func(e trace.Entry, call api.Call, result string) {
		lines = append(lines, loggedCall{e.Time, call, result})
	}
	for e := range log.Since(l.since) {
		switch {
		case e.Type == trace.Storage && e.Verb == "begin":
			l.open = append(l.open, &openCall{call: e.Call})
			note(e, e.Call, "begin")
		case e.Type == trace.Injected && e.Call.Target != api.APIServer:
			if i := l.find(e.Call); i >= 0 {
				l.open[i].lost = e.Err
			} else {
				l.open = append(l.open, &openCall{call: e.Call, lost: e.Err})
			}
		case e.Type == trace.Storage:
			err := e.Err
			if i := l.find(e.Call); i >= 0 {
				err = cmp.Or(err, l.open[i].lost)
				l.open = slices.Delete(l.open, i, i+1)
			}
			result := "ok"
			if err != nil {
				result = string(storage.CodeOf(err))
			}
			note(e, e.Call, result)
		case e.Type == trace.Crashed:
			// The calls of a kubelet that stops end immediately.
			for _, o := range l.open {
				if o.call.Actor == e.Actor {
					note(e, o.call, string(storage.Canceled))
				}
			}
			l.open = slices.DeleteFunc(l.open, func(o *openCall) bool { return o.call.Actor == e.Actor })
		}
	}
	l.since = log.Seq()
	return lines
}

func (l *callLog) find(call api.Call) int {
	return slices.IndexFunc(l.open, func(o *openCall) bool { return o.call == call })
}
