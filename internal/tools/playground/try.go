package playground

import (
	"strings"

	"golang.org/x/tools/txtar"

	"github.com/volsim/volsim/internal/tools/script"
)

type tryArgs struct {
	Text string `json:"text"`
	Seed int64  `json:"seed"`
	// Goal is an expectation that must hold at the end; "" for none but those of the script.
	Goal string `json:"goal"`
}

// tryAnswer says how a script ended with a seed.
type tryAnswer struct {
	OK      bool   `json:"ok"`
	Line    int    `json:"line"`
	Problem string `json:"problem"`
}

// try runs a script with a seed and reports what goes wrong: the first failure, or the first violation of any invariant that no user
// forced.
func (s *Server) try(a tryArgs) (any, error) {
	text := a.Text
	if goal := strings.TrimSpace(a.Goal); goal != "" {
		archive := txtar.Parse([]byte(text))
		archive.Comment = []byte(strings.TrimSuffix(string(archive.Comment), "\n") + "\n" + goal + "\n")
		text = string(txtar.Format(archive))
	}
	parsed, err := script.Parse("playground.txtar", []byte(text))
	if err != nil {
		return nil, err
	}
	swept, _, err := parsed.ForSweep()
	if err != nil {
		return nil, err
	}
	result, failure := script.Run(swept, script.Options{Seed: &a.Seed})
	if result.Cluster != nil {
		defer result.Cluster.Close()
	}
	if failure != nil {
		p := script.ProblemOf([]byte(text), result.Failures[0])
		return tryAnswer{Line: p.Line, Problem: p.Text}, nil
	}
	for _, v := range result.Cluster.Violations() {
		if v.Forced == "" {
			return tryAnswer{Problem: v.Invariant + ": " + v.Text}, nil
		}
	}
	return tryAnswer{OK: true}, nil
}

type holdsArgs struct {
	Run   string   `json:"run"`
	Lines []string `json:"lines"`
}

// holds evaluates expectations at the end of a run. The answer has why each does not hold, "" if it does.
func (s *Server) holds(a holdsArgs) (any, error) {
	r, err := s.run(a.Run)
	if err != nil {
		return nil, err
	}
	answers := []string{}
	for _, line := range a.Lines {
		text := ""
		if err := r.session.Check(line); err != nil {
			text = err.Error()
		}
		answers = append(answers, text)
	}
	return answers, nil
}

// lesson separates a lesson from its question.
func (s *Server) lesson(a textArgs) (any, error) { return script.ReadLesson([]byte(a.Text)), nil }
