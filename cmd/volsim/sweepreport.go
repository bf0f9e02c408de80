package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/volsim/volsim/explore"
)

// report writes a sweep. The error says what is wrong with what was swept.
func (f *sweepFlags) report(w io.Writer, s *explore.Sweep) error {
	if f.output == "json" {
		return s.WriteJSON(w)
	}
	out := &writer{w: w}
	of := ""
	if !s.Complete() {
		of = fmt.Sprintf(", shards %v of %d", s.Done, s.Shards)
	}
	out.printf("%s: %d seeds of %d..%d%s: %s, %s\n", s.Script, s.Played, s.From, s.To, of,
		plural(len(s.Outcomes), "outcome"), plural(len(s.Violated), "invariant")+" violated")
	out.findings(s.Report, func(seed int64, _ string) string { return fmt.Sprintf("volsim run --seed %d %s", seed, s.Script) })
	for _, l := range s.Report.Some {
		if l.Count == 0 {
			out.printf("\nline %d held with no seed: %s\n", l.Line, l.Command)
			continue
		}
		out.printf("\nline %d held with %s, first %d: %s\n", l.Line, plural(l.Count, "seed"), l.Seed, l.Command)
	}
	if out.err != nil {
		return out.err
	}
	return verdict(s)
}

// verdict says whether something is wrong.
func verdict(s *explore.Sweep) error {
	var failed int64
	for _, o := range s.Outcomes {
		if o.Failed {
			failed += int64(o.Count)
		}
	}
	switch {
	case s.Some && failed == s.Played && s.Complete():
		return fmt.Errorf("%s: with none of the seeds everything holds", s.Script)
	case !s.Some && failed > 0:
		return fmt.Errorf("%s: %d of %d runs failed", s.Script, failed, s.Played)
	}
	for _, l := range s.Report.Some {
		if l.Count == 0 && s.Complete() {
			return fmt.Errorf("%s:%d: %s: it holds with none of the seeds", s.Script, l.Line, l.Command)
		}
	}
	if !s.Chosen {
		return unforced(s.Script, s.Violated)
	}
	return nil
}

func unforced(name string, all []explore.Violated) error {
	for _, v := range all {
		if !v.Forced {
			return fmt.Errorf("%s: %s does not hold, and nobody forced it", name, v.Invariant)
		}
	}
	return nil
}

// writer keeps the first error.
type writer struct {
	w   io.Writer
	err error
}

func (w *writer) printf(format string, args ...any) {
	if w.err == nil {
		_, w.err = fmt.Fprintf(w.w, format, args...)
	}
}

// findings writes what was found. replay says how one run is played again.
func (w *writer) findings(r explore.Report, replay func(seed int64, choices string) string) {
	for _, o := range r.Outcomes {
		w.printf("\noutcome %s: %s; replay: %s\n%s\n", o.ID, plural(o.Count, "run"), replay(o.Seed, explore.FormatChoices(o.Choices)), indent(string(o.Outcome)))
	}
	for _, l := range r.Failed {
		w.printf("\nline %d failed in %s: %s: %s; replay: %s\n", l.Line, plural(l.Count, "run"), l.Command, l.Text, replay(l.Seed, ""))
	}
	for _, v := range r.Violated {
		w.printf("\nviolated %s in %s, at the earliest after %d entries of the trace; replay: %s\n%s\n", v.Invariant, plural(v.Count, "run"), v.Entries,
			replay(v.Seed, explore.FormatChoices(v.Choices)), indent(v.Text))
	}
}

func indent(text string) string { return "  " + strings.ReplaceAll(text, "\n", "\n  ") }

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// explorationReport is an exploration in JSON.
type explorationReport struct {
	World    string             `json:"world"`
	Runs     int                `json:"runs"`
	Pruned   int                `json:"pruned"`
	States   int                `json:"states"`
	Finished bool               `json:"finished"`
	Bounded  string             `json:"bounded,omitempty"`
	Outcomes []explore.Found    `json:"outcomes"`
	Violated []explore.Violated `json:"violated,omitempty"`
}

// reportExploration writes an exploration.
func (f *sweepFlags) reportExploration(w io.Writer, name string, x explore.Exploration) error {
	if f.output == "json" {
		encoder := json.NewEncoder(w)
		encoder.SetEscapeHTML(false)
		encoder.SetIndent("", "  ")
		return encoder.Encode(explorationReport{name, x.Runs, x.Pruned, x.States, x.Finished, x.Bounded, x.Outcomes, x.Violated})
	}
	out := &writer{w: w}
	ended := "finished"
	if !x.Finished {
		ended = "not finished, ended by its bound of " + x.Bounded
	}
	out.printf("%s: %s: %s, %s (%d ended in a state that was known): %s, %s violated\n", name, ended, plural(x.States, "state"), plural(x.Runs, "run"), x.Pruned,
		plural(len(x.Outcomes), "outcome"), plural(len(x.Violated), "invariant"))
	out.findings(x.Report, func(_ int64, choices string) string {
		return fmt.Sprintf("echo %s | volsim sweep --choices -%s %s", choices, f.worldFlags(), name)
	})
	if out.err != nil {
		return out.err
	}
	for _, o := range x.Outcomes {
		if o.Failed {
			return fmt.Errorf("%s: runs failed, with outcome %s for one", name, o.ID)
		}
	}
	return unforced(name, x.Violated)
}

// worldFlags are the flags that make the same world again.
func (f *sweepFlags) worldFlags() string {
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

// errScript says why a script is not explored.
var errScript = errors.New("it is a script, and choices are made for manifests only: give a .yaml, or sweep it with --seeds")
