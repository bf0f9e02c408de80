package store

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/volsim/volsim/api"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kjson "sigs.k8s.io/json"
)

// maxListDepth bounds Lists within Lists.
const maxListDepth = 8

// Manifest is one object read from a manifest, or the reason why it could not be.
type Manifest struct {
	Line   int // where its document begins, from 1
	Object api.Object
	Err    error
}

// ReadManifests reads objects from YAML or JSON: any number of documents, divided by lines of ---, each an object, a List, or
// JSON values one after the other. A namespaced object that names no namespace is put into "default", as kubectl does. Fields that
// a kind does not have, or that come twice, are errors. The first thing that cannot be read ends it with an error that says in
// which line its document begins; lines in the text of the error itself count from the beginning of data, too. An object of
// another kind is the error ErrUnknownKind.
func ReadManifests(data []byte) ([]api.Object, error) {
	var objs []api.Object
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
	for _, doc := range splitDocuments(data) {
		for _, m := range doc.read() {
			if m.Line == 0 {
				m.Line = doc.line
			}
			found = append(found, m)
		}
	}
	return found
}

// decodeManifests reads one JSON object, or the items of a List.
func decodeManifests(data []byte, depth int) []Manifest {
	var head struct {
		APIVersion json.RawMessage `json:"apiVersion"`
		Kind       json.RawMessage `json:"kind"`
	}
	if !bytes.HasPrefix(bytes.TrimSpace(data), []byte{'{'}) {
		return []Manifest{{Err: errors.New("not an object: a manifest has fields, apiVersion and kind among them")}}
	}
	if err := kjson.UnmarshalCaseSensitivePreserveInts(data, &head); err != nil {
		return []Manifest{{Err: err}}
	}
	kind := text(head.Kind)
	if isList(kind) {
		if depth == maxListDepth {
			return []Manifest{{Err: fmt.Errorf("lists are nested more than %d deep", maxListDepth)}}
		}
		return decodeList(data, depth+1)
	}
	obj, err := decodeManifest(text(head.APIVersion), kind, data)
	return []Manifest{{Object: obj, Err: err}}
}

// isList accepts the list of anything, and the lists of the kinds that a store holds.
func isList(kind string) bool {
	item, ok := strings.CutSuffix(kind, "List")
	return ok && (item == "" || GroupVersionKind(api.Kind(item)).Kind != "")
}

func decodeList(data []byte, depth int) []Manifest {
	var list struct {
		APIVersion string            `json:"apiVersion"`
		Kind       string            `json:"kind"`
		Metadata   metav1.ListMeta   `json:"metadata"`
		Items      []json.RawMessage `json:"items"`
	}
	strict, err := kjson.UnmarshalStrict(data, &list)
	if err = errors.Join(append(strict, err)...); err != nil {
		return []Manifest{{Err: fmt.Errorf("List: %w", err)}}
	}
	var found []Manifest
	for i, item := range list.Items {
		for _, m := range decodeManifests(item, depth) {
			if m.Err != nil {
				m.Err = fmt.Errorf("item %d: %w", i, m.Err)
			}
			found = append(found, m)
		}
	}
	return found
}

// text is a JSON string, "" if it is something else.
func text(data json.RawMessage) string {
	var s string
	if json.Unmarshal(data, &s) != nil {
		return ""
	}
	return s
}

func decodeManifest(apiVersion, kind string, data []byte) (api.Object, error) {
	if kind == "" || apiVersion == "" {
		return nil, fmt.Errorf("apiVersion or kind is missing")
	}
	gvk := GroupVersionKind(api.Kind(kind))
	if gvk.Kind == "" || gvk.GroupVersion().String() != apiVersion {
		return nil, fmt.Errorf("%s (%s) is %w", kind, apiVersion, api.ErrUnknownKind)
	}
	obj := newObject(api.Kind(kind))
	if err := decodeStrict(data, obj); err != nil {
		return nil, fmt.Errorf("%s: %w", kind, err)
	}
	if resourceOf(api.Kind(kind)).namespaced && obj.GetNamespace() == "" {
		obj.SetNamespace("default")
	}
	return obj, nil
}

// newObject is an empty object of a kind that a store holds.
func newObject(kind api.Kind) api.Object {
	switch kind {
	case api.PersistentVolume:
		return &corePV{}
	case api.PersistentVolumeClaim:
		return &corePVC{}
	case api.StorageClass:
		return &storageClass{}
	case api.Pod:
		return &corePod{}
	case api.Node:
		return &coreNode{}
	case api.VolumeAttachment:
		return &volumeAttachment{}
	case api.CSIDriver:
		return &csiDriver{}
	case api.CSINode:
		return &csiNode{}
	case api.VolumeAttributesClass:
		return &volumeAttributesClass{}
	case api.CSIStorageCapacity:
		return &csiStorageCapacity{}
	default:
		return &coreEvent{}
	}
}
