package apiserver

import (
	"context"
	"errors"
	"fmt"
	"maps"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/apiserver/resources"
	"github.com/volsim/volsim/internal/apiserver/webhooks"
	"github.com/volsim/volsim/internal/core/plain"
	"github.com/volsim/volsim/internal/core/store"
)

// Conversion webhooks (API-480 to API-487). A custom object is stored in the storage version of its definition. A request in another version sees it
// converted, and what the request writes is converted before it is stored. Webhooks are asked without the server's lock: a request is tried without
// effect until all objects that it needs have been converted, as it is for admission webhooks.

// conversions are the answers of conversion webhooks. The server's lock guards them.
type conversions struct {
	known   map[string]*webhooks.Converted // by the key of what was converted
	pending []*webhooks.Conversion         // objects that the request under way needs, and that are not converted yet
	used    []string                       // keys of those that it has used
	failed  []string                       // keys of errors, which hold for one request
	again   bool                           // the request is done again: no webhook is asked
	passes  bool                           // a request or a watch event runs in passes, which collect what webhooks are to be asked about
}

// maxConverted is how many converted objects are kept. When there are more, all are dropped before the next request.
const maxConverted = 20_000

// inVersion returns an object in the version of a resource. Without conversion it is the object.
func (s *Server) inVersion(r *resources.Resource, obj api.Object) (api.Object, error) {
	data, ok := obj.(*plain.Object)
	if !ok || !r.Custom || data.APIVersion == r.GroupVersion().String() {
		return obj, nil
	}
	c := s.resources.ConversionOf(r)
	if c == nil {
		return obj, nil
	}
	return s.convertTo(c, data, r.Version)
}

// asRead returns a stored object as clients read it in the version of a resource: with the fields and defaults that its definition has by now.
func (s *Server) asRead(r *resources.Resource, obj api.Object) (api.Object, error) {
	if out, err := s.inVersion(r, obj); err != nil || out != obj {
		return out, err
	}
	return s.current(r, obj), nil
}

// readAll is asRead for the objects of a list. All that are not converted yet are asked for together.
func (s *Server) readAll(r *resources.Resource, objs []api.Object) ([]api.Object, error) {
	if s.resources.Definition(r) == nil {
		return objs, nil
	}
	out := make([]api.Object, len(objs))
	var first error
	for i, obj := range objs {
		var err error
		if out[i], err = s.asRead(r, obj); err != nil && first == nil {
			first = err
		}
	}
	return out, first
}

// live returns the stored object of a request, as clients read it in the version of the request.
func (s *Server) live(r *request) (api.Object, error) {
	obj, err := s.store.Get(r.resource.Kind, r.key())
	if err != nil {
		return nil, err
	}
	return s.asRead(r.resource, obj)
}

// storable returns a decoded object in the Go type of the store. It stays in the version of the resource until it is stored.
func (s *Server) storable(r *resources.Resource, obj api.Object) (api.Object, error) {
	stored, err := r.Storable(obj)
	if data, ok := stored.(*plain.Object); ok && err == nil && s.resources.ConversionOf(r) != nil {
		data.TypeMeta = metav1.TypeMeta{Kind: r.KindName, APIVersion: r.GroupVersion().String()}
	}
	return stored, err
}

// InVersionOf implements store.Converter.
func (s *Server) InVersionOf(obj, like api.Object) (api.Object, error) {
	kind := api.KindOf(obj)
	r := s.resources.OfKind(kind)
	if written := s.fields.Writing().Resource; written != nil && written.Kind == kind {
		r = written
	}
	if r == nil {
		return obj, nil
	}
	version := like.GetObjectKind().GroupVersionKind().Version
	if c := s.resources.ConversionOf(r); c != nil && version != r.Version {
		data, ok := obj.(*plain.Object)
		if !ok || data.GroupVersionKind().Version == version {
			return obj, nil
		}
		return s.convertTo(c, data, version)
	}
	return s.asRead(r, obj)
}

// ToStorage implements store.Converter.
func (s *Server) ToStorage(obj api.Object) (api.Object, error) {
	data, ok := obj.(*plain.Object)
	if !ok {
		return obj, nil
	}
	kind := api.KindOf(obj)
	if known := s.store.Describe(kind); known == nil || !known.Converted {
		return obj, nil
	}
	r := s.resources.OfKind(kind)
	if r == nil {
		return obj, nil
	}
	c := s.resources.ConversionOf(r)
	if c == nil || data.GroupVersionKind().Version == c.Storage {
		return obj, nil
	}
	return s.convertTo(c, data, c.Storage)
}

// convertTo returns an object in another version, or errUnanswered if a webhook has to be asked first.
func (s *Server) convertTo(c *resources.Conversion, obj *plain.Object, version string) (api.Object, error) {
	obj = c.Completed(obj)
	key, err := c.Key(obj, version)
	if err != nil {
		return nil, err
	}
	known := s.conversions.known[key]
	switch {
	case known == nil && s.conversions.again:
		return nil, apierrors.NewInternalError(fmt.Errorf("the answer of the conversion webhook of %s is not in the script", c.Definition))
	case known == nil && s.cfg.Webhooks == nil:
		// API-486: without a network, the versions differ in the name only.
		out := obj.Copy()
		out.APIVersion = c.GroupVersion(version)
		return out, nil
	case known == nil:
		asked := &webhooks.Conversion{Key: key, Definition: c, From: obj.DeepCopyObject().(*plain.Object), To: version}
		if s.conversions.passes {
			s.conversions.pending = append(s.conversions.pending, asked)
			return nil, errUnanswered
		}
		known = s.convertNow(asked)
	}
	s.conversions.used = append(s.conversions.used, key)
	if known.Failure != "" {
		return nil, errors.New(known.Failure)
	}
	out := &plain.Object{TypeMeta: obj.TypeMeta, ObjectMeta: *obj.ObjectMeta.DeepCopy()}
	out.APIVersion = c.GroupVersion(version)
	out.Labels, out.Annotations = maps.Clone(known.Labels), maps.Clone(known.Annotations)
	out.SetContent(runtime.DeepCopyJSON(known.Content))
	return out, nil
}

// convertNow asks a webhook about an object that no request writes: the user or a controller does. Such a write cannot be tried again, so the server keeps
// its lock, and a webhook that uses the API meanwhile times out (API-491). The script gets the answer before the write.
func (s *Server) convertNow(asked *webhooks.Conversion) *webhooks.Converted {
	ctx := s.controllers.ended
	if ctx == nil {
		ctx = context.Background()
	}
	s.askAll(ctx, nil, []*webhooks.Conversion{asked})
	s.record(reviewMessage{Conversions: map[string]*webhooks.Converted{asked.Key: asked.Answer}})
	return asked.Answer
}

// receiveConversions keeps answers of webhooks.
func (s *Server) receiveConversions(answers map[string]*webhooks.Converted) {
	for key, answer := range answers {
		s.conversions.keep(key, answer)
	}
}

// begin begins a pass.
func (c *conversions) begin() { c.pending, c.used = nil, nil }

// beginConversions forgets what the request before needed. answers are those of a request that is done again, nil for none.
func (s *Server) beginConversions(answers *Answers, again bool) {
	c := &s.conversions
	c.begin()
	c.again = again
	if c.forget(); len(c.known) > maxConverted {
		clear(c.known)
	}
	if answers == nil {
		return
	}
	s.receiveConversions(answers.Conversions)
}

// forget forgets errors: the next write asks again.
func (c *conversions) forget() {
	for _, key := range c.failed {
		delete(c.known, key)
	}
	c.failed = nil
}

// keep keeps the answer of a webhook. An error is that of one request.
func (c *conversions) keep(key string, answer *webhooks.Converted) {
	if c.known == nil {
		c.known = map[string]*webhooks.Converted{}
	}
	c.known[key] = answer
	if answer.Failure != "" {
		c.failed = append(c.failed, key)
	}
}

// usedConversions returns the answers that the request has needed, nil for none.
func (s *Server) usedConversions() map[string]*webhooks.Converted {
	if len(s.conversions.used) == 0 {
		return nil
	}
	used := map[string]*webhooks.Converted{}
	for _, key := range s.conversions.used {
		used[key] = s.conversions.known[key]
	}
	return used
}

// lateEncoder returns the encoder of a watch that may have to ask conversion webhooks. The caller does not have the lock, which is free while webhooks
// are asked.
func (s *Server) lateEncoder(ctx context.Context, encode encoder) encoder {
	return func(obj api.Object) ([]byte, error) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.beginConversions(nil, false)
		for {
			s.conversions.begin()
			s.conversions.passes = true
			data, err := encode(obj)
			s.conversions.passes = false
			objs := s.conversions.pending
			if len(objs) == 0 {
				return data, err
			}
			s.mu.Unlock()
			s.askAll(ctx, nil, objs)
			s.mu.Lock()
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			for _, o := range objs {
				s.conversions.keep(o.Key, o.Answer)
			}
		}
	}
}

var _ store.Converter = (*Server)(nil)
