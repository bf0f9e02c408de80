package csitest

import (
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"regexp"
	"strings"
)

// WriteText writes the report for people.
func (r *Report) WriteText(w io.Writer) error {
	var b strings.Builder
	for i, f := range r.Findings {
		fmt.Fprintf(&b, "%d. ", i+1)
		f.text(&b)
		b.WriteByte('\n')
	}
	failed := 0
	for _, s := range r.Stories {
		if s.Failed > 0 {
			failed++
		}
	}
	fmt.Fprintf(&b, "%s in %s: %s, %s\n", count(len(r.Findings), "finding"), count(len(r.Stories), "story"), count(r.Runs, "run"), count(r.Calls, "call"))
	fmt.Fprintf(&b, "passed: %s\n", orElse(strings.Join(r.passed(), ", "), "none"))
	if failed > 0 {
		b.WriteString("failed:")
		for _, s := range r.Stories {
			if s.Failed > 0 {
				fmt.Fprintf(&b, " %s (%d of %d runs)", s.Story, s.Failed, s.Runs)
			}
		}
		b.WriteByte('\n')
	}
	for _, s := range r.Stories {
		if s.Incomplete != "" {
			fmt.Fprintf(&b, "incomplete: %s: %s\n", s.Story, s.Incomplete)
		}
	}
	for _, s := range r.Skipped {
		fmt.Fprintf(&b, "not asked: %s (%s): no %s\n", s.Story, s.About, s.Missing)
	}
	for _, k := range r.Kubernetes {
		fmt.Fprintf(&b, "a fault of Kubernetes, not of the driver: %s\n", k)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// passed returns the names of the stories without a failed run that reached their end.
func (r *Report) passed() []string {
	var names []string
	for _, s := range r.Stories {
		if s.Failed == 0 && s.Incomplete == "" {
			names = append(names, s.Story)
		}
	}
	return names
}

// String describes the finding in several lines, as WriteText does.
func (f Finding) String() string {
	var b strings.Builder
	f.text(&b)
	return b.String()
}

func (f Finding) text(b *strings.Builder) {
	fmt.Fprintf(b, "%s\n", hash.ReplaceAllString(f.Detail, "$1…"))
	fmt.Fprintf(b, "   required   CSI specification, section %s: %s\n", f.Section, f.Requirement)
	for i, c := range f.Calls {
		label := ""
		if i == 0 {
			label = "story"
		}
		c.text(b, label)
	}
	for i, reason := range f.Why {
		label := ""
		if i == 0 {
			label = "why"
		}
		fmt.Fprintf(b, "   %-10s %s", label, reason.Text)
		if reason.Rule != "" {
			fmt.Fprintf(b, " (%s)", reason.Rule)
		}
		b.WriteByte('\n')
	}
	if f.Replay != "" {
		fmt.Fprintf(b, "   replay     %s\n", f.Replay)
	}
	fmt.Fprintf(b, "   seen in    %s\n", count(f.Runs, "run"))
}

func (c CallText) text(b *strings.Builder, label string) {
	if c.Method == "" {
		fmt.Fprintf(b, "   %-10s - %s\n", label, c.Note)
		return
	}
	actor := c.Actor
	if name, _, ok := strings.Cut(actor, "/"); ok && strings.HasPrefix(name, "external-") {
		actor = name
	}
	fmt.Fprintf(b, "   %-10s %s %s %s\n", label, actor, c.Method, short(c.Request))
	reply := short(c.Reply)
	if c.Note != "" {
		reply += "   <- " + c.Note
	}
	fmt.Fprintf(b, "   %-10s   -> %s\n", "", reply)
}

// hash matches the names of directories of kubelets.
var hash = regexp.MustCompile(`\b([0-9a-f]{6})[0-9a-f]{58}\b`)

// short shortens long texts, such as requests with paths of kubelets. The JSON report has them in full.
func short(text string) string {
	text = hash.ReplaceAllString(strings.ReplaceAll(text, `"/var/lib/kubelet/`, `"`), "$1…")
	const limit = 180
	if len(text) > limit {
		return strings.ToValidUTF8(text[:limit], "") + "…"
	}
	return text
}

// count returns a number with a noun.
func count(n int, noun string) string {
	switch {
	case n == 1:
		return "1 " + noun
	case strings.HasSuffix(noun, "y"):
		return fmt.Sprintf("%d %sies", n, strings.TrimSuffix(noun, "y"))
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// WriteJSON writes the report as one JSON object, with the names of the Go fields.
func (r *Report) WriteJSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(r)
}

type junitSuite struct {
	XMLName  xml.Name    `xml:"testsuite"`
	Name     string      `xml:"name,attr"`
	Tests    int         `xml:"tests,attr"`
	Failures int         `xml:"failures,attr"`
	Skipped  int         `xml:"skipped,attr"`
	Cases    []junitCase `xml:"testcase"`
}

type junitCase struct {
	Name    string        `xml:"name,attr"`
	Class   string        `xml:"classname,attr"`
	Failure *junitMessage `xml:"failure,omitempty"`
	Skipped *junitMessage `xml:"skipped,omitempty"`
}

type junitMessage struct {
	Message string `xml:"message,attr"`
	Text    string `xml:",chardata"`
}

// WriteJUnit writes the report as JUnit XML: a test case for each story. The findings are in the case of the story that shows them best; other
// stories that failed name it. A story that did not reach its end has failed.
func (r *Report) WriteJUnit(w io.Writer) error {
	suite := junitSuite{Name: "volsim csi"}
	for _, s := range r.Stories {
		c := junitCase{Name: s.Story, Class: "volsim.csi"}
		if s.Failed > 0 {
			c.Failure = &junitMessage{Message: fmt.Sprintf("%d of %d runs", s.Failed, s.Runs)}
			for _, f := range r.Findings {
				if f.Story == s.Story {
					c.Failure.Text += f.String() + "\n"
				}
			}
			if c.Failure.Text == "" {
				c.Failure.Text = "the same as in other stories"
			}
			suite.Failures++
		}
		if s.Incomplete != "" {
			c.Failure = &junitMessage{Message: "incomplete: " + s.Incomplete}
			suite.Failures++
		}
		suite.Cases = append(suite.Cases, c)
	}
	for _, s := range r.Skipped {
		suite.Cases = append(suite.Cases, junitCase{Name: s.Story, Class: "volsim.csi", Skipped: &junitMessage{Message: "no " + s.Missing}})
		suite.Skipped++
	}
	for _, f := range r.Findings {
		if f.Story == "" { // the driver does not answer when a run begins
			suite.Cases = append(suite.Cases, junitCase{Name: "start", Class: "volsim.csi", Failure: &junitMessage{Message: f.Detail, Text: f.String()}})
			suite.Failures++
		}
	}
	suite.Tests = len(suite.Cases)
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	e := xml.NewEncoder(w)
	e.Indent("", "  ")
	if err := e.Encode(suite); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}
