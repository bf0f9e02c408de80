package script

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"

	"k8s.io/apimachinery/pkg/fields"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/document"
	"github.com/volsim/volsim/internal/tools/jsonpath"
)

// selectable are the fields that --field-selector may name, besides name and namespace.
var selectable = map[api.Kind][]string{
	api.Pod: {"spec.nodeName", "spec.restartPolicy", "spec.schedulerName", "spec.serviceAccountName", "spec.hostNetwork", "status.phase", "status.podIP",
		"status.nominatedNodeName"},
	api.Node: {"spec.unschedulable"},
	api.Event: {"involvedObject.kind", "involvedObject.namespace", "involvedObject.name", "involvedObject.uid", "involvedObject.apiVersion",
		"involvedObject.resourceVersion", "involvedObject.fieldPath", "reason", "reportingComponent", "type"},
	"Namespace": {"status.phase"},
	"Secret":    {"type"},
	"Service":   {"spec.clusterIP", "spec.type"},
	"Job.batch": {"status.successful"},
}

// absent are the values in a field selector of fields that an object leaves out.
var absent = map[string]string{"spec.unschedulable": "false", "spec.hostNetwork": "false", "status.successful": "0"}

// stored are the fields of objects whose name in a field selector is another.
var stored = map[string]string{"status.successful": "status.succeeded"}

// readFieldSelector reads the value of --field-selector.
func readFieldSelector(a arguments, kinds []api.Kind) (func(api.Object) bool, error) {
	if !a.has("field-selector") {
		return func(api.Object) bool { return true }, nil
	}
	selector, err := fields.ParseSelector(a.get("field-selector", ""))
	if err != nil {
		return nil, err
	}
	paths := map[string]jsonpath.Path{}
	for _, requirement := range selector.Requirements() {
		for _, kind := range kinds {
			known := append([]string{"metadata.name", "metadata.namespace"}, selectable[kind]...)
			if !slices.Contains(known, requirement.Field) {
				return nil, fmt.Errorf("field label not supported: %s; want one of %s", requirement.Field, strings.Join(known, ", "))
			}
		}
		if paths[requirement.Field], err = jsonpath.Read("." + cmp.Or(stored[requirement.Field], requirement.Field)); err != nil {
			return nil, err
		}
	}
	return func(obj api.Object) bool {
		doc, set := document.Of(obj), fields.Set{}
		for name, p := range paths {
			if set[name] = p.Value(doc); set[name] == "" {
				set[name] = absent[name]
			}
		}
		return selector.Matches(set)
	}, nil
}

// readSortBy reads the value of --sort-by: a path such as .metadata.name, also in braces. Like kubectl, the function that it returns fails if no
// object has the field.
func readSortBy(a arguments) (func([]api.Object) error, error) {
	if !a.has("sort-by") {
		return func([]api.Object) error { return nil }, nil
	}
	p, text, err := relaxedPath(a.get("sort-by", ""))
	if err != nil {
		return nil, err
	}
	return func(objs []api.Object) error {
		values := map[api.Object]any{}
		for _, obj := range objs {
			if found := p.Find(document.Of(obj)); len(found) > 0 {
				values[obj] = found[0]
			}
		}
		if len(values) == 0 && len(objs) > 0 {
			return Refusal{fmt.Errorf("couldn't find any field with path %q in the list of objects", text)}
		}
		// kubectl's comparison is no order if fields are missing, so the algorithm matters: that of the standard library.
		slices.SortFunc(objs, func(a, b api.Object) int {
			x, hasX := values[a]
			y, hasY := values[b]
			if !hasX || hasY && less(x, y) {
				return -1
			}
			return 0
		})
		return nil
	}, nil
}

// relaxedPath reads a path as kubectl accepts it outside of templates: with or without braces and the first dot. It also returns the path in full.
func relaxedPath(text string) (jsonpath.Path, string, error) {
	inner := text
	if strings.HasPrefix(text, "{") && strings.HasSuffix(text, "}") {
		inner = text[1 : len(text)-1]
	}
	inner = "." + strings.TrimPrefix(inner, ".")
	if strings.ContainsAny(inner, "{}") || inner == "." {
		return jsonpath.Path{}, "", errors.New("unexpected path string, expected a 'name1.name2' or '.name1.name2' or '{name1.name2}' or '{.name1.name2}'")
	}
	p, err := jsonpath.ReadExact(inner)
	return p, "{" + inner + "}", err
}

// less orders two values as kubectl does: numbers and quantities by size, other texts by their bytes.
func less(a, b any) bool {
	x, isNumber := jsonpath.Number(a)
	if y, alsoNumber := jsonpath.Number(b); isNumber && alsoNumber {
		return x < y
	}
	first, second := jsonpath.Text(a), jsonpath.Text(b)
	if x, ok := quantity(first); ok {
		if y, ok := quantity(second); ok {
			return x.Cmp(y) < 0
		}
	}
	return first < second
}

// customColumns reads -o custom-columns=TITLE:PATH,...
func customColumns(spec string, noHeaders bool) (printer, error) {
	if spec == "" {
		return nil, errors.New("custom-columns format specified but no custom columns given")
	}
	var titles []string
	var paths []jsonpath.Path
	for column := range strings.SplitSeq(spec, ",") {
		title, text, ok := strings.Cut(column, ":")
		if !ok {
			return nil, fmt.Errorf("unexpected custom-columns spec: %s, expected <header>:<json-path-expr>", column)
		}
		p, _, err := relaxedPath(text)
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
			doc := document.Of(obj)
			cells := make([]string, len(paths))
			for i, p := range paths {
				found, err := p.Select(doc)
				if err != nil {
					return Refusal{err}
				}
				texts := make([]string, len(found))
				for j, v := range found {
					texts[j] = fmt.Sprint(v)
				}
				if cells[i] = strings.Join(texts, ","); len(found) == 0 {
					cells[i] = "<none>"
				}
			}
			fmt.Fprintln(t, strings.Join(cells, "\t"))
		}
		return t.Flush()
	}, nil
}

// jsonPathPrinter prints objects through a template of jsonpath or, as JSON, the list of the values that its only path selects.
func jsonPathPrinter(template string, asJSON, single bool) (printer, error) {
	if asJSON {
		inner := strings.TrimSuffix(strings.TrimPrefix(template, "{"), "}")
		p, err := jsonpath.ReadExact(strings.TrimPrefix(strings.TrimPrefix(inner, "$"), "@"))
		if err != nil {
			return nil, err
		}
		return func(r *runner, objs []api.Object) error {
			found, err := p.Select(shownOf(objs, single))
			if err != nil {
				return errExecuting(template, err)
			}
			if found == nil {
				found = []any{}
			}
			data, err := json.MarshalIndent(found, "", "    ")
			r.printf("%s\n", data)
			return err
		}, nil
	}
	read, err := jsonpath.ReadTemplate(template)
	if err != nil {
		return nil, err
	}
	return func(r *runner, objs []api.Object) error {
		text, err := read(shownOf(objs, single))
		if err != nil {
			return errExecuting(template, err)
		}
		r.printf("%s", text)
		return nil
	}, nil
}

// errExecuting is the error of a template that fails.
func errExecuting(template string, err error) error {
	return Refusal{fmt.Errorf("error executing jsonpath %q: Error executing template: %w", template, err)}
}
