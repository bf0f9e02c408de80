package script

import (
	"slices"
	"strings"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/actors"
	"github.com/volsim/volsim/internal/core/objkinds"
)

// Completion is a place in a line of a script, after the name of the command.
type Completion struct {
	// Above has the lines before, and Files the names of the script's files.
	Above, Files []string
	// Words are the words before the cursor that are complete: the command, without a prefix, and its arguments. Word is the beginning of the
	// next one.
	Words []string
	Word  string
}

// Proposals lists what the usage of the command allows as the next word. It is empty for an unknown command.
func (p Completion) Proposals() []string {
	c := commandNamed(p.Words[0])
	if c == nil {
		return nil
	}
	if last := p.Words[len(p.Words)-1]; last == "-f" || last == "--filename" {
		return p.Files
	}
	args := p.arguments()
	if key, _, ok := strings.Cut(p.Word, "="); ok {
		return p.values(c, args, key)
	}
	var forms []form
	for _, usage := range c.usage {
		forms = append(forms, readForms(usage)...)
	}
	subject, literal := "", false
	if len(args) > 0 {
		subject = args[0]
		literal = slices.ContainsFunc(forms, func(f form) bool { return f.begins(subject) })
	}
	object := subject
	if c.name == "set" && len(args) > 1 {
		object, _, _ = strings.Cut(args[1], "/")
	}
	var all []string
	for _, f := range forms {
		if len(args) > 0 && (literal && !f.begins(subject) || !literal && f.isLiteral()) {
			continue
		}
		for _, t := range f.next(args) {
			all = append(all, p.expand(c, f, t.text, object)...)
		}
		for _, o := range f.options {
			if p.Word != "" || !o.optional {
				all = append(all, o.text)
			}
		}
	}
	seen := map[string]bool{}
	return slices.DeleteFunc(all, func(word string) bool {
		again := seen[word]
		seen[word] = true
		return again
	})
}

// arguments returns the arguments without options. An object KIND/NAME at the beginning counts as two.
func (p Completion) arguments() []string {
	var args []string
	for i := 1; i < len(p.Words); i++ {
		w := p.Words[i]
		switch {
		case len(w) == 2 && w[0] == '-' && w != "-A" && w != "-w":
			i++ // its value
		case strings.HasPrefix(w, "-"):
		case len(args) == 0 && strings.Contains(w, "/"):
			kind, name, _ := strings.Cut(w, "/")
			args = append(args, kind, name)
		default:
			args = append(args, w)
		}
	}
	return args
}

// form is one form of a usage: its arguments and its options. The name of an argument is in capitals, unless it stands for itself.
type form struct{ arguments, options []token }

type token struct {
	text               string
	optional, repeated bool
}

// readForms reads a usage. What follows the last of several forms "A | B | C REST" may follow a single word A or B, too.
func readForms(usage string) []form {
	all := []form{{}}
	words := strings.Fields(usage)
	for i := 0; i < len(words); i++ {
		f := &all[len(all)-1]
		t := token{text: strings.TrimSuffix(strings.TrimPrefix(words[i], "["), "]"), optional: words[i][0] == '['}
		t.text, t.repeated = strings.CutSuffix(t.text, "...")
		switch {
		case t.text == "" && t.repeated: // the same as in the form before
		case t.text == "|":
			all = append(all, form{})
		case t.text[0] == '-' && len(t.text) > 1:
			var hasValue bool
			if t.text, _, hasValue = strings.Cut(t.text, "="); hasValue {
				t.text += "="
			} else if len(t.text) == 2 && i+1 < len(words) {
				i++ // its value
			}
			f.options = append(f.options, t)
		case len(f.arguments) == 0 && t.text == "KIND/NAME":
			f.arguments = append(f.arguments, token{text: "KIND"}, token{text: "NAME", repeated: t.repeated})
		default:
			f.arguments = append(f.arguments, t)
		}
	}
	last := all[len(all)-1]
	for i := range all[:len(all)-1] {
		if f := &all[i]; f.isLiteral() && len(f.arguments) == 1 && len(last.arguments) > 0 {
			f.arguments = append(f.arguments, last.arguments[1:]...)
		}
	}
	return all
}

// isLiteral reports whether the first argument stands for itself.
func (f form) isLiteral() bool {
	return len(f.arguments) > 0 && f.arguments[0].text == strings.ToLower(f.arguments[0].text)
}

// begins reports whether that word is the first argument, which stands for itself.
func (f form) begins(word string) bool { return f.isLiteral() && f.arguments[0].text == word }

// next returns the arguments that may follow others.
func (f form) next(args []string) []token {
	var all []token
	free := slices.ContainsFunc(args, func(w string) bool { return strings.Contains(w, "=") }) // their order is free
	for i, t := range f.arguments {
		if i >= len(args) || i > 0 && (t.optional || t.repeated || free) {
			all = append(all, t)
		}
		if i >= len(args) && !t.optional && !free {
			break
		}
	}
	return all
}

// expand lists the words that can stand for an argument, such as KIND, in the usage of a command. object is the kind whose fields an argument with fields has.
func (p Completion) expand(c *command, f form, text, object string) []string {
	first := f.arguments[0].text
	switch {
	case strings.HasPrefix(text, "KIND"):
		return kindsFor(c)
	case text == "CONDITION":
		return withEquals(fieldsOf(c, object))
	case text == "FIELD":
		return fieldsOf(c, object)
	case text == "NODE", text == "NAME" && first == "node":
		return p.named("node")
	case text == "BACKEND", text == "NAME|any", text == "NAME" && (first == "backend" || c.name == "backends"):
		return p.named("backend")
	case text == "CONTROLLER":
		return p.controllers()
	case text == "FILE":
		return p.Files
	case text == "KEY=VALUE" && c.name == "config":
		var keys []string
		for _, s := range settings {
			keys = append(keys, strings.TrimSuffix(s.key, "ACTOR"))
			if s.set != nil {
				keys[len(keys)-1] += "="
			}
		}
		return keys
	case text == "OPTION":
		var all []string
		for _, o := range backendOptions {
			name, _, hasValue := strings.Cut(o.form, "=")
			if hasValue {
				name += "="
			}
			all = append(all, strings.TrimSuffix(name, "OP="))
		}
		return all
	}
	if words, ok := placeholders[text]; ok {
		return words()
	}
	var all []string
	for word := range strings.SplitSeq(text, "|") {
		word, _, hasValue := strings.Cut(word, "=")
		switch kind, _, isObject := strings.Cut(word, "/"); {
		case isObject && kind == strings.ToLower(kind):
			all = append(all, kind+"/")
		case word == strings.ToUpper(word) || strings.Contains(word, " "):
		case hasValue:
			all = append(all, word+"=")
		default:
			all = append(all, word)
		}
	}
	return all
}

// placeholders are the words of usages that stand for some of a fixed list.
var placeholders = map[string]func() []string{
	"TYPE":   func() []string { return entryTypeNames },
	"OP":     opNames,
	"VERB":   func() []string { return apiVerbs },
	"WHO":    func() []string { return []string{"actor=", "node=", "pod="} },
	"EFFECT": func() []string { return []string{"error=", "lose=", "delay=", "crash"} },
	"LIMIT":  func() []string { return []string{"once", "times=", "skip="} },
	"WHAT": func() []string {
		var names []string
		for _, f := range nodeFaults {
			names = append(names, f.name)
		}
		return names
	},
}

// kindsFor lists the kinds that a command takes, by their shortest names.
func kindsFor(c *command) []string {
	var all []string
	for _, k := range objkinds.All() {
		if c.takes != nil && !c.takes(k) {
			continue
		}
		names := k.Names()
		if known := kindNames[api.Kind(k.Name())]; known != nil {
			names = known
		}
		all = append(all, names[min(2, len(names)-1)])
	}
	slices.Sort(all)
	return all
}

// fieldsOf lists the fields of objects of a kind, entries of the trace, a backend or a kubelet.
func fieldsOf(c *command, object string) []string {
	switch {
	case isEntryType(object), c.name == "trace":
		return entryFieldNames()
	case object == "backend":
		return slices.Concat(backendFields, volumeFields)
	case object == "kubelet":
		return kubeletFields
	}
	if kind, err := toolScript("", "").kindOf(object); object != "" && err == nil {
		return fieldNames(kind)
	}
	return nil
}

func withEquals(names []string) []string {
	var all []string
	for _, name := range names {
		all = append(all, name+"=")
	}
	return all
}

// values lists the words KEY=VALUE with the values that a key can have.
func (p Completion) values(c *command, args []string, key string) []string {
	var values []string
	switch {
	case c.name == "fault" && (key == "error" || key == "lose") && len(args) > 0 && args[0] == "api":
		for _, code := range apiCodes {
			values = append(values, code.name)
		}
	case key == "actor":
		values = p.controllers()
	case key == "node":
		values = p.named("node")
	case len(args) > 0:
		if kind, err := toolScript("", "").kindOf(args[0]); err == nil {
			for _, s := range slices.Concat(shorthands[kind], common) {
				if s.name == key {
					values = s.values
				}
			}
		}
	}
	var all []string
	for _, v := range values {
		if v != "" {
			all = append(all, key+"="+v)
		}
	}
	return all
}

// controllers lists the controllers, and the sidecars of the backends above.
func (p Completion) controllers() []string {
	all := slices.Clone(actors.Named)
	for _, driver := range p.named("backend") {
		all = append(all, actors.Provisioner(driver), actors.Attacher(driver), actors.Resizer(driver))
	}
	return all
}

// named lists the nodes, or the backends, of the lines above.
func (p Completion) named(command string) []string {
	var all []string
	for _, line := range p.Above {
		words := strings.Fields(line)
		if len(words) < 2 || words[0] != command {
			continue
		}
		if command == "backend" {
			words = words[:2]
		} else {
			words = words[1:]
		}
		for _, w := range words[1:] {
			if !strings.Contains(w, "=") {
				all = append(all, w)
			}
		}
	}
	return all
}
