package script

import (
	"fmt"
	"slices"
	"strings"

	"golang.org/x/tools/txtar"

	"github.com/volsim/volsim"
	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/apply"
)

// Action is one command that changes objects, as a script has it, for tools that carry it out on a cluster of their own.
type Action struct {
	script *Script
	do     step
}

// Actions lists the names of the commands that ParseAction reads.
func Actions() []string {
	var names []string
	for _, c := range commands {
		if c.group == writing && c.name != "load" && c.name != "drain" {
			names = append(names, c.name)
		}
	}
	return names
}

// ParseAction reads a command and its arguments. namespace is the namespace of objects that are named without one; files are those that -f
// names. It returns an error if Actions does not list the command.
func ParseAction(words []string, namespace string, files []File) (*Action, error) {
	if len(words) == 0 || !slices.Contains(Actions(), words[0]) {
		return nil, fmt.Errorf("want one of the commands %s", strings.Join(Actions(), ", "))
	}
	rest, namespace, err := namespaceOf(words[1:], namespace)
	if err != nil {
		return nil, err
	}
	s := toolScript(words[0], namespace)
	for _, f := range files {
		s.archive.Files = append(s.archive.Files, txtar.File{Name: f.Name, Data: f.Data})
	}
	do, err := commandNamed(words[0]).read(s, rest)
	if err != nil {
		return nil, err
	}
	return &Action{script: s, do: do}, nil
}

// toolScript returns the script of a command that a tool carries out.
func toolScript(name, namespace string) *Script {
	return &Script{Name: name, namespace: namespace, archive: &txtar.Archive{}, strict: true}
}

// namespaceOf returns the words without the option -n, and its value or else the given namespace.
func namespaceOf(words []string, namespace string) (rest []string, name string, err error) {
	for i := 0; i < len(words); i++ {
		if words[i] == "--" {
			return append(rest, words[i:]...), namespace, nil
		}
		o, value, hasValue := findOption(words[i], []option{namespaceOption})
		if !strings.HasPrefix(words[i], "-") || o == nil {
			rest = append(rest, words[i])
			continue
		}
		if !hasValue {
			if i++; i == len(words) {
				return nil, "", fmt.Errorf("option %s needs a value", words[i-1])
			}
			value = words[i]
		}
		namespace = value
	}
	return rest, namespace, nil
}

// Run carries out the command and returns the objects that it wrote, and what it printed. An error that is a [Refusal], and not of the API
// server, is of kubectl.
func (a *Action) Run(c *volsim.Cluster, applied apply.Applied) (written []api.Ref, output string, err error) {
	r := toolRunner(a.script, c)
	r.applied = applied
	before := c.Trace().Seq()
	err = a.do(r)
	for e := range c.Trace().Since(before) {
		if api.IsUser(e.Actor) && e.Err == nil && e.Object != (api.Ref{}) {
			written = append(written, e.Object)
		}
	}
	return written, r.printed.String(), err
}

// toolRunner returns a runner of one command on a cluster.
func toolRunner(s *Script, c *volsim.Cluster) *runner {
	return &runner{batch: newBatch(s, Options{}), script: s, cluster: c, start: c.Now(), variables: map[string]string{}, applied: apply.Applied{}}
}
