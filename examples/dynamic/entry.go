package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/trace"
)

// entry prints an entry of the trace if it is a write that changed something, a finished call of the driver, or an Event about expansion.
func (s *simulation) entry(e trace.Entry) {
	var line string
	switch e.Type {
	case trace.Storage:
		if e.Verb == "end" {
			line = "the driver's " + e.Call.Verb
			if e.Call.Node != "" {
				line += " at " + e.Call.Node
			}
		}
	case trace.Write:
		if e.Err == nil && e.Old != e.New && e.Object.Kind != api.Event {
			line = describe(e)
		}
	}
	if line == "" {
		return
	}
	actor, _, _ := strings.Cut(e.Actor, "/")
	s.printf("%8s  %-28s %s\n", e.Time.Sub(s.began).Round(100*time.Millisecond), actor, line)
}

// describe says what a write did to its object.
func describe(e trace.Entry) string {
	name := shorten(fmt.Sprintf("%s %s", e.Object.Kind, strings.TrimPrefix(e.Object.Key, "default/")))
	switch {
	case e.Old == nil:
		return "created " + name
	case e.New == nil:
		return name + " is gone"
	}
	var fields []string
	for _, change := range trace.Changes(e.Old, e.New) {
		switch field := field(change); {
		case field == "":
		case change.Path == "status.phase":
			fields = slices.Insert(fields, 0, field)
		default:
			fields = append(fields, field)
		}
	}
	if e.Old.GetDeletionTimestamp() == nil && e.New.GetDeletionTimestamp() != nil {
		fields = []string{"marked for deletion"}
	}
	const most = 3
	if len(fields) > most {
		fields = append(fields[:most], "…")
	}
	if len(fields) == 0 {
		return ""
	}
	return name + ": " + strings.Join(fields, ", ")
}

// field is a change as name=value, or the name alone where the value is long; "" for what comes with other changes.
func field(change trace.FieldChange) string {
	path := strings.TrimPrefix(strings.TrimPrefix(strings.TrimPrefix(change.Path, "status."), "spec."), "metadata.")
	// Of the key of an annotation or a label, what follows the domain is enough.
	if start, end := strings.Index(path, "["), strings.Index(path, "/"); start >= 0 && end > start && strings.HasSuffix(path, "]") {
		path = path[:start+1] + path[end+1:]
	}
	switch value := strings.Trim(change.New, `"`); {
	case strings.HasSuffix(path, "Time"), strings.HasSuffix(path, "Timestamp"), strings.HasSuffix(path, "PeriodSeconds"), path == "generation":
		return ""
	case value == "":
		return path + " is gone"
	case len(value) > 40 || strings.ContainsAny(value, "{["):
		return path
	default:
		return path + "=" + shorten(value)
	}
}

// shorten cuts the generated part of long names.
func shorten(name string) string {
	for _, prefix := range []string{"pvc-", "csi-"} {
		if at := strings.Index(name, prefix); at >= 0 && len(name) > at+12 {
			return name[:at+12] + "…"
		}
	}
	return name
}
