package script

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"golang.org/x/tools/txtar"
)

// Script is a script that has been read and checked.
type Script struct {
	// Name is what errors call the script, usually its file.
	Name string

	archive    *txtar.Archive
	statements []*statement
	seeds      *seeds
	modifiers  []modifier // what the first lines add to the cluster's setup
	line       int        // that is being read
	manifest   bool       // made of manifests: errors name their lines
}

// statement is one line with a command.
type statement struct {
	line    int
	text    string // as written
	comment bool   // only to be shown
	fails   bool   // "!": it must fail
	may     bool   // "?": it may fail
	some    bool   // "some": it must hold with some seed
	command *command
	words   []word // behind the command
	step    step   // nil if a variable is among the words
}

// step is what a statement does.
type step func(*player) error

// Error says what is wrong with a script, or went wrong as it was played.
type Error struct {
	// File and Line say where; Line counts from 1.
	File string
	Line int
	// Command is the line as it is written, "" where no command is concerned.
	Command string
	// Err is what is wrong. It may have several lines, such as a diff.
	Err error
}

// Error is "file:line: command: why".
func (e *Error) Error() string {
	if e.Command == "" {
		return fmt.Sprintf("%s:%d: %v", e.File, e.Line, e.Err)
	}
	return fmt.Sprintf("%s:%d: %s: %v", e.File, e.Line, e.Command, e.Err)
}

// Unwrap is what is wrong.
func (e *Error) Unwrap() error { return e.Err }

// maxSize bounds what is taken for a script.
const maxSize = 64 << 20

// Parse reads a script. name is what errors call it. Every line is checked, as far as no variable is in it; the error is an *[Error] for
// the first that is wrong.
func Parse(name string, data []byte) (*Script, error) {
	if len(data) > maxSize {
		return nil, &Error{File: name, Line: 1, Err: fmt.Errorf("it has %d bytes: a script has at most %d", len(data), maxSize)}
	}
	if i := bytes.IndexByte(data, 0); i >= 0 {
		return nil, &Error{File: name, Line: 1 + bytes.Count(data[:i], []byte("\n")), Err: errors.New("a zero byte: this is no text")}
	}
	s := &Script{Name: name, archive: txtar.Parse(data)}
	if err := s.checkFiles(); err != nil {
		return nil, err
	}
	if err := s.read(); err != nil {
		return nil, err
	}
	return s, nil
}

// read reads the lines of the script.
func (s *Script) read() error {
	acting := false
	for i, text := range strings.Split(string(s.archive.Comment), "\n") {
		s.line = i + 1
		st, err := s.parseLine(s.line, text)
		if err == nil && st != nil && !st.comment {
			if st.command.setup && acting {
				err = fmt.Errorf("%s comes too late: it stands before the first command that does something", st.command.name)
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
	return s.checkSetup()
}

func (s *Script) errorAt(line int, command string, err error) error {
	return &Error{File: s.Name, Line: line, Command: command, Err: err}
}

// checkFiles refuses files of the same name.
func (s *Script) checkFiles() error {
	line := 1 + bytes.Count(s.archive.Comment, []byte("\n"))
	seen := make(map[string]bool)
	for _, f := range s.archive.Files {
		if seen[f.Name] {
			return s.errorAt(line, "", fmt.Errorf("the file %s is there twice", f.Name))
		}
		seen[f.Name] = true
		line += 1 + bytes.Count(f.Data, []byte("\n"))
	}
	return nil
}

// parseLine reads one line; nil is one without content.
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
		if st.fails || st.may || st.some {
			return nil, errors.New("a command has only one of !, ? and some in front")
		}
		st.fails, st.may, st.some = first == "!", first == "?", first == "some"
		all = all[1:]
	}
	if len(all) == 0 {
		return nil, errors.New("a command is missing behind it")
	}
	name, ok := all[0].plain()
	if !ok {
		return nil, errors.New("the name of a command cannot be a variable")
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
				return nil, fmt.Errorf("%s cannot have variables: they get their values later", name)
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
	case st.fails && (st.command.setup || st.command.sure):
		return fmt.Errorf("%s cannot fail: leave out the !", st.command.name)
	case st.may && (st.command.setup || st.command.sure || st.command.group == expectations):
		return fmt.Errorf("? does not go with %s: it would say nothing", st.command.name)
	case st.some && (st.command.setup || st.command.group != expectations):
		return fmt.Errorf("some goes with expect, stdout, stderr and cmp, not with %s", st.command.name)
	case st.some && (s.seeds == nil || s.seeds.some):
		return errors.New("some needs a line such as \"seeds 1..50\" before: it is about what happens with some of them")
	}
	return nil
}

// file finds a file of the archive.
func (s *Script) file(name string) (*txtar.File, error) {
	for i := range s.archive.Files {
		if f := &s.archive.Files[i]; f.Name == name {
			return f, nil
		}
	}
	if len(s.archive.Files) == 0 {
		return nil, fmt.Errorf("there is no file %s: put it below the script, under a line -- %s --", name, name)
	}
	names := make([]string, len(s.archive.Files))
	for i, f := range s.archive.Files {
		names[i] = f.Name
	}
	return nil, fmt.Errorf("there is no file %s: the files of this script are %s", name, strings.Join(names, ", "))
}
