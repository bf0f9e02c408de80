package script

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/tools/kubectl"
)

func readGet(_ *Script, args []string) (step, error) {
	a, err := readArguments(args, namespaceOption, option{long: "all-namespaces", short: "A"}, option{long: "output", short: "o", value: true},
		option{long: "selector", short: "l", value: true}, option{long: "no-headers"})
	if err != nil {
		return nil, err
	}
	q, err := readQuery(a)
	if err != nil {
		return nil, err
	}
	noHeaders, err := a.flag("no-headers")
	if err != nil {
		return nil, err
	}
	format := a.get("output", "")
	var print func(*player, []api.Object) error
	switch {
	case format == "" || format == "wide":
		print = func(p *player, objs []api.Object) error {
			return kubectl.Print(&p.printed, p.cluster.Now(), q.kinds, objs, kubectl.Options{
				Namespaces: q.namespace == "", Wide: format == "wide", NoHeaders: noHeaders, Namespace: q.namespace})
		}
	case format == "yaml" || format == "json":
		print = func(p *player, objs []api.Object) error { return p.printDocuments(objs, format, q.refs != nil) }
	case format == "name":
		print = func(p *player, objs []api.Object) error {
			for _, obj := range objs {
				p.printf("%s\n", shown(api.RefTo(obj)))
			}
			return nil
		}
	case strings.HasPrefix(format, "jsonpath="):
		read, err := jsonPathField(strings.TrimPrefix(format, "jsonpath="))
		if err != nil {
			return nil, err
		}
		print = func(p *player, objs []api.Object) error {
			if q.refs == nil || len(objs) > 1 {
				p.printf("%s", read(listOf(objs)))
				return nil
			}
			p.printf("%s", read(documentOf(objs[0])))
			return nil
		}
	default:
		return nil, fmt.Errorf("-o %s: there are wide, yaml, json, name and jsonpath={…}", format)
	}
	return func(p *player) error {
		objs, err := q.find(p)
		if err != nil {
			return err
		}
		return print(p, objs)
	}, nil
}

// listOf is a List of objects.
func listOf(objs []api.Object) map[string]any {
	items := make([]any, len(objs))
	for i, obj := range objs {
		items[i] = documentOf(obj)
	}
	return map[string]any{"apiVersion": "v1", "kind": "List", "items": items, "metadata": map[string]any{"resourceVersion": ""}}
}

// printDocuments prints YAML or JSON: one object that was named as it is, anything else as a List.
func (p *player) printDocuments(objs []api.Object, format string, named bool) error {
	var doc any = listOf(objs)
	if named && len(objs) == 1 {
		doc = documentOf(objs[0])
	}
	if format == "yaml" {
		data, err := yaml.Marshal(doc)
		p.printed.Write(data)
		return err
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "    ")
	err := encoder.Encode(doc)
	p.printed.Write(out.Bytes())
	return err
}
