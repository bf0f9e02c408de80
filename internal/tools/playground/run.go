package playground

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/volsim/volsim/internal/core/internals"
	"github.com/volsim/volsim/internal/core/objkinds"
	"github.com/volsim/volsim/internal/tools/picture"
	"github.com/volsim/volsim/internal/tools/report"
	"github.com/volsim/volsim/internal/tools/script"
)

// Run is a script that was executed to its end, or to the first line that failed.
type Run struct {
	text    string
	name    string
	seed    *int64
	session *script.Session
	result  *script.Result
	ticks   []tick
	inLine  int // events since the line began
	last    int // line of the last tick
	probe   *probe
}

// tick is a moment of a run: after an event, or after a line.
type tick struct {
	seq    uint64   // newest entry of the trace
	at     int64    // virtual time since the start, in nanoseconds
	line   int      // the line that is being executed
	events int      // events since that line began; -1 if the line is finished
	cut    []string // the nodes that cannot reach the API server
}

// probe is a second run up to an earlier moment, for explanations.
type probe struct {
	tick int
	run  *Run
}

// newRun executes a script. A nil seed is the script's own.
func newRun(name, text string, seed *int64) (*Run, error) {
	s, err := script.Parse(name, []byte(text))
	if err != nil {
		return nil, err
	}
	r := &Run{text: text, name: name, seed: seed}
	if r.session, err = script.Begin(s, script.Options{Seed: seed, Progress: r.progress}); err != nil {
		return nil, err
	}
	internals.Engine(r.session.Cluster()).AfterEvent(r.event)
	r.add(-1)
	r.result, _ = r.session.Run() // the failures are in the result
	r.add(-1)
	return r, nil
}

// progress adds the end of a line: it runs before each line.
func (r *Run) progress(p script.Progress) {
	if p.Line == r.last {
		return // time passes in the line
	}
	r.add(-1)
	r.last, r.inLine = p.Line, 0
}

// event adds the end of an event.
func (r *Run) event() {
	r.inLine++
	r.add(r.inLine)
}

func (r *Run) add(events int) {
	c := r.session.Cluster()
	next := tick{seq: c.Trace().Seq(), at: int64(c.Now().Sub(r.session.Start())), line: r.last, events: events}
	n := len(r.ticks)
	switch {
	case events < 0:
		next.cut = r.cutOff() // only lines change it
	case n > 0:
		next.cut = r.ticks[n-1].cut
	}
	// An event or line that changed nothing visible at the same time is the same moment, unless it ends a line.
	if n > 0 && events < 0 && r.ticks[n-1].line == next.line && r.ticks[n-1].seq == next.seq && r.ticks[n-1].at == next.at {
		r.ticks[n-1] = next
		return
	}
	r.ticks = append(r.ticks, next)
}

// cutOff lists the nodes that cannot reach the API server.
func (r *Run) cutOff() []string {
	var cut []string
	c := r.session.Cluster()
	for _, node := range c.Nodes.List() {
		if machine, err := c.Node(node.Name); err == nil && machine.Partitioned() {
			cut = append(cut, node.Name)
		}
	}
	return cut
}

// close frees the clusters of the run.
func (r *Run) close() {
	if r.probe != nil {
		r.probe.run.close()
	}
	r.session.Cluster().Close()
}

// line is an executed line of a run, as the page shows it.
type line struct {
	Line    int    `json:"line"`
	Text    string `json:"text"`
	Output  string `json:"output,omitempty"`
	Error   string `json:"error,omitempty"`
	From    int64  `json:"from"`
	At      int64  `json:"at"`
	Seq     uint64 `json:"seq"`
	Expects bool   `json:"expects,omitempty"`
	Failed  bool   `json:"failed,omitempty"`
}

// state describes a run.
type state struct {
	Text    string `json:"text"`
	Seed    int64  `json:"seed"`
	Summary string `json:"summary"`
	// Times, Seqs and Lines are columns of the moments of the run.
	Times      []int64          `json:"times"`
	Seqs       []uint64         `json:"seqs"`
	Lines      []int            `json:"lines"`
	Commands   []line           `json:"commands"`
	Failures   []script.Problem `json:"failures"`
	Violations []string         `json:"violations"`
	Names      names            `json:"names"`
}

// names are the targets of buttons.
type names struct {
	Nodes       []string `json:"nodes"`
	Drivers     []string `json:"drivers"`
	Controllers []string `json:"controllers"`
}

// withoutEffect says which kinds of the script's objects have no effect in the page, "" if all have one. Admission policies are among them, which
// take effect in the command: what evaluates them is too large for the page.
func (r *Run) withoutEffect() string {
	var kinds []string
	for _, kind := range r.session.Cluster().StoredOnly() {
		name, _ := objkinds.Split(string(kind))
		kinds = append(kinds, name)
	}
	if len(kinds) == 0 {
		return ""
	}
	return "; stored without effect: " + strings.Join(kinds, ", ")
}

func (r *Run) state() *state {
	st := &state{
		Text: r.text, Seed: r.result.Seed, Summary: r.result.Summary() + r.withoutEffect(), Commands: []line{}, Failures: []script.Problem{}, Violations: []string{},
	}
	for _, t := range r.ticks {
		st.Times, st.Seqs, st.Lines = append(st.Times, t.at), append(st.Seqs, t.seq), append(st.Lines, t.line)
	}
	for _, c := range r.result.Commands {
		st.Commands = append(st.Commands, line{
			Line: c.Line, Text: c.Command, Output: c.Output, Error: c.Error, From: int64(c.From), At: int64(c.At), Seq: c.Seq, Expects: c.Expects,
			Failed: r.result.Failed(c),
		})
	}
	for _, f := range r.result.Failures {
		st.Failures = append(st.Failures, script.ProblemOf([]byte(r.text), f))
	}
	cluster := r.session.Cluster()
	for _, v := range cluster.Violations() {
		st.Violations = append(st.Violations, v.Invariant+": "+v.Text)
	}
	st.Names = r.names()
	return st
}

type runArgs struct {
	Run string `json:"run"`
}

// picture returns the data of the timeline.
func (s *Server) picture(a runArgs) (any, error) {
	r, err := s.run(a.Run)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	err = picture.WriteData(&out, report.Picture(r.name, false, r.result))
	return json.RawMessage(out.Bytes()), err
}

// maxSearch is the number of events among which next looks for a change.
const maxSearch = 500

// next returns the number of events until the trace grows, in the future after the end of a run. Zero means that nothing changes soon.
func (s *Server) next(a runArgs) (any, error) {
	r, err := s.run(a.Run)
	if err != nil {
		return nil, err
	}
	ahead, err := newRun(r.name, r.text, r.seed)
	if err != nil {
		return nil, err
	}
	defer ahead.close()
	c := ahead.session.Cluster()
	before := c.Trace().Seq()
	for n := range maxSearch {
		if !c.Step() {
			break
		}
		if c.Trace().Seq() > before {
			return n + 1, nil
		}
	}
	return 0, nil
}

func (r *Run) names() names {
	c := r.session.Cluster()
	n := names{Nodes: []string{}, Drivers: append([]string{}, r.session.Backends()...), Controllers: c.Controllers()}
	for _, node := range c.Nodes.List() {
		n.Nodes = append(n.Nodes, node.Name)
	}
	return n
}

type loadArgs struct {
	Run  string `json:"run"`
	Text string `json:"text"`
	Seed *int64 `json:"seed"`
}

// loadAnswer has the state of a run, or what is wrong with its text.
type loadAnswer struct {
	Problems []script.Problem `json:"problems"`
	State    *state           `json:"state,omitempty"`
}

// load executes a script and names the run. A script with errors leaves the run that had the name.
func (s *Server) load(a loadArgs) (any, error) {
	r, err := newRun("playground.txtar", a.Text, a.Seed)
	if err != nil {
		if at := new(script.Error); errors.As(err, &at) {
			problems := script.Problems([]byte(a.Text))
			if len(problems) == 0 { // what begins a run refuses more than Parse
				problems = []script.Problem{script.ProblemOf([]byte(a.Text), err)}
			}
			return loadAnswer{Problems: problems}, nil
		}
		return nil, err
	}
	if old := s.runs[a.Run]; old != nil {
		old.close()
	}
	s.runs[a.Run] = r
	return loadAnswer{Problems: []script.Problem{}, State: r.state()}, nil
}

type doArgs struct {
	Run  string `json:"run"`
	Line string `json:"line"`
}

// do executes one more line at the end of a run. A run that a failed line ended has no end to which a line can be added: the script ends
// there, too, when it runs again.
func (s *Server) do(a doArgs) (any, error) {
	r, err := s.run(a.Run)
	if err != nil {
		return nil, err
	}
	if len(r.result.Failures) > 0 {
		return nil, fmt.Errorf("correct line %d first: it failed, and the script ends there", script.ProblemOf([]byte(r.text), r.result.Failures[0]).Line)
	}
	result, err := r.session.Do(a.Line)
	if err != nil {
		return nil, err
	}
	r.text, r.result = string(result.Archive), result
	r.add(-1)
	return loadAnswer{Problems: []script.Problem{}, State: r.state()}, nil
}

type textArgs struct {
	Text string `json:"text"`
}

// check lists what is wrong with a script.
func (s *Server) check(a textArgs) (any, error) {
	problems := script.Problems([]byte(a.Text))
	if problems == nil {
		problems = []script.Problem{}
	}
	return problems, nil
}
