package playground

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
	"time"

	"golang.org/x/tools/txtar"

	"github.com/volsim/volsim/internal/tools/rundiff"
)

type forkArgs struct {
	Run  string `json:"run"`
	Tick int    `json:"tick"`
	// Lines are commands that run at that moment.
	Lines []string `json:"lines"`
	// Rest keeps the commands that follow.
	Rest bool `json:"rest"`
}

// fork returns the script of another future: the lines up to a moment, new lines, and the rest of the commands.
func (s *Server) fork(a forkArgs) (any, error) {
	r, err := s.run(a.Run)
	if err != nil {
		return nil, err
	}
	a.Tick = min(max(a.Tick, 0), len(r.ticks)-1)
	if a.Tick == len(r.ticks)-1 {
		a.Rest = false
	}
	archive := txtar.Parse([]byte(r.prefix(a.Tick)))
	var text bytes.Buffer
	text.Write(archive.Comment)
	for _, line := range a.Lines {
		fmt.Fprintln(&text, line)
	}
	if a.Rest {
		text.WriteString(r.rest(a.Tick))
	}
	archive.Comment = text.Bytes()
	return string(txtar.Format(archive)), nil
}

// prefix returns the script that ends at a moment. A line in whose middle the moment is becomes the number of its events.
func (r *Run) prefix(i int) string {
	archive := txtar.Parse([]byte(r.text))
	lines := strings.SplitAfter(string(archive.Comment), "\n")
	t := r.ticks[i]
	var text strings.Builder
	for _, line := range lines[:min(t.line, len(lines))] {
		text.WriteString(line)
	}
	out := text.String()
	switch {
	case t.line == 0:
		// Before the first command that is not setup. Setup lines come first and have no moments.
		out = setupOnly(lines)
	case t.events > 0:
		last := lines[t.line-1]
		out = strings.TrimSuffix(out, last) + fmt.Sprintf("step %d\n", t.events)
	}
	archive.Comment = []byte(out)
	return string(txtar.Format(archive))
}

// setup matches the lines of a script that configure its cluster.
var setup = regexp.MustCompile(`^\s*(config|seeds|backend)\s`)

// setupOnly returns the lines that configure the cluster, and a command that changes nothing.
func setupOnly(lines []string) string {
	var text strings.Builder
	for _, line := range lines {
		if setup.MatchString(line) {
			text.WriteString(line)
		}
	}
	return text.String() + "now\n"
}

var (
	comment     = regexp.MustCompile(`^\s*(#|$)`)
	prefixed    = regexp.MustCompile(`^\s*[!?]\s`)
	infallible  = regexp.MustCompile(`^\s*(now|summary|backends|violations|controllers|stop)\b`)
	expectation = regexp.MustCompile(`^\s*((!|some)\s+)?(expect|stdout|stderr|cmp)\b`)
	forATime    = regexp.MustCompile(`^\s*([!?]\s+)?(advance|until)\b`)
	forEvents   = regexp.MustCompile(`^\s*([!?]\s+)?step\b\s*(\d*)`)
)

// rest returns the commands after a moment, in another future: expectations are gone, and everything else may fail.
func (r *Run) rest(i int) string {
	lines := strings.Split(strings.TrimSuffix(string(txtar.Parse([]byte(r.text)).Comment), "\n"), "\n")
	t := r.ticks[i]
	var text strings.Builder
	if t.events > 0 {
		text.WriteString(r.remainder(lines[t.line-1], t))
	}
	for _, line := range lines[min(t.line, len(lines)):] {
		switch {
		case expectation.MatchString(line), setup.MatchString(line):
		case comment.MatchString(line), infallible.MatchString(line):
			text.WriteString(line + "\n")
		default:
			text.WriteString("? " + strings.TrimSpace(prefixed.ReplaceAllString(line, "")) + "\n")
		}
	}
	return text.String()
}

// remainder returns what is left of a line in whose middle the moment is.
func (r *Run) remainder(line string, t tick) string {
	switch {
	case forATime.MatchString(line):
		for _, c := range r.result.Commands {
			if c.Line == t.line {
				return fmt.Sprintf("until %s\n", time.Duration(c.At))
			}
		}
	case forEvents.MatchString(line):
		n := 1
		fmt.Sscan(forEvents.FindStringSubmatch(line)[2], &n) // without a number it stays 1
		return fmt.Sprintf("? step %d\n", max(n-t.events, 1))
	}
	return "? " + strings.TrimSpace(prefixed.ReplaceAllString(line, "")) + "\n"
}

type compareArgs struct {
	A, B string
}

// compare returns how two runs differ, as the command diff prints it.
func (s *Server) compare(a compareArgs) (any, error) {
	var runs [2]rundiff.Run
	for i, name := range []string{a.A, a.B} {
		r, err := s.run(name)
		if err != nil {
			return nil, err
		}
		runs[i] = rundiff.Of(name, r.session.Cluster(), r.session.Start())
		for _, f := range r.result.Failures {
			first, _, _ := strings.Cut(f.Error(), "\n")
			runs[i].Failures = append(runs[i].Failures, first)
		}
	}
	d, err := rundiff.Compare(runs[0], runs[1])
	if err != nil {
		return nil, err
	}
	var out strings.Builder
	err = d.WriteText(&out)
	return out.String(), err
}
