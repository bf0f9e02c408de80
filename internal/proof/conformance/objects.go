package conformance

import (
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volsim/volsim"
	"github.com/volsim/volsim/api"
)

// newObject returns an empty object of a recorded kind.
func newObject(kind string) (api.Object, error) {
	switch api.Kind(kind) {
	case api.PersistentVolume:
		return &corev1.PersistentVolume{}, nil
	case api.PersistentVolumeClaim:
		return &corev1.PersistentVolumeClaim{}, nil
	case api.StorageClass:
		return &storagev1.StorageClass{}, nil
	case api.Pod:
		return &corev1.Pod{}, nil
	case api.Node:
		return &corev1.Node{}, nil
	case api.VolumeAttachment:
		return &storagev1.VolumeAttachment{}, nil
	case api.CSIDriver:
		return &storagev1.CSIDriver{}, nil
	}
	return nil, fmt.Errorf("kind %q: recordings have none", kind)
}

// namedObject returns an object with only kind, namespace and name.
func namedObject(kind, namespace, name string) (api.Object, error) {
	obj, err := newObject(kind)
	if err != nil {
		return nil, err
	}
	obj.SetNamespace(namespace)
	obj.SetName(name)
	return obj, nil
}

// stored returns the object of that kind and name from the API server.
func stored(c *volsim.Cluster, obj api.Object) (api.Object, error) {
	key := api.KeyOf(obj)
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
	return nil, fmt.Errorf("%s: recordings have none", api.RefTo(obj))
}

// readObject decodes an object by its kind.
func readObject(data []byte) (api.Object, error) {
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
func patched(obj api.Object, patch []byte) (api.Object, error) {
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
	next, err := newObject(string(api.KindOf(obj)))
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
