package script

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"unicode"

	"k8s.io/apimachinery/pkg/fields"

	"github.com/volsim/volsim/api"
)

// selectable are the fields that --field-selector may name, besides name and namespace.
var selectable = map[api.Kind][]string{
	api.Pod: {"spec.nodeName", "spec.restartPolicy", "spec.schedulerName", "spec.serviceAccountName", "spec.hostNetwork", "status.phase", "status.podIP",
		"status.nominatedNodeName"},
	api.Node: {"spec.unschedulable"},
	api.Event: {"involvedObject.kind", "involvedObject.namespace", "involvedObject.name", "involvedObject.uid", "involvedObject.apiVersion",
		"involvedObject.resourceVersion", "involvedObject.fieldPath", "reason", "reportingComponent", "type"},
	"Namespace":       {"status.phase"},
	"Secret":          {"type"},
	"Job.batch":       {"status.successful"},
	"ReplicaSet.apps": {"status.replicas"},
}

// absent are the values in a field selector of fields that an object leaves out.
var absent = map[string]string{"spec.unschedulable": "false", "spec.hostNetwork": "false", "status.replicas": "0"}

// readFieldSelector reads the value of --field-selector.
func readFieldSelector(a arguments, kinds []api.Kind) (func(api.Object) bool, error) {
	if !a.has("field-selector") {
		return func(api.Object) bool { return true }, nil
	}
	selector, err := fields.ParseSelector(a.get("field-selector", ""))
	if err != nil {
		return nil, err
	}
	paths := map[string]path{}
	for _, requirement := range selector.Requirements() {
		for _, kind := range kinds {
			known := append([]string{"metadata.name", "metadata.namespace"}, selectable[kind]...)
			if !slices.Contains(known, requirement.Field) {
				return nil, fmt.Errorf("field label not supported: %s; want one of %s", requirement.Field, strings.Join(known, ", "))
			}
		}
		if paths[requirement.Field], err = readPath("." + requirement.Field); err != nil {
			return nil, err
		}
	}
	return func(obj api.Object) bool {
		doc, set := documentOf(obj), fields.Set{}
		for name, p := range paths {
			if set[name] = p.value(doc); set[name] == "" {
				set[name] = absent[name]
			}
		}
		return selector.Matches(set)
	}, nil
}

// readSortBy reads the value of --sort-by: a path such as .metadata.name, also in braces.
func readSortBy(a arguments) (func([]api.Object), error) {
	if !a.has("sort-by") {
		return func([]api.Object) {}, nil
	}
	p, err := readPath(strings.Trim(a.get("sort-by", ""), "{}"))
	if err != nil {
		return nil, err
	}
	return func(objs []api.Object) {
		slices.SortStableFunc(objs, func(a, b api.Object) int { return compareValues(p.value(documentOf(a)), p.value(documentOf(b))) })
	}, nil
}

// compareValues orders values as kubectl does: quantities and numbers by size, others by their text, in which numbers count as such.
func compareValues(a, b string) int {
	if x, ok := quantity(a); ok {
		if y, ok := quantity(b); ok {
			return x.Cmp(y)
		}
	}
	for a != "" && b != "" {
		x, restX := leadingNumber(a)
		y, restY := leadingNumber(b)
		switch {
		case x >= 0 && y >= 0 && x != y:
			return x - y
		case x >= 0 && y >= 0:
			a, b = restX, restY
		case a[0] != b[0]:
			return int(a[0]) - int(b[0])
		default:
			a, b = a[1:], b[1:]
		}
	}
	return len(a) - len(b)
}

// leadingNumber returns the number with which a text begins, or -1.
func leadingNumber(s string) (n int, rest string) {
	const longest = 9 // digits
	end := strings.IndexFunc(s, func(r rune) bool { return !unicode.IsDigit(r) })
	if end < 0 {
		end = len(s)
	}
	n, err := strconv.Atoi(s[:min(end, longest)])
	if err != nil {
		return -1, s
	}
	return n, s[min(end, longest):]
}

// customColumns reads -o custom-columns=TITLE:PATH,...
func customColumns(spec string, noHeaders bool) (func(*runner, []api.Object) error, error) {
	var titles []string
	var paths []path
	for column := range strings.SplitSeq(spec, ",") {
		title, text, ok := strings.Cut(column, ":")
		if !ok || title == "" {
			return nil, errors.New("invalid -o custom-columns: want TITLE:PATH,..., such as NAME:.metadata.name")
		}
		text = strings.Trim(text, "{}")
		if !strings.HasPrefix(text, ".") {
			text = "." + text
		}
		p, err := readPath(text)
		if err != nil {
			return nil, err
		}
		titles, paths = append(titles, title), append(paths, p)
	}
	return func(r *runner, objs []api.Object) error {
		t := tabwriter.NewWriter(&r.printed, 6, 4, 3, ' ', 0)
		if !noHeaders {
			fmt.Fprintln(t, strings.Join(titles, "\t"))
		}
		for _, obj := range objs {
			doc := documentOf(obj)
			cells := make([]string, len(paths))
			for i, p := range paths {
				if cells[i] = p.value(doc); len(p.find(doc)) == 0 {
					cells[i] = "<none>"
				}
			}
			fmt.Fprintln(t, strings.Join(cells, "\t"))
		}
		return t.Flush()
	}, nil
}
