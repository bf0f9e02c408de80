package script

import (
	"strings"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/trace"
)

// sorts are the words for the types of entries of a trace; "events" of the trace are emitted ones.
var sorts = []string{"write", "decision", "call", "emitted", "fault", "retry", "started", "crashed"}

var entryTypes = map[string][]trace.EntryType{
	"write": {trace.Write}, "decision": {trace.Decision}, "call": {trace.Storage}, "emitted": {trace.Emitted}, "fault": {trace.Injected},
	"retry": {trace.KeyFailed, trace.OperationFailed}, "started": {trace.Started}, "crashed": {trace.Crashed},
}

func sortNames() string { return "`" + strings.Join(sorts, "`, `") + "`" }

// entryField is a field of an entry of the trace.
type entryField struct {
	name, help string
	read       func(p *player, e trace.Entry) string
	values     []string // all that there can be; nil is anything
}

var outcomes = []string{"created", "changed", "unchanged", "gone", "refused", "done", "failed", "begun", ""}

var entryFields = []entryField{
	{name: "actor", help: "who did it; `user` is the script", read: func(_ *player, e trace.Entry) string { return e.Actor }},
	{name: "at", help: "when, since the start", read: func(p *player, e trace.Entry) string { return e.Time.Sub(p.start).String() }},
	{name: "rule", help: "the ID of the rule behind a decision", read: func(_ *player, e trace.Entry) string { return e.Rule }},
	{name: "text", help: "the words of a decision, an event or a fault", read: func(_ *player, e trace.Entry) string { return e.Text }},
	{name: "verb", help: "of a write (`create`, `update`, `update-status`, `patch`, `patch-status`, `delete`) or call (`Create`, `Attach`, …)", read: entryVerb},
	{name: "target", help: "the backend of a call, or `api`", read: func(_ *player, e trace.Entry) string { return e.Call.Target }},
	{name: "volume", help: "the volume of a call: its handle, or the name to be created", read: func(_ *player, e trace.Entry) string { return e.Call.Key }},
	{name: "node", help: "the node of a call", read: func(_ *player, e trace.Entry) string { return e.Call.Node }},
	{name: "outcome", help: "of a write: `created`, `changed`, `unchanged`, `gone`, `refused`; of a call: `done`, `failed`, `begun`", values: outcomes, read: entryOutcome},
	{name: "error", help: "how it failed", read: func(_ *player, e trace.Entry) string {
		if e.Err == nil {
			return ""
		}
		return e.Err.Error()
	}},
	{name: "reason", help: "of an event; the queue of a retry", read: func(_ *player, e trace.Entry) string { return e.Reason }},
	{name: "type", help: "of an event, `Normal` or `Warning`", values: eventTypes, read: func(_ *player, e trace.Entry) string {
		if e.Type != trace.Emitted {
			return ""
		}
		return e.Verb
	}},
	{name: "changes", help: "what a write changed: `path old -> new`, with commas", read: entryChanges},
}

func entryFieldHelp() string {
	var texts []string
	for _, f := range entryFields {
		texts = append(texts, "`"+f.name+"` ("+f.help+")")
	}
	return strings.Join(texts, ", ") + ". A call that takes time is begun and done; the count is of those that ended, unless `outcome` is asked for."
}

func entryVerb(_ *player, e trace.Entry) string {
	if e.Type == trace.Write {
		return e.Verb
	}
	return e.Call.Verb
}

func entryOutcome(_ *player, e trace.Entry) string {
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
	case api.IsNil(e.New):
		return "gone"
	case api.IsNil(e.Old):
		return "created"
	case e.Old == e.New:
		return "unchanged"
	}
	return "changed"
}

func entryChanges(_ *player, e trace.Entry) string {
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
