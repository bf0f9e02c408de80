package apiserver

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/store"
	"github.com/volsim/volsim/trace"
)

// answer executes a request, and returns body and status of the answer.
func (s *Server) answer(r *request) ([]byte, int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.method == http.MethodGet && r.name == "" {
		data, err := s.list(r)
		return data, http.StatusOK, err
	}
	verb, err := r.verb()
	if err != nil {
		return nil, 0, err
	}
	ref := api.Ref{Kind: r.resource.kind, Key: r.key()}
	var obj api.Object
	if r.method == http.MethodPost && r.sub == "" {
		if obj, err = r.resource.decode(r.body); err != nil {
			return nil, 0, apierrors.NewBadRequest(err.Error())
		}
		ref.Key = api.Key(r.namespace, obj.GetName())
	}
	fault := s.cfg.Inject(api.Call{Actor: r.actor, Target: api.APIServer, Verb: verb, Kind: string(ref.Kind), Key: ref.Key})
	if fault.Err != nil && !fault.Effect {
		if r.method != http.MethodGet {
			s.report(r, verb, ref, nil, nil, fault.Err)
		}
		return nil, 0, fault.Err
	}
	if r.method == http.MethodGet {
		obj, err = s.store.Get(ref.Kind, ref.Key)
		if err = firstOf(fault.Err, err); err != nil {
			return nil, 0, err
		}
		data, err := r.resource.encode(obj)
		return data, http.StatusOK, err
	}
	code := http.StatusOK
	if r.method == http.MethodPost {
		code = http.StatusCreated
	}
	answer, err := s.write(r, verb, ref, obj)
	if err = firstOf(fault.Err, err); err != nil {
		return nil, 0, err
	}
	data, err := r.resource.encode(answer)
	return data, code, err
}

func firstOf(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// verb returns the verb of the request, as in api.Call.
func (r *request) verb() (string, error) {
	verb := map[string]string{http.MethodGet: "get", http.MethodPost: "create", http.MethodPut: "update", http.MethodPatch: "patch",
		http.MethodDelete: "delete"}[r.method]
	switch {
	case r.method == http.MethodPost && r.sub == "binding" && r.resource.kind == api.Pod:
		return "bind", nil
	case verb == "", verb == "delete" && r.name == "", r.sub != "" && r.sub != string(api.Status):
		return "", apierrors.NewMethodNotSupported(r.resource.GroupResource(), r.method+" "+r.sub)
	case r.sub != "":
		return verb + "-" + r.sub, nil
	}
	return verb, nil
}

// list returns everything that the request selects.
func (s *Server) list(r *request) ([]byte, error) {
	items := []json.RawMessage{}
	for _, obj := range s.store.List(r.resource.kind) {
		if !r.selects(obj) {
			continue
		}
		data, err := r.resource.encode(obj)
		if err != nil {
			return nil, err
		}
		items = append(items, data)
	}
	return json.Marshal(struct {
		metav1.TypeMeta `json:",inline"`
		Metadata        metav1.ListMeta   `json:"metadata"`
		Items           []json.RawMessage `json:"items"`
	}{
		metav1.TypeMeta{Kind: string(r.resource.kind) + "List", APIVersion: r.resource.GroupVersion().String()},
		metav1.ListMeta{ResourceVersion: strconv.FormatUint(s.store.Version(), 10)},
		items,
	})
}

// write makes a write and reports it. obj is the object of a create.
func (s *Server) write(r *request, verb string, ref api.Ref, obj api.Object) (api.Object, error) {
	old := s.stored(ref)
	answer, err := s.carryOut(r, verb, ref, obj)
	if err == nil && ref.Key == api.Key(r.namespace, "") {
		ref = api.RefTo(answer) // its name was generated
	}
	s.report(r, verb, ref, old, s.stored(ref), err)
	return answer, err
}

func (s *Server) stored(ref api.Ref) api.Object {
	obj, err := s.store.Get(ref.Kind, ref.Key)
	if err != nil {
		return nil
	}
	return obj
}

func (s *Server) report(r *request, verb string, ref api.Ref, old, now api.Object, err error) {
	s.cfg.Wrote(trace.Entry{Time: s.cfg.Now(), Actor: r.actor, Type: trace.Write, Verb: verb, Object: ref, Old: old, New: now, Err: err})
}

func (s *Server) carryOut(r *request, verb string, ref api.Ref, obj api.Object) (api.Object, error) {
	switch verb {
	case "create":
		if r.namespace != "" && obj.GetNamespace() == "" {
			obj.SetNamespace(r.namespace)
		}
		return s.store.Create(obj)
	case "bind":
		binding := &corev1.Binding{}
		if err := json.Unmarshal(r.body, binding); err != nil {
			return nil, apierrors.NewBadRequest(err.Error())
		}
		return s.store.Bind(ref.Key, binding)
	case "delete":
		return s.delete(r, ref)
	case "patch", "patch-status":
		return s.patch(r, ref)
	}
	obj, err := r.resource.decode(r.body)
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	if key := api.KeyOf(obj); key != ref.Key {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("the object is %s, the path is that of %s", key, ref.Key))
	}
	return s.store.UpdateWith(obj, api.Subresource(r.sub), store.UpdateOptions{})
}

func (s *Server) delete(r *request, ref api.Ref) (api.Object, error) {
	var opts metav1.DeleteOptions
	if len(r.body) > 0 {
		if err := json.Unmarshal(r.body, &opts); err != nil {
			return nil, apierrors.NewBadRequest(err.Error())
		}
	}
	given := api.DeleteOptions{GracePeriodSeconds: opts.GracePeriodSeconds}
	if p := opts.Preconditions; p != nil {
		if p.UID != nil {
			given.UID = *p.UID
		}
		if p.ResourceVersion != nil {
			given.ResourceVersion = *p.ResourceVersion
		}
	}
	return s.store.Delete(ref.Kind, ref.Key, given)
}
