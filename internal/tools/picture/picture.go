package picture

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/trace"
)

// Run is what is drawn.
type Run struct {
	// Title heads the page; empty is "volsim".
	Title string
	// Trace is what happened. It is needed, but may be empty.
	Trace *trace.Trace
	// Start and End are the ends of the time axis. The axis reaches at least from the first to the last entry of the trace; a zero
	// time adds nothing to that.
	Start, End time.Time
	// Violations are marked where they were found; nil is none.
	Violations []Violation
}

// Violation is something that must not be, found at some moment.
type Violation struct {
	Time time.Time
	// Object is what it is about; the zero Ref is none.
	Object api.Ref
	// Name is that of the invariant, Text says what was found.
	Name, Text string
	// Rules are the IDs of the rules that are broken.
	Rules []string
}

// ErrNoTrace says that there is nothing to draw.
var ErrNoTrace = errors.New("the run has no trace; do not set volsim.Config.TraceLimit to a negative number")

// Write writes the picture of a run as one HTML file. The same run gives the same bytes. The error is ErrNoTrace, or w's.
func Write(w io.Writer, run Run) error {
	if run.Trace == nil {
		return fmt.Errorf("picture of %q: %w", run.Title, ErrNoTrace)
	}
	if run.Title == "" {
		run.Title = "volsim"
	}
	data, err := newBuilder(run).build().encode()
	if err != nil {
		return fmt.Errorf("picture of %q: %w", run.Title, err)
	}
	return writePage(w, run.Title, data)
}
