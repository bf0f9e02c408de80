package conformance

import (
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volsim/volsim"
	"github.com/volsim/volsim/internal/core/store"
)

// newObject is an empty object of a kind that recordings have.
func newObject(kind string) (store.Object, error) {
	switch store.Kind(kind) {
	case store.PersistentVolume:
		return &corev1.PersistentVolume{}, nil
	case store.PersistentVolumeClaim:
		return &corev1.PersistentVolumeClaim{}, nil
	case store.StorageClass:
		return &storagev1.StorageClass{}, nil
	case store.Pod:
		return &corev1.Pod{}, nil
	case store.Node:
		return &corev1.Node{}, nil
	case store.VolumeAttachment:
		return &storagev1.VolumeAttachment{}, nil
	case store.CSIDriver:
		return &storagev1.CSIDriver{}, nil
	}
	return nil, fmt.Errorf("kind %q: recordings have none", kind)
}

// namedObject is an object of which only kind, namespace and name are known.
func namedObject(kind, namespace, name string) (store.Object, error) {
	obj, err := newObject(kind)
	if err != nil {
		return nil, err
	}
	obj.SetNamespace(namespace)
	obj.SetName(name)
	return obj, nil
}

// stored is the object of that kind and name as the API server has it.
func stored(c *volsim.Cluster, obj store.Object) (store.Object, error) {
	key := store.KeyOf(obj)
	switch obj.(type) {
	case *corev1.PersistentVolume:
		return c.Volumes.Get(key)
	case *corev1.PersistentVolumeClaim:
		return c.Claims.Get(key)
	case *storagev1.StorageClass:
		return c.Classes.Get(key)
	case *corev1.Pod:
		return c.Pods.Get(key)
	case *corev1.Node:
		return c.Nodes.Get(key)
	case *storagev1.VolumeAttachment:
		return c.Attachments.Get(key)
	case *storagev1.CSIDriver:
		return c.CSIDrivers.Get(key)
	}
	return nil, fmt.Errorf("%s: recordings have none", store.RefTo(obj))
}

// readObject reads an object that says its kind.
func readObject(data []byte) (store.Object, error) {
	var head metav1.TypeMeta
	if err := json.Unmarshal(data, &head); err != nil {
		return nil, err
	}
	obj, err := newObject(head.Kind)
	if err != nil {
		return nil, err
	}
	if err := decodeStrictly(data, obj); err != nil {
		return nil, fmt.Errorf("%s: %w", head.Kind, err)
	}
	return obj, nil
}

// patched applies a JSON merge patch to an object, and returns the result.
func patched(obj store.Object, patch []byte) (store.Object, error) {
	before, err := json.Marshal(obj)
	if err != nil {
		return nil, err
	}
	var doc, change map[string]any
	if err := json.Unmarshal(before, &doc); err != nil {
		return nil, err
	}
	if err := json.Unmarshal(patch, &change); err != nil {
		return nil, err
	}
	after, err := json.Marshal(mergePatch(doc, change))
	if err != nil {
		return nil, err
	}
	next, err := newObject(string(store.KindOf(obj)))
	if err != nil {
		return nil, err
	}
	return next, decodeStrictly(after, next)
}

// mergePatch is RFC 7386 for JSON objects.
func mergePatch(doc, change map[string]any) map[string]any {
	if doc == nil {
		doc = map[string]any{}
	}
	for key, value := range change {
		switch value := value.(type) {
		case nil:
			delete(doc, key)
		case map[string]any:
			inner, _ := doc[key].(map[string]any)
			doc[key] = mergePatch(inner, value)
		default:
			doc[key] = value
		}
	}
	return doc
}
