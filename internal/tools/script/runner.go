package script

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim"
	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/apply"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/internals"
	"github.com/volsim/volsim/internal/core/leases"
	"github.com/volsim/volsim/internal/tools/dump"
)

// runner executes a script once, in its own cluster.
type runner struct {
	batch  *batch
	script *Script
	seed   int64
	seeds  int // number of seeds that run
	out    io.Writer

	cluster   *volsim.Cluster
	server    Server // nil for none
	start     time.Time
	backends  map[string]scriptBackend
	dump      *dump.Cluster // the dump that a line loads; nil for none
	variables map[string]string
	applied   apply.Applied // for apply

	strictNamespaces bool // a namespace that is no object does not exist
	manualNodes      bool // nodes register themselves

	watches        bool     // invariants are checked
	enforced       []string // the names of those whose violation is a failure
	seenViolations int      // number of violations examined so far

	log            bytes.Buffer // of the components
	stdout, stderr bytes.Buffer // of the previous command
	printed        strings.Builder
	warned         []warning // what kubectl prints to stderr besides its error
	line           int
	command        bool // the previous line was a command
	waiting        bool // in wait --for or delete --wait
	some           bool // a line with the prefix some held
	quiet          bool // the output of reading commands is not read
	givenUp        bool // see engine.GivenUp

	commands   []Command
	transcript []string
	failures   []*Error
}

// run executes the lines in order, up to the first failure or the end.
func (r *runner) run() {
	r.quiet = r.batch.opts.Quiet && r.batch.opts.Out == nil && !r.script.readsOutput()
	r.variables = make(map[string]string)
	r.applied = make(apply.Applied)
	r.commands = make([]Command, 0, r.script.count())
	if r.cluster == nil {
		if err := r.begin(); err != nil {
			r.fail(&statement{line: 1}, err)
			return
		}
	}
	for _, st := range r.script.statements {
		if !r.statement(st) {
			return
		}
	}
	if rest := r.batch.opts.Until - r.elapsed(); r.batch.opts.Until > 0 && rest > 0 {
		switch err := r.advance(rest); {
		case errors.Is(err, engine.GivenUp):
			r.givenUp = true
		case err != nil:
			r.fail(&statement{line: max(r.line, 1)}, err)
		}
	}
}

// statement executes a line and reports whether the run goes on.
func (r *runner) statement(st *statement) bool {
	r.line = st.line
	if st.comment && r.command {
		r.emit("\n")
	}
	r.command = !st.comment
	if st.comment {
		r.emit(st.text, "\n")
		return true
	}
	r.emit("> ", st.text, "\n")
	if st.command.setup {
		return true
	}
	r.progress()
	next := Command{Line: st.line, Command: st.text, From: r.elapsed(), Seq: r.cluster.Trace().Seq(), Expects: st.command.group == expectations}
	err := r.execute(st)
	switch {
	case errors.Is(err, engine.GivenUp):
		r.givenUp = true
		return false
	case errors.Is(err, errStop):
		r.record(st, next, nil)
		return false
	}
	r.record(st, next, err)
	if err = r.checkOutcome(st, err); err == nil {
		err = r.checkViolations()
	}
	if err != nil {
		r.fail(st, err)
		return r.batch.opts.Continue && st.command.group == expectations
	}
	return true
}

// begin creates the cluster that the setup lines describe.
func (r *runner) begin() error {
	warn := func(text string) { r.warnf("Warning: %s\n", text) }
	c, u, err := r.script.newCluster(r.seed, r.batch.opts, &r.log, warn)
	if err != nil {
		return err
	}
	r.strictNamespaces, r.manualNodes = u.config.StrictNamespaces, u.config.ManualNodes
	r.cluster, r.backends, r.dump, r.start, r.enforced = c, u.backends, u.dump, c.Now(), u.enforced
	if names := u.standard; len(names) > 0 {
		if r.batch.opts.Standard == nil {
			return errors.New("config standard-objects: these components are not here; use volsim run")
		}
		if err := r.batch.opts.Standard(c, names); err != nil {
			return fmt.Errorf("config standard-objects: %w", err)
		}
	}
	if u.server {
		if r.batch.opts.Server == nil {
			return errors.New("config server=true: there is no API server here; use volsim run")
		}
		r.server = r.batch.opts.Server(c)
	}
	r.watches = len(u.config.Check) > 0
	return nil
}

// execute runs one line. Unless it is an expectation, its output becomes the one that stdout, stderr and cmp check.
func (r *runner) execute(st *statement) error {
	next, err := r.stepOf(st)
	if err != nil {
		return err
	}
	r.printed.Reset()
	r.warned = nil
	err = next(r)
	if st.command.group != expectations {
		r.stdout.Reset()
		r.stderr.Reset()
		r.stdout.WriteString(r.printed.String())
		for _, w := range r.warned {
			r.stderr.WriteString(w.text)
		}
		if err != nil {
			fmt.Fprintln(&r.stderr, err)
		}
	}
	return err
}

// stepOf returns what a line does. A line with variables is read when it is executed, but by runs that follow one another only if the values
// have changed: names of volumes, the usual values, depend on the uids of claims, which are the same in every run.
func (r *runner) stepOf(st *statement) (step, error) {
	if st.step != nil {
		return st.step, nil
	}
	args := make([]string, len(st.words))
	for i, w := range st.words {
		text, err := w.expand(r.variable)
		if err != nil {
			return nil, err
		}
		args[i] = text
	}
	exclusive := r.batch.opts.Remains != nil // no other run uses the script now
	if exclusive && st.newest != nil && slices.Equal(args, st.args) {
		return st.newest, nil
	}
	if !exclusive {
		return st.command.read(r.script, args)
	}
	st.args = slices.Clone(args) // read may change args
	var err error
	st.newest, err = st.command.read(r.script, args)
	return st.newest, err
}

// checkOutcome applies the prefix of a line to its error; nil means that the line did what it should.
func (r *runner) checkOutcome(st *statement, err error) error {
	switch {
	case st.someSeed:
		if err == nil {
			r.batch.someSeeds[st.line] = append(r.batch.someSeeds[st.line], r.seed)
			r.some = true
		}
		return nil
	case st.mayFail:
		return nil
	case !st.mustFail:
		return err
	case err == nil:
		return errors.New("the command succeeded, but must fail")
	}
	return nil
}

func (r *runner) variable(name string) (string, bool) {
	v, ok := r.variables[name]
	return v, ok
}

// printf appends to the output of the current command.
func (r *runner) printf(format string, args ...any) { fmt.Fprintf(&r.printed, format, args...) }

// tell prints what happened to an object, such as "pod/db created".
func (r *runner) tell(ref api.Ref, what string) {
	if !r.quiet {
		r.printf("%s %s\n", displayName(ref), what)
	}
}

// warning is a text for stderr.
type warning struct {
	text string
	at   int // length of the output before it
}

// warnf appends to what the current command writes to stderr.
func (r *runner) warnf(format string, args ...any) {
	r.warned = append(r.warned, warning{fmt.Sprintf(format, args...), r.printed.Len()})
}

// shown returns what the current command has written to both streams, in that order.
func (r *runner) shown() string {
	text, out, done := r.printed.String(), "", 0
	for _, w := range r.warned {
		out += text[done:w.at] + w.text
		done = w.at
	}
	return out + text[done:]
}

// record adds an executed line to the transcript and the result.
func (r *runner) record(st *statement, c Command, err error) {
	c.At, c.Output = r.elapsed(), r.shown()
	text := c.Output
	if err != nil {
		c.Error = err.Error()
		if st.mustFail || st.mayFail || st.someSeed {
			text += "[" + strings.ReplaceAll(c.Error, "\n", "; ") + "]\n"
		}
	}
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	r.emit(text)
	r.commands = append(r.commands, c)
}

// emit writes a text in parts to Options.Out, or buffers the text until the run to report is known.
func (r *runner) emit(parts ...string) {
	if r.batch.opts.Out == nil {
		return
	}
	switch text := strings.Join(parts, ""); {
	case text == "":
	case r.out != nil:
		io.WriteString(r.out, text)
	default:
		r.transcript = append(r.transcript, text)
	}
}

func (r *runner) fail(st *statement, err error) {
	failure := &Error{File: r.script.Name, Line: st.line, Command: st.text, Err: err}
	if at := new(fileErrorAt); r.script.manifest && errors.As(err, &at) {
		failure = &Error{File: at.file, Line: at.line, Err: at.err}
	}
	r.failures = append(r.failures, failure)
}

// reached returns the first line that failed, or the line after the last one if none did.
func (r *runner) reached() int {
	if len(r.failures) == 0 {
		return r.line + 1
	}
	return r.failures[0].Line
}

func (r *runner) close() {
	if r != nil && r.cluster != nil {
		r.cluster.Close()
	}
}

// elapsed returns the virtual time since the start.
func (r *runner) elapsed() time.Duration {
	if r.cluster == nil {
		return 0
	}
	return r.cluster.Now().Sub(r.start)
}

func (r *runner) progress() {
	if r.batch.opts.Progress != nil {
		r.batch.opts.Progress(Progress{Line: r.line, Seed: r.seed, Seeds: r.seeds, Elapsed: r.elapsed()})
	}
}

// get returns an object of the cluster.
func (r *runner) get(ref api.Ref) (api.Object, error) {
	table, ok := tables[ref.Kind]
	if !ok {
		obj, err := r.cluster.Objects(ref.Kind).Get(ref.Key)
		if err == nil {
			return obj, nil
		}
		if ref.Kind == leases.ObjectKind {
			for _, lease := range r.list(ref.Kind) {
				if api.KeyOf(lease) == ref.Key {
					return lease, nil
				}
			}
		}
		return nil, err
	}
	obj, err := table.get(r.cluster, ref.Key)
	if err != nil {
		return nil, notFound(ref)
	}
	return obj, nil
}

// exists reports whether the cluster has an object. A simulated kind needs no error for that, which would be made for each object of a script.
func (r *runner) exists(ref api.Ref) bool {
	if _, ok := tables[ref.Kind]; ok && ref.Kind != api.Event {
		return internals.Engine(r.cluster).Store().Lookup(ref.Kind, ref.Key) != nil
	}
	_, err := r.get(ref)
	return err == nil
}

// read is get for readers: the object is shared.
func (r *runner) read(ref api.Ref) (api.Object, error) {
	if _, ok := tables[ref.Kind]; !ok {
		return r.get(ref)
	}
	obj, err := internals.Engine(r.cluster).Store().Get(ref.Kind, ref.Key)
	if err != nil {
		return nil, notFound(ref)
	}
	return obj, nil
}

// readAll is list for readers: the objects are shared.
func (r *runner) readAll(kind api.Kind) []api.Object {
	if _, ok := tables[kind]; ok {
		return internals.Engine(r.cluster).Store().List(kind)
	}
	return r.list(kind)
}

// volumes returns the PersistentVolumes. They are shared and must not be modified.
func (r *runner) volumes() []*corev1.PersistentVolume {
	return internals.Engine(r.cluster).Store().Volumes.List()
}

// list returns all objects of a kind.
func (r *runner) list(kind api.Kind) []api.Object {
	if table, ok := tables[kind]; ok {
		return table.list(r.cluster)
	}
	all := asObjects(r.cluster.Objects(kind).List())
	if kind == leases.ObjectKind {
		renewal := leases.BookOf(internals.Engine(r.cluster)).At(r.cluster.Now())
		return renewal.With(all, r.cluster.Nodes.List())
	}
	return all
}
