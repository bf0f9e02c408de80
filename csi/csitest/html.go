package csitest

import (
	"errors"
	"io"

	"github.com/volsim/volsim/internal/tools/picture"
)

// WriteHTML writes a picture of the run that shows the finding with the shortest story: one HTML file, with the finding marked where the run
// shows it. It returns an error if there is no finding, or if the report was read from a file.
func (r *Report) WriteHTML(w io.Writer) error {
	var shortest *Finding
	for i, f := range r.Findings {
		if f.trace != nil && (shortest == nil || len(f.Calls) < len(shortest.Calls)) {
			shortest = &r.Findings[i]
		}
	}
	if shortest == nil {
		return errors.New("write a picture: no finding of this test has a run; there is nothing to show")
	}
	return picture.Write(w, picture.Run{Title: r.Driver + ": " + shortest.Replay, Trace: shortest.trace, Violations: []picture.Violation{{
		Time: shortest.at, Name: shortest.Kind, Text: shortest.Detail + "; CSI specification, section " + shortest.Section + ": " + shortest.Requirement,
		Rules: shortest.rules(),
	}}})
}

// rules returns the IDs of the rules of Kubernetes that lead to the call.
func (f Finding) rules() []string {
	var ids []string
	for _, reason := range f.Why {
		if reason.Rule != "" {
			ids = append(ids, reason.Rule)
		}
	}
	return ids
}
