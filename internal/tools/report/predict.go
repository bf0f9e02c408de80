package report

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/volsim/volsim/internal/core/evidence"
	"github.com/volsim/volsim/internal/tools/dump"
	"github.com/volsim/volsim/internal/tools/predict"
)

// WritePrediction writes a prediction as the command prints it.
func WritePrediction(w io.Writer, p *predict.Prediction) error {
	fmt.Fprintf(w, "%s, at %s\n\n", strings.Join(p.Steps, ", then "), p.From.UTC().Format(time.RFC3339))
	for _, refused := range p.Refused {
		fmt.Fprintf(w, "Refused: %s: %s\n", refused.Step, refused.Reason)
	}
	writeLosses(w, p)
	for _, problem := range p.Problems {
		fmt.Fprintf(w, "WARNING: storage %s\n", problem)
	}
	for _, problem := range p.ProblemsAnyway {
		fmt.Fprintf(w, "WARNING: storage %s%s\n", problem, anyway(true))
	}
	for _, o := range p.Prevented {
		fmt.Fprintf(w, "Prevented: %s: %s, after %s\n", o.Object, o.What, o.After)
	}
	for _, refused := range p.Writes {
		fmt.Fprintf(w, "Refused: %s by %s: %s\n", refused.Request, refused.Actor, refused.Reason)
	}
	writeStops(w, p.Outcomes)
	if len(p.Outcomes) == 0 {
		fmt.Fprintln(w, "\nNo effects: no object changes.")
	} else {
		fmt.Fprintln(w, "\nTimeline (! = pod stops or data is lost, ~ = would happen without this change too):")
		writeOutcomes(w, p.Outcomes)
	}
	if len(p.Stuck) > 0 {
		fmt.Fprintf(w, "\nStuck after %s:\n", predict.Span(p.Until.Sub(p.From)))
		for i := range p.Stuck {
			fmt.Fprintln(w, p.Stuck[i])
		}
	}
	return writeNotes(w, append(assumptionLines(p.Assumptions), p.Notes...))
}

// writeLosses writes what happens to the data; it comes first.
func writeLosses(w io.Writer, p *predict.Prediction) {
	lost := 0
	for _, loss := range p.Lost {
		if !loss.Anyway {
			lost++
		}
		fmt.Fprintf(w, "WARNING: DATA IS LOST after %s: %s%s\n", loss.After, describeLoss(loss), anyway(loss.Anyway))
	}
	for _, loss := range p.Threatened {
		if !loss.Anyway {
			lost++
		}
		fmt.Fprintf(w, "WARNING: DATA WILL BE LOST: %s: %s%s\n", describeLoss(loss), loss.When, anyway(loss.Anyway))
	}
	if lost == 0 {
		fmt.Fprintf(w, "No data is lost through this change within %s.\n", predict.Span(p.Until.Sub(p.From)))
	}
	for _, data := range p.Retained {
		fmt.Fprintf(w, "Retained: volume %s%s: %s\n", data.Volume, sizeAndClaim(data), data.When)
	}
}

// anyway marks what happens without the change too.
func anyway(happens bool) string {
	if happens {
		return " (would happen without this change too)"
	}
	return ""
}

// writeStops writes which pods stop through the change, and when a pod of that name runs again.
func writeStops(w io.Writer, outcomes []predict.Outcome) {
	shown := map[string]bool{}
	for i, o := range outcomes {
		if o.Kind != predict.Stops || o.Anyway || shown[o.Object] {
			continue
		}
		if len(shown) == 0 {
			fmt.Fprintln(w, "\nPods that stop:")
		}
		shown[o.Object] = true
		again := ""
		for _, later := range outcomes[i+1:] {
			if later.Object == o.Object && later.What == "is Running" {
				again = fmt.Sprintf("; runs again after %s", later.After)
				break
			}
		}
		fmt.Fprintf(w, "%8s   %s %s%s\n", o.After, o.Object, o.What, again)
	}
}

func describeLoss(loss predict.Data) string {
	return fmt.Sprintf("volume %s (%s in %s)", loss.Volume, loss.Handle, loss.Backend) + sizeAndClaim(loss)
}

func sizeAndClaim(loss predict.Data) string {
	text := ""
	if loss.Size != "" {
		text += ", " + loss.Size
	}
	if loss.Claim != "" {
		text += ", claim " + loss.Claim
	}
	return text
}

// writeOutcomes writes a line for each outcome, with the time since the start.
func writeOutcomes(w io.Writer, outcomes []predict.Outcome) {
	width := 0
	for _, o := range outcomes {
		width = max(width, len(o.Object))
	}
	for i := 0; i < len(outcomes); i++ {
		o, same := outcomes[i], sameOutcomes(outcomes[i:])
		mark := " "
		switch {
		case o.Anyway:
			mark = "~"
		case o.Kind == predict.Loses || o.Kind == predict.Stops:
			mark = "!"
		}
		fmt.Fprintf(w, "%8s %s %-*s  %s\n", o.After, mark, width, o.Object, oneLine(o.What))
		if same >= manyAlike {
			fmt.Fprintf(w, "%8s %s %-*s  the same for %d others\n", "", mark, width, "", same-1)
			i += same - 1
		}
	}
}

// sameOutcomes returns how many of the outcomes, from the first on, are the same one of several objects at one time.
func sameOutcomes(outcomes []predict.Outcome) int {
	sign := func(o *predict.Outcome) string {
		kind, _, _ := strings.Cut(o.Object, "/")
		name := o.Object[strings.LastIndex(o.Object, "/")+1:]
		return fmt.Sprint(kind, o.Kind, o.After, o.Anyway, strings.ReplaceAll(o.What, name, "<name>"))
	}
	n := 1
	for n < len(outcomes) && sign(&outcomes[n]) == sign(&outcomes[0]) {
		n++
	}
	return n
}

// oneLine joins the lines of a text, such as the message of an Event.
func oneLine(text string) string {
	return strings.Join(strings.FieldsFunc(text, func(r rune) bool { return r == '\n' || r == '\r' }), "; ")
}

func writeNotes(w io.Writer, notes []string) error {
	for i, note := range notes {
		if i == 0 {
			fmt.Fprintln(w)
		}
		if _, err := fmt.Fprintln(w, oneLine(note)); err != nil {
			return err
		}
	}
	return nil
}

// Ignored lists the objects, fields and logs of a dump that are not simulated; "" if there are none.
func Ignored(d *dump.Dump) string {
	var parts []string
	for _, kind := range slices.Sorted(maps.Keys(d.Ignored)) {
		version, name, _ := strings.Cut(kind, " ")
		parts = append(parts, fmt.Sprintf("%d %s (%s)", d.Ignored[kind], name, version))
	}
	for _, field := range d.Dropped {
		parts = append(parts, "field "+field)
	}
	for _, name := range slices.Sorted(maps.Keys(d.Renamed)) {
		parts = append(parts, fmt.Sprintf("name %q, read as %s", name, d.Renamed[name]))
	}
	switch {
	case d.Logs == 1:
		parts = append(parts, "the log of a container")
	case d.Logs > 1:
		parts = append(parts, fmt.Sprintf("the logs of %d containers", d.Logs))
	}
	if n := len(d.Skipped); n > 0 {
		named := d.Skipped[:min(n, manySkipped)]
		what := "what is no object in " + strings.Join(named, ", ")
		if n > len(named) {
			what += fmt.Sprintf(" and %d more files", n-len(named))
		}
		parts = append(parts, what)
	}
	return strings.Join(parts, ", ")
}

// manySkipped is the number of skipped files that are named.
const manySkipped = 3

// manyAssumptions is the number of assumptions that are printed in full.
const manyAssumptions = 12

// assumptionLines returns a line for each assumption, once.
func assumptionLines(all []evidence.Assumption) []string {
	var lines []string
	for _, a := range all {
		// Several controllers of one process have the same evidence.
		if line := "Assumption: " + a.String(); !slices.Contains(lines, line) {
			lines = append(lines, line)
		}
	}
	if more := len(lines) - manyAssumptions; more > 1 {
		lines = append(lines[:manyAssumptions], fmt.Sprintf("%d more assumptions; -o json lists them", more))
	}
	return lines
}
