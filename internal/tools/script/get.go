package script

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/tools/kubectl"
)

func readGet(s *Script, args []string) (step, error) {
	a, err := readArguments(args, namespaceOption, allNamespacesOption, option{long: "output", short: "o", value: true},
		selectorOption, option{long: "no-headers"}, option{long: "show-labels"}, option{long: "sort-by", value: true},
		option{long: "field-selector", value: true})
	if err != nil {
		return nil, err
	}
	q, err := readQuery(s, a)
	if err != nil {
		return nil, err
	}
	noHeaders, err := a.flag("no-headers")
	if err != nil {
		return nil, err
	}
	labels, err := a.flag("show-labels")
	if err != nil {
		return nil, err
	}
	selects, err := readFieldSelector(a, q.kinds)
	if err != nil {
		return nil, err
	}
	sortObjects, err := readSortBy(a)
	if err != nil {
		return nil, err
	}
	format := a.get("output", "")
	var print func(*runner, []api.Object) error
	switch {
	case format == "" || format == "wide":
		print = func(r *runner, objs []api.Object) error {
			if r.quiet {
				return nil
			}
			return kubectl.Print(&r.printed, r.cluster.Now(), q.kinds, objs, kubectl.Options{
				Namespaces: q.namespace == "", Wide: format == "wide", NoHeaders: noHeaders, Namespace: q.namespace,
				Labels: labels, KeepOrder: a.has("sort-by")})
		}
	case format == "yaml" || format == "json":
		print = func(r *runner, objs []api.Object) error { return r.printDocuments(objs, format, q.refs != nil) }
	case format == "name":
		print = func(r *runner, objs []api.Object) error {
			for _, obj := range objs {
				r.printf("%s\n", displayName(api.RefTo(obj)))
			}
			return nil
		}
	case strings.HasPrefix(format, "custom-columns="):
		if print, err = customColumns(strings.TrimPrefix(format, "custom-columns="), noHeaders); err != nil {
			return nil, err
		}
	case strings.HasPrefix(format, "jsonpath="):
		read, err := jsonPathField(strings.TrimPrefix(format, "jsonpath="))
		if err != nil {
			return nil, err
		}
		print = func(r *runner, objs []api.Object) error {
			if q.refs == nil || len(objs) > 1 {
				r.printf("%s", read(listOf(objs)))
				return nil
			}
			r.printf("%s", read(documentOf(objs[0])))
			return nil
		}
	case format == "go-template" || strings.HasPrefix(format, "go-template="):
		if print, err = goTemplate(strings.TrimPrefix(strings.TrimPrefix(format, "go-template"), "="), q.refs != nil); err != nil {
			return nil, err
		}
	default:
		return nil, fmt.Errorf("invalid -o %q: want wide, yaml, json, name, jsonpath={…}, go-template={{…}} or custom-columns=TITLE:PATH,...", format)
	}
	return func(r *runner) error {
		if r.quiet && q.refs == nil && (format == "" || format == "wide") {
			return nil // a table, which nobody reads
		}
		objs, err := q.find(r)
		if err != nil {
			return err
		}
		objs = slices.DeleteFunc(objs, func(obj api.Object) bool { return !selects(obj) })
		sortObjects(objs)
		return print(r, objs)
	}, nil
}

// listOf returns the document of a List of the objects.
func listOf(objs []api.Object) map[string]any {
	items := make([]any, len(objs))
	for i, obj := range objs {
		items[i] = documentOf(obj)
	}
	return map[string]any{"apiVersion": "v1", "kind": "List", "items": items, "metadata": map[string]any{"resourceVersion": ""}}
}

// printDocuments prints YAML or JSON: a single named object by itself, anything else as a List.
func (r *runner) printDocuments(objs []api.Object, format string, named bool) error {
	var doc any = listOf(objs)
	if named && len(objs) == 1 {
		doc = documentOf(objs[0])
	}
	if format == "yaml" {
		data, err := yaml.Marshal(doc)
		r.printed.Write(data)
		return err
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "    ")
	err := encoder.Encode(doc)
	r.printed.Write(out.Bytes())
	return err
}
