package check

import (
	"fmt"
	"strings"
	"time"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/trace"
)

// Violation is the violation of an invariant.
type Violation struct {
	// Invariant is the name of the invariant.
	Invariant string
	// At is the time of the violation, or the deadline that passed.
	At time.Time
	// Volume is the handle of the volume concerned at Backend; both are "" if there is none.
	Backend, Volume string
	// Objects are the API objects concerned.
	Objects []api.Ref
	// Text describes it.
	Text string
	// Forced describes what overruled the protocol and caused the violation: a forced detachment, a forced deletion, a removed finalizer, a
	// fault. "" means that a controller, a kubelet or a driver is wrong.
	Forced string
	// Witness has the few trace entries that prove it, oldest first.
	Witness []trace.Entry

	start time.Time
}

// String returns a line that describes the violation, followed by one line for each entry of the witness.
func (v Violation) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "+%v %s: %s", v.At.Sub(v.start), v.Invariant, v.Text)
	if v.Forced != "" {
		fmt.Fprintf(&b, " (forced: %s)", v.Forced)
	}
	for _, line := range v.lines() {
		b.WriteString("\n  " + line)
	}
	return b.String()
}

// lines describes the witness, one line per entry: the virtual time since the start, the actor, and what happened.
func (v Violation) lines() []string {
	lines := make([]string, len(v.Witness))
	for i, e := range v.Witness {
		lines[i] = fmt.Sprintf("+%v %s: %s", e.Time.Sub(v.start), e.Actor, oneLine(describe(e)))
	}
	return lines
}

// Unforced returns the violations whose Forced is empty. A test with forced actions requires that there are none.
func Unforced(violations []Violation) []Violation {
	var rest []Violation
	for _, v := range violations {
		if v.Forced == "" {
			rest = append(rest, v)
		}
	}
	return rest
}

// describe describes an entry.
func describe(e trace.Entry) string {
	switch e.Type {
	case trace.Storage:
		what := e.Call.Target + " " + e.Call.Verb + " " + e.Call.Key
		if e.Call.Node != "" {
			what += " on " + e.Call.Node
		}
		if e.Call.Pod != "" {
			what += " for pod " + e.Call.Pod
		}
		switch {
		case e.Err != nil:
			return what + " failed: " + e.Err.Error()
		case e.Verb == "begin":
			return what + " begins"
		}
		return what
	case trace.Write:
		return e.Verb + " " + e.Object.String() + outcome(e)
	case trace.Decision:
		return e.Rule + " " + e.Text
	case trace.Started, trace.Crashed:
		return string(e.Type)
	case trace.Injected:
		return "fault at " + e.Call.Target + " " + e.Call.Verb + " " + e.Call.Key + ": " + e.Text
	}
	return e.Text
}

func outcome(e trace.Entry) string {
	switch {
	case e.New == nil:
		return ": gone"
	case e.Old == nil:
		return ": created"
	}
	var changes []string
	for _, c := range trace.Changes(e.Old, e.New) {
		changes = append(changes, c.String())
	}
	if len(changes) == 0 {
		return ": only the version changed"
	}
	return ": " + strings.Join(changes, ", ")
}

var lineBreaks = strings.NewReplacer("\r", `\r`, "\n", `\n`)

func oneLine(text string) string { return lineBreaks.Replace(text) }
