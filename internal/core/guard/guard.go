// Package guard describes a panic without anything that differs between runs or machines, so that traces stay reproducible.
package guard

import (
	"fmt"
	"path"
	"regexp"
	"runtime"
	"strconv"
	"strings"
)

// address matches a printed pointer.
var address = regexp.MustCompile(`0x[0-9a-fA-F]{6,}`)

// Text returns the value of a panic as text, without the addresses of pointers.
func Text(value any) string { return address.ReplaceAllString(fmt.Sprint(value), "0x?") }

const maxFrames = 64

// Stack lists the active functions, the innermost first, one per line as "function file.go:line", up to the function with the full name
// upTo. That function and those of the runtime are omitted. The function that recovers must call Stack itself.
func Stack(upTo string) string {
	var counters [maxFrames]uintptr
	frames := runtime.CallersFrames(counters[:runtime.Callers(2, counters[:])])
	var lines []string
	for {
		frame, more := frames.Next()
		switch {
		case frame.Function == upTo:
			return strings.Join(lines, "\n")
		case strings.HasPrefix(frame.Function, upTo+"."), strings.HasPrefix(frame.Function, "runtime."):
		case frame.Function != "":
			lines = append(lines, frame.Function+" "+path.Base(frame.File)+":"+strconv.Itoa(frame.Line))
		}
		if !more {
			return strings.Join(append(lines, "..."), "\n")
		}
	}
}
