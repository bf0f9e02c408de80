package script

import (
	"bytes"
	"errors"
	"strings"

	"golang.org/x/tools/txtar"

	"github.com/volsim/volsim/internal/core/fieldpos"
)

// Problem is an error at a line of the text of a script, in which the lines of its files count too.
type Problem struct {
	Line int    `json:"line"`
	Text string `json:"text"`
}

// maxProblems is the number of problems that Problems finds at most.
const maxProblems = 20

// Problems lists what is wrong with the text of a script, in the order in which Parse finds it. Unlike Parse it goes on after the first
// line with an error: it reads the text again without that line.
func Problems(data []byte) []Problem {
	var all []Problem
	lines := bytes.SplitAfter(data, []byte("\n"))
	for range maxProblems {
		_, err := Parse("script", bytes.Join(lines, nil))
		if err == nil {
			break
		}
		p := ProblemOf(bytes.Join(lines, nil), err)
		all = append(all, p)
		if p.Text == errNoCommands.Error() || p.Line < 1 || p.Line > len(lines) || len(bytes.TrimSpace(lines[p.Line-1])) == 0 || inFiles(data, p.Line) {
			break
		}
		lines[p.Line-1] = []byte("#\n")
	}
	if len(all) > 1 && all[len(all)-1].Text == errNoCommands.Error() {
		all = all[:len(all)-1]
	}
	return all
}

// ProblemOf returns where in the text of a script an error of Parse or Run is. An error in a file of the script is at its line there.
func ProblemOf(data []byte, err error) Problem {
	p := Problem{Line: 1, Text: err.Error()}
	if at := new(Error); errors.As(err, &at) {
		p.Line, p.Text = at.Line, at.Err.Error()
	}
	at := new(fileErrorAt)
	if !errors.As(err, &at) {
		return p
	}
	archive := txtar.Parse(data)
	line := 1 + bytes.Count(archive.Comment, []byte("\n"))
	for _, f := range archive.Files {
		if f.Name == at.file {
			return Problem{Line: line + at.line, Text: inOneLine(errors.New(fieldpos.Moved(at.err, line))).Error()}
		}
		line += 1 + bytes.Count(f.Data, []byte("\n"))
	}
	return p
}

// inFiles reports whether a line of the text belongs to a file of the script.
func inFiles(data []byte, line int) bool {
	return line > strings.Count(string(txtar.Parse(data).Comment), "\n")
}
