package script

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/objname"
	"github.com/volsim/volsim/internal/core/store"
	"github.com/volsim/volsim/internal/tools/jsonpath"
)

func expectCommands() []*command {
	return []*command{{
		name: "expect", group: expectations,
		usage: []string{
			"KIND/NAME | KIND NAME [gone] [CONDITION...]", "KIND CONDITION... [count=N]", "event [KIND/NAME] CONDITION... [count=N]",
			"TYPE [KIND/NAME] CONDITION... [count=N]", "backend NAME CONDITION...", "kubelet NODE CONDITION...",
			"violation [CONDITION...] [count=N]", "faults used", "now=DURATION",
		},
		help: expectHelp(),
		examples: []string{
			"expect pvc/data phase=Bound volume=pv1", "expect pvc data .status.capacity.storage=2Gi", "expect pv/pv1 gone",
			"expect pv phase=Available count=2",
			"expect va node=n1 attached=true count=0", `expect pvc/data .metadata.annotations[pv.kubernetes.io/bind-completed]=yes`,
			"expect event pod/web reason=FailedMount count>=1", "expect write pv/pv1 actor=persistentvolume-controller count=2",
			"expect call target=disk.example.com verb=Create outcome=failed count=3", "expect decision pvc/data rule=MATCH-012",
			"expect backend disk.example.com volumes=0 problems=0",
			"expect backend disk.example.com volume=$HANDLE attached=n1 writer=default/web", "expect now=6m0.1s",
		},
		read: readExpect,
	}}
}

func expectHelp() string {
	var kinds strings.Builder
	for _, kind := range store.Kinds() {
		fmt.Fprintf(&kinds, "- %s: `%s`\n", kindNames[kind][min(2, len(kindNames[kind])-1)], strings.Join(fieldNames(kind), "`, `"))
	}
	return "Checks the current state. A CONDITION is a field, an operator and a value, without blanks: `=`, `!=`, `<`, `<=`, `>`, `>=` " +
		"(numbers, quantities, durations and times are compared by value), `~` and `!~` (regular expressions). Put a value with blanks in single quotes. " +
		"A field is a name below, `condition.TYPE`, or a jsonpath of kubectl (`.metadata.labels[app]`, `.spec.finalizers[*]`, " +
		"`.status.conditions[?(@.type==\"Ready\")].status`). A missing field is the empty string; several values are joined with commas. " +
		"Comparing a field with a value that it never has is an error: a boolean, the status of a condition (`True`, `False`, `Unknown`), a phase, a quantity, " +
		"a verb, the ID of a rule, the name of an invariant or of a controller.\n\n" +
		"With a name, the object must exist and meet every condition; with `gone` it must not exist. " +
		"Without a name, at least one object must meet the conditions, or the number given by `count`.\n\n" +
		kinds.String() +
		"\n`expect event` counts occurrences of Events; their fields are `reason`, `type`, `message` and `by`, the component. " +
		"`expect TYPE` counts entries of the trace. TYPE is one of " + entryTypeList() + "; the fields are " + entryFieldHelp() + "\n\n" +
		"`expect backend NAME` has the fields `volumes` and `deleted` (numbers of volumes), `problems` (number of data problems: two writers, double creates, " +
		"use after deletion, leaks) and `problem` (their kinds). With `volume=ID` it checks that volume: `there`, `size`, `usable`, `attached` and `staged` (nodes), " +
		"`published` (pods), `writes` (number), `writer` (the pod that wrote last, empty if the volume is empty), `segment`.\n\n" +
		"`expect kubelet NODE` has the fields `running`, `partitioned`, `containers` and `mounts` (numbers), `reads`, `writes` and `failures` " +
		"(numbers of accesses by containers). `expect machine` is its older name.\n\n" +
		"`expect violation` counts violations of the invariants of `config check` and `config watch`; the fields are `name`, `text`, `forced`, `at`, `volume`, `objects`. " +
		"`expect faults used` fails if a fault was never applied. `expect now` compares the time since the start."
}

func readExpect(s *Script, args []string) (step, error) {
	a, err := readArguments(args, namespaceOption)
	if err != nil {
		return nil, err
	}
	words := a.rest
	if len(words) == 0 {
		return nil, usageOf("expect", "missing expectation")
	}
	if c, ok, err := readCondition(words[0]); ok && err == nil && c.field == "now" && len(words) == 1 {
		return readExpectNow(c)
	}
	switch first, rest := words[0], words[1:]; {
	case first == "event" || first == "events":
		return readExpectEvent(s, rest, a.get("namespace", ""))
	case isEntryType(first):
		return readExpectEntry(s, first, rest, a.get("namespace", ""))
	case first == "violation" || first == "violations":
		return readExpectViolation(rest)
	case first == "backend":
		return readExpectBackend(s, rest)
	case first == "kubelet" || first == "machine": // machine is the older name
		return readExpectKubelet(rest)
	case first == "faults":
		if len(rest) != 1 || rest[0] != "used" {
			return nil, usageOf("expect", "want faults used")
		}
		return expectFaultsUsed, nil
	}
	return readExpectObject(s, words, a.get("namespace", ""))
}

func readExpectNow(c condition) (step, error) {
	if _, comparable := compare("1s", c.value); !comparable {
		return nil, fmt.Errorf("invalid duration %q: now is the time since the start, such as 5m", c.value)
	}
	return func(r *runner) error {
		return requireAll([]condition{c}, func(string) string { return r.elapsed().String() })
	}, nil
}

// requireAll returns an error that lists the conditions that do not hold.
func requireAll(conditions []condition, value func(field string) string) error {
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

// takeCount removes the condition on count from the words; the default is count>=1.
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
			return count, nil, false, fmt.Errorf("invalid %s: want a number", w)
		}
		if given {
			return count, nil, false, errors.New("duplicate count")
		}
		count, given = c, true
	}
	return count, rest, given, nil
}

// countHolds compares a number with the condition on count.
func countHolds(count condition, n int) (bool, error) { return count.holds(strconv.Itoa(n)) }

func readExpectObject(s *Script, words []string, namespace string) (step, error) {
	count, rest, counted, err := takeCount(words)
	if err != nil {
		return nil, err
	}
	gone := slices.Contains(rest, "gone")
	rest = slices.DeleteFunc(rest, func(w string) bool { return w == "gone" || w == "exists" })
	t, err := readTarget(s, rest, namespace)
	if err != nil {
		return nil, err
	}
	byName := t.ref != (api.Ref{})
	switch {
	case gone && (!byName || len(t.checks) > 0 || counted):
		return nil, usageOf("expect", "gone takes one object and no conditions")
	case gone:
		return t.expectGone, nil
	case byName && counted:
		return nil, usageOf("expect", "count takes a kind, not one object")
	case byName:
		return t.expectOne, nil
	case len(t.checks) == 0 && !counted:
		return nil, usageOf("expect", "missing condition on the "+string(t.kind))
	}
	return func(r *runner) error { return t.expectCount(r, count) }, nil
}

// expectGone fails if the object exists.
func (t target) expectGone(r *runner) error {
	if obj, err := r.get(t.ref); err == nil {
		return errors.New(stillThere(obj))
	}
	return nil
}

// expectOne fails if the object does not exist or does not meet a condition.
func (t target) expectOne(r *runner) error {
	_, unmet, err := t.find(r)
	if err == nil && len(unmet) > 0 {
		err = errors.New(unmet[0] + r.because(t))
	}
	return err
}

// expectCount compares the number of objects that meet the conditions.
func (t target) expectCount(r *runner, count condition) error {
	docs, unmet, err := t.find(r)
	if err != nil {
		return err
	}
	if ok, err := countHolds(count, len(docs)); ok || err != nil {
		return err
	}
	return countError(count, len(docs), plural(t.kind), unmet)
}

func stillThere(obj api.Object) string {
	if obj.GetDeletionTimestamp() == nil {
		return "it exists and is not being deleted"
	}
	if len(obj.GetFinalizers()) > 0 {
		return fmt.Sprintf("it still exists: it is being deleted, and finalizers %v remain", obj.GetFinalizers())
	}
	return "it still exists: it is being deleted"
}

// because returns the explanation of an object that does not meet an expectation, in parentheses.
func (r *runner) because(t target) string {
	if !explains(t.kind) || t.kind == api.VolumeAttachment {
		return ""
	}
	x, err := r.cluster.Explain(objname.Of(t.ref))
	if err != nil || x.Why == "" {
		return ""
	}
	return " (" + x.Rule + ": " + x.Why + ")"
}

// explains reports whether Cluster.Explain knows the kind.
func explains(kind api.Kind) bool {
	return slices.Contains([]api.Kind{api.PersistentVolumeClaim, api.Pod, api.PersistentVolume, api.VolumeAttachment}, kind)
}

func countError(count condition, n int, what string, others []string) error {
	text := fmt.Sprintf("%d matching %s, want %s", n, what, count.want())
	if len(others) > 0 {
		text += "; not matching: " + listed(others, ", ")
	}
	return errors.New(text)
}

func readExpectEvent(s *Script, words []string, namespace string) (step, error) {
	count, rest, _, err := takeCount(words)
	if err != nil {
		return nil, err
	}
	about, rest, err := takeRef(s, rest, namespace)
	if err != nil {
		return nil, err
	}
	checks, err := readChecks(api.Event, rest)
	if err != nil {
		return nil, err
	}
	return func(r *runner) error {
		n := 0
		var others []string
		for _, e := range r.cluster.Events() {
			if about != (api.Ref{}) && !isAbout(e, about) {
				continue
			}
			wrong, err := unmet(jsonpath.NewDocument(e), checks)
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

// takeRef splits off the first word if it names an object.
func takeRef(s *Script, words []string, namespace string) (api.Ref, []string, error) {
	if len(words) == 0 {
		return api.Ref{}, nil, nil
	}
	if _, isCondition, _ := readCondition(words[0]); isCondition || !strings.Contains(words[0], "/") {
		return api.Ref{}, words, nil
	}
	ref, err := s.refOf(words[0], namespace)
	return ref, words[1:], err
}

func expectFaultsUsed(r *runner) error {
	if unused := r.cluster.Faults.Unused(); len(unused) > 0 {
		return fmt.Errorf("faults never applied: %s", strings.Join(unused, ", "))
	}
	return nil
}

// readConditions reads conditions on something that is not an API object.
func readConditions(what string, fields, words []string) ([]condition, error) {
	if len(words) == 0 {
		return nil, usageOf("expect", "missing condition on the "+what)
	}
	var all []condition
	for _, w := range words {
		c, ok, err := readCondition(w)
		if err != nil {
			return nil, err
		}
		if !ok {
			return nil, fmt.Errorf("invalid condition %q: want FIELD=VALUE", w)
		}
		if !slices.Contains(fields, c.field) {
			return nil, fmt.Errorf("unknown field %[2]q of a %[1]s: want one of %[3]s", what, c.field, strings.Join(fields, ", "))
		}
		if slices.Contains(booleanFields, c.field) {
			if err := c.isOneOf(booleans); err != nil {
				return nil, err
			}
		}
		if c.field == "size" {
			if err := c.isQuantity(); err != nil {
				return nil, err
			}
		}
		all = append(all, c)
	}
	return all, nil
}

// backendNamed returns a backend of the run.
func (r *runner) backendNamed(name string) (scriptBackend, error) {
	if m := r.backends[name]; m != nil {
		return m, nil
	}
	return nil, fmt.Errorf("unknown backend %s; begin the script with a line backend %s", name, name)
}
