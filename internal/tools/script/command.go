package script

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/volsim/volsim/internal/core/objkinds"
	"github.com/volsim/volsim/internal/core/similar"
)

// command is a row of the table of commands.
type command struct {
	name       string
	group      group
	usage      []string // arguments after the name, one form per element
	help       string   // in Markdown
	examples   []string
	setup      bool // must come before the first other command
	infallible bool // cannot fail once parsed, so that ! and ? make no sense
	read       func(s *Script, args []string) (step, error)
	takes      func(*objkinds.Kind) bool // the kinds that KIND of usage stands for; nil for all
}

// group is a section of the reference.
type group string

const (
	setups       group = "Setup"
	writing      group = "Objects"
	reading      group = "Reading"
	passing      group = "Time"
	breaking     group = "Faults, nodes and controllers"
	expectations group = "Expectations"
)

var groups = []group{setups, writing, reading, passing, breaking, expectations}

// commands lists all commands, in the order of the reference.
var commands []*command

// init fills commands: its elements refer to functions that use it.
func init() {
	for _, part := range [][]*command{
		setupCommands(), objectCommands(), metadataCommands(), requestCommands(), readingCommands(), clusterCommands(), timeCommands(), faultCommands(),
		nodeCommands(), backendCommands(),
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

// elsewhere says what to write instead of words that are commands elsewhere.
var elsewhere = map[string]string{
	"kubectl": onlyVerb, "k": onlyVerb,
	"edit": "write patch, or apply -f with a changed file", "sleep": "write advance DURATION: only commands let virtual time pass",
	"logs": noContainers, "exec": noContainers, "attach": noContainers, "cp": noContainers, "debug": noContainers, "port-forward": noContainers, "top": noContainers,
	"auth": noServer, "cluster-info": noServer, "version": noServer, "api-resources": noServer, "proxy": noServer,
}

const (
	onlyVerb     = "write only the verb of kubectl, such as get"
	noContainers = "the containers of pods do not run programs here"
	noServer     = "a script has no such command; use kubectl with volsim serve"
)

func unknownCommand(name string) error {
	if strings.HasPrefix(name, "--") {
		return errors.New("unknown command; a file begins with a line -- name --")
	}
	if strings.HasPrefix(name, "!") {
		return errors.New("missing blank after the prefix !")
	}
	if advice, ok := elsewhere[name]; ok {
		return fmt.Errorf("unknown command %s; %s", name, advice)
	}
	names := make([]string, len(commands))
	for i, c := range commands {
		names[i] = c.name
	}
	slices.Sort(names)
	return unknownWord("command", name, names)
}

// unknownWord returns the error for a word that is none of the known ones, with the one that was probably meant or else all of them.
func unknownWord(what, word string, known []string) error {
	if hint := similar.Hint(word, known); hint != "" {
		return fmt.Errorf("unknown %s %q%s", what, word, hint)
	}
	return fmt.Errorf("unknown %s %q: want one of %s", what, word, strings.Join(known, ", "))
}

// usageOf returns the error for wrong arguments, with the usage of the command.
func usageOf(name, reason string) error {
	c := commandNamed(name)
	forms := make([]string, len(c.usage))
	for i, u := range c.usage {
		forms[i] = strings.TrimSpace(name + " " + u)
	}
	return fmt.Errorf("%s; usage: %s", reason, strings.Join(forms, ", or "))
}

// option is an option of a command, written as with kubectl.
type option struct {
	long, short string // without dashes; short may be ""
	value       bool   // takes a value
	list        bool   // may be repeated
}

// arguments holds the words after a command: options by their long names, and the rest.
type arguments struct {
	options map[string][]string
	rest    []string
}

func (a arguments) has(name string) bool { return len(a.options[name]) > 0 }

// get returns the value of an option, or fallback if it is not given.
func (a arguments) get(name, fallback string) string {
	if values := a.options[name]; len(values) > 0 {
		return values[len(values)-1]
	}
	return fallback
}

// flag returns the value of a boolean option.
func (a arguments) flag(name string) (bool, error) {
	switch v := a.get(name, "false"); v {
	case "true", "false":
		return v == "true", nil
	default:
		return false, fmt.Errorf("invalid --%s=%s: want true or false", name, v)
	}
}

// readArguments separates options from the rest.
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
			return a, fmt.Errorf("option %s needs a value", w)
		default:
			value = "true"
		}
		if a.has(o.long) && !o.list {
			return a, fmt.Errorf("duplicate option %s", w)
		}
		a.options[o.long] = append(a.options[o.long], value)
	}
	return a, nil
}

// findOption returns the option that a word sets: --name, --name=value, -n, -nvalue, -n=value.
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
	letters, ok := strings.CutPrefix(w, "-")
	for i := range options {
		if short := options[i].short; ok && short != "" && strings.HasPrefix(letters, short) {
			value = letters[len(short):]
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
		return fmt.Errorf("unknown option %s: this command takes none", w)
	}
	var known, long []string
	for _, o := range options {
		long = append(long, "--"+o.long)
		if o.short != "" {
			known = append(known, "-"+o.short)
		}
		known = append(known, "--"+o.long)
	}
	name, _, _ := strings.Cut(w, "=")
	if hint := similar.Hint(name, long); hint != "" {
		return fmt.Errorf("unknown option %s%s", w, hint)
	}
	return fmt.Errorf("unknown option %s: want one of %s", w, strings.Join(known, ", "))
}

// Options that several commands share.
var (
	namespaceOption = option{long: "namespace", short: "n", value: true}
	fileOption      = option{long: "filename", short: "f", value: true, list: true}
	timeoutOption   = option{long: "timeout", value: true}
)
