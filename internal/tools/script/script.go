package script

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/tools/txtar"

	"github.com/volsim/volsim/internal/tools/dump"
)

// Script is a parsed script.
type Script struct {
	// Name identifies the script in errors; usually its file.
	Name string

	archive    *txtar.Archive
	statements []*statement
	seeds      *seeds
	modifiers  []setupLine // contributions of the setup lines, in order
	line       int         // number of the line being parsed
	manifest   bool        // made from manifests: errors name lines of those
	dump       *dump.Dump  // the dump that a line loads; nil for none
	parsed     bool        // all lines of the script were parsed
	namespace  string      // of objects that name none; "" is default
	update     bool        // the run creates the missing files that cmp compares with
	seed       int64       // of a run without a line seeds
	strict     bool        // label, annotate and taint need --overwrite, as with kubectl
	hasNodes   *bool       // the result of HasNodes; nil until then
}

// count returns the number of commands that a run records at most.
func (s *Script) count() int {
	n := 0
	for _, st := range s.statements {
		if !st.comment && !st.command.setup {
			n++
		}
	}
	return n
}

// statement is one line with a command.
type statement struct {
	line     int
	text     string // as written
	comment  bool   // copied to the output
	mustFail bool   // "!"
	mayFail  bool   // "?"
	someSeed bool   // "some": must hold with at least one seed
	command  *command
	words    []word // after the name of the command
	step     step   // nil if the words contain a variable: then parsed when executed
	// newest is the step that a line with variables had in the last run, and args are the words that it was read from. See stepOf.
	newest step
	args   []string
}

// step executes a statement.
type step func(*runner) error

// Error describes a line of a script that is malformed or failed.
type Error struct {
	// File and Line locate the problem; Line counts from 1.
	File string
	Line int
	// Command is the line as written; "" if the problem concerns no command.
	Command string
	// Err is the reason. It may have several lines, such as a diff.
	Err error
}

// Error returns "file:line: command: reason".
func (e *Error) Error() string {
	if e.Command == "" {
		return fmt.Sprintf("%s:%d: %v", e.File, e.Line, e.Err)
	}
	return fmt.Sprintf("%s:%d: %s: %v", e.File, e.Line, e.Command, e.Err)
}

// Unwrap returns Err.
func (e *Error) Unwrap() error { return e.Err }

// maxSize is the largest script or manifest that is accepted, in bytes.
const maxSize = 64 << 20

// Parse reads a script. name identifies it in errors. Every line without variables is checked; the error is an *[Error] for the first line
// that is wrong.
func Parse(name string, data []byte) (*Script, error) { return parse(name, data, false) }

// ParseToUpdate is like Parse for a run with Options.Update: files that cmp compares with need not exist.
func ParseToUpdate(name string, data []byte) (*Script, error) { return parse(name, data, true) }

func parse(name string, data []byte, update bool) (*Script, error) {
	if len(data) > maxSize {
		return nil, &Error{File: name, Line: 1, Err: fmt.Errorf("script has %d bytes, more than the maximum of %d", len(data), maxSize)}
	}
	if i := bytes.IndexByte(data, 0); i >= 0 {
		return nil, &Error{File: name, Line: 1 + bytes.Count(data[:i], []byte("\n")), Err: errors.New("script contains a zero byte: want text")}
	}
	s := &Script{Name: name, archive: txtar.Parse(data), update: update}
	if err := s.checkFiles(); err != nil {
		return nil, err
	}
	if err := s.read(); err != nil {
		return nil, err
	}
	return s, nil
}

// read parses the lines of the script and checks the setup.
func (s *Script) read() error {
	acting := false
	for i, text := range strings.Split(string(s.archive.Comment), "\n") {
		s.line = i + 1
		st, err := s.parseLine(s.line, text)
		if err == nil && st != nil && !st.comment {
			if st.command.setup && acting {
				err = fmt.Errorf("%s must come before the first command that is not setup", st.command.name)
			}
			acting = acting || !st.command.setup
		}
		if err != nil {
			return s.errorAt(s.line, strings.TrimSpace(text), err)
		}
		if st != nil {
			s.statements = append(s.statements, st)
		}
	}
	if !slices.ContainsFunc(s.statements, func(st *statement) bool { return !st.comment }) {
		return s.errorAt(1, "", errNoCommands)
	}
	s.parsed = true
	return s.checkSetup()
}

var errNoCommands = errors.New("the script has no commands; volsim run --help-commands lists them")

func (s *Script) errorAt(line int, command string, err error) error {
	return &Error{File: s.Name, Line: line, Command: command, Err: err}
}

// checkFiles rejects two files with the same name.
func (s *Script) checkFiles() error {
	line := 1 + bytes.Count(s.archive.Comment, []byte("\n"))
	seen := make(map[string]bool)
	for _, f := range s.archive.Files {
		if seen[f.Name] {
			return s.errorAt(line, "", fmt.Errorf("duplicate file %s", f.Name))
		}
		seen[f.Name] = true
		line += 1 + bytes.Count(f.Data, []byte("\n"))
	}
	return nil
}

// parseLine parses one line; nil for an empty one.
func (s *Script) parseLine(line int, text string) (*statement, error) {
	text = strings.TrimSpace(text)
	if strings.HasPrefix(text, "#") {
		return &statement{line: line, text: text, comment: true}, nil
	}
	all, err := words(text)
	if err != nil || len(all) == 0 {
		return nil, err
	}
	st := &statement{line: line, text: text}
	for len(all) > 0 {
		first, _ := all[0].plain()
		isPrefix := first == "!" || first == "?" || first == "some"
		if !isPrefix {
			break
		}
		if st.mustFail || st.mayFail || st.someSeed {
			return nil, errors.New("a command takes at most one of the prefixes !, ? and some")
		}
		st.mustFail, st.mayFail, st.someSeed = first == "!", first == "?", first == "some"
		all = all[1:]
	}
	if len(all) == 0 {
		return nil, errors.New("missing command after the prefix")
	}
	name, ok := all[0].plain()
	if !ok {
		return nil, errors.New("the name of a command must not be a variable; leave out the $ of a prompt")
	}
	if st.command = commandNamed(name); st.command == nil {
		return nil, unknownCommand(name)
	}
	if err := st.checkPrefix(s); err != nil {
		return nil, err
	}
	st.words = all[1:]
	args := make([]string, len(st.words))
	for i, w := range st.words {
		plain, ok := w.plain()
		if !ok {
			if st.command.setup {
				return nil, fmt.Errorf("%s must not use variables: it runs before set", name)
			}
			return st, nil
		}
		args[i] = plain
	}
	st.step, err = st.command.read(s, args)
	return st, err
}

func (st *statement) checkPrefix(s *Script) error {
	switch {
	case st.mustFail && (st.command.setup || st.command.infallible):
		return fmt.Errorf("invalid prefix !: %s cannot fail", st.command.name)
	case st.mayFail && (st.command.setup || st.command.infallible || st.command.group == expectations):
		return fmt.Errorf("invalid prefix ?: not allowed before %s", st.command.name)
	case st.someSeed && (st.command.setup || st.command.group != expectations):
		return fmt.Errorf("invalid prefix some before %s: want expect, stdout, stderr or cmp", st.command.name)
	case st.someSeed && (s.seeds == nil || s.seeds.some):
		return errors.New("prefix some needs several seeds; add a line such as \"seeds 1..50\" above")
	}
	return nil
}

// file returns a file of the archive.
func (s *Script) file(name string) (*txtar.File, error) {
	for i := range s.archive.Files {
		if f := &s.archive.Files[i]; f.Name == name {
			return f, nil
		}
	}
	if len(s.archive.Files) == 0 {
		return nil, fmt.Errorf("file %s not found; add it below the script, after a line -- %s --", name, name)
	}
	names := make([]string, len(s.archive.Files))
	for i, f := range s.archive.Files {
		names[i] = f.Name
	}
	return nil, fmt.Errorf("file %s not found; the files of this script are %s", name, strings.Join(names, ", "))
}
