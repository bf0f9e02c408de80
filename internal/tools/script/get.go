package script

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/document"
	"github.com/volsim/volsim/internal/tools/jsonpath"
	"github.com/volsim/volsim/internal/tools/kubectl"
)

// getOptions are the options of get besides those that select objects.
var getOptions = []option{
	namespaceOption, allNamespacesOption, selectorOption, fileOption, chunkOption, {long: "output", short: "o", value: true}, {long: "template", value: true},
	{long: "no-headers"}, {long: "show-labels"}, {long: "label-columns", short: "L", value: true, list: true}, {long: "show-kind"},
	{long: "sort-by", value: true}, {long: "field-selector", value: true}, {long: "ignore-not-found"}, {long: "show-managed-fields"},
	{long: "subresource", value: true}, {long: "watch", short: "w"}, {long: "watch-only"}, {long: "output-watch-events"},
	{long: "request-timeout", value: true}, {long: "raw", value: true},
}

// printer prints objects in one of the formats of -o.
type printer func(r *runner, objs []api.Object) error

func readGet(s *Script, args []string) (step, error) {
	a, err := readArguments(args, getOptions...)
	switch {
	case err != nil:
		return nil, err
	case a.has("raw"):
		return readRaw(a)
	}
	flags := map[string]bool{}
	for _, name := range []string{"no-headers", "show-labels", "show-kind", "ignore-not-found", "show-managed-fields", "watch", "watch-only", "output-watch-events"} {
		if flags[name], err = a.flag(name); err != nil {
			return nil, err
		}
	}
	if n := a.get("chunk-size", "0"); strings.Trim(n, "0123456789") != "" {
		return nil, fmt.Errorf("invalid --chunk-size=%s: want a number", n)
	}
	q, err := readQuery(s, a)
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
	print, table, err := readPrinter(a, q, flags)
	if err != nil {
		return nil, err
	}
	part, err := readPart(a)
	if err != nil {
		return nil, err
	}
	if flags["watch"] || flags["watch-only"] {
		return readWatch(a, q, selects, flags)
	}
	return func(r *runner) error {
		if r.quiet && table && q.refs == nil {
			return nil // a table, which nobody reads
		}
		objs, err := q.find(r)
		if flags["ignore-not-found"] && apierrors.IsNotFound(err) {
			err = nil
			if len(objs) == 0 {
				return nil
			}
		}
		if err != nil && len(objs) == 0 {
			return err
		}
		objs = slices.DeleteFunc(objs, func(obj api.Object) bool { return !selects(obj) })
		if failed := sortObjects(objs); failed != nil {
			return failed
		}
		if failed := print(r, part(objs)); failed != nil {
			return failed
		}
		if table && len(objs) == 0 && !flags["ignore-not-found"] && !r.quiet {
			r.printf("%s", kubectl.NothingFound(q.emptyNamespace(r.script)))
		}
		return err
	}, nil
}

// readPrinter reads -o. table reports that it is a table for people.
func readPrinter(a arguments, q query, flags map[string]bool) (print printer, table bool, err error) {
	format, template := a.get("output", ""), a.get("template", "")
	if format == "" && template != "" {
		format = "go-template"
	}
	kind, text, hasText := strings.Cut(format, "=")
	if !hasText && template != "" {
		text = template
	}
	switch kind {
	case "", "wide":
		opts := tableOptions(a, q, flags)
		return func(r *runner, objs []api.Object) error { return r.printTable(q, objs, opts) }, true, nil
	case "yaml", "json":
		return func(r *runner, objs []api.Object) error {
			return r.printDocuments(objs, kind, q.single(), flags["show-managed-fields"])
		}, false, nil
	case "name":
		return func(r *runner, objs []api.Object) error {
			for _, obj := range objs {
				r.printf("%s\n", displayName(api.RefTo(obj)))
			}
			return nil
		}, false, nil
	case "custom-columns":
		print, err = customColumns(text, flags["no-headers"])
		return print, false, err
	case "jsonpath", "jsonpath-as-json":
		if text == "" {
			return nil, false, errors.New("template format specified but no template given")
		}
		print, err = jsonPathPrinter(text, kind == "jsonpath-as-json", q.single())
		return print, false, err
	case "go-template", "template":
		print, err = goTemplate(text, q.single())
		return print, false, err
	}
	return nil, false, fmt.Errorf("invalid -o %q: want wide, yaml, json, name, jsonpath={…}, jsonpath-as-json={…}, go-template={{…}} or custom-columns=TITLE:PATH,...",
		format)
}

// tableOptions are what the options say about tables.
func tableOptions(a arguments, q query, flags map[string]bool) kubectl.Options {
	labels := []string{}
	for _, value := range a.options["label-columns"] {
		labels = append(labels, strings.Split(value, ",")...)
	}
	return kubectl.Options{Namespaces: q.namespace == "", Wide: a.get("output", "") == "wide", NoHeaders: flags["no-headers"],
		Labels: flags["show-labels"], LabelColumns: labels, Kinds: flags["show-kind"]}
}

// printTable prints tables: one for each kind of a list, or for each run of named objects of one kind.
func (r *runner) printTable(q query, objs []api.Object, opts kubectl.Options) error {
	if r.quiet {
		return nil
	}
	opts.Columns, opts.Quiet = r.columns, true
	if q.refs != nil {
		for _, obj := range objs {
			opts.Kinds = opts.Kinds || api.KindOf(obj) != api.KindOf(objs[0])
		}
		return kubectl.PrintInOrder(&r.printed, r.cluster.Now(), objs, opts)
	}
	if q.kinds = slices.Clone(q.kinds); len(objs) > 0 && !slices.Contains(q.kinds, api.KindOf(objs[0])) {
		q.kinds = []api.Kind{api.KindOf(objs[0])}
	}
	return kubectl.Print(&r.printed, r.cluster.Now(), q.kinds, objs, opts)
}

// columns returns the columns of a kind, also of one that a CustomResourceDefinition of the cluster adds.
func (r *runner) columns(kind api.Kind) []kubectl.Column {
	known := r.script.describe(kind)
	if known == nil || !known.Custom {
		return kubectl.Columns(kind)
	}
	definition, err := r.read(api.Ref{Kind: "CustomResourceDefinition.apiextensions.k8s.io", Key: known.Plural + "." + known.Group})
	if err != nil {
		return kubectl.Columns(kind)
	}
	return kubectl.DefinedColumns(kind, definition, known.Version())
}

// readPart reads --subresource: the status is shown as part of its object, and a scale in its place.
func readPart(a arguments) (func([]api.Object) []api.Object, error) {
	switch name := a.get("subresource", ""); name {
	case "", "status":
		return func(objs []api.Object) []api.Object { return objs }, nil
	case "scale":
		return func(objs []api.Object) []api.Object {
			scales := make([]api.Object, len(objs))
			for i, obj := range objs {
				scales[i] = scaleOf(obj)
			}
			return scales
		}, nil
	default:
		return nil, fmt.Errorf("invalid --subresource=%s: want status or scale", name)
	}
}

// scaleOf returns the scale of a workload.
func scaleOf(obj api.Object) api.Object {
	doc := document.Of(obj)
	count := func(part string) int32 {
		fields, _ := doc[part].(map[string]any)
		n, _ := jsonpath.Number(fields["replicas"])
		return int32(n)
	}
	scale := &autoscalingv1.Scale{TypeMeta: metav1.TypeMeta{APIVersion: "autoscaling/v1", Kind: "Scale"}}
	scale.Name, scale.Namespace, scale.UID, scale.CreationTimestamp = obj.GetName(), obj.GetNamespace(), obj.GetUID(), obj.GetCreationTimestamp()
	scale.ResourceVersion = obj.GetResourceVersion()
	scale.Spec.Replicas, scale.Status.Replicas = count("spec"), count("status")
	return scale
}

// listOf returns the document of a List of the objects.
func listOf(objs []api.Object) map[string]any {
	items := make([]any, len(objs))
	for i, obj := range objs {
		items[i] = document.Of(obj)
	}
	return map[string]any{"apiVersion": "v1", "kind": "List", "items": items, "metadata": map[string]any{"resourceVersion": ""}}
}

// shownOf returns what a template is applied to: a single object that the script names, or else a List.
func shownOf(objs []api.Object, single bool) map[string]any {
	if single && len(objs) == 1 {
		return document.Of(objs[0])
	}
	return listOf(objs)
}

// printDocuments prints YAML or JSON: a single named object by itself, anything else as a List. Without managed, managedFields are left out.
func (r *runner) printDocuments(objs []api.Object, format string, single, managed bool) error {
	if !managed {
		objs = withoutManagers(objs)
	}
	return r.printDocument(shownOf(objs, single), format)
}

// withoutManagers returns the objects without managedFields.
func withoutManagers(objs []api.Object) []api.Object {
	objs = slices.Clone(objs)
	for i, obj := range objs {
		if len(obj.GetManagedFields()) > 0 {
			objs[i] = obj.DeepCopyObject().(api.Object)
			objs[i].SetManagedFields(nil)
		}
	}
	return objs
}

// printDocument prints YAML or JSON.
func (r *runner) printDocument(doc map[string]any, format string) error {
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

// single reports whether the query names one object, which is then printed by itself and not in a List.
func (q query) single() bool { return len(q.refs) == 1 }

// emptyNamespace returns the namespace to name where nothing was found: "" if a kind has none.
func (q query) emptyNamespace(s *Script) string {
	if slices.ContainsFunc(q.kinds, func(kind api.Kind) bool { return !s.namespaced(kind) }) {
		return ""
	}
	return q.namespace
}
