package script

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// command is a row of the table of commands.
type command struct {
	name     string
	group    group
	usage    []string // what may follow the name, one form to a line
	help     string   // in Markdown
	examples []string
	setup    bool // it stands before the first command that does something
	sure     bool // it cannot fail once it has been read
	read     func(s *Script, args []string) (step, error)
}

// group is a chapter of the reference.
type group string

const (
	setups       group = "Before the first event"
	writing      group = "Objects"
	reading      group = "Looking"
	passing      group = "Time"
	breaking     group = "Faults, nodes and controllers"
	expectations group = "Expectations"
)

var groups = []group{setups, writing, reading, passing, breaking, expectations}

// commands is the table of all commands, in the order of the reference.
var commands []*command

// The table is put together at the start, because commands look into it themselves.
func init() {
	for _, part := range [][]*command{
		setupCommands(), objectCommands(), metadataCommands(), lookCommands(), timeCommands(), faultCommands(), nodeCommands(), backendCommands(),
		expectCommands(), outputCommands(),
	} {
		commands = append(commands, part...)
	}
}

func commandNamed(name string) *command {
	for _, c := range commands {
		if c.name == name {
			return c
		}
	}
	return nil
}

func unknownCommand(name string) error {
	if strings.HasPrefix(name, "--") {
		return errors.New("there is no such command: a file begins with a line -- name --")
	}
	if strings.HasPrefix(name, "!") {
		return errors.New("put a blank behind the !")
	}
	if name == "kubectl" {
		return errors.New("leave out kubectl: its verbs are commands here")
	}
	names := make([]string, len(commands))
	for i, c := range commands {
		names[i] = c.name
	}
	slices.Sort(names)
	return fmt.Errorf("there is no command %s: there are %s", name, strings.Join(names, ", "))
}

// usageOf is the error of somebody who used a command in a way it does not have.
func usageOf(name, why string) error {
	c := commandNamed(name)
	forms := make([]string, len(c.usage))
	for i, u := range c.usage {
		forms[i] = strings.TrimSpace(name + " " + u)
	}
	return fmt.Errorf("%s: the form is %s", why, strings.Join(forms, ", or "))
}

// option is one that a command takes, as kubectl writes them.
type option struct {
	long, short string // without dashes; short may be ""
	value       bool   // a value follows
	list        bool   // it may come several times
}

// arguments are what follows a command: options by their long names, and the rest.
type arguments struct {
	options map[string][]string
	rest    []string
}

func (a arguments) has(name string) bool { return len(a.options[name]) > 0 }

// get is the value of an option, or what stands for its absence.
func (a arguments) get(name, without string) string {
	if values := a.options[name]; len(values) > 0 {
		return values[len(values)-1]
	}
	return without
}

// flag is the value of an option that is true or false.
func (a arguments) flag(name string) (bool, error) {
	switch v := a.get(name, "false"); v {
	case "true", "false":
		return v == "true", nil
	default:
		return false, fmt.Errorf("--%s=%s: it is true or false", name, v)
	}
}

// readArguments tells options from the rest.
func readArguments(words []string, options ...option) (arguments, error) {
	a := arguments{options: make(map[string][]string)}
	for i := 0; i < len(words); i++ {
		w := words[i]
		if len(w) < 2 || w[0] != '-' {
			a.rest = append(a.rest, w)
			continue
		}
		if w == "--" {
			a.rest = append(a.rest, words[i+1:]...)
			break
		}
		o, value, hasValue := findOption(w, options)
		switch {
		case o == nil:
			return a, noSuchOption(w, options)
		case hasValue:
		case o.value && i+1 < len(words):
			i++
			value = words[i]
		case o.value:
			return a, fmt.Errorf("%s needs a value", w)
		default:
			value = "true"
		}
		if a.has(o.long) && !o.list {
			return a, fmt.Errorf("%s is given twice", w)
		}
		a.options[o.long] = append(a.options[o.long], value)
	}
	return a, nil
}

// findOption finds the option that a word begins: --name, --name=value, -n, -nvalue, -n=value.
func findOption(w string, options []option) (o *option, value string, hasValue bool) {
	if long, ok := strings.CutPrefix(w, "--"); ok {
		long, value, hasValue = strings.Cut(long, "=")
		for i := range options {
			if options[i].long == long {
				return &options[i], value, hasValue
			}
		}
		return nil, "", false
	}
	for i := range options {
		if short := options[i].short; short != "" && strings.HasPrefix(w[1:], short) {
			value = w[1+len(short):]
			if value != "" && !options[i].value {
				return nil, "", false
			}
			return &options[i], strings.TrimPrefix(value, "="), value != ""
		}
	}
	return nil, "", false
}

func noSuchOption(w string, options []option) error {
	if len(options) == 0 {
		return fmt.Errorf("there is no option %s here: it takes none", w)
	}
	var known []string
	for _, o := range options {
		if o.short != "" {
			known = append(known, "-"+o.short)
		}
		known = append(known, "--"+o.long)
	}
	return fmt.Errorf("there is no option %s here: there are %s", w, strings.Join(known, ", "))
}

// The options that several commands have.
var (
	namespaceOption = option{long: "namespace", short: "n", value: true}
	fileOption      = option{long: "filename", short: "f", value: true, list: true}
	timeoutOption   = option{long: "timeout", value: true}
)
