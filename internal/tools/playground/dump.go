package playground

import (
	"bytes"
	"os"
	"strings"
	"time"

	"github.com/volsim/volsim/internal/tools/dump"
	"github.com/volsim/volsim/internal/tools/predict"
	"github.com/volsim/volsim/internal/tools/report"
)

// ahead is the virtual time that explain simulates, as the command does by default.
const ahead = 10 * time.Minute

type dumpArgs struct {
	Text string `json:"text"`
	// Objects are those to explain, separated by blanks; "" is everything that is not in its desired state.
	Objects string `json:"objects"`
	// Steps are the steps of predict; "" explains instead.
	Steps string `json:"steps"`
}

// dumpAnswer holds the output of the command.
type dumpAnswer struct {
	Text    string `json:"text"`
	Ignored string `json:"ignored"`
}

// dump explains a dump, or predicts the effects of a change.
func (s *Server) dump(a dumpArgs) (any, error) {
	d, err := dump.Read([]byte(a.Text))
	if err != nil {
		return nil, err
	}
	answer := dumpAnswer{Ignored: report.Ignored(d)}
	var out bytes.Buffer
	if strings.TrimSpace(a.Steps) != "" {
		err = predictDump(&out, d, a.Steps)
	} else {
		err = explainDump(&out, d, strings.Fields(a.Objects))
	}
	answer.Text = out.String()
	return answer, err
}

func explainDump(out *bytes.Buffer, d *dump.Dump, names []string) error {
	asked, err := report.Select("default", false, false, names)
	if err != nil {
		return err
	}
	answer, err := report.Explain(d, asked, dump.Options{}, ahead, 0, nil)
	if err != nil {
		return err
	}
	return answer.WriteText(out)
}

func predictDump(out *bytes.Buffer, d *dump.Dump, text string) error {
	noFiles := func(string) ([]byte, error) { return nil, os.ErrNotExist }
	steps, err := predict.ParseIn("default", words(text), noFiles)
	if err != nil {
		return err
	}
	p, err := predict.Predict(d, steps, predict.Options{For: predict.DefaultFor})
	if err != nil {
		return err
	}
	return report.WritePrediction(out, p)
}

// words splits a line at blanks as a shell does, with single and double quotes.
func words(line string) []string {
	var all []string
	var word strings.Builder
	quote, in := rune(0), false
	for _, c := range line {
		switch {
		case quote != 0 && c == quote:
			quote = 0
		case quote == 0 && (c == '\'' || c == '"'):
			quote, in = c, true
		case quote == 0 && (c == ' ' || c == '\t' || c == '\n'):
			if in {
				all = append(all, word.String())
			}
			word.Reset()
			in = false
		default:
			word.WriteRune(c)
			in = true
		}
	}
	if in {
		all = append(all, word.String())
	}
	return all
}
