package script

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/tools/txtar"
)

func outputCommands() []*command {
	return []*command{
		{
			name: "stdout", group: expectations, usage: []string{"[-count=N] REGEXP"},
			help:     "Checks that the output of the previous command matches the regular expression, `-count` times if given. `^` and `$` match at line ends. Expectations have no output and are skipped.",
			examples: []string{"stdout 'data +Bound'", "! stdout Lost"},
			read:     readMatch("stdout", func(r *runner) string { return r.stdout.String() }),
		},
		{
			name: "stderr", group: expectations, usage: []string{"[-count=N] REGEXP"},
			help:     "The same for the error of the previous command, which needs a prefix `!` or `?` if it fails, and for its warnings.",
			examples: []string{"! delete pv/none", "stderr 'not found'"},
			read:     readMatch("stderr", func(r *runner) string { return r.stderr.String() }),
		},
		{
			name: "cmp", group: expectations, usage: []string{"stdout | stderr | FILE FILE"},
			help: "Checks that the output of the previous command, or the first file, equals the second file byte for byte. " +
				"`volsim run --update` and `go test -update-scripts` write the file instead, and create it if there is none.",
			examples: []string{"get pv,pvc", "cmp stdout want.txt"},
			read:     readCmp,
		},
	}
}

func readMatch(name string, output func(*runner) string) func(*Script, []string) (step, error) {
	return func(_ *Script, args []string) (step, error) {
		count := -1
		if len(args) > 0 && strings.HasPrefix(args[0], "-count=") {
			n, err := strconv.Atoi(strings.TrimPrefix(args[0], "-count="))
			if err != nil || n < 1 {
				return nil, fmt.Errorf("invalid %s: want a number from 1", args[0])
			}
			count, args = n, args[1:]
		}
		if len(args) != 1 {
			return nil, usageOf(name, "want one regular expression, in single quotes if it contains blanks")
		}
		re, err := regexp.Compile("(?m)" + args[0])
		if err != nil {
			return nil, err
		}
		return func(r *runner) error {
			text := output(r)
			n := len(re.FindAllString(text, -1))
			if count >= 0 && n != count {
				return fmt.Errorf("%d matches, want %d, in:\n%s", n, count, text)
			}
			if n == 0 && text == "" {
				return fmt.Errorf("no match: the previous command wrote nothing to %s", name)
			}
			if n == 0 {
				return fmt.Errorf("no match in:\n%s", text)
			}
			return nil
		}, nil
	}
}

func readCmp(s *Script, args []string) (step, error) {
	if len(args) != 2 {
		return nil, usageOf("cmp", "want two arguments")
	}
	what, file := args[0], args[1]
	if _, err := s.file(file); err != nil {
		if !s.update {
			return nil, err
		}
		s.archive.Files = append(s.archive.Files, txtar.File{Name: file})
	}
	var got func(*runner) string
	switch what {
	case "stdout":
		got = func(r *runner) string { return r.stdout.String() }
	case "stderr":
		got = func(r *runner) string { return r.stderr.String() }
	default:
		f, err := s.file(what)
		if err != nil {
			return nil, err
		}
		got = func(*runner) string { return string(f.Data) }
	}
	return func(r *runner) error { return r.compareFile(what, got(r), file) }, nil
}

// readsOutput reports whether a line checks the output of another.
func (s *Script) readsOutput() bool {
	return slices.ContainsFunc(s.statements, func(st *statement) bool {
		return !st.comment && slices.Contains([]string{"stdout", "stderr", "cmp"}, st.command.name)
	})
}

// last reports whether the line that is executed is the last one of the script.
func (r *runner) last() bool {
	all := r.script.statements
	return all[len(all)-1].line == r.line
}

// compareFile compares an output with a file or, with Options.Update, replaces the file.
func (r *runner) compareFile(what, got, name string) error {
	f, err := r.script.file(name)
	if err != nil {
		return err
	}
	// A file of an archive ends with a newline.
	got = fixNewline(got)
	want := string(f.Data)
	if r.batch.opts.Update {
		if before, ok := r.batch.updates[name]; ok && before != got {
			return fmt.Errorf("update %s: the script compares it with two different outputs", name)
		}
		if marker.MatchString(got) {
			return fmt.Errorf("update %s: a line of the output looks like the beginning of another file", name)
		}
		r.batch.updates[name] = got
		return nil
	}
	if got == want {
		return nil
	}
	return fmt.Errorf("%s and %s differ:\n%s", what, name, diff(want, got))
}

func fixNewline(s string) string {
	if s == "" || strings.HasSuffix(s, "\n") {
		return s
	}
	return s + "\n"
}

// marker matches lines that begin a file of a txtar archive. No output may contain one.
var marker = regexp.MustCompile(`(?m)^-- .* --$`)
