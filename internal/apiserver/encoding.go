package apiserver

import (
	"bytes"
	"encoding/json"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/volsim/volsim/api"
)

// encodings holds the JSON of stored objects: each version is encoded once for its writer, for all watches, and for all lists. The server's lock
// guards it.
type encodings struct {
	known map[encodingKey]*encoding
	size  int // bytes of JSON in known
}

// encodingKey identifies an object as one resource shows it.
type encodingKey struct {
	resource *resource
	uid      types.UID
}

// encoding is the JSON of one version of an object.
type encoding struct {
	object api.Object
	data   []byte
	// kind is the length of the beginning that names the kind, which items of lists lack; 0 if they have it.
	kind int
}

// maxEncoded is how many bytes of JSON are kept. When there are more, all are dropped.
const maxEncoded = 64 << 20

// item returns the JSON of the object as an item of a list.
func (e *encoding) item(into []byte) []byte {
	if e.kind == 0 {
		return append(into, e.data...)
	}
	return append(append(into, '{'), e.data[e.kind:]...)
}

// encoding returns the JSON of a stored object with its kind. The caller has the server's lock.
func (s *Server) encoding(r *resource, obj api.Object) (*encoding, error) {
	key := encodingKey{r, obj.GetUID()}
	if known := s.encoded.known[key]; known != nil && known.object == obj {
		return known, nil
	}
	value, err := s.codec.presentable(r, obj)
	if err != nil {
		return nil, err
	}
	data, kind, err := encodeWithKind(value, r.gvk())
	if err != nil {
		return nil, err
	}
	e := &encoding{obj, data, kind}
	if key.uid != "" {
		s.encoded.keep(key, e)
	}
	return e, nil
}

func (c *encodings) keep(key encodingKey, e *encoding) {
	if old := c.known[key]; old != nil {
		c.size -= len(old.data)
	}
	if c.size += len(e.data); c.size > maxEncoded || c.known == nil {
		*c = encodings{known: map[encodingKey]*encoding{}, size: len(e.data)}
	}
	c.known[key] = e
}

// encode returns the JSON of a stored object with its kind. The caller has the server's lock, and may not append to the result.
func (s *Server) encode(r *resource, obj api.Object) ([]byte, error) {
	e, err := s.encoding(r, obj)
	if err != nil {
		return nil, err
	}
	return e.data, nil
}

// encodeObject returns the JSON of an object with the kind, which stored objects of Go types do not name.
func encodeObject(obj any, gvk schema.GroupVersionKind) ([]byte, error) {
	data, _, err := encodeWithKind(obj, gvk)
	return data, err
}

// encodeWithKind is encodeObject, and returns how many bytes at the beginning were added to the JSON of the object.
func encodeWithKind(obj any, gvk schema.GroupVersionKind) (data []byte, added int, err error) {
	if data, err = json.Marshal(obj); err != nil {
		return nil, 0, fmt.Errorf("encode %s: %w", gvk.Kind, err)
	}
	if bytes.HasPrefix(data, []byte(`{"kind":`)) || bytes.HasPrefix(data, []byte(`{"apiVersion":`)) {
		return data[:len(data):len(data)], 0, nil // it names its kind itself
	}
	out := fmt.Appendf(make([]byte, 0, len(data)+64), `{"kind":%q,"apiVersion":%q`, gvk.Kind, gvk.GroupVersion().String())
	if len(data) > len("{}") {
		out = append(out, ',')
	}
	added = len(out)
	out = append(out, data[1:]...)
	return out[:len(out):len(out)], added, nil
}

// encodeList returns the JSON of a list of objects of one kind. As in lists of kube-apiserver, items do not name their kind, except custom
// objects.
func (s *Server) encodeList(r *resource, items []api.Object, meta metav1.ListMeta) ([]byte, error) {
	head, err := json.Marshal(struct {
		metav1.TypeMeta `json:",inline"`
		metav1.ListMeta `json:"metadata"`
	}{metav1.TypeMeta{Kind: r.kindName + "List", APIVersion: r.GroupVersion().String()}, meta})
	if err != nil {
		return nil, fmt.Errorf("encode a list of %s: %w", r.Resource, err)
	}
	encodings := make([]*encoding, len(items))
	size := len(head) + len(`,"items":[]`) + len("\n")
	for i, obj := range items {
		if encodings[i], err = s.encoding(r, obj); err != nil {
			return nil, err
		}
		size += len(encodings[i].data) + 1
	}
	data := append(append(make([]byte, 0, size), head[:len(head)-1]...), `,"items":[`...)
	for i, e := range encodings {
		if i > 0 {
			data = append(data, ',')
		}
		data = e.item(data)
	}
	return append(data, "]}"...), nil
}
