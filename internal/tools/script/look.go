package script

import (
	"fmt"
	"slices"
	"strings"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/explain"
	"github.com/volsim/volsim/internal/tools/kubectl"
)

func lookCommands() []*command {
	return []*command{
		{
			name: "get", group: reading, usage: []string{"KIND[,KIND...] [NAME...]", "KIND/NAME...", "all"},
			help: "Prints objects as kubectl does. `-o` is one of `wide`, `yaml`, `json`, `name`, `jsonpath={…}`; `-n NAMESPACE`, `-A` for all namespaces, `-l KEY=VALUE` for labels, `--no-headers`. " +
				"`get all -A` prints every kind but Events.",
			examples: []string{"get pv,pvc", "get pvc/data -o yaml", "get pods -A -o wide", "get pvc data -o jsonpath='{.spec.volumeName}'"},
			read:     readGet,
		},
		{
			name: "describe", group: reading, usage: []string{"KIND/NAME... | KIND NAME..."},
			help:     "Prints an object for people, with its Events.",
			examples: []string{"describe pvc/data"},
			read:     readDescribe,
		},
		{
			name: "events", group: reading, usage: []string{"[--for KIND/NAME] [--types=Warning] [-n NAMESPACE | -A]"},
			help:     "Prints Events in the order of their last occurrence, with counts.",
			examples: []string{"events --for pod/web", "events -A --types=Warning"},
			read:     readEvents,
		},
		{
			name: "explain", group: reading, usage: []string{"KIND/NAME... | KIND NAME..."},
			help:     "Says why a claim, pod, volume or attachment is in the state it is in: the rule that decides, every candidate with the first rule that refused it, who has to act next, and when anything can change by itself.",
			examples: []string{"explain pvc/data", "explain pod/web"},
			read:     readExplain,
		},
		{
			name: "trace", group: reading, usage: []string{"[SORT] [KIND/NAME] [CONDITION...] [FILE]"},
			help: "Prints what happened: every decision with its rule, write, storage call, Event and fault, with its virtual time. SORT is one of " + sortNames() + ". " +
				"The conditions are those of `expect` with a sort: `actor=`, `verb=`, `rule=`, `at>=5m` and so on. With a file of the archive the output must be as the file is; see `cmp`.",
			examples: []string{"trace", "trace write pv/pv1", "trace call verb=Create want.txt"},
			read:     readTrace,
		},
		{
			name: "summary", group: reading, usage: []string{""}, sure: true,
			help:     "Prints all objects, the warnings among the Events, and why each claim and pod that waits does so.",
			examples: []string{"summary"},
			read:     readSummary,
		},
		{
			name: "backends", group: reading, usage: []string{"[NAME]"}, sure: true,
			help:     "Prints the volumes that the storage systems hold, who has them and what is on them.",
			examples: []string{"backends"},
			read:     readBackends,
		},
		{
			name: "violations", group: reading, usage: []string{""}, sure: true,
			help:     "Prints each violation of an invariant that `config check` or `config watch` names, with the entries of the trace that prove it. The invariants are:\n\n" + invariantHelp(),
			examples: []string{"violations"},
			read:     readViolations,
		},
		{
			name: "controllers", group: reading, usage: []string{""}, sure: true,
			help:     "Prints the names of all controllers, as `crash`, `restart` and `config` take them.",
			examples: []string{"controllers"},
			read: func(*Script, []string) (step, error) {
				return func(p *player) error {
					for _, name := range p.cluster.Controllers() {
						p.printf("%s\n", name)
					}
					return nil
				}, nil
			},
		},
		{
			name: "set", group: reading, usage: []string{"NAME KIND/NAME FIELD", "NAME VALUE", "NAME KIND CONDITION... FIELD"},
			help: "Gives a variable the value of a field (a word such as `volume`, or a path), or a fixed value. `$NAME` and `${NAME}` stand for it in later lines, except in single quotes. " +
				"With conditions the object is the one for which they hold.",
			examples: []string{"set PV pvc/data volume", "set VA va volume=$PV node=n1 name"},
			read:     readSet,
		},
	}
}

func readDescribe(_ *Script, args []string) (step, error) {
	a, err := readArguments(args, namespaceOption, option{long: "all-namespaces", short: "A"}, option{long: "selector", short: "l", value: true})
	if err != nil {
		return nil, err
	}
	q, err := readQuery(a)
	if err != nil {
		return nil, err
	}
	return func(p *player) error {
		objs, err := q.find(p)
		if err != nil {
			return err
		}
		for i, obj := range objs {
			if i > 0 {
				p.printf("\n\n")
			}
			if err := kubectl.Describe(&p.printed, p.cluster.Now(), obj, kubectl.Surroundings{Events: p.cluster.Events(), Pods: p.cluster.Pods.List()}); err != nil {
				return err
			}
		}
		return nil
	}, nil
}

func readEvents(_ *Script, args []string) (step, error) {
	a, err := readArguments(args, namespaceOption, option{long: "all-namespaces", short: "A"}, option{long: "for", value: true}, option{long: "types", value: true})
	if err != nil {
		return nil, err
	}
	if len(a.rest) > 0 {
		return nil, usageOf("events", fmt.Sprintf("%q does not belong here", a.rest[0]))
	}
	everywhere, err := a.flag("all-namespaces")
	if err != nil {
		return nil, err
	}
	var about api.Ref
	if a.has("for") {
		if about, err = refOf(a.get("for", ""), a.get("namespace", "")); err != nil {
			return nil, err
		}
	}
	var types []string
	if a.has("types") {
		types = strings.Split(a.get("types", ""), ",")
	}
	for _, t := range types {
		if t != "Normal" && t != "Warning" {
			return nil, fmt.Errorf("--types=%s: there are Normal and Warning", t)
		}
	}
	namespace := a.get("namespace", defaultNamespace)
	if everywhere {
		namespace = ""
	}
	return func(p *player) error {
		var found []api.Object
		for _, e := range p.cluster.Events() {
			isAbout := about == (api.Ref{}) && (namespace == "" || e.Namespace == namespace) || about != (api.Ref{}) && kubectl.About(e, about)
			if isAbout && (types == nil || slices.Contains(types, e.Type)) {
				found = append(found, e)
			}
		}
		return kubectl.Print(&p.printed, p.cluster.Now(), []api.Kind{api.Event}, found,
			kubectl.Options{Namespaces: everywhere, Namespace: namespace})
	}, nil
}

func readExplain(_ *Script, args []string) (step, error) {
	a, err := readArguments(args, namespaceOption)
	if err != nil {
		return nil, err
	}
	refs, err := refsOf(a.rest, a.get("namespace", ""))
	if err != nil {
		return nil, err
	}
	return func(p *player) error {
		for _, ref := range refs {
			text, err := p.explanation(ref)
			if err != nil {
				return err
			}
			p.printf("%s\n", strings.TrimSuffix(text, "\n"))
		}
		return nil
	}, nil
}

// explanation says why an object is as it is.
func (p *player) explanation(ref api.Ref) (string, error) {
	x, err := p.cluster.Explain(explain.Name(ref))
	if err != nil {
		return "", err
	}
	var out strings.Builder
	err = x.WriteText(&out, p.cluster.Now())
	return out.String(), err
}
