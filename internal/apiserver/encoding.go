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

// encodings holds the JSON of stored objects: a version is encoded once for its writer, for all watches, and for all lists. It is safe for
// concurrent use.
type encodings struct {
	mu    sync.Mutex
	known map[encodingKey]*encoding
	lists map[listKey]encodedList
	size  int // bytes of JSON in known and lists
}

// listKey identifies a list of all objects of a namespace, or of all namespaces.
type listKey struct {
	resource  *resources.Resource
	namespace string
}

// encodedList is the JSON of the items of a list, while no object of the kind has been written since.
type encodedList struct {
	items      []byte
	writes     uint64
	definition *resources.DefinedVersion // of a custom kind
}

// encodingKey identifies an object as one resource shows it.
type encodingKey struct {
	resource *resources.Resource
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

// find returns the JSON of a stored object, or nil if it is not known.
func (c *encodings) find(r *resources.Resource, obj api.Object) *encoding {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e := c.known[encodingKey{r, obj.GetUID()}]; e != nil && e.object == obj {
		return e
	}
	return nil
}

// make encodes an object, and keeps its JSON.
func (c *encodings) make(o shown) (*encoding, error) {
	data, kind, err := objectjson.EncodeWithKind(o.value, o.resource.GVK())
	if err != nil {
		return nil, err
	}
	e := &encoding{o.object, data, kind}
	if uid := o.object.GetUID(); uid != "" {
		c.keep(encodingKey{o.resource, uid}, e)
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

// list returns the JSON of the items of a list.
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

// encoding returns the JSON of a stored object with its kind. The caller has the server's lock.
func (s *Server) encoding(r *resources.Resource, obj api.Object) (*encoding, error) {
	obj, err := s.inVersion(r, obj)
	if err != nil {
		return nil, err
	}
	if known := s.encoded.find(r, obj); known != nil {
		return known, nil
	}
	o, err := s.shown(r, obj)
	if err != nil {
		return nil, err
	}
	return s.encoded.make(o)
}

// encode returns the JSON of a stored object with its kind. The caller has the server's lock, and may not append to the result.
func (s *Server) encode(r *resources.Resource, obj api.Object) ([]byte, error) {
	e, err := s.encoding(r, obj)
	if err != nil {
		return nil, err
	}
	return e.data, nil
}

// encodeRead is encode for an object as clients read it.
func (s *Server) encodeRead(r *resources.Resource, obj api.Object) ([]byte, error) {
	obj, err := s.asRead(r, obj)
	if err != nil {
		return nil, err
	}
	return s.encode(r, obj)
}

// encodeList returns the JSON of a list of objects of one kind. As in lists of kube-apiserver, items do not name their kind, except custom
// objects. The second result is the part of the JSON that has the items.
func (s *Server) encodeList(r *resources.Resource, items []api.Object, meta metav1.ListMeta) (data, part []byte, err error) {
	encodings := make([]*encoding, len(items))
	size := 0
	for i, obj := range items {
		if encodings[i], err = s.encoding(r, obj); err != nil {
			return nil, nil, err
		}
		size += len(encodings[i].data) + len(",")
	}
	if data, err = listHead(r, meta, size); err != nil {
		return nil, nil, err
	}
	begin := len(data)
	for i, e := range encodings {
		if i > 0 {
			data = append(data, ',')
		}
		data = e.item(data)
	}
	end := len(data)
	return append(data, listTail...), data[begin:end:end], nil
}

// customListMeta is the metadata of a list of custom objects.
type customListMeta struct {
	Continue           string `json:"continue"`
	RemainingItemCount *int64 `json:"remainingItemCount,omitempty"`
	ResourceVersion    string `json:"resourceVersion"`
}

const listTail = "]}"

// listHead returns the JSON of a list up to its items, with room for that many bytes of items, what follows them, and a line break.
func listHead(r *resources.Resource, meta metav1.ListMeta, size int) ([]byte, error) {
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
	data := make([]byte, 0, len(head)+len(begin)+size+len(listTail)+len("\n"))
	return append(append(data, head[:len(head)-1]...), begin...), nil
}

// wholeJSON is the JSON of a list. Other answers may share its items, so they must not be changed.
type wholeJSON struct{ head, items []byte }

// joined returns the JSON in one piece.
func (d wholeJSON) joined() []byte { return slices.Concat(d.head, d.items, []byte(listTail)) }

// wholeList answers a list of all objects of a namespace, or of all namespaces, at the newest version. Clients that start together ask for the
// same lists, so their items are encoded once. ok is false for other lists, and for Leases, which change by themselves.
func (s *Server) wholeList(r *request) (d wholeJSON, ok bool) {
	if r.format.as != nil || s.resources.ConversionOf(r.resource) != nil || !r.selectsAll() || r.list.Limit > 0 || r.list.Continue != "" || r.resource.Kind == leases.ObjectKind {
		return wholeJSON{}, false
	}
	if v := r.list.ResourceVersion; v != "" && v != "0" || r.list.ResourceVersionMatch != "" {
		return wholeJSON{}, false
	}
	meta := metav1.ListMeta{ResourceVersion: strconv.FormatUint(s.store.Version(), 10)}
	key, writes := listKey{r.resource, r.namespace}, s.store.Writes(r.resource.Kind)
	known, ok := s.encoded.list(key)
	definition := s.resources.Definition(r.resource)
	if ok && known.writes == writes && known.definition == definition {
		if head, err := listHead(r.resource, meta, 0); err == nil {
			return wholeJSON{head, known.items}, true
		}
	}
	objs, err := s.readAll(r.resource, s.objects(r, ""))
	if err != nil {
		return wholeJSON{}, false
	}
	data, items, err := s.encodeList(r.resource, objs, meta)
	if err != nil {
		return wholeJSON{}, false
	}
	s.encoded.keepList(key, encodedList{items, writes, definition})
	return wholeJSON{data[:len(data)-len(items)-len(listTail)], items}, true
}
