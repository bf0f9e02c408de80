package apiserver

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"sort"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/leases"
)

type fieldErrors = field.ErrorList

// parseVersion reads a resourceVersion. "" and "0" are zero.
func parseVersion(text string) (uint64, error) {
	if text == "" || text == "0" {
		return 0, nil
	}
	v, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return 0, versionError{field.Invalid(field.NewPath("resourceVersion"), text, err.Error())}
	}
	return v, nil
}

// versionError is the error for a resourceVersion that is no number. The answer of a get or a watch has code 500.
type versionError struct{ field *field.Error }

func (err versionError) Error() string { return err.field.Error() }

// list returns the objects that the request selects. If the items of the list are shared, it returns what comes before them, and leaves them in
// r.items: they are large, and the answer need not copy them.
func (s *Server) list(r *request) ([]byte, error) {
	if d, ok := s.wholeList(r); ok {
		if r.format.asIs() && len(d.items) > 0 {
			r.items, r.tail = d.items, d.tail
			return d.head, nil
		}
		return d.joined(), nil
	}
	page, err := s.page(r)
	if err != nil {
		return nil, err
	}
	return s.representList(r, page.items, page.meta)
}

// representList returns a list in the format and the type that the request asks for.
func (s *Server) representList(r *request, items []api.Object, meta metav1.ListMeta) ([]byte, error) {
	if r.format.as != nil {
		return s.convertList(r, items, meta)
	}
	data, _, err := s.encodeList(r.resource, items, meta, r.format.protobuf)
	return data, err
}

// page is one page of a list.
type page struct {
	items []api.Object
	meta  metav1.ListMeta
}

// page returns the page of a list that the request asks for.
func (s *Server) page(r *request) (page, error) {
	version, start, err := s.listFrom(r)
	if err != nil {
		return page{}, err
	}
	objs, err := s.objectsAt(r, version, start)
	if err != nil {
		return page{}, err
	}
	if objs, err = s.readAll(r.resource, objs); err != nil {
		return page{}, err
	}
	if version == 0 {
		version = s.store.Version()
	}
	p := page{meta: metav1.ListMeta{ResourceVersion: strconv.FormatUint(version, 10)}}
	limit := r.list.Limit
	if r.list.ResourceVersion == "0" {
		limit = 0 // the server answers from its cache, in one page
	}
	everything := r.selectsAll()
	if limit <= 0 && everything {
		p.items = objs
		return p, nil
	}
	for i, obj := range objs {
		if !r.selector.matches(obj) {
			continue
		}
		p.items = append(p.items, obj)
		if limit <= 0 || int64(len(p.items)) < limit || i+1 == len(objs) {
			continue
		}
		p.meta.Continue = encodeContinue(continueToken{APIVersion: continueVersion, ResourceVersion: int64(version), StartKey: r.keyIn(obj) + "\x00"})
		if everything {
			p.meta.RemainingItemCount = new(int64(len(objs)) - limit)
		}
		break
	}
	return p, nil
}

// listFrom returns the version of a list, zero for the newest, and the key at which the page begins.
func (s *Server) listFrom(r *request) (version uint64, start string, err error) {
	asked, err := parseVersion(r.list.ResourceVersion)
	if err != nil {
		return 0, "", apierrors.NewBadRequest(fmt.Sprintf("invalid resource version: %v", err))
	}
	if current := s.store.Version(); asked > current {
		return 0, "", tooLarge(asked, current)
	}
	if r.list.Continue != "" {
		if r.list.ResourceVersion != "" && r.list.ResourceVersion != "0" {
			return 0, "", apierrors.NewBadRequest("specifying resource version is not allowed when using continue")
		}
		token, err := decodeContinue(r.list.Continue)
		if err != nil {
			return 0, "", apierrors.NewBadRequest(fmt.Sprintf("invalid continue token: %v", err))
		}
		return uint64(max(token.ResourceVersion, 0)), token.StartKey, nil
	}
	exact := r.list.ResourceVersionMatch == metav1.ResourceVersionMatchExact || r.list.ResourceVersionMatch == "" && r.list.Limit > 0
	if exact {
		return asked, "", nil
	}
	return 0, "", nil
}

const (
	tooOldContinue = "The provided continue parameter is too old to display a consistent list result. You can start a new list without the " +
		"continue parameter, or use the continue token in this response to retrieve the remainder of the results. Continuing with the provided " +
		"token results in an inconsistent list - objects that were created, modified, or deleted between the time the first chunk was returned " +
		"and now may show up in the list."
	tooOldList = "The resourceVersion for the provided list is too old."
)

// selectsAll reports whether the request has no selectors.
func (r *request) selectsAll() bool { return r.selector.labels.Empty() && r.selector.fields.Empty() }

// objectsAt returns the objects of the collection of a request at a version, from a key on; version zero is now.
func (s *Server) objectsAt(r *request, version uint64, start string) ([]api.Object, error) {
	if version == 0 || version == s.store.Version() {
		return s.objects(r, start), nil
	}
	objs, err := s.store.At(r.resource.Kind, version)
	if err == nil {
		return r.inRange(objs, start), nil
	}
	if !apierrors.IsResourceExpired(err) {
		return nil, err
	}
	if r.list.Continue == "" {
		return nil, apierrors.NewResourceExpired(tooOldList)
	}
	expired := apierrors.NewResourceExpired(tooOldContinue)
	if token, err := decodeContinue(r.list.Continue); err == nil {
		token.ResourceVersion = -1
		expired.ErrStatus.ListMeta.Continue = encodeContinue(token)
	}
	return nil, expired
}

// objects returns the objects of the collection of a request, in the order of their keys.
func (s *Server) objects(r *request, start string) []api.Object {
	if kind := r.resource.Kind; kind == leases.ObjectKind {
		return r.inRange(s.withLeases(s.store.List(kind)), start)
	}
	from, to := r.keys(start)
	return s.store.ListRange(r.resource.Kind, from, to)
}

// keys returns the keys of the collection of a request, from start on: those not before from and before to; "" is no end.
func (r *request) keys(start string) (from, to string) {
	if r.namespace == "" {
		return start, ""
	}
	const afterSlash = "0"
	return r.namespace + "/" + start, r.namespace + afterSlash
}

// inRange returns the objects of the collection of a request. objs are in the order of their keys.
func (r *request) inRange(objs []api.Object, start string) []api.Object {
	from, to := r.keys(start)
	if to != "" {
		objs = objs[:firstAt(objs, to)]
	}
	return objs[firstAt(objs, from):]
}

// firstAt returns the index of the first object whose key is not before key.
func firstAt(objs []api.Object, key string) int {
	return sort.Search(len(objs), func(i int) bool { return api.KeyOf(objs[i]) >= key })
}

// keyIn returns the key of an object within the collection of the request.
func (r *request) keyIn(obj api.Object) string {
	if r.namespace != "" {
		return obj.GetName()
	}
	return api.KeyOf(obj)
}

// continueToken is where the next page of a list begins.
type continueToken struct {
	APIVersion string `json:"v"`
	// ResourceVersion is the version of the list; -1 is the newest.
	ResourceVersion int64  `json:"rv"`
	StartKey        string `json:"start"`
}

const continueVersion = "meta.k8s.io/v1"

func encodeContinue(token continueToken) string {
	data, err := json.Marshal(token)
	if err != nil {
		panic(err) // strings and numbers can be encoded
	}
	return base64.RawURLEncoding.EncodeToString(data)
}

func decodeContinue(text string) (continueToken, error) {
	var token continueToken
	data, err := base64.RawURLEncoding.DecodeString(text)
	if err == nil {
		err = json.Unmarshal(data, &token)
	}
	switch {
	case err != nil:
		return token, fmt.Errorf("continue key is not valid: %v", err)
	case token.APIVersion != continueVersion:
		return token, fmt.Errorf("continue key is not valid: server does not recognize this encoded version %s", token.APIVersion)
	case token.ResourceVersion == 0:
		return token, errors.New("continue key is not valid: incorrect encoded start resourceVersion (version meta.k8s.io/v1)")
	case token.StartKey == "":
		return token, errors.New("continue key is not valid: encoded start key empty (version meta.k8s.io/v1)")
	}
	key := token.StartKey
	if !strings.HasPrefix(key, "/") {
		key = "/" + key
	}
	if path.Clean(key) != key {
		return token, errors.New("continue key is not valid: " + token.StartKey)
	}
	return token, nil
}
