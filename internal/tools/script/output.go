package script

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

func outputCommands() []*command {
	return []*command{
		{
			name: "stdout", group: expectations, usage: []string{"[-count=N] REGEXP"},
			help:     "Says that the output of the command before matches the regular expression (in which ^ and $ are ends of lines), or as often as `-count` says. Expectations have no output of their own.",
			examples: []string{"stdout 'data +Bound'", "! stdout Lost"},
			read:     readMatch("stdout", func(p *player) string { return p.stdout.String() }),
		},
		{
			name: "stderr", group: expectations, usage: []string{"[-count=N] REGEXP"},
			help:     "The same for what a command before said that failed as it should.",
			examples: []string{"! delete pv/none", "stderr 'not found'"},
			read:     readMatch("stderr", func(p *player) string { return p.stderr.String() }),
		},
		{
			name: "cmp", group: expectations, usage: []string{"stdout | stderr | FILE FILE"},
			help: "Says that the output of the command before, or the first file, is byte for byte what the second file holds. When a run updates " +
				"(`volsim run --update`, or `go test -update-scripts`), the file is written instead.",
			examples: []string{"get pv,pvc", "cmp stdout want.txt"},
			read:     readCmp,
		},
	}
}

func readMatch(name string, output func(*player) string) func(*Script, []string) (step, error) {
	return func(_ *Script, args []string) (step, error) {
		count := -1
		if len(args) > 0 && strings.HasPrefix(args[0], "-count=") {
			n, err := strconv.Atoi(strings.TrimPrefix(args[0], "-count="))
			if err != nil || n < 1 {
				return nil, fmt.Errorf("%s: it is a number from 1 on", args[0])
			}
			count, args = n, args[1:]
		}
		if len(args) != 1 {
			return nil, usageOf(name, "one regular expression is needed, in single quotes if it has blanks")
		}
		re, err := regexp.Compile("(?m)" + args[0])
		if err != nil {
			return nil, err
		}
		return func(p *player) error {
			text := output(p)
			n := len(re.FindAllString(text, -1))
			if count >= 0 && n != count {
				return fmt.Errorf("there are %d matches, want %d, in:\n%s", n, count, text)
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
		return nil, usageOf("cmp", "two things are needed")
	}
	what, file := args[0], args[1]
	if _, err := s.file(file); err != nil {
		return nil, err
	}
	var got func(*player) string
	switch what {
	case "stdout":
		got = func(p *player) string { return p.stdout.String() }
	case "stderr":
		got = func(p *player) string { return p.stderr.String() }
	default:
		f, err := s.file(what)
		if err != nil {
			return nil, err
		}
		got = func(*player) string { return string(f.Data) }
	}
	return func(p *player) error { return p.compareFile(what, got(p), file) }, nil
}

// compareFile compares an output with a file, or makes it the file's content.
func (p *player) compareFile(what, got, name string) error {
	f, err := p.script.file(name)
	if err != nil {
		return err
	}
	// A file of an archive ends with a newline.
	got = fixNewline(got)
	want := string(f.Data)
	if p.batch.opts.Update {
		if before, ok := p.batch.updates[name]; ok && before != got {
			return fmt.Errorf("%s is compared with two different outputs: it cannot be updated to be both", name)
		}
		if marker.MatchString(got) {
			return fmt.Errorf("%s cannot hold this output: one of its lines looks like the beginning of another file", name)
		}
		p.batch.updates[name] = got
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

// files of an archive begin at lines of this form, so that no output may have one.
var marker = regexp.MustCompile(`(?m)^-- .* --$`)
