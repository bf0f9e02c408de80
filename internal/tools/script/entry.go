package script

import (
	"strings"

	"github.com/volsim/volsim/internal/core/objects"
	"github.com/volsim/volsim/trace"
)

// entryTypeNames are the names of trace entry types in scripts. An Event in the trace is "emitted", because "event" means the API object.
var entryTypeNames = []string{"write", "decision", "call", "emitted", "fault", "retry", "started", "crashed"}

var entryTypes = map[string][]trace.EntryType{
	"write": {trace.Write}, "decision": {trace.Decision}, "call": {trace.Storage}, "emitted": {trace.Emitted}, "fault": {trace.Injected},
	"retry": {trace.KeyFailed, trace.OperationFailed}, "started": {trace.Started}, "crashed": {trace.Crashed},
	"actor": {trace.Started, trace.Crashed}, // older name of started and crashed
}

// isEntryType reports whether a word names a type of trace entries.
func isEntryType(word string) bool { return entryTypes[word] != nil }

func entryTypeList() string { return "`" + strings.Join(entryTypeNames, "`, `") + "`" }

// entryField is a field of a trace entry.
type entryField struct {
	name, help string
	read       func(r *runner, e trace.Entry) string
	values     []string // possible values; nil allows any
}

var outcomes = []string{"created", "changed", "unchanged", "gone", "refused", "done", "failed", "begun", ""}

var entryFields = []entryField{
	{name: "actor", help: "the controller, kubelet or user; `user` is the script",
		read: func(_ *runner, e trace.Entry) string { return e.Actor }},
	{name: "at", help: "time since the start", read: func(r *runner, e trace.Entry) string { return e.Time.Sub(r.start).String() }},
	{name: "rule", help: "ID of the rule of a decision", read: func(_ *runner, e trace.Entry) string { return e.Rule }},
	{name: "text", help: "text of a decision, Event or fault", read: func(_ *runner, e trace.Entry) string { return e.Text }},
	{name: "verb",
		help: "of a write (`create`, `update`, `update-status`, `patch`, `patch-status`, `delete`) or call (`Create`, `Attach`, …)",
		read: entryVerb},
	{name: "target", help: "the backend of a call, or `api`", read: func(_ *runner, e trace.Entry) string { return e.Call.Target }},
	{name: "volume", help: "the volume of a call: its handle, or for `Create` its name",
		read: func(_ *runner, e trace.Entry) string { return e.Call.Key }},
	{name: "node", help: "the node of a call", read: func(_ *runner, e trace.Entry) string { return e.Call.Node }},
	{name: "outcome", help: "of a write: `created`, `changed`, `unchanged`, `gone`, `refused`; of a call: `done`, `failed`, `begun`",
		values: outcomes, read: entryOutcome},
	{name: "error", help: "the error of a failed write or call", read: func(_ *runner, e trace.Entry) string {
		if e.Err == nil {
			return ""
		}
		return e.Err.Error()
	}},
	{name: "reason", help: "of an Event, or the queue of a retry", read: func(_ *runner, e trace.Entry) string { return e.Reason }},
	{name: "type", help: "of an Event, `Normal` or `Warning`", values: eventTypes, read: func(_ *runner, e trace.Entry) string {
		if e.Type != trace.Emitted {
			return ""
		}
		return e.Verb
	}},
	{name: "changes", help: "what a write changed: `path old -> new`, separated by commas", read: entryChanges},
}

func entryFieldHelp() string {
	var texts []string
	for _, f := range entryFields {
		texts = append(texts, "`"+f.name+"` ("+f.help+")")
	}
	return strings.Join(texts, ", ") +
		". A call has an entry when it begins and one when it ends; only the latter are counted unless `outcome` is given."
}

func entryVerb(_ *runner, e trace.Entry) string {
	if e.Type == trace.Write {
		return e.Verb
	}
	return e.Call.Verb
}

func entryOutcome(_ *runner, e trace.Entry) string {
	switch {
	case e.Type == trace.Storage && e.Verb == "begin":
		return "begun"
	case e.Type == trace.Storage && e.Err != nil:
		return "failed"
	case e.Type == trace.Storage:
		return "done"
	case e.Type != trace.Write:
		return ""
	case e.Err != nil:
		return "refused"
	case objects.IsNil(e.New):
		return "gone"
	case objects.IsNil(e.Old):
		return "created"
	case e.Old == e.New:
		return "unchanged"
	}
	return "changed"
}

func entryChanges(_ *runner, e trace.Entry) string {
	if e.Type != trace.Write || e.Err != nil {
		return ""
	}
	var texts []string
	for _, c := range trace.Changes(e.Old, e.New) {
		texts = append(texts, c.String())
	}
	return strings.Join(texts, ", ")
}

func entryFieldNames() []string {
	names := make([]string, len(entryFields))
	for i, f := range entryFields {
		names[i] = f.name
	}
	return names
}
