package apiserver

import (
	"net/http"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
)

// startWatch answers with a stream of changes.
func (s *Server) startWatch(req *http.Request, r *request) (*http.Response, error) {
	if err := s.sleep(req); err != nil {
		return nil, err
	}
	st := &stream{
		actor: r.actor, permitFor: s.cfg.Await, lag: func() time.Duration { return s.cfg.Lag(r.actor) },
		canceled: req.Context().Done(), err: req.Context().Err, ready: make(chan struct{}, 1), closed: make(chan struct{}),
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	from, err := version(r.query.Get("resourceVersion"))
	if err != nil {
		return failed(req, err)
	}
	initial := r.query.Get("sendInitialEvents") == "true"
	if initial {
		from = 0
	}
	if st.events, err = s.initialEvents(r, from); err != nil {
		return failed(req, err)
	}
	if initial {
		st.events = append(st.events, s.bookmark(r))
	}
	if from == 0 {
		// If nothing was ever written this is still zero: such a watch begins with all objects, of which there are none.
		from = s.store.Version()
	}
	stop, err := r.resource.watch(from, r.selects, st.deliver(r.resource))
	if err != nil {
		return failed(req, err)
	}
	st.stop = func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		stop()
	}
	return response(req, http.StatusOK, st, -1), nil
}

func version(text string) (uint64, error) {
	if text == "" {
		return 0, nil
	}
	v, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return 0, apierrors.NewBadRequest("resourceVersion " + text + ": " + err.Error())
	}
	return v, nil
}

// initialEvents returns the events for existing objects.
func (s *Server) initialEvents(r *request, from uint64) ([]event, error) {
	if from != 0 {
		return nil, nil
	}
	var events []event
	for _, obj := range s.store.List(r.resource.kind) {
		if !r.selects(obj) {
			continue
		}
		data, err := r.resource.encode(obj)
		if err != nil {
			return nil, err
		}
		events = append(events, event{changeType: watch.Added, data: data})
	}
	return events, nil
}

// bookmark marks the end of the initial events.
func (s *Server) bookmark(r *request) event {
	obj := r.resource.empty()
	obj.SetResourceVersion(strconv.FormatUint(s.store.Version(), 10))
	obj.SetAnnotations(map[string]string{metav1.InitialEventsAnnotationKey: "true"})
	data, err := r.resource.encode(obj)
	if err != nil {
		return errorEvent(err)
	}
	return event{changeType: watch.Bookmark, data: data}
}
