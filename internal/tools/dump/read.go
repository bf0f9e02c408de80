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

	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/store"
)

// Dump is the state of a cluster.
type Dump struct {
	// Objects are the objects of simulated kinds, in the order of the input.
	Objects []api.Object
	// Ignored counts the objects of other kinds, by apiVersion and kind.
	Ignored map[string]int
	// Dropped lists unknown fields, such as "Pod spec.workloadRef", sorted and without duplicates.
	Dropped []string
}

// maxSize bounds a document after expanding YAML aliases. A dump of a large cluster has about 100 MiB.
const maxSize = 1 << 30

// Read reads a dump. The error names the object that could not be read.
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
			return nil, fmt.Errorf("read dump: %w", err)
		}
		if err := d.add(value, p, seen, 0); err != nil {
			return nil, err
		}
	}
	d.Dropped = slices.Sorted(maps.Keys(p.dropped))
	if len(d.Objects) == 0 {
		return nil,
			errors.New("read dump: no objects of simulated kinds; create it with kubectl get pv,pvc,sc,pods,nodes,volumeattachments,csidrivers,csinodes -A -o yaml")
	}
	return d, nil
}

// split returns the YAML documents of the data.
func split(data []byte) ([][]byte, error) {
	var docs [][]byte
	r := utilyaml.NewYAMLReader(bufio.NewReaderSize(bytes.NewReader(data), 1<<16))
	for {
		doc, err := r.Read()
		if errors.Is(err, io.EOF) {
			return docs, nil
		}
		if err != nil {
			return nil, fmt.Errorf("read dump: %w", err)
		}
		if len(bytes.TrimSpace(doc)) > 0 {
			docs = append(docs, doc)
		}
	}
}

// decode decodes a YAML or JSON document.
func decode(doc []byte) (any, error) {
	doc = bytes.TrimPrefix(doc, []byte("\ufeff"))
	if trimmed := bytes.TrimSpace(doc); len(trimmed) > 0 && trimmed[0] != '{' || !json.Valid(doc) {
		if bytes.IndexByte(doc, '&') >= 0 {
			if err := store.CheckAliases(doc, maxSize); err != nil {
				return nil, err
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

// maxDepth bounds Lists within Lists.
const maxDepth = 8

// add adds an object or the items of a List. It ignores an empty document.
func (d *Dump) add(value any, p *pruner, seen map[api.Ref]bool, depth int) error {
	if value == nil {
		return nil
	}
	fields, ok := value.(map[string]any)
	if !ok {
		return errors.New("read dump: want objects; create it with kubectl get -o yaml")
	}
	kind, _ := fields["kind"].(string)
	apiVersion, _ := fields["apiVersion"].(string)
	if kind == "" || apiVersion == "" {
		return errors.New("read dump: object without apiVersion or kind; create it with kubectl get -o yaml")
	}
	if items, ok := fields["items"].([]any); ok && strings.HasSuffix(kind, "List") {
		if depth == maxDepth {
			return fmt.Errorf("read dump: lists nested deeper than %d", maxDepth)
		}
		for _, item := range items {
			if item, ok := item.(map[string]any); ok && kind != "List" {
				// Items of a typed list may omit their kind.
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
	if !store.Simulated(api.Kind(kind)) || gvk.GroupVersion().String() != apiVersion {
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

// addObject adds an object of a simulated kind.
func (d *Dump) addObject(fields map[string]any, p *pruner, seen map[api.Ref]bool) error {
	kind := api.Kind(fields["kind"].(string))
	data, err := json.Marshal(p.prune(fields, types[kind], string(kind), ""))
	if err != nil {
		return fmt.Errorf("read dump: %s %s: %w", kind, title(fields), err)
	}
	for _, m := range store.ScanManifests(data) {
		if m.Err != nil {
			return fmt.Errorf("read dump: %s %s: %w", kind, title(fields), m.Err)
		}
		obj := m.Object
		ref := api.RefTo(obj)
		if obj.GetName() == "" {
			return fmt.Errorf("read dump: %s without a name", kind)
		}
		if seen[ref] {
			return fmt.Errorf("read dump: duplicate %s; dump the cluster once", ref)
		}
		seen[ref] = true
		d.Objects = append(d.Objects, obj)
	}
	return nil
}

// title returns the name of an object that could not be read.
func title(fields map[string]any) string {
	meta, _ := fields["metadata"].(map[string]any)
	name, _ := meta["name"].(string)
	if namespace, _ := meta["namespace"].(string); namespace != "" {
		return namespace + "/" + name
	}
	return name
}
