package fake

import (
	"fmt"
	"path"
	"regexp"
	"runtime"
	"strconv"
	"strings"
)

// PanicError says that a backend panicked. Its code is Internal.
type PanicError struct {
	Backend string
	Op      Op
	Value   any // what it panicked with
	// Stack holds the functions that were active, the innermost first, one per line as "function file.go:line". It has nothing
	// that differs between runs or machines, and neither the runtime's functions nor those outside the backend's call.
	Stack string
}

// Error names the backend, the operation and the value, without anything that differs between runs.
func (e *PanicError) Error() string {
	return fmt.Sprintf("backend %s: %s panicked: %s", e.Backend, e.Op, address.ReplaceAllString(fmt.Sprint(e.Value), "0x?"))
}

// address matches what a printed pointer looks like.
var address = regexp.MustCompile(`0x[0-9a-fA-F]{6,}`)

// Unwrap is the value, if it is an error.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

// Safely makes a call to a backend; should it panic, the panic becomes a [PanicError]. The call must be the backend's alone: no
// virtual time may pass in it.
func Safely(backend string, op Op, call func() error) (err error) {
	defer func() {
		if value := recover(); value != nil {
			err = &PanicError{Backend: backend, Op: op, Value: value, Stack: stack()}
		}
	}()
	return call()
}

const (
	guardName = "github.com/volsim/volsim/fake.Safely"
	maxFrames = 64
)

// stack is called while recovering: the frames are the guard's deferred function, the runtime's, the backend's, the guard's.
func stack() string {
	var counters [maxFrames]uintptr
	n := runtime.Callers(2, counters[:])
	frames := runtime.CallersFrames(counters[:n])
	var lines []string
	for {
		frame, more := frames.Next()
		switch {
		case frame.Function == guardName:
			return strings.Join(lines, "\n")
		case strings.HasPrefix(frame.Function, guardName+"."), strings.HasPrefix(frame.Function, "runtime."):
		case frame.Function != "":
			lines = append(lines, frame.Function+" "+path.Base(frame.File)+":"+strconv.Itoa(frame.Line))
		}
		if !more {
			return strings.Join(append(lines, "..."), "\n")
		}
	}
}
