package script

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/explain"
	"github.com/volsim/volsim/internal/core/store"
)

func expectCommands() []*command {
	return []*command{{
		name: "expect", group: expectations,
		usage: []string{
			"KIND/NAME | KIND NAME [gone] [CONDITION...]", "KIND CONDITION... [count=N]", "event [KIND/NAME] CONDITION... [count=N]",
			"SORT [KIND/NAME] CONDITION... [count=N]", "backend NAME CONDITION...", "machine NODE CONDITION...", "violation [CONDITION...] [count=N]", "faults used", "now=DURATION",
		},
		help: expectHelp(),
		examples: []string{
			"expect pvc/data phase=Bound volume=pv1", "expect pvc data .status.capacity.storage=2Gi", "expect pv/pv1 gone", "expect pv phase=Available count=2",
			"expect va node=n1 attached=true count=0", `expect pvc/data .metadata.annotations[pv.kubernetes.io/bind-completed]=yes`,
			"expect event pod/web reason=FailedMount count>=1", "expect write pv/pv1 actor=persistentvolume-controller count=2",
			"expect call target=disk.example.com verb=Create outcome=failed count=3", "expect decision pvc/data rule=MATCH-012",
			"expect backend disk.example.com volumes=0 problems=0", "expect backend disk.example.com volume=$HANDLE attached=n1 writer=default/web", "expect now=6m0.1s",
		},
		read: readExpect,
	}}
}

func expectHelp() string {
	var kinds strings.Builder
	for _, kind := range store.Kinds() {
		fmt.Fprintf(&kinds, "- %s: `%s`\n", kindNames[kind][min(2, len(kindNames[kind])-1)], strings.Join(fieldNames(kind), "`, `"))
	}
	return "Says what must be so at this moment. A CONDITION is a field, an operator and a value, without blanks: `=`, `!=`, `<`, `<=`, `>`, `>=` (numbers, quantities, durations and times are compared as such), " +
		"`~` and `!~` (regular expressions). A value in single quotes may have blanks. A field is a word below, `condition.TYPE`, or a path as in kubectl's jsonpath (`.metadata.labels[app]`, `.spec.finalizers[*]`, " +
		"`.status.conditions[?(@.type==\"Ready\")].status`). What is absent is empty, several values have commas between them. A field that is `true` or `false`, or the status of a condition (`True`, `False`, `Unknown`), cannot be compared with anything else.\n\n" +
		"With a name, the object must be there and every condition hold, or with `gone` it must not be there. Without a name at least one object must meet the conditions, or as many as `count` says.\n\n" +
		kinds.String() +
		"\n`expect event` counts how often an Event occurred; its fields are `reason`, `type`, `message` and `by`, the component. With a SORT it counts entries of the trace: " + sortNames() + "; the fields are " + entryFieldHelp() + "\n\n" +
		"`expect backend NAME` has `volumes` (how many), `deleted` (how many were), `problems` (how often something went wrong with data: two writers, double creates, use after deletion, leaks) and `problem` (their kinds); " +
		"with `volume=ID` it is about that volume: `there`, `size`, `usable`, `attached`, `staged` (nodes), `published` (pods), `writes` (how many), `writer` (the pod that wrote last, empty if nothing is on it), `segment`. " +
		"`expect machine NODE` has `running` (its kubelet), `partitioned`, `containers`, `mounts`, `reads`, `writes`, `failures` (of those reads and writes). `expect violation` counts violations of the invariants that `config check` or `watch` names; its fields are `name`, `text`, `forced`, `at`, `volume`, `objects`. `expect faults used` fails if a fault never came to pass. `expect now` compares the time since the start."
}

func readExpect(s *Script, args []string) (step, error) {
	a, err := readArguments(args, namespaceOption)
	if err != nil {
		return nil, err
	}
	words := a.rest
	if len(words) == 0 {
		return nil, usageOf("expect", "it is not said what")
	}
	if c, ok, err := readCondition(words[0]); ok && err == nil && c.field == "now" && len(words) == 1 {
		return readExpectNow(c)
	}
	switch first, rest := words[0], words[1:]; {
	case first == "event" || first == "events":
		return readExpectEvent(rest, a.get("namespace", ""))
	case slices.Contains(sorts, first):
		return readExpectEntry(first, rest, a.get("namespace", ""))
	case first == "violation" || first == "violations":
		return readExpectViolation(rest)
	case first == "backend":
		return readExpectBackend(s, rest)
	case first == "machine":
		return readExpectMachine(rest)
	case first == "faults":
		if len(rest) != 1 || rest[0] != "used" {
			return nil, usageOf("expect", "of faults it can only be said that they were used")
		}
		return expectFaultsUsed, nil
	}
	return readExpectObject(words, a.get("namespace", ""))
}

func readExpectNow(c condition) (step, error) {
	if _, comparable := compare("1s", c.value); !comparable {
		return nil, fmt.Errorf("%q is no duration: now is the time since the start, as 5m", c.value)
	}
	return func(p *player) error {
		return holdsOrWhy([]condition{c}, func(string) string { return p.elapsed().String() })
	}, nil
}

// holdsOrWhy says which conditions do not hold.
func holdsOrWhy(conditions []condition, value func(field string) string) error {
	var wrong []string
	for _, c := range conditions {
		got := value(c.field)
		ok, err := c.holds(got)
		if err != nil {
			return err
		}
		if !ok {
			wrong = append(wrong, fmt.Sprintf("%s is %s, want %s", c.field, quoted(got), c.want()))
		}
	}
	if len(wrong) > 0 {
		return errors.New(strings.Join(wrong, "; "))
	}
	return nil
}

// takeCount takes the condition on the count out of the words; without one it is at least one.
func takeCount(words []string) (count condition, rest []string, given bool, err error) {
	count, _, _ = readCondition("count>=1")
	for _, w := range words {
		c, ok, err := readCondition(w)
		if err != nil {
			return count, nil, false, err
		}
		if !ok || c.field != "count" {
			rest = append(rest, w)
			continue
		}
		if n, err := strconv.Atoi(c.value); err != nil || n < 0 {
			return count, nil, false, fmt.Errorf("%s: the count is a number", w)
		}
		if given {
			return count, nil, false, fmt.Errorf("the count is given twice")
		}
		count, given = c, true
	}
	return count, rest, given, nil
}

// countHolds compares a number with what was wanted.
func countHolds(count condition, n int) (bool, error) { return count.holds(strconv.Itoa(n)) }

func readExpectObject(words []string, namespace string) (step, error) {
	count, rest, counted, err := takeCount(words)
	if err != nil {
		return nil, err
	}
	gone := slices.Contains(rest, "gone")
	rest = slices.DeleteFunc(rest, func(w string) bool { return w == "gone" || w == "exists" })
	w, err := readWhich(rest, namespace)
	if err != nil {
		return nil, err
	}
	byName := w.ref != (api.Ref{})
	switch {
	case gone && (!byName || len(w.checks) > 0 || counted):
		return nil, usageOf("expect", "gone goes with one object and no conditions")
	case gone:
		return func(p *player) error {
			if obj, err := p.get(w.ref); err == nil {
				return errors.New(stillThere(obj))
			}
			return nil
		}, nil
	case byName && counted:
		return nil, usageOf("expect", "a count goes with a kind, not with one object")
	case !byName && len(w.checks) == 0 && !counted:
		return nil, usageOf("expect", "it is not said what holds of a "+string(w.kind))
	}
	return func(p *player) error {
		docs, wrong, err := w.find(p)
		if err != nil {
			return err
		}
		if byName {
			if len(wrong) > 0 {
				return errors.New(wrong[0] + p.because(w))
			}
			return nil
		}
		if ok, err := countHolds(count, len(docs)); ok || err != nil {
			return err
		}
		return countError(count, len(docs), plural(w.kind), wrong)
	}, nil
}

func stillThere(obj api.Object) string {
	if obj.GetDeletionTimestamp() == nil {
		return "it is there, and nobody deletes it"
	}
	if len(obj.GetFinalizers()) > 0 {
		return fmt.Sprintf("it is still there: it is being deleted, and finalizers %v hold it", obj.GetFinalizers())
	}
	return "it is still there: it is being deleted"
}

// because gives the reason why an object is not what was expected of it.
func (p *player) because(w which) string {
	explained := w.kind == api.PersistentVolumeClaim || w.kind == api.Pod || w.kind == api.PersistentVolume
	if !explained {
		return ""
	}
	x, err := p.cluster.Explain(explain.Name(w.ref))
	if err != nil || x.Because.Text == "" {
		return ""
	}
	return " (" + x.Because.Rule + ": " + x.Because.Text + ")"
}

func countError(count condition, n int, what string, others []string) error {
	text := fmt.Sprintf("there are %d such %s, want %s", n, what, count.want())
	if len(others) > 0 {
		text += "; not these: " + listed(others, ", ")
	}
	return errors.New(text)
}

func readExpectEvent(words []string, namespace string) (step, error) {
	count, rest, _, err := takeCount(words)
	if err != nil {
		return nil, err
	}
	about, rest, err := takeRef(rest, namespace)
	if err != nil {
		return nil, err
	}
	checks, err := readChecks(api.Event, rest)
	if err != nil {
		return nil, err
	}
	return func(p *player) error {
		n := 0
		var others []string
		for _, e := range p.cluster.Events() {
			if about != (api.Ref{}) && !isAbout(e, about) {
				continue
			}
			wrong, err := unmet(documentOf(e), checks)
			if err != nil {
				return err
			}
			if wrong == "" {
				n += max(int(e.Count), 1)
			} else {
				others = append(others, fmt.Sprintf("%s (%d times)", e.Reason, max(e.Count, 1)))
			}
		}
		if ok, err := countHolds(count, n); ok || err != nil {
			return err
		}
		return countError(count, n, "events", others)
	}, nil
}

// takeRef takes the first word if it names an object.
func takeRef(words []string, namespace string) (api.Ref, []string, error) {
	if len(words) == 0 {
		return api.Ref{}, nil, nil
	}
	if _, isCondition, _ := readCondition(words[0]); isCondition || !strings.Contains(words[0], "/") {
		return api.Ref{}, words, nil
	}
	ref, err := refOf(words[0], namespace)
	return ref, words[1:], err
}

func expectFaultsUsed(p *player) error {
	if unused := p.cluster.Faults.Unused(); len(unused) > 0 {
		return fmt.Errorf("these never came to pass: %s", strings.Join(unused, ", "))
	}
	return nil
}

// readConditions reads conditions on fields of something that is no object.
func readConditions(what string, fields, words []string) ([]condition, error) {
	if len(words) == 0 {
		return nil, usageOf("expect", "it is not said what holds of a "+what)
	}
	var all []condition
	for _, w := range words {
		c, ok, err := readCondition(w)
		if err != nil {
			return nil, err
		}
		if !ok {
			return nil, fmt.Errorf("%q is no condition: write FIELD=VALUE", w)
		}
		if !slices.Contains(fields, c.field) {
			return nil, fmt.Errorf("a %s has no field %q: there are %s", what, c.field, strings.Join(fields, ", "))
		}
		if slices.Contains(booleanFields, c.field) {
			if err := c.isOneOf(booleans); err != nil {
				return nil, err
			}
		}
		all = append(all, c)
	}
	return all, nil
}

// backendNamed finds a backend of the script when it is played.
func (p *player) backendNamed(name string) (scriptBackend, error) {
	if m := p.backends[name]; m != nil {
		return m, nil
	}
	return nil, fmt.Errorf("there is no backend %s: begin the script with a line backend %s", name, name)
}
