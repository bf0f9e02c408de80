package apiserver

import (
	"net/http"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/plain"
	"github.com/volsim/volsim/internal/core/store"
)

// startWatch answers with a stream of changes.
func (s *Server) startWatch(req *http.Request, r *request) (*answer, error) {
	if r.format.yaml { // API-587
		return nil, errAccept(streamTypes)
	}
	st := &stream{
		format: r.format, actor: r.actor, permitFor: s.cfg.Hooks.Await, lag: func() time.Duration { return s.cfg.Hooks.Lag(r.actor) },
		now: s.cfg.Backend.Now, crashed: s.clients.ended(r.client),
		canceled: req.Context().Done(), err: req.Context().Err, ready: make(chan struct{}, 1), closed: make(chan struct{}),
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.watches++
	st.number = s.watches
	from, err := parseVersion(r.list.ResourceVersion)
	if err != nil {
		return nil, err
	}
	initial := r.list.SendInitialEvents != nil && *r.list.SendInitialEvents
	if initial && from > s.store.Version() {
		return nil, tooLarge(from, s.store.Version())
	}
	encode, err := s.watchEncoder(r)
	if err != nil {
		return nil, err
	}
	if s.resources.ConversionOf(r.resource) != nil {
		st.late = s.lateEncoder(req.Context(), encode)
	}
	if initial || from == 0 && r.list.SendInitialEvents == nil {
		if st.events, err = s.initialEvents(r, encode, st.late != nil); err != nil {
			return nil, err
		}
		from = 0
	}
	if initial && r.list.AllowWatchBookmarks {
		st.events = append(st.events, s.bookmark(r, encode, map[string]string{metav1.InitialEventsAnnotationKey: "true"}))
	}
	if from == 0 {
		// If nothing was ever written this is still zero: such a watch begins with all objects, of which there are none.
		from = s.store.Version()
	}
	stop, err := s.store.Watch(r.resource.Kind, store.WatchOptions[api.Object]{From: from, Match: r.selector.matches}, st.deliver(r.resource, encode))
	switch {
	case apierrors.IsResourceExpired(err):
		// The server answers as if the watch had begun, and reports the error as its first event.
		st.events = []event{errorEvent(err, r.format)}
		st.finish()
		stop = func() {}
	case err != nil:
		return nil, err
	}
	st.stop = func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		stop()
	}
	if timeout := s.watchTimeout(r); timeout > 0 {
		st.expires = time.NewTimer(timeout)
		if r.list.AllowWatchBookmarks {
			st.last = func() event {
				s.mu.Lock()
				defer s.mu.Unlock()
				return s.bookmark(r, encode, nil)
			}
		}
	}
	return &answer{code: http.StatusOK, contentType: streamType(r.format), warnings: r.warnings, stream: st}, nil
}

// watchTimeout returns how long a watch lasts; zero is forever.
func (s *Server) watchTimeout(r *request) time.Duration {
	if s.cfg.WatchTimeout < 0 {
		return 0
	}
	if seconds := r.list.TimeoutSeconds; seconds != nil && *seconds > 0 {
		return time.Duration(*seconds) * time.Second
	}
	return s.cfg.WatchTimeout
}

// streamType returns the media type of a stream. Streams are never YAML.
func streamType(f format) string {
	if f.protobuf {
		return runtime.ContentTypeProtobuf + ";stream=watch"
	}
	return runtime.ContentTypeJSON
}

// encoder returns an object as the watch shows it.
type encoder func(api.Object) ([]byte, error)

func (s *Server) watchEncoder(r *request) (encoder, error) {
	if r.format.as == nil {
		return func(obj api.Object) ([]byte, error) { return s.encodeRead(r.resource, obj, r.format.protobuf) }, nil
	}
	convert, err := s.watchConverter(r)
	if err != nil {
		return nil, err
	}
	return func(obj api.Object) ([]byte, error) {
		obj, err := s.asRead(r.resource, obj)
		if err != nil {
			return nil, err
		}
		return convert(obj)
	}, nil
}

// initialEvents returns the events for existing objects. With late, they are to be encoded when they are read.
func (s *Server) initialEvents(r *request, encode encoder, late bool) ([]event, error) {
	var events []event
	for _, obj := range s.objects(r, "") {
		if !r.selector.matches(obj) {
			continue
		}
		e := event{changeType: watch.Added, late: obj}
		if !late {
			data, err := encode(obj)
			if err != nil {
				return nil, err
			}
			e.data, e.late = data, nil
		}
		events = append(events, e)
	}
	return events, nil
}

// bookmark reports the version that the watch has reached.
func (s *Server) bookmark(r *request, encode encoder, annotations map[string]string) event {
	obj := r.resource.Empty()
	if custom, ok := obj.(*plain.Object); ok {
		custom.SetGroupVersionKind(r.resource.GVK()) // it is not converted
	}
	obj.SetResourceVersion(strconv.FormatUint(s.store.Version(), 10))
	obj.SetAnnotations(annotations)
	data, err := encode(obj)
	if err != nil {
		return errorEvent(err, r.format)
	}
	return event{changeType: watch.Bookmark, data: data}
}

// errorEvent returns the event that ends a watch.
func errorEvent(err error, f format) event {
	data, err := f.encode(statusOf(err), statusKind)
	if err != nil {
		panic(err) // a Status can always be encoded
	}
	return event{changeType: watch.Error, data: data}
}
