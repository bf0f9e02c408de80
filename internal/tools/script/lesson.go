package script

import (
	"strings"

	"golang.org/x/tools/txtar"
)

// Lesson is a script with a question. The question is the file "question" of the archive: comments that ask, and expectations that hold at
// the end once the reader made the cluster answer. One answer is the file "solution", commands that follow those of the script; manifests
// that only the answer needs are files in the folder "solution".
type Lesson struct {
	Script   string   `json:"script"`             // without question and solution
	Question string   `json:"question,omitempty"` // "" if there is none
	Expect   []string `json:"expect,omitempty"`
	Solved   string   `json:"solved,omitempty"` // the script, the commands of the solution, and the expectations
}

// ReadLesson separates a lesson from its question. It does not check the lines; Parse does, for Script and for Solved.
func ReadLesson(text []byte) Lesson {
	archive := txtar.Parse(text)
	var l Lesson
	var solution string
	shown, solved := txtar.Archive{Comment: archive.Comment}, txtar.Archive{}
	for _, f := range archive.Files {
		switch {
		case f.Name == "question":
			l.Question, l.Expect = question(string(f.Data))
		case f.Name == "solution":
			solution = fixNewline(string(f.Data))
		case strings.HasPrefix(f.Name, "solution/"):
			solved.Files = append(solved.Files, f)
		default:
			shown.Files = append(shown.Files, f)
		}
	}
	l.Script = string(txtar.Format(&shown))
	if l.Question == "" {
		return l
	}
	script := strings.TrimRight(string(archive.Comment), "\n") + "\n\n"
	solved.Comment = []byte(script + solution + strings.Join(l.Expect, "\n") + "\n\n")
	solved.Files = append(shown.Files, solved.Files...)
	l.Solved = string(txtar.Format(&solved))
	return l
}

// question separates the comments of a question from its expectations.
func question(text string) (asked string, expect []string) {
	var words []string
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		comment, ok := strings.CutPrefix(line, "#")
		switch {
		case ok:
			words = append(words, strings.TrimSpace(comment))
		case line != "":
			expect = append(expect, line)
		}
	}
	return strings.Join(words, " "), expect
}
