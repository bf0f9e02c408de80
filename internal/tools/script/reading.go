package script

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/explain"
	"github.com/volsim/volsim/internal/core/internals"
	"github.com/volsim/volsim/internal/core/objects"
	"github.com/volsim/volsim/internal/core/objname"
	"github.com/volsim/volsim/internal/core/snapshot"
	"github.com/volsim/volsim/internal/tools/kubectl"
)

func readingCommands() []*command {
	return []*command{
		{
			name: "get", group: reading, usage: []string{"KIND[,KIND...] [NAME...]", "KIND/NAME...", "-f FILE", "all"},
			help: "Prints objects as kubectl does. `-o` is one of `wide`, `yaml`, `json`, `name`, `jsonpath={…}`, `jsonpath-as-json={…}`, `go-template={{…}}`, " +
				"`custom-columns=TITLE:PATH,...`; `-n NAMESPACE`, `-A` for all namespaces, `-l KEY=VALUE` for labels, `--field-selector=FIELD=VALUE`, " +
				"`--sort-by=PATH`, `--show-labels`, `-L LABEL,...`, `--show-kind`, `--no-headers`, `--ignore-not-found`, `--show-managed-fields`, " +
				"`--subresource=status` or `scale`. A path has `.name`, `[0]`, `[1:3]`, `[-1:]`, `['a','b']`, `[*]`, `..name` and `[?(@.size>1)]`. " +
				"`get all` prints what kubectl means by it: pods, workloads and Services. `-w` (`--watch`) prints the objects, and then each change of one " +
				"while virtual time advances: for `--request-timeout`, or until only background work is left. `--watch-only` leaves out what is there, " +
				"`--output-watch-events` adds the type of the change. `--raw=PATH` prints the answer of the API server.",
			examples: []string{"get pv,pvc", "get pvc/data -o yaml", "get pods -A -o wide", "get pvc data -o jsonpath='{.spec.volumeName}'",
				"get pv --sort-by=.spec.capacity.storage --show-labels", "get pods --field-selector=spec.nodeName=n1", "get pods -w --request-timeout=1m"},
			read: readGet,
		},
		{
			name: "describe", group: reading, usage: []string{"KIND/NAME... | KIND NAME...", "KIND [-l SELECTOR]", "-f FILE"},
			help: "Prints objects as `kubectl describe` does: one object with its Events, several without them, unless `--show-events` says otherwise. A name that " +
				"does not exist is taken as the beginning of names. In the browser only claims, volumes, classes, CSINodes, pods, quotas, and kinds without a " +
				"layout of their own are described.",
			examples: []string{"describe pvc/data", "describe pods -l app=db", "describe sts db"},
			read:     readDescribe,
		},
		{
			name: "events", group: reading, usage: []string{"[--for KIND/NAME] [--types=Warning] [-n NAMESPACE | -A] [--no-headers] [-o yaml|json]"},
			help:     "Prints Events in the order of their last occurrence, with counts.",
			examples: []string{"events --for pod/web", "events -A --types=Warning"},
			read:     readEvents,
		},
		{
			name: "explain", group: reading, usage: []string{"KIND/NAME... | KIND NAME..."},
			help:     "Explains the state of a claim, pod, volume, attachment or workload: the rule that decides, every candidate with the first rule that rejects it, who has to act next, and when the state can change without action.",
			examples: []string{"explain pvc/data", "explain pod/web", "explain sts/db"},
			read:     readExplain,
		},
		{
			name: "trace", group: reading, usage: []string{"[TYPE] [KIND/NAME] [CONDITION...] [FILE]"},
			help: "Prints the trace: every decision with its rule, every write, storage call, Event and fault, with its virtual time. TYPE is one of " + entryTypeList() + ". " +
				"The conditions are those of `expect TYPE`: `actor=`, `verb=`, `rule=`, `at>=5m` and so on. With FILE, a file of the archive, the output must equal the file; see `cmp`.",
			examples: []string{"trace", "trace write pv/pv1", "trace call verb=Create want.txt"},
			read:     readTrace,
		},
	}
}

func clusterCommands() []*command {
	return []*command{
		{
			name: "summary", group: reading, usage: []string{""}, infallible: true,
			help:     "Prints all objects, all Warning Events, and an explanation for each claim that is not Bound and each pod that is Pending or terminating.",
			examples: []string{"summary"},
			read:     readSummary,
		},
		{
			name: "backends", group: reading, usage: []string{"[NAME]"}, infallible: true,
			help:     "Prints the volumes of the storage systems: where each is attached, staged and published, and what was written to it.",
			examples: []string{"backends"},
			read:     readBackends,
		},
		{
			name: "violations", group: reading, usage: []string{""}, infallible: true,
			help:     "Prints each violation of an invariant that `config check` or `config watch` names, with the entries of the trace that show it. The invariants are:\n\n" + invariantHelp(),
			examples: []string{"violations"},
			read:     readViolations,
		},
		{
			name: "controllers", group: reading, usage: []string{""}, infallible: true,
			help:     "Prints the names of all controllers, for `crash`, `restart` and `config`.",
			examples: []string{"controllers"},
			read:     readControllers,
		},
		{
			name: "set", group: reading, usage: []string{"NAME KIND/NAME FIELD", "NAME VALUE", "NAME KIND CONDITION... FIELD",
				"image KIND/NAME CONTAINER=IMAGE...", "env KIND/NAME KEY=VALUE... [KEY-...]", "resources KIND/NAME [--requests=NAME=QUANTITY,...] [--limits=...]"},
			help: "Sets a variable to the value of a field (a name such as `volume`, or a path) or to a fixed value. `$NAME` and `${NAME}` in later lines are replaced by it, except in single quotes. " +
				"With conditions, exactly one object must meet them. `set image`, `set env` and `set resources` change containers as those of kubectl do, so a workload replaces its pods.",
			examples: []string{"set PV pvc/data volume", "set VA va volume=$PV node=n1 name", "set image deployment/web web=nginx:1.29"},
			read:     readSet,
		},
	}
}

func readControllers(*Script, []string) (step, error) {
	return func(r *runner) error {
		for _, name := range internals.Controllers(r.cluster) {
			r.printf("%s\n", name)
		}
		return nil
	}, nil
}

func readDescribe(s *Script, args []string) (step, error) {
	a, err := readArguments(args, namespaceOption, allNamespacesOption, selectorOption, fileOption, option{long: "show-events"}, chunkOption)
	if err != nil {
		return nil, err
	}
	if len(a.rest) == 0 && !a.has("filename") {
		return nil, usageOf("describe", "You must specify the type of resource to describe.")
	}
	if _, err := a.flag("show-events"); err != nil {
		return nil, err
	}
	q, err := readQuery(s, a)
	if err != nil {
		return nil, err
	}
	return func(r *runner) error {
		objs, err := q.find(r)
		hide := len(objs) > 1 || err != nil
		if a.has("show-events") {
			show, _ := a.flag("show-events") // checked above
			hide = !show
		}
		around := kubectl.Surroundings{Events: r.cluster.Events(), Pods: r.cluster.Pods.List(), List: r.list, HideEvents: hide}
		if apierrors.IsNotFound(err) && len(q.refs) == 1 && len(a.rest) == 2 {
			return r.describePrefix(q, around, err)
		}
		for _, obj := range objs {
			var text strings.Builder
			if failed := kubectl.Describe(&text, r.cluster.Now(), obj, around); failed != nil {
				err = both(err, failed)
				continue
			}
			if r.printed.Len() > 0 {
				r.printf("\n\n")
			}
			r.printf("%s", text.String())
		}
		if len(objs) == 0 && err == nil {
			r.printf("%s", kubectl.NothingFound(q.namespace))
		}
		return err
	}, nil
}

// describePrefix describes the objects whose names begin with the name that the query asks for, as kubectl does if there is none of that name.
// missing is the error for that name.
func (r *runner) describePrefix(q query, around kubectl.Surroundings, missing error) error {
	namespace, prefix := objects.SplitKey(q.refs[0].Key)
	found := false
	for _, obj := range r.list(q.refs[0].Kind) {
		if obj.GetNamespace() != namespace || !strings.HasPrefix(obj.GetName(), prefix) {
			continue
		}
		found = true
		if err := kubectl.Describe(&r.printed, r.cluster.Now(), obj, around); err != nil {
			return err
		}
		r.printf("\n")
	}
	if !found {
		return missing
	}
	return nil
}

func readEvents(s *Script, args []string) (step, error) {
	a, err := readArguments(args, namespaceOption, allNamespacesOption, option{long: "for", value: true},
		option{long: "types", value: true}, option{long: "no-headers"}, option{long: "output", short: "o", value: true}, chunkOption)
	if err != nil {
		return nil, err
	}
	if len(a.rest) > 0 {
		return nil, usageOf("events", fmt.Sprintf("unexpected argument %q", a.rest[0]))
	}
	everywhere, err := a.flag("all-namespaces")
	if err != nil {
		return nil, err
	}
	noHeaders, err := a.flag("no-headers")
	if err != nil {
		return nil, err
	}
	format := a.get("output", "")
	if !slices.Contains([]string{"", "yaml", "json"}, format) {
		return nil, fmt.Errorf("invalid -o %q: want yaml or json", format)
	}
	namespace := a.get("namespace", s.inNamespace())
	var about api.Ref
	if a.has("for") {
		if about, err = s.refOf(a.get("for", ""), a.get("namespace", "")); err != nil {
			return nil, err
		}
		if named, _ := objects.SplitKey(about.Key); named != "" {
			namespace = named
		}
	}
	if everywhere {
		namespace = ""
	}
	var types []string
	if a.has("types") {
		types = strings.Split(a.get("types", ""), ",")
	}
	for _, t := range types {
		if !strings.EqualFold(t, "Normal") && !strings.EqualFold(t, "Warning") {
			return nil, fmt.Errorf("valid --types are Normal or Warning")
		}
	}
	return func(r *runner) error {
		if r.quiet {
			return nil
		}
		var found []*corev1.Event
		for _, e := range r.cluster.Events() {
			isAbout := about == (api.Ref{}) && (namespace == "" || e.Namespace == namespace) || about != (api.Ref{}) && kubectl.About(e, about)
			if isAbout && (types == nil || slices.ContainsFunc(types, func(t string) bool { return strings.EqualFold(t, e.Type) })) {
				found = append(found, e)
			}
		}
		switch {
		case len(found) == 0:
			r.printf("%s", kubectl.NoEvents(namespace))
			return nil
		case format == "":
			return kubectl.PrintEvents(&r.printed, r.cluster.Now(), found, namespace, noHeaders)
		}
		doc := listOf(withoutManagers(asObjects(kubectl.InTime(found))))
		doc["kind"], doc["metadata"] = "EventList", map[string]any{}
		return r.printDocument(doc, format)
	}, nil
}

func readExplain(s *Script, args []string) (step, error) {
	a, err := readArguments(args, namespaceOption)
	if err != nil {
		return nil, err
	}
	refs, err := s.refsOf(a.rest, a.get("namespace", ""))
	if err != nil {
		return nil, err
	}
	for _, ref := range refs {
		// Without objects, the error is that there is none, unless the kind is wrong.
		if _, err := explain.New(snapshot.Snapshot{}).Object(ref); !apierrors.IsNotFound(err) {
			return nil, err
		}
	}
	return func(r *runner) error {
		for _, ref := range refs {
			if _, err := r.read(ref); err == nil && r.quiet && explains(ref.Kind) {
				continue
			}
			text, err := r.explanation(ref)
			if err != nil {
				return err
			}
			r.printf("%s\n", strings.TrimSuffix(text, "\n"))
		}
		return nil
	}, nil
}

// explanation returns the text of explain for an object.
func (r *runner) explanation(ref api.Ref) (string, error) {
	x, err := r.cluster.Explain(objname.Of(ref))
	if err != nil {
		return "", err
	}
	return x.String() + "\n", nil
}
