package engine

import (
	"fmt"
	"path"
	"regexp"
	"runtime"
	"strconv"
	"strings"
)

// PanicError says that an operation panicked (BIND-095).
type PanicError struct {
	Operation string
	Value     any // what it panicked with
	// Stack holds the functions that were active, the innermost first, one per line as "function file.go:line". Nothing in it
	// differs between runs or machines.
	Stack string
}

// Error names the operation and the value, without the addresses that a printed pointer would show.
func (e *PanicError) Error() string {
	return "operation " + e.Operation + " panicked: " + address.ReplaceAllString(fmt.Sprint(e.Value), "0x?")
}

var address = regexp.MustCompile(`0x[0-9a-fA-F]{6,}`)

// Unwrap is the value, if it is an error.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

// guarded runs an operation; a panic in it becomes a PanicError. The end of the process by a crash of its actor goes on, and so
// does runtime.Goexit, which is no panic.
func guarded(p *Proc, name string, fn func(*Proc) error) (err error) {
	defer func() {
		switch value := recover().(type) {
		case nil:
		case killed:
			panic(value)
		default:
			// BIND-095: it failed, that is all.
			err = &PanicError{Operation: name, Value: value, Stack: panicStack()}
		}
	}()
	return fn(p)
}

const (
	guardName = "github.com/volsim/volsim/engine.guarded"
	maxFrames = 64
)

// panicStack is called while recovering: the frames are the guard's deferred function, the runtime's, the operation's, the guard's.
func panicStack() string {
	var counters [maxFrames]uintptr
	frames := runtime.CallersFrames(counters[:runtime.Callers(2, counters[:])])
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
