package apiserver

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/apiserver/objectjson"
	"github.com/volsim/volsim/internal/apiserver/resources"
	"github.com/volsim/volsim/internal/core/leases"
)

// encodings holds stored objects in JSON and in protobuf: a version is encoded once for its writer, for all watches, and for all lists. It is safe
// for concurrent use.
type encodings struct {
	mu    sync.Mutex
	known map[encodingKey]*encoding
	lists map[listKey]encodedList
	size  int // bytes in known and lists
}

// listKey identifies a list of all objects of a namespace, or of all namespaces.
type listKey struct {
	resource  *resources.Resource
	namespace string
	protobuf  bool
}

// encodedList has the encoded items of a list, while no object of the kind has been written since.
type encodedList struct {
	items      []byte
	writes     uint64
	definition *resources.DefinedVersion // of a custom kind
}

// encodingKey identifies an object as one resource shows it.
type encodingKey struct {
	resource *resources.Resource
	uid      types.UID
	protobuf bool
}

// encoding is one version of an object in JSON or in protobuf.
type encoding struct {
	object   api.Object
	protobuf bool
	data     []byte
	// kind is the length of the beginning that names the kind, which items of lists lack; 0 if they have it.
	kind int
}

// maxEncoded is how many bytes are kept. When there are more, all are dropped.
const maxEncoded = 64 << 20

// item appends the object as an item of a list.
func (e *encoding) item(into []byte) []byte {
	switch {
	case e.protobuf:
		message := e.message()
		return append(appendLength(into, itemField, len(message)), message...)
	case e.kind == 0:
		return append(into, e.data...)
	}
	return append(append(into, '{'), e.data[e.kind:]...)
}

// sizeOfItem returns how many bytes the object needs as an item of a list: in JSON at most, in protobuf exactly.
func (e *encoding) sizeOfItem() int {
	if !e.protobuf {
		return len(e.data) + len(",")
	}
	n := len(e.message())
	return len(appendLength(nil, itemField, n)) + n
}

// message returns the message of the object in protobuf.
func (e *encoding) message() []byte { return e.data[e.kind : len(e.data)-len(afterMessage)] }

// shown is a stored object as a resource shows it. Nothing of it changes, so it can be encoded without the server's lock.
type shown struct {
	resource *resources.Resource
	object   api.Object
	value    any // the object in the Go type of answers
}

// shown returns a stored object as a resource shows it. The caller has the server's lock.
func (s *Server) shown(r *resources.Resource, obj api.Object) (shown, error) {
	value, err := r.Presentable(obj)
	return shown{r, obj, value}, err
}

// find returns the encoding of a stored object, or nil if it is not known.
func (c *encodings) find(r *resources.Resource, obj api.Object, protobuf bool) *encoding {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e := c.known[encodingKey{r, obj.GetUID(), protobuf}]; e != nil && e.object == obj {
		return e
	}
	return nil
}

// make encodes an object, and keeps the result.
func (c *encodings) make(o shown, protobuf bool) (*encoding, error) {
	encode := objectjson.EncodeWithKind
	if protobuf {
		encode = encodeMessage
	}
	data, kind, err := encode(o.value, o.resource.GVK())
	if err != nil {
		return nil, err
	}
	e := &encoding{o.object, protobuf, data, kind}
	if uid := o.object.GetUID(); uid != "" {
		c.keep(encodingKey{o.resource, uid, protobuf}, e)
	}
	return e, nil
}

func (c *encodings) keep(key encodingKey, e *encoding) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if old := c.known[key]; old != nil {
		c.size -= len(old.data)
	}
	c.add(len(e.data))
	c.known[key] = e
}

// list returns the encoded items of a list.
func (c *encodings) list(key listKey) (l encodedList, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	l, ok = c.lists[key]
	return l, ok
}

func (c *encodings) keepList(key listKey, l encodedList) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.size -= len(c.lists[key].items)
	c.add(len(l.items))
	c.lists[key] = l
}

// add makes room for that many bytes. The caller has the lock.
func (c *encodings) add(size int) {
	if c.size += size; c.size > maxEncoded || c.known == nil {
		c.known, c.lists, c.size = map[encodingKey]*encoding{}, map[listKey]encodedList{}, size
	}
}

// encoding returns a stored object with its kind in JSON or protobuf. The caller has the server's lock.
func (s *Server) encoding(r *resources.Resource, obj api.Object, protobuf bool) (*encoding, error) {
	obj, err := s.inVersion(r, obj)
	if err != nil {
		return nil, err
	}
	if known := s.encoded.find(r, obj, protobuf); known != nil {
		return known, nil
	}
	o, err := s.shown(r, obj)
	if err != nil {
		return nil, err
	}
	return s.encoded.make(o, protobuf)
}

// encode returns the JSON of a stored object with its kind. The caller has the server's lock, and may not append to the result.
func (s *Server) encode(r *resources.Resource, obj api.Object) ([]byte, error) {
	e, err := s.encoding(r, obj, false)
	if err != nil {
		return nil, err
	}
	return e.data, nil
}

// encodeRead returns an object as clients read it.
func (s *Server) encodeRead(r *resources.Resource, obj api.Object, protobuf bool) ([]byte, error) {
	obj, err := s.asRead(r, obj)
	if err != nil {
		return nil, err
	}
	e, err := s.encoding(r, obj, protobuf)
	if err != nil {
		return nil, err
	}
	return e.data, nil
}

// encodeList returns a list of objects of one kind in JSON or protobuf. As in lists of kube-apiserver, items do not name their kind, except custom
// objects. The second result is the part that has the items.
func (s *Server) encodeList(r *resources.Resource, items []api.Object, meta metav1.ListMeta, protobuf bool) (data, part []byte, err error) {
	encodings := make([]*encoding, len(items))
	size := 0
	for i, obj := range items {
		if encodings[i], err = s.encoding(r, obj, protobuf); err != nil {
			return nil, nil, err
		}
		size += encodings[i].sizeOfItem()
	}
	if data, err = listHead(r, meta, protobuf, size, size); err != nil {
		return nil, nil, err
	}
	begin := len(data)
	for i, e := range encodings {
		if i > 0 && !protobuf {
			data = append(data, ',')
		}
		data = e.item(data)
	}
	end := len(data)
	return append(data, listTail(protobuf)...), data[begin:end:end], nil
}

// customListMeta is the metadata of a list of custom objects.
type customListMeta struct {
	Continue           string `json:"continue"`
	RemainingItemCount *int64 `json:"remainingItemCount,omitempty"`
	ResourceVersion    string `json:"resourceVersion"`
}

// listTail returns what follows the items of a list.
func listTail(protobuf bool) string {
	if protobuf {
		return afterMessage
	}
	return "]}"
}

// listHead returns a list up to its items, with room for items, what follows them, and a line break. size is how many bytes of items there are.
func listHead(r *resources.Resource, meta metav1.ListMeta, protobuf bool, size, room int) ([]byte, error) {
	if protobuf {
		return beginList(r, meta, size, room)
	}
	kind := metav1.TypeMeta{Kind: r.KindName + "List", APIVersion: r.GroupVersion().String()}
	head, err := json.Marshal(struct {
		metav1.TypeMeta `json:",inline"`
		metav1.ListMeta `json:"metadata"`
	}{kind, meta})
	if r.Custom {
		// API-458: lists of custom objects always say whether there is more.
		head, err = json.Marshal(struct {
			metav1.TypeMeta `json:",inline"`
			Metadata        customListMeta `json:"metadata"`
		}{TypeMeta: kind, Metadata: customListMeta{meta.Continue, meta.RemainingItemCount, meta.ResourceVersion}})
	}
	if err != nil {
		return nil, fmt.Errorf("encode a list of %s: %w", r.Resource, err)
	}
	const begin = `,"items":[`
	data := make([]byte, 0, len(head)+len(begin)+room+len("]}\n"))
	return append(append(data, head[:len(head)-1]...), begin...), nil
}

// wholeList is an encoded list. Other answers may share its items, so they must not be changed.
type wholeList struct {
	head, items []byte
	tail        string
}

// joined returns the list in one piece.
func (d wholeList) joined() []byte { return slices.Concat(d.head, d.items, []byte(d.tail)) }

// wholeList answers a list of all objects of a namespace, or of all namespaces, at the newest version. Clients that start together ask for the
// same lists, so their items are encoded once. ok is false for other lists, and for Leases, which change by themselves.
func (s *Server) wholeList(r *request) (d wholeList, ok bool) {
	if r.format.as != nil || s.resources.ConversionOf(r.resource) != nil || !r.selectsAll() || r.list.Limit > 0 || r.list.Continue != "" || r.resource.Kind == leases.ObjectKind {
		return wholeList{}, false
	}
	if v := r.list.ResourceVersion; v != "" && v != "0" || r.list.ResourceVersionMatch != "" {
		return wholeList{}, false
	}
	meta := metav1.ListMeta{ResourceVersion: strconv.FormatUint(s.store.Version(), 10)}
	protobuf := r.format.protobuf
	key, writes := listKey{r.resource, r.namespace, protobuf}, s.store.Writes(r.resource.Kind)
	known, ok := s.encoded.list(key)
	definition := s.resources.Definition(r.resource)
	if ok && known.writes == writes && known.definition == definition {
		if head, err := listHead(r.resource, meta, protobuf, len(known.items), 0); err == nil {
			return wholeList{head, known.items, listTail(protobuf)}, true
		}
	}
	objs, err := s.readAll(r.resource, s.objects(r, ""))
	if err != nil {
		return wholeList{}, false
	}
	data, items, err := s.encodeList(r.resource, objs, meta, protobuf)
	if err != nil {
		return wholeList{}, false
	}
	s.encoded.keepList(key, encodedList{items, writes, definition})
	tail := listTail(protobuf)
	return wholeList{data[:len(data)-len(items)-len(tail)], items, tail}, true
}
