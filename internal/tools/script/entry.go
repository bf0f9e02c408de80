package script

import (
	"fmt"
	"slices"
	"strings"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/actors"
	"github.com/volsim/volsim/internal/core/objects"
	"github.com/volsim/volsim/internal/core/similar"
	"github.com/volsim/volsim/internal/tools/rules"
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
	// check rejects a value that no entry of the type has; nil allows any.
	check func(entryType string, c condition) error
}

var outcomes = []string{"created", "changed", "unchanged", "gone", "refused", "done", "failed", "begun", ""}

var entryFields = []entryField{
	{name: "actor", help: "the controller, kubelet or user; `user` is the script", check: checkActor,
		read: func(_ *runner, e trace.Entry) string { return e.Actor }},
	{name: "at", help: "time since the start", read: func(r *runner, e trace.Entry) string { return e.Time.Sub(r.start).String() }},
	{name: "rule", help: "ID of the rule of a decision", check: checkRule, read: func(_ *runner, e trace.Entry) string { return e.Rule }},
	{name: "text", help: "text of a decision, Event or fault", read: func(_ *runner, e trace.Entry) string { return e.Text }},
	{name: "verb",
		help: "of a write (`create`, `update`, `update-status`, `patch`, `patch-status`, `delete`) or call (`Create`, `Attach`, …)",
		read: entryVerb, check: checkVerb},
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

// checkActor rejects an actor that does not exist. Names with a slash, of sidecars, kubelets and clients, depend on the cluster.
func checkActor(_ string, c condition) error {
	if strings.Contains(c.value, "/") {
		return nil
	}
	known := append([]string{api.User}, actors.Named...)
	if c.pattern != nil || c.value == "" || slices.Contains(known, c.value) {
		return nil
	}
	return fmt.Errorf("invalid condition %s: %s", c.text, actors.Unknown(c.value, known))
}

// checkRule rejects a rule that docs/rules does not define, itself or without the letter of a case.
func checkRule(_ string, c condition) error {
	if c.pattern != nil || c.value == "" {
		return nil
	}
	for _, id := range []string{c.value, strings.TrimRight(c.value, "abcdefghijklmnopqrstuvwxyz")} {
		if _, ok := rules.Get(id); ok {
			return nil
		}
	}
	var ids []string
	for _, rule := range rules.All() {
		ids = append(ids, rule.ID)
	}
	if similar.To(c.value, ids) == "" {
		return fmt.Errorf("invalid condition %s: unknown rule %q; docs/rules defines the rules, such as %s", c.text, c.value, ids[0])
	}
	return c.isKnown(ids)
}

// apiVerbs are the verbs of calls to the API server.
var apiVerbs = []string{"create", "update", "update-status", "update-finalize", "patch", "patch-status", "delete", "deletecollection", "get", "list", "bind", "evict"}

// checkVerb rejects a verb that entries of the type do not have.
func checkVerb(entryType string, c condition) error {
	switch entryType {
	case "write":
		return c.isKnown(apiVerbs)
	case "call":
		return c.isKnown(opNames())
	}
	return c.isKnown(slices.Concat(apiVerbs, opNames()))
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
