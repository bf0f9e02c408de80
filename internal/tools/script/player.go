package script

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/volsim/volsim"
	"github.com/volsim/volsim/api"
)

// player plays a script once.
type player struct {
	batch  *batch
	script *Script
	seed   int64
	seeds  int // how many are played
	out    io.Writer

	cluster   *volsim.Cluster
	start     time.Time
	backends  map[string]scriptBackend
	variables map[string]string
	applied   map[api.Ref]map[string]any // what was applied last

	watched    []string // the invariants that are checked
	must       []string // those whose violation is a failure
	violations int      // how many were looked at

	stdout, stderr bytes.Buffer // of the command before
	printed        strings.Builder
	line           int
	waiting        bool // for something to become so

	commands   []Command
	transcript []string
	failures   []*Error
}

// play plays the lines one by one, up to the first failure or to the end.
func (p *player) play() {
	p.variables = make(map[string]string)
	p.applied = make(map[api.Ref]map[string]any)
	if p.cluster == nil {
		if err := p.begin(); err != nil {
			p.fail(&statement{line: 1}, err)
			return
		}
	}
	command := false // the line before was a command
	for _, st := range p.script.statements {
		p.line = st.line
		if st.comment && command {
			p.show("\n")
		}
		command = !st.comment
		if st.comment {
			p.show(st.text + "\n")
			continue
		}
		p.show("> " + st.text + "\n")
		if st.command.setup {
			continue
		}
		p.progress()
		err := p.do(st)
		if errors.Is(err, errStop) {
			p.record(st, nil)
			return
		}
		p.record(st, err)
		if err = p.judge(st, err); err == nil {
			err = p.checkViolations()
		}
		if err != nil {
			p.fail(st, err)
			if !p.batch.opts.Continue || st.command.group != expectations {
				return
			}
		}
	}
	if rest := p.batch.opts.Until - p.elapsed(); p.batch.opts.Until > 0 && rest > 0 {
		if err := p.advance(rest); err != nil {
			p.fail(&statement{line: max(p.line, 1)}, err)
		}
	}
}

// begin makes the cluster of the script's first lines.
func (p *player) begin() error {
	c, u, err := p.script.newCluster(p.seed, p.batch.opts.Choose)
	if err != nil {
		return err
	}
	p.cluster, p.backends, p.start, p.must = c, u.backends, c.Now(), u.must
	for _, inv := range u.config.Check {
		p.watched = append(p.watched, inv.Name)
	}
	return nil
}

// do plays one line. What it prints is the output that stdout and cmp look at, unless it is they.
func (p *player) do(st *statement) error {
	next := st.step
	if next == nil {
		args := make([]string, len(st.words))
		for i, w := range st.words {
			text, err := w.expand(p.variable)
			if err != nil {
				return err
			}
			args[i] = text
		}
		var err error
		if next, err = st.command.read(p.script, args); err != nil {
			return err
		}
	}
	p.printed.Reset()
	err := next(p)
	if st.command.group != expectations {
		p.stdout.Reset()
		p.stderr.Reset()
		p.stdout.WriteString(p.printed.String())
		if err != nil {
			fmt.Fprintln(&p.stderr, err)
		}
	}
	return err
}

// judge says whether a line did what it should.
func (p *player) judge(st *statement, err error) error {
	switch {
	case st.some:
		if err == nil {
			p.batch.held[st.line] = append(p.batch.held[st.line], p.seed)
		}
		return nil
	case st.may:
		return nil
	case !st.fails:
		return err
	case err == nil:
		return errors.New("it succeeded, and should fail")
	}
	return nil
}

func (p *player) variable(name string) (string, bool) {
	v, ok := p.variables[name]
	return v, ok
}

// printf prints the output of a command.
func (p *player) printf(format string, args ...any) { fmt.Fprintf(&p.printed, format, args...) }

// record notes what a line did, for the transcript and the result.
func (p *player) record(st *statement, err error) {
	c := Command{Line: st.line, Command: st.text, At: p.elapsed(), Output: p.printed.String()}
	text := c.Output
	if err != nil {
		c.Error = err.Error()
		if st.fails || st.may || st.some {
			text += "[" + strings.ReplaceAll(c.Error, "\n", "; ") + "]\n"
		}
	}
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	p.show(text)
	p.commands = append(p.commands, c)
}

// show writes to whoever watches, or keeps it until it is known whether this run is the one to show.
func (p *player) show(text string) {
	switch {
	case text == "" || p.batch.opts.Out == nil:
	case p.out != nil:
		io.WriteString(p.out, text)
	default:
		p.transcript = append(p.transcript, text)
	}
}

func (p *player) fail(st *statement, err error) {
	failure := &Error{File: p.script.Name, Line: st.line, Command: st.text, Err: err}
	if at := new(placedError); p.script.manifest && errors.As(err, &at) {
		failure = &Error{File: at.file, Line: at.line, Err: at.err}
	}
	p.failures = append(p.failures, failure)
}

// reached is the line up to which everything did as it should.
func (p *player) reached() int {
	if len(p.failures) == 0 {
		return p.line + 1
	}
	return p.failures[0].Line
}

func (p *player) close() {
	if p != nil && p.cluster != nil {
		p.cluster.Close()
	}
}

// elapsed is the virtual time since the start.
func (p *player) elapsed() time.Duration {
	if p.cluster == nil {
		return 0
	}
	return p.cluster.Now().Sub(p.start)
}

func (p *player) progress() {
	if p.batch.opts.Progress != nil {
		p.batch.opts.Progress(Progress{Line: p.line, Seed: p.seed, Seeds: p.seeds, Elapsed: p.elapsed()})
	}
}

// get reads an object.
func (p *player) get(ref api.Ref) (api.Object, error) {
	obj, err := tables[ref.Kind].get(p.cluster, ref.Key)
	if err != nil {
		return nil, notFound(ref)
	}
	return obj, nil
}

// list reads all objects of a kind.
func (p *player) list(kind api.Kind) []api.Object { return tables[kind].list(p.cluster) }
