package picture

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/trace"
)

// Run is the run to draw.
type Run struct {
	// Title is the title of the page; "" is "volsim".
	Title string
	// Note stands below the title, such as the file and the seed; "" is none.
	Note string
	// Trace is the trace of the run. It is required, but may be empty.
	Trace *trace.Trace
	// Start and End are the ends of the time axis. The axis always covers all entries of the trace; a zero time extends it no further.
	Start, End time.Time
	// Violations are marked at their times; nil is none.
	Violations []Violation
	// Chapters tell the story of the run, in order; nil is none.
	Chapters []Chapter
}

// Chapter is a part of the run.
type Chapter struct {
	// Title and Text introduce the chapter. Both may be empty.
	Title, Text string
	// Commands lists what the user did, and what the user expected, in order.
	Commands []Command
}

// Command is a command or an expectation.
type Command struct {
	// Line is the line of the script; 0 is none.
	Line int
	// Text is the command as written.
	Text string
	// Seq is the number of the newest entry of the trace before the command. What the command caused follows it.
	Seq uint64
	// From and To are the virtual times before and after the command.
	From, To time.Time
	// Output of the command, and the Error with which it failed; both may be "".
	Output, Error string
	// Expects is true for an expectation. Failed is true if the command failed and should not have.
	Expects, Failed bool
}

// Violation is the violation of an invariant.
type Violation struct {
	Time time.Time
	// Object is the object concerned; the zero Ref is none.
	Object api.Ref
	// Name is the name of the invariant, and Text describes the violation.
	Name, Text string
	// Rules are the IDs of the broken rules.
	Rules []string
}

// ErrNoTrace is the error of Write for a Run without Trace.
var ErrNoTrace = errors.New("the run has no trace; do not set volsim.Config.TraceLimit to a negative number")

// Write writes a run as one HTML file. The same run gives the same bytes. It returns ErrNoTrace, or an error of w.
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

// WriteData writes the data of a run as JSON, as the page contains it. It returns ErrNoTrace, or an error of w.
func WriteData(w io.Writer, run Run) error {
	if run.Trace == nil {
		return fmt.Errorf("picture of %q: %w", run.Title, ErrNoTrace)
	}
	data, err := newBuilder(run).build().encode()
	if err != nil {
		return fmt.Errorf("picture of %q: %w", run.Title, err)
	}
	_, err = w.Write(data)
	return err
}
