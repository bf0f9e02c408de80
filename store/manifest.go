package store

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"
)

// ErrUnknownKind is underneath the error for a document of a kind that a store does not hold.
var ErrUnknownKind = errors.New("kind not held here")

// Manifest is one object read from a manifest, or the reason why it could not be.
type Manifest struct {
	Line   int // where its document begins, from 1
	Object Object
	Err    error
}

// ReadManifests reads objects from YAML or JSON: any number of documents, divided by lines of ---, each an object or a List.
// A namespaced object that names no namespace is put into "default", as kubectl does. The first thing that cannot be read ends
// it with an error that says where; an object of another kind is the error ErrUnknownKind.
func ReadManifests(data []byte) ([]Object, error) {
	var objs []Object
	for _, m := range ScanManifests(data) {
		if m.Err != nil {
			return nil, fmt.Errorf("line %d: %w", m.Line, m.Err)
		}
		objs = append(objs, m.Object)
	}
	return objs, nil
}

// ScanManifests is ReadManifests for those who go on after an error: it reports every object, in order, or why it is none.
func ScanManifests(data []byte) []Manifest {
	var found []Manifest
	line := 1
	reader := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(data)))
	for {
		doc, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return found
		}
		if err != nil {
			return append(found, Manifest{Line: line, Err: err})
		}
		if len(bytes.TrimSpace(stripComments(doc))) > 0 {
			for _, m := range readDocument(doc) {
				m.Line = line
				found = append(found, m)
			}
		}
		line += bytes.Count(doc, []byte("\n")) + 1
	}
}

// stripComments leaves out the lines that say nothing.
func stripComments(doc []byte) []byte {
	var kept []string
	for l := range strings.Lines(string(doc)) {
		if t := strings.TrimSpace(l); t != "" && !strings.HasPrefix(t, "#") && t != "---" {
			kept = append(kept, l)
		}
	}
	return []byte(strings.Join(kept, ""))
}

func readDocument(doc []byte) []Manifest {
	data, err := yaml.YAMLToJSONStrict(doc)
	if err != nil {
		return []Manifest{{Err: err}}
	}
	return decodeManifests(data)
}

// decodeManifests reads one JSON object, or the items of a List.
func decodeManifests(data []byte) []Manifest {
	doc, err := decodeObject(data)
	if err != nil {
		return []Manifest{{Err: fmt.Errorf("not an object: %w", err)}}
	}
	kind, _ := doc["kind"].(string)
	items, isList := doc["items"].([]any)
	if isList && strings.HasSuffix(kind, "List") {
		var found []Manifest
		for i, item := range items {
			itemData, err := json.Marshal(item)
			if err != nil {
				return append(found, Manifest{Err: fmt.Errorf("item %d: %w", i, err)})
			}
			for _, m := range decodeManifests(itemData) {
				if m.Err != nil {
					m.Err = fmt.Errorf("item %d: %w", i, m.Err)
				}
				found = append(found, m)
			}
		}
		return found
	}
	obj, err := decodeManifest(kind, doc, data)
	return []Manifest{{Object: obj, Err: err}}
}

func decodeManifest(kind string, doc map[string]any, data []byte) (Object, error) {
	apiVersion, _ := doc["apiVersion"].(string)
	if kind == "" || apiVersion == "" {
		return nil, fmt.Errorf("apiVersion or kind is missing")
	}
	gvk := Kind(kind).GroupVersionKind()
	if gvk.Kind == "" || gvk.GroupVersion().String() != apiVersion {
		return nil, fmt.Errorf("%w: %s %s", ErrUnknownKind, apiVersion, kind)
	}
	obj, err := newObject(Kind(kind), data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", kind, err)
	}
	if resourceOf(Kind(kind)).namespaced && obj.GetNamespace() == "" {
		obj.SetNamespace("default")
	}
	return obj, nil
}

// newObject reads an object of the kind from JSON. Fields that the kind does not have are an error.
func newObject(kind Kind, data []byte) (Object, error) {
	var obj Object
	switch kind {
	case PersistentVolume:
		obj = &corePV{}
	case PersistentVolumeClaim:
		obj = &corePVC{}
	case StorageClass:
		obj = &storageClass{}
	case Pod:
		obj = &corePod{}
	case Node:
		obj = &coreNode{}
	case VolumeAttachment:
		obj = &volumeAttachment{}
	case CSIDriver:
		obj = &csiDriver{}
	case CSINode:
		obj = &csiNode{}
	case VolumeAttributesClass:
		obj = &volumeAttributesClass{}
	case CSIStorageCapacity:
		obj = &csiStorageCapacity{}
	case Event:
		obj = &coreEvent{}
	}
	// As the API server reads: names of fields are case-sensitive.
	strict, err := kjson.UnmarshalStrict(data, obj)
	if err != nil {
		return nil, err
	}
	return obj, errors.Join(strict...)
}
