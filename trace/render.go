package trace

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/volsim/volsim/api"
)

// WriteText writes one line per entry: the virtual time since the start, the actor, and what happened. For a write it lists the changed
// fields. The same run writes the same bytes. It returns w's error.
func (t *Trace) WriteText(w io.Writer) error {
	width := 0
	for e := range t.Entries() {
		width = max(width, utf8.RuneCountInString(e.Actor))
	}
	out := bufio.NewWriter(w)
	for e := range t.Entries() {
		fmt.Fprintf(out, "%-10s  %-*s  %s\n", "+"+t.offset(e).String(), width, e.Actor, e)
	}
	return out.Flush()
}

// String describes the entry in one line, as in WriteText without time and actor.
func (e Entry) String() string { return oneLine(describe(e)) }

// offset returns the virtual time since the start.
func (t *Trace) offset(e Entry) time.Duration {
	if t.Start.IsZero() {
		for first := range t.Entries() {
			return e.Time.Sub(first.Time)
		}
	}
	return e.Time.Sub(t.Start)
}

// describe returns what happened.
func describe(e Entry) string {
	switch e.Type {
	case Decision:
		return strings.TrimSpace(e.Rule + " " + withObject(e.Object, e.Text))
	case Write:
		return e.Verb + " " + e.Object.String() + ": " + outcome(e)
	case Storage:
		return e.Call.Target + " " + callText(e.Call) + ": " + progress(e)
	case Emitted:
		return "event " + e.Verb + " " + e.Reason + " " + withObject(e.Object, e.Text)
	case Injected:
		return "fault at " + e.Call.Target + " " + callText(e.Call) + ": " + e.Text
	case KeyFailed:
		return "retry " + e.Reason + " " + e.Text + ": " + errorText(e.Err)
	case OperationFailed:
		return "retry operation " + e.Text + ": " + errorText(e.Err)
	}
	return string(e.Type) // started or crashed
}

func withObject(ref api.Ref, text string) string {
	if ref == (api.Ref{}) {
		return text
	}
	return ref.String() + ": " + text
}

// outcome describes the result of a write.
func outcome(e Entry) string {
	switch {
	case e.Err != nil:
		return "refused: " + e.Err.Error()
	case e.New == nil:
		return "gone"
	case e.Old == nil:
		return "created"
	case e.Old == e.New:
		return "unchanged"
	}
	return changesText(e.Old, e.New)
}

func changesText(old, new api.Object) string {
	changes := Changes(old, new)
	if len(changes) == 0 {
		return "only the version changed"
	}
	texts := make([]string, len(changes))
	for i, c := range changes {
		texts[i] = c.String()
	}
	return strings.Join(texts, ", ")
}

// progress describes begin, end or failure of a storage call.
func progress(e Entry) string {
	switch {
	case e.Err != nil:
		return "failed: " + e.Err.Error()
	case e.Verb == "begin":
		return "begins"
	}
	return "done"
}

func callText(c api.Call) string {
	text := c.Verb
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

func errorText(err error) string {
	if err == nil {
		return "no error"
	}
	return err.Error()
}

var lineBreaks = strings.NewReplacer("\r", `\r`, "\n", `\n`)

// oneLine replaces line breaks.
func oneLine(text string) string { return lineBreaks.Replace(text) }

// jsonEntry is a line of WriteJSON, with its fields in the order of the output.
type jsonEntry struct {
	Seq     uint64         `json:"seq"`
	Time    string         `json:"time"`
	Offset  string         `json:"offset"`
	Actor   string         `json:"actor"`
	Type    EntryType      `json:"type"`
	Rule    string         `json:"rule,omitempty"`
	Verb    string         `json:"verb,omitempty"`
	Object  *jsonRef       `json:"object,omitempty"`
	Detach  *jsonDetach    `json:"detach,omitempty"`
	Call    *jsonCall      `json:"call,omitempty"`
	Reason  string         `json:"reason,omitempty"`
	Text    string         `json:"text,omitempty"`
	Outcome string         `json:"outcome,omitempty"`
	Version string         `json:"resourceVersion,omitempty"`
	Patch   map[string]any `json:"patch,omitempty"`
	Error   string         `json:"error,omitempty"`
}

type jsonRef struct {
	Kind api.Kind `json:"kind"`
	Key  string   `json:"key"`
}

type jsonDetach struct {
	Volume  string `json:"volume"`
	Node    string `json:"node"`
	Since   string `json:"since"`
	Waiting bool   `json:"waiting,omitempty"`
	Forced  bool   `json:"forced,omitempty"`
	Why     string `json:"why"`
}

type jsonCall struct {
	Target string `json:"target"`
	Verb   string `json:"verb"`
	Kind   string `json:"kind,omitempty"`
	Key    string `json:"key,omitempty"`
	Node   string `json:"node,omitempty"`
}

// WriteJSON writes the entries as JSON, one object per line, with fields in a fixed order. The object of a write is given by name and
// resourceVersion, with the JSON merge patch from the previous version, or from nothing; "outcome" is created, changed, unchanged, gone
// or refused. The same run writes the same bytes. It returns w's error.
func (t *Trace) WriteJSON(w io.Writer) error {
	out := bufio.NewWriter(w)
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	for e := range t.Entries() {
		if err := encoder.Encode(t.jsonEntry(e)); err != nil {
			return err
		}
	}
	return out.Flush()
}

func (t *Trace) jsonEntry(e Entry) jsonEntry {
	line := jsonEntry{
		Seq: e.Seq, Time: e.Time.Format(time.RFC3339Nano), Offset: t.offset(e).String(), Actor: e.Actor, Type: e.Type,
		Rule: e.Rule, Verb: e.Verb, Reason: e.Reason, Text: e.Text,
	}
	if e.Object != (api.Ref{}) {
		line.Object = &jsonRef{Kind: e.Object.Kind, Key: e.Object.Key}
	}
	if d := e.Detach; d != nil {
		line.Detach = &jsonDetach{
			Volume: d.Volume, Node: d.Node, Since: d.Since.Format(time.RFC3339Nano), Waiting: d.Waiting, Forced: d.Forced, Why: d.Why,
		}
	}
	if c := e.Call; c.Target != "" {
		line.Call = &jsonCall{Target: c.Target, Verb: c.Verb, Kind: c.Kind, Key: c.Key, Node: c.Node}
	}
	if e.Err != nil {
		line.Error = e.Err.Error()
	}
	if e.Type == Write {
		line.Outcome = outcomeWord(e)
		if e.New != nil {
			line.Version = e.New.GetResourceVersion()
			if e.Old != e.New {
				old, now := document(e.Old), document(e.New)
				withoutVersion(old)
				withoutVersion(now)
				line.Patch = patchBetween(old, now)
			}
		}
	}
	return line
}

func outcomeWord(e Entry) string {
	switch {
	case e.Err != nil:
		return "refused"
	case e.New == nil:
		return "gone"
	case e.Old == nil:
		return "created"
	case e.Old == e.New:
		return "unchanged"
	}
	return "changed"
}
