package rundiff

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/volsim/volsim/trace"
)

// WriteText writes the difference as text: - marks what only A has, + what only B has, and values are written as A -> B. It returns the
// error of w.
func (d *Difference) WriteText(w io.Writer) error {
	out := bufio.NewWriter(w)
	for _, side := range []struct {
		mark string
		Side
	}{{"---", d.A}, {"+++", d.B}} {
		fmt.Fprintf(out, "%s %s\n", side.mark, side.Name)
		for _, failure := range side.Failures {
			fmt.Fprintf(out, "    failed: %s\n", strings.ReplaceAll(failure, "\n", `\n`))
		}
	}
	writeObjects(out, d.Objects)
	writeCounts(out, "events", d.Events)
	writeCounts(out, "storage calls", d.Calls)
	d.writeTrace(out)
	if d.Same {
		fmt.Fprintf(out, "\nno difference\n")
	}
	return out.Flush()
}

func writeObjects(out io.Writer, objects []Object) {
	if len(objects) == 0 {
		return
	}
	fmt.Fprintf(out, "\nobjects that differ at the end: %d\n", len(objects))
	for _, o := range objects {
		mark := " "
		switch o.OnlyIn {
		case "a":
			mark = "-"
		case "b":
			mark = "+"
		}
		name := o.Name
		if o.NameInB != "" {
			name += " (" + o.NameInB + ")"
		}
		fmt.Fprintf(out, "%s %s\n", mark, name)
		for _, f := range o.Fields {
			fmt.Fprintf(out, "    %s\n", trace.FieldChange{Path: f.Path, Old: compact(f.A), New: compact(f.B)})
		}
	}
}

// compact returns a value as JSON in one line; "" for nil.
func compact(value any) string {
	if value == nil {
		return ""
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return fmt.Sprint(value)
	}
	return strings.TrimSpace(out.String())
}

func writeCounts(out io.Writer, what string, counts []Count) {
	if len(counts) == 0 {
		return
	}
	fmt.Fprintf(out, "\n%s with different counts: %d\n", what, len(counts))
	for _, c := range counts {
		mark := " "
		switch {
		case c.B == 0:
			mark = "-"
		case c.A == 0:
			mark = "+"
		}
		fmt.Fprintf(out, "%s %d -> %d  %s\n", mark, c.A, c.B, c.What)
	}
}

func (d *Difference) writeTrace(out io.Writer) {
	if r := d.Reordered; r != nil {
		fmt.Fprintf(out, "\norder of simultaneous entries differs from entry %d on, at %s\n", r.Seq, r.At)
	}
	p := d.Divergence
	if p == nil {
		return
	}
	fmt.Fprintf(out, "\ntraces diverge at %s\n", p.At)
	for _, side := range []struct {
		mark    string
		entries []Entry
	}{{"-", p.A}, {"+", p.B}} {
		fmt.Fprintf(out, "%s\n", strings.Repeat(side.mark, 3))
		width, wide := 0, 0
		for _, e := range side.entries {
			width, wide = max(width, utf8.RuneCountInString(e.Actor)), max(wide, len(e.At))
		}
		for _, e := range side.entries {
			mark := " "
			if e.Only {
				mark = side.mark
			}
			fmt.Fprintf(out, "%s %5d  %-*s  %-*s  %s\n", mark, e.Seq, wide, e.At, width, e.Actor, e.Text)
		}
	}
}
