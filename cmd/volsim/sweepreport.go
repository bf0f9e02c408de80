package main

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/volsim/volsim/internal/core/actors"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/tools/explore"
)

// report writes a sweep and returns an error if it found a problem.
func (f *sweepFlags) report(w io.Writer, s *explore.Sweep) error {
	if f.output == "json" {
		return s.WriteJSON(w)
	}
	out := &writer{w: w}
	of := ""
	if !s.Complete() {
		of = fmt.Sprintf(", shards %v of %d", s.Done, s.Shards)
	}
	out.printf("%s: %d seeds of %d..%d%s: %s, %s\n", s.Script, s.Runs, s.From, s.To, of,
		plural(len(s.Outcomes), "outcome"), plural(len(s.Violated), "invariant")+" violated")
	out.findings(s.Report, func(seed int64, _ []engine.Choice) string {
		return fmt.Sprintf("volsim run --seed %d %s", seed, argument(s.Script))
	})
	for _, l := range s.Report.Some {
		if l.Count == 0 {
			out.printf("\nline %d held for no seed: %s\n", l.Line, l.Command)
			continue
		}
		out.printf("\nline %d held for %s, e.g. --seed %d: %s\n", l.Line, plural(l.Count, "seed"), l.Seed, l.Command)
	}
	if out.err != nil {
		return out.err
	}
	return sweepError(s)
}

// argument returns the name of a script on a command line.
func argument(name string) string {
	if name == stdin {
		return "-"
	}
	return name
}

// sweepError returns an error if runs failed, a line held for no seed, or an invariant was violated.
func sweepError(s *explore.Sweep) error {
	var failed int64
	for _, o := range s.Outcomes {
		if o.Failed {
			failed += int64(o.Count)
		}
	}
	switch {
	case s.Some && failed == s.Runs && s.Complete():
		return fmt.Errorf("%s: no seed passes", s.Script)
	case !s.Some && failed > 0:
		return fmt.Errorf("%s: %d of %d runs failed", s.Script, failed, s.Runs)
	}
	for _, l := range s.Report.Some {
		if l.Count == 0 && s.Complete() {
			return fmt.Errorf("%s:%d: %s: holds for no seed", s.Script, l.Line, l.Command)
		}
	}
	if !s.Chosen {
		return unforced(s.Script, s.Violated)
	}
	return nil
}

// unforced returns an error for the first violation that no forced action explains.
func unforced(name string, all []explore.Violated) error {
	for _, v := range all {
		if !v.Forced {
			return fmt.Errorf("%s: invariant %s violated", name, v.Invariant)
		}
	}
	return nil
}

// writer writes text and keeps the first error.
type writer struct {
	w   io.Writer
	err error
}

func (w *writer) printf(format string, args ...any) {
	if w.err == nil {
		_, w.err = fmt.Fprintf(w.w, format, args...)
	}
}

// findings writes outcomes, failures and violations. replay returns the command that repeats a run.
func (w *writer) findings(r explore.Report, replay func(seed int64, choices []engine.Choice) string) {
	for _, o := range r.Outcomes {
		w.printf("\noutcome %s: %s; replay: %s\n%s\n", o.ID, plural(o.Count, "run"), replay(o.Seed, o.Choices), indent(string(o.Outcome)))
	}
	for _, l := range r.Failed {
		w.printf("\nline %d failed in %s: %s: %s; replay: %s\n", l.Line, plural(l.Count, "run"), l.Command, l.Text, replay(l.Seed, l.Choices))
	}
	for _, v := range r.Violated {
		w.printf("\ninvariant %s violated in %s, at the earliest after %d trace entries; replay: %s\n%s\n", v.Invariant,
			plural(v.Count, "run"), v.Entries,
			replay(v.Seed, v.Choices), indent(v.Text))
	}
}

func indent(text string) string { return "  " + strings.ReplaceAll(text, "\n", "\n  ") }

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// explorationReport is an exploration as JSON.
type explorationReport struct {
	Model    string             `json:"model"`
	Runs     int                `json:"runs"`
	Pruned   int                `json:"pruned"`
	States   int                `json:"states"`
	Finished bool               `json:"finished"`
	Bounded  string             `json:"bounded,omitempty"`
	Outcomes []explore.Found    `json:"outcomes"`
	Violated []explore.Violated `json:"violated,omitempty"`
	Failed   []explore.Line     `json:"failed,omitempty"`
	Some     []explore.Line     `json:"some,omitempty"`
}

// reportExploration writes an exploration.
func (f *sweepFlags) reportExploration(w io.Writer, s swept, x explore.Exploration) error {
	if f.output == "json" {
		encoder := json.NewEncoder(w)
		encoder.SetEscapeHTML(false)
		encoder.SetIndent("", "  ")
		return encoder.Encode(explorationReport{s.name, x.Runs, x.Pruned, x.States, x.Finished, x.Bounded, x.Outcomes, x.Violated, x.Failed,
			x.Some})
	}
	out := &writer{w: w}
	status := "finished"
	if !x.Finished {
		status = "not finished, stopped at " + x.Bounded
	}
	out.printf("%s: %s: %s, %s (%d pruned): %s, %s violated\n", s.name, status, plural(x.States, "state"), plural(x.Runs, "run"), x.Pruned,
		plural(len(x.Outcomes), "outcome"), plural(len(x.Violated), "invariant"))
	if !s.nodes {
		out.printf("no nodes, so these controllers did not run: %s\n", strings.Join(actors.NodeFailure, ", "))
	}
	command := "volsim sweep"
	if s.script != nil {
		command = "volsim run"
	}
	replay := func(choices []engine.Choice) string {
		return fmt.Sprintf("%s --choices %s%s %s", command, explore.FormatChoices(choices), f.modelFlags(), argument(s.name))
	}
	out.findings(x.Report, func(_ int64, choices []engine.Choice) string { return replay(choices) })
	for _, l := range x.Some {
		if l.Count == 0 {
			out.printf("\nline %d held in no run: %s\n", l.Line, l.Command)
			continue
		}
		out.printf("\nline %d held in %s: %s; replay: %s\n", l.Line, plural(l.Count, "run"), l.Command, replay(l.Choices))
	}
	if out.err != nil {
		return out.err
	}
	return explorationError(s, x)
}

// explorationError returns an error if runs failed, a line held in no order, or an invariant was violated.
func explorationError(s swept, x explore.Exploration) error {
	failed := slices.IndexFunc(x.Outcomes, func(o explore.Found) bool { return o.Failed })
	some := s.script != nil && s.script.Some
	switch {
	case some && x.Finished && !slices.ContainsFunc(x.Outcomes, func(o explore.Found) bool { return !o.Failed }):
		return fmt.Errorf("%s: no order passes", s.name)
	case !some && failed >= 0:
		return fmt.Errorf("%s: runs failed, for example outcome %s", s.name, x.Outcomes[failed].ID)
	}
	for _, l := range x.Some {
		if l.Count == 0 && x.Finished {
			return fmt.Errorf("%s:%d: %s: holds in no order", s.name, l.Line, l.Command)
		}
	}
	if s.script != nil && s.script.Chosen {
		return nil
	}
	return unforced(s.name, x.Violated)
}

// modelFlags returns the flags that recreate the model.
func (f *sweepFlags) modelFlags() string {
	text := ""
	if len(f.without) > 0 {
		text += " --without " + strings.Join(f.without, ",")
	}
	if f.until > 0 {
		text += " --until " + f.until.String()
	}
	if f.starting {
		text += " --starting"
	}
	return text
}
