package apiserver

import (
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"sync"
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
	st := &stream{lag: func() time.Duration { return s.cfg.Lag(r.actor) }, canceled: req.Context().Done(), err: req.Context().Err, ready: make(chan struct{}, 1), closed: make(chan struct{})}
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
	if st.frames, err = s.initialFrames(r, from); err != nil {
		return failed(req, err)
	}
	if initial {
		st.frames = append(st.frames, s.bookmark(r))
	}
	if from == 0 {
		// If nothing was ever written this is zero still: such a watch begins with all objects, of which there are none.
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

// initialFrames are the events for what is there already, for a watch that begins with it.
func (s *Server) initialFrames(r *request, from uint64) ([][]byte, error) {
	if from != 0 {
		return nil, nil
	}
	var frames [][]byte
	for _, obj := range s.store.List(r.resource.kind) {
		if !r.selects(obj) {
			continue
		}
		data, err := r.resource.encode(obj)
		if err != nil {
			return nil, err
		}
		frames = append(frames, frame(watch.Added, data))
	}
	return frames, nil
}

// bookmark says that the initial events are over.
func (s *Server) bookmark(r *request) []byte {
	obj := r.resource.empty()
	obj.SetResourceVersion(strconv.FormatUint(s.store.Version(), 10))
	obj.SetAnnotations(map[string]string{metav1.InitialEventsAnnotationKey: "true"})
	data, err := r.resource.encode(obj)
	if err != nil {
		return errorFrame(err)
	}
	return frame(watch.Bookmark, data)
}

func frame(event watch.EventType, object []byte) []byte {
	data := make([]byte, 0, len(object)+40)
	data = append(data, `{"type":"`...)
	data = append(data, event...)
	data = append(data, `","object":`...)
	data = append(data, object...)
	return append(data, "}\n"...)
}

func errorFrame(err error) []byte {
	status := apierrors.NewInternalError(err).ErrStatus
	status.Kind, status.APIVersion = "Status", "v1"
	data, err := json.Marshal(status)
	if err != nil {
		data = []byte("null")
	}
	return frame(watch.Error, data)
}

// stream is the body of the answer to a watch: events as they happen, each after its delay, in order.
type stream struct {
	lag      func() time.Duration
	canceled <-chan struct{}
	err      func() error
	stop     func()
	once     sync.Once
	closed   chan struct{}
	ready    chan struct{} // has something in it when frames may have

	mu     sync.Mutex
	frames [][]byte

	rest []byte // of the frame being read; the reader's own
}

// deliver queues changes. It is called with the server's lock held.
func (st *stream) deliver(r *resource) func(change) {
	return func(c change) {
		data, err := r.encode(c.object)
		f := frame(watch.EventType(c.changeType), data)
		if err != nil {
			f = errorFrame(err)
		}
		st.mu.Lock()
		st.frames = append(st.frames, f)
		st.mu.Unlock()
		select {
		case st.ready <- struct{}{}:
		default:
		}
	}
}

func (st *stream) next() []byte {
	st.mu.Lock()
	defer st.mu.Unlock()
	if len(st.frames) == 0 {
		return nil
	}
	f := st.frames[0]
	st.frames = st.frames[1:]
	return f
}

// Read waits for the next event.
func (st *stream) Read(p []byte) (int, error) {
	for len(st.rest) == 0 {
		if st.rest = st.next(); st.rest != nil {
			if err := sleep(st.canceled, st.lag(), st.err); err != nil {
				return 0, err
			}
			break
		}
		select {
		case <-st.ready:
		case <-st.canceled:
			return 0, st.err()
		case <-st.closed:
			return 0, io.EOF
		}
	}
	n := copy(p, st.rest)
	st.rest = st.rest[n:]
	return n, nil
}

// Close ends the watch.
func (st *stream) Close() error {
	st.once.Do(func() {
		close(st.closed)
		st.stop()
	})
	return nil
}
