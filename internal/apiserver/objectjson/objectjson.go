// Package objectjson encodes objects as kube-apiserver does: with the kind, which stored objects of Go types do not name, at the beginning.
package objectjson

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/plain"
)

// Encode returns the JSON of an object with the kind, which stored objects of Go types do not name.
func Encode(obj any, gvk schema.GroupVersionKind) ([]byte, error) {
	data, _, err := EncodeWithKind(obj, gvk)
	return data, err
}

// EncodeWithKind is Encode, and returns how many bytes at the beginning were added to the JSON of the object.
func EncodeWithKind(obj any, gvk schema.GroupVersionKind) (data []byte, added int, err error) {
	if typed, ok := obj.(api.Object); ok && typed.GetObjectKind().GroupVersionKind().Empty() {
		if _, custom := obj.(*plain.Object); !custom {
			return encodeTyped(typed, gvk)
		}
	}
	if data, err = json.Marshal(obj); err != nil {
		return nil, 0, fmt.Errorf("encode %s: %w", gvk.Kind, err)
	}
	if bytes.HasPrefix(data, []byte(`{"kind":`)) || bytes.HasPrefix(data, []byte(`{"apiVersion":`)) {
		return data[:len(data):len(data)], 0, nil // it names its kind itself
	}
	data, added = withKind(data, gvk)
	return data[:len(data):len(data)], added, nil
}

// encodeTyped is EncodeWithKind for an object of a Go type that does not name its kind.
func encodeTyped(obj api.Object, gvk schema.GroupVersionKind) (data []byte, added int, err error) {
	out := lines.Get().(*line)
	defer lines.Put(out)
	out.gvk, out.meta = gvk, nil
	if bare, meta := plain.Bare(obj); meta != nil {
		out.meta = meta
		err = json.NewEncoder(out).Encode(bare)
	}
	if out.meta == nil || err != nil {
		out.meta = nil
		err = json.NewEncoder(out).Encode(obj)
	}
	if err != nil {
		return nil, 0, fmt.Errorf("encode %s: %w", gvk.Kind, err)
	}
	out.meta = nil
	// What is kept is as large as it needs to be.
	data = make([]byte, len(out.data))
	copy(data, out.data)
	return data[: len(data)-1 : len(data)], out.added, nil
}

// lines are used again: each has room for the JSON of an object.
var lines = sync.Pool{New: func() any { return &line{} }}

// line takes the JSON of an object, which an encoder writes at once and ends with a line break, and adds the kind and the metadata at its beginning.
type line struct {
	gvk   schema.GroupVersionKind
	meta  *metav1.ObjectMeta // nil if the JSON has them
	data  []byte
	added int
}

func (l *line) Write(p []byte) (n int, err error) {
	if cap(l.data) > maxRoom {
		l.data = nil
	}
	if l.meta == nil {
		l.data, l.added = appendWithKind(l.data[:0], p, l.gvk)
		return len(p), nil
	}
	rest, ok := bytes.CutPrefix(p, []byte(`{"metadata":{}`))
	if !ok {
		return 0, errNoMetadata
	}
	l.data, l.added = appendKind(l.data[:0], l.gvk)
	l.data = append(l.data, `,"metadata":`...)
	l.added++ // the comma
	if l.data, err = appendMetadata(l.data, l.meta); err != nil {
		return 0, err
	}
	l.data = append(l.data, rest...)
	return len(p), nil
}

var errNoMetadata = errors.New("its JSON does not begin with the metadata")

// withKind returns the JSON of an object, which does not name its kind, with the kind, and how many bytes were added.
func withKind(object []byte, gvk schema.GroupVersionKind) (data []byte, added int) {
	return appendWithKind(make([]byte, 0, len(object)+roomForKind), object, gvk)
}

func appendWithKind(data, object []byte, gvk schema.GroupVersionKind) (with []byte, added int) {
	data, added = appendKind(data, gvk)
	if object[1] != '}' {
		data = append(data, ',')
		added++
	}
	return append(data, object[1:]...), added
}

// roomForKind is how many bytes most kinds take, and maxRoom how many a line keeps.
const roomForKind, maxRoom = 80, 256 << 10

// appendKind appends the beginning of the JSON of an object.
func appendKind(data []byte, gvk schema.GroupVersionKind) (with []byte, size int) {
	size = len(data)
	data = append(append(append(data, `{"kind":"`...), gvk.Kind...), `","apiVersion":"`...)
	if gvk.Group != "" {
		data = append(append(data, gvk.Group...), '/')
	}
	data = append(append(data, gvk.Version...), '"')
	return data, len(data) - size
}
