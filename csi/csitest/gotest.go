package csitest

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"

	spec "github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/volsim/volsim/csi"
)

// WriteGoTest writes a file for the Go tests of a driver, in the named package: a test for each finding that has a run. A test evaluates the
// recorded requests and replies of the shortest story, and so fails with the finding without a driver. Once its Config has the driver, it runs
// the story on the driver, and passes when the driver does it right. It returns an error if there is no such finding.
func (r *Report) WriteGoTest(w io.Writer, packageName string) error {
	var b strings.Builder
	fmt.Fprintf(&b, "// What volsim-csi found in %s.\npackage %s\n\nimport (\n\t\"testing\"\n\n\t\"github.com/volsim/volsim/csi/csitest\"\n)\n",
		orElse(r.Driver, "the driver"), packageName)
	n, names := 0, map[string]int{}
	for _, f := range r.Findings {
		if f.Recorded == "" {
			continue
		}
		n++
		name := "Test" + orElse(f.Method, "Driver") + title(f.Kind)
		if names[name]++; names[name] > 1 {
			name += strconv.Itoa(names[name])
		}
		fmt.Fprintf(&b, "\n// %s\n// CSI specification, section %s: %s.\n", comment(hash.ReplaceAllString(f.Detail, "$1…")), f.Section, comment(f.Requirement))
		fmt.Fprintf(&b, "func %s(t *testing.T) {\n\tcsitest.Run(t, csitest.Config{\n", name)
		b.WriteString("\t\t// Set Controller, Reset and the other fields to run the story on the driver instead of the recorded replies.\n")
		fmt.Fprintf(&b, "\t\tReplay: %q,\n\t\tRecorded: %s,\n\t})\n}\n", f.Replay, literal(f.Recorded))
	}
	if n == 0 {
		return errors.New("write a Go test: no finding of this test has a run; there is nothing to replay")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// title returns a kind of finding as a part of an identifier: repeat-fails is RepeatFails.
func title(kind string) string {
	return regexp.MustCompile(`(^|-)[a-z]`).ReplaceAllStringFunc(kind, func(s string) string { return strings.ToUpper(strings.TrimPrefix(s, "-")) })
}

// comment returns a text in one line.
func comment(text string) string { return strings.Join(strings.Fields(text), " ") }

// literal returns a text as a Go literal, as a raw one if possible.
func literal(text string) string {
	if strconv.CanBackquote(strings.ReplaceAll(text, "\n", "")) {
		return "`" + text + "`"
	}
	return strconv.Quote(text)
}

// recorded are the steps that show a flaw, with what is known of the driver.
type recorded struct {
	Driver       capabilities
	Nodes        map[string]string `json:",omitempty"` // names of the nodes, by their IDs
	Before       map[string]bool   `json:",omitempty"` // what existed before the run
	Left         map[string]int    `json:",omitempty"` // volumes that were attached before the run, by node_id
	Missed       []string          `json:",omitempty"` // goals of the story that were not reached
	Kind, Method string            // of the flaw
	About        string            `json:",omitempty"` // flaw.about
	Steps        []json.RawMessage
}

// stepJSON is a step as JSON.
type stepJSON struct {
	Call   *csi.Call      `json:",omitempty"`
	Actor  string         `json:",omitempty"`
	Crash  bool           `json:",omitempty"`
	Audit  *auditJSON     `json:",omitempty"`
	Event  *event         `json:",omitempty"`
	Listed *inventoryJSON `json:",omitempty"`
	Access *accessJSON    `json:",omitempty"`
	Stats  *stats         `json:",omitempty"`
}

type auditJSON struct {
	Want uint32
	Why  string
	Or   uint32 `json:",omitempty"`
}

type inventoryJSON struct {
	Volumes           []json.RawMessage `json:",omitempty"`
	Listed, Published bool              `json:",omitempty"`
	Mounts            []Mount           `json:",omitempty"`
	Mounted           bool              `json:",omitempty"`
	Snapshots         []json.RawMessage `json:",omitempty"`
	Counted           bool              `json:",omitempty"`
	Failed            string            `json:",omitempty"`
	Endless           string            `json:",omitempty"`
}

type accessJSON struct {
	access
	Err string `json:",omitempty"` // of the container
}

// MarshalJSON writes the step. Messages are written as protojson does.
func (s step) MarshalJSON() ([]byte, error) {
	j := stepJSON{Call: s.Call, Actor: s.Actor, Crash: s.Crash, Event: s.Event, Stats: s.Stats}
	if s.Audit != nil {
		j.Audit = &auditJSON{uint32(s.Audit.want), s.Audit.why, uint32(s.Audit.or)}
	}
	if s.Access != nil {
		j.Access = &accessJSON{access: *s.Access}
		if s.Access.Err != nil {
			j.Access.Err = s.Access.Err.Error()
		}
	}
	if in := s.Listed; in != nil {
		j.Listed = &inventoryJSON{Listed: in.Listed, Published: in.Published, Mounts: in.Mounts, Mounted: in.Mounted, Counted: in.Counted, Failed: in.Failed, Endless: in.Endless}
		var err error
		if j.Listed.Volumes, err = rawMessages(in.Volumes); err != nil {
			return nil, err
		}
		if j.Listed.Snapshots, err = rawMessages(in.Snapshots); err != nil {
			return nil, err
		}
	}
	return json.Marshal(j)
}

// UnmarshalJSON reads what MarshalJSON writes.
func (s *step) UnmarshalJSON(text []byte) error {
	var j stepJSON
	if err := json.Unmarshal(text, &j); err != nil {
		return err
	}
	*s = step{Call: j.Call, Actor: j.Actor, Crash: j.Crash, Event: j.Event, Stats: j.Stats}
	if j.Audit != nil {
		s.Audit = &audit{want: codes.Code(j.Audit.Want), why: j.Audit.Why, or: codes.Code(j.Audit.Or)}
	}
	if j.Access != nil {
		s.Access = &j.Access.access
		if j.Access.Err != "" {
			s.Access.Err = errors.New(j.Access.Err)
		}
	}
	if in := j.Listed; in != nil {
		s.Listed = &inventory{Listed: in.Listed, Published: in.Published, Mounts: in.Mounts, Mounted: in.Mounted, Counted: in.Counted, Failed: in.Failed, Endless: in.Endless}
		var err error
		if s.Listed.Volumes, err = messages[spec.ListVolumesResponse_Entry](in.Volumes); err != nil {
			return err
		}
		if s.Listed.Snapshots, err = messages[spec.Snapshot](in.Snapshots); err != nil {
			return err
		}
	}
	return nil
}

// rawMessages writes messages as JSON.
func rawMessages[M proto.Message](all []M) ([]json.RawMessage, error) {
	var texts []json.RawMessage
	for _, m := range all {
		text, err := protojson.Marshal(m)
		if err != nil {
			return nil, err
		}
		texts = append(texts, text)
	}
	return texts, nil
}

// messages reads what rawMessages writes.
func messages[T any, M interface {
	*T
	proto.Message
}](texts []json.RawMessage) ([]M, error) {
	var all []M
	for _, text := range texts {
		m := M(new(T))
		if err := protojson.Unmarshal(text, m); err != nil {
			return nil, err
		}
		all = append(all, m)
	}
	return all, nil
}

// record returns the steps of a flaw as Config.Recorded reads them, one a line. It takes all steps of the flaw if the shortest ones alone do not
// show it, as for a goal that is never reached.
func record(rec *recording, f flaw, steps []step) string {
	text := recordSteps(rec, f, steps)
	if _, known, err := readRecorded(text); err == nil && known != nil && known.detail == f.detail && known.required == f.required {
		return text
	}
	return recordSteps(rec, f, f.steps)
}

func recordSteps(rec *recording, f flaw, steps []step) string {
	out := recorded{Driver: rec.caps, Nodes: rec.nodes, Before: rec.before, Left: rec.left, Kind: string(f.kind), Method: f.method, About: f.about}
	if f.kind == stuck {
		out.Missed = rec.missed
	}
	for _, s := range steps {
		text, err := json.Marshal(s)
		if err != nil {
			return ""
		}
		out.Steps = append(out.Steps, text)
	}
	head := out
	head.Steps = nil
	text, err := json.Marshal(head)
	if err != nil {
		return ""
	}
	lines := []string{strings.TrimSuffix(string(text), "null}") + "["}
	for i, s := range out.Steps {
		comma := ","
		if i == len(out.Steps)-1 {
			comma = ""
		}
		lines = append(lines, string(s)+comma)
	}
	return strings.Join(append(lines, "]}"), "\n")
}

// readRecorded evaluates recorded steps. The flaw is nil if they do not show it.
func readRecorded(text string) (*recording, *flaw, error) {
	var in recorded
	if err := json.Unmarshal([]byte(text), &in); err != nil {
		return nil, nil, fmt.Errorf("read Config.Recorded: %w", err)
	}
	rec := &recording{caps: in.Driver, nodes: in.Nodes, before: in.Before, left: in.Left, missed: in.Missed}
	for i, raw := range in.Steps {
		var s step
		if err := json.Unmarshal(raw, &s); err != nil {
			return nil, nil, fmt.Errorf("read step %d of Config.Recorded: %w", i+1, err)
		}
		rec.steps = append(rec.steps, s)
	}
	for _, f := range examine(rec, rec.steps) {
		if string(f.kind) == in.Kind && f.method == in.Method && (in.About == "" || f.about == in.About) {
			return rec, &f, nil
		}
	}
	return rec, nil, nil
}

// checkRecorded returns the report of Config.Recorded.
func checkRecorded(cfg *Config) (*Report, error) {
	p, err := parsePlan(cfg.Replay)
	if err != nil {
		return nil, err
	}
	rec, f, err := readRecorded(cfg.Recorded)
	if err != nil {
		return nil, err
	}
	rec.plan = p
	report := &Report{Driver: rec.caps.Driver}
	result := StoryResult{Story: p.story.name, About: p.story.about, Runs: 1}
	if f != nil {
		report.add(rec, []flaw{*f})
		result.Failed = 1
	}
	report.Stories = append(report.Stories, result)
	report.finish()
	return report, nil
}
