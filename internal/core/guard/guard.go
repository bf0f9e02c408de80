// Package guard tells of a panic without anything that differs between runs or machines.
package guard

import (
	"fmt"
	"path"
	"regexp"
	"runtime"
	"strconv"
	"strings"
)

// address matches what a printed pointer looks like.
var address = regexp.MustCompile(`0x[0-9a-fA-F]{6,}`)

// Text is what was panicked with, without the addresses that a printed pointer would show.
func Text(value any) string { return address.ReplaceAllString(fmt.Sprint(value), "0x?") }

const maxFrames = 64

// Stack lists the functions that were active, the innermost first, one per line as "function file.go:line", up to the function of
// the given full name, without it and without those of the runtime. It is to be called by the function that recovers.
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
