package dump

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	goyaml "go.yaml.in/yaml/v2"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/store"
)

// Dump is what was read of a cluster.
type Dump struct {
	// Objects are those that can be simulated, in the order of the input.
	Objects []api.Object
	// Ignored counts the objects of each kind that is not simulated, by apiVersion and kind.
	Ignored map[string]int
	// Dropped are the fields that the types do not have, such as "Pod spec.workloadRef", sorted and each once.
	Dropped []string
}

// maxSize bounds a document, also once what it refers to by aliases is written out; a dump of a large cluster takes some 100 MiB.
const maxSize = 1 << 30

// Read reads a dump. An object that cannot be read is an error that names it.
func Read(data []byte) (*Dump, error) {
	d := &Dump{Ignored: map[string]int{}}
	p := &pruner{fields: fieldsOf{}, dropped: map[string]bool{}}
	docs, err := split(data)
	if err != nil {
		return nil, err
	}
	seen := map[api.Ref]bool{}
	for _, doc := range docs {
		value, err := decode(doc)
		if err != nil {
			return nil, fmt.Errorf("the dump cannot be read: %w", err)
		}
		if err := d.add(value, p, seen, 0); err != nil {
			return nil, err
		}
	}
	d.Dropped = slices.Sorted(maps.Keys(p.dropped))
	if len(d.Objects) == 0 {
		return nil, fmt.Errorf("the dump has no objects that are simulated: make it with kubectl get pv,pvc,sc,pods,nodes,volumeattachments,csidrivers,csinodes -A -o yaml")
	}
	return d, nil
}

// split divides YAML into its documents.
func split(data []byte) ([][]byte, error) {
	var docs [][]byte
	r := utilyaml.NewYAMLReader(bufio.NewReaderSize(bytes.NewReader(data), 1<<16))
	for {
		doc, err := r.Read()
		if errors.Is(err, io.EOF) {
			return docs, nil
		}
		if err != nil {
			return nil, fmt.Errorf("the dump cannot be read: %w", err)
		}
		if len(bytes.TrimSpace(doc)) > 0 {
			docs = append(docs, doc)
		}
	}
}

// decode reads a document as JSON values.
func decode(doc []byte) (any, error) {
	doc = bytes.TrimPrefix(doc, []byte("\ufeff"))
	if trimmed := bytes.TrimSpace(doc); len(trimmed) > 0 && trimmed[0] != '{' || !json.Valid(doc) {
		if bytes.IndexByte(doc, '&') >= 0 {
			var value any
			if err := goyaml.Unmarshal(doc, &value); err != nil {
				return nil, err
			}
			if expand(value, maxSize) < 0 {
				return nil, fmt.Errorf("aliases make the document larger than %d MiB", maxSize>>20)
			}
		}
		var err error
		if doc, err = yaml.YAMLToJSON(doc); err != nil {
			return nil, err
		}
	}
	decoder := json.NewDecoder(bytes.NewReader(doc))
	decoder.UseNumber()
	var value any
	err := decoder.Decode(&value)
	return value, err
}

// expand takes the size of a value off a budget and stops when that is used up.
func expand(value any, budget int) int {
	switch value := value.(type) {
	case string:
		budget -= len(value)
	case []any:
		for _, item := range value {
			if budget = expand(item, budget); budget < 0 {
				return budget
			}
		}
	case map[any]any:
		for key, item := range value {
			if budget = expand(item, expand(key, budget)); budget < 0 {
				return budget
			}
		}
	}
	return budget - 1
}

// maxDepth bounds Lists within Lists.
const maxDepth = 8

// add takes an object, or the items of a List. A document without anything in it is passed over.
func (d *Dump) add(value any, p *pruner, seen map[api.Ref]bool, depth int) error {
	if value == nil {
		return nil
	}
	fields, ok := value.(map[string]any)
	if !ok {
		return fmt.Errorf("the dump has something that is not an object: give what kubectl get -o yaml prints")
	}
	kind, _ := fields["kind"].(string)
	apiVersion, _ := fields["apiVersion"].(string)
	if kind == "" || apiVersion == "" {
		return fmt.Errorf("the dump has an object without apiVersion or kind: give what kubectl get -o yaml prints")
	}
	if items, ok := fields["items"].([]any); ok && strings.HasSuffix(kind, "List") {
		if depth == maxDepth {
			return fmt.Errorf("the dump has lists nested more than %d deep", maxDepth)
		}
		for _, item := range items {
			if item, ok := item.(map[string]any); ok && kind != "List" {
				// The items of a typed list need not say what they are.
				setDefault(item, "kind", strings.TrimSuffix(kind, "List"))
				setDefault(item, "apiVersion", apiVersion)
			}
			if err := d.add(item, p, seen, depth+1); err != nil {
				return err
			}
		}
		return nil
	}
	gvk := store.GroupVersionKind(api.Kind(kind))
	if gvk.Kind == "" || gvk.GroupVersion().String() != apiVersion {
		d.Ignored[apiVersion+" "+kind]++
		return nil
	}
	return d.addObject(fields, p, seen)
}

func setDefault(fields map[string]any, key, value string) {
	if _, ok := fields[key]; !ok {
		fields[key] = value
	}
}

// addObject reads one object of a kind that is simulated.
func (d *Dump) addObject(fields map[string]any, p *pruner, seen map[api.Ref]bool) error {
	kind := api.Kind(fields["kind"].(string))
	data, err := json.Marshal(p.prune(fields, types[kind], string(kind), ""))
	if err != nil {
		return fmt.Errorf("%s %s: %w", kind, title(fields), err)
	}
	objs, err := store.ReadManifests(data)
	if err != nil {
		return fmt.Errorf("%s %s: %s", kind, title(fields), strings.TrimPrefix(err.Error(), "line 1: "))
	}
	for _, obj := range objs {
		ref := api.RefTo(obj)
		if obj.GetName() == "" {
			return fmt.Errorf("the dump has a %s without a name", kind)
		}
		if seen[ref] {
			return fmt.Errorf("the dump has %s twice: give one state of the cluster", ref)
		}
		seen[ref] = true
		d.Objects = append(d.Objects, obj)
	}
	return nil
}

// title is how an object that could not be read is named.
func title(fields map[string]any) string {
	meta, _ := fields["metadata"].(map[string]any)
	name, _ := meta["name"].(string)
	if namespace, _ := meta["namespace"].(string); namespace != "" {
		return namespace + "/" + name
	}
	return name
}
