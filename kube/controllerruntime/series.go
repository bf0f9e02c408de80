package controllerruntime

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"sync"

	jsonpatch "github.com/evanphx/json-patch/v5"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volsim/volsim/api"
)

// series are the Events that the recorders of a life have created, as answered, by the path under which they are patched.
type series struct {
	mu     sync.Mutex
	events map[string][]byte
}

// created keeps the answer to the creation of an Event.
func (s *series) created(path string, resp *http.Response) error {
	data, err := io.ReadAll(resp.Body)
	_ = resp.Body.Close() // everything was read
	if err != nil {
		return err
	}
	resp.Body = io.NopCloser(bytes.NewReader(data))
	var event metav1.PartialObjectMetadata
	if err := json.Unmarshal(data, &event); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.events == nil {
		s.events = map[string][]byte{}
	}
	s.events[path+"/"+event.Name] = data
	return nil
}

// patched returns an Event after a patch, and false if no recorder of this life has created it.
func (s *series) patched(path string, patch []byte) ([]byte, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	data, err := jsonpatch.MergePatch(s.events[path], patch) // recorders patch fields, and no items of lists
	if err != nil {
		return nil, false
	}
	s.events[path] = data
	return data, true
}

// answerSeries answers a patch of an Event that has become a series, and lets it take effect later. Recorders patch their series in the order of
// a Go map, with a mutex locked for which other Events wait, so these requests cannot wait for their task.
func (l *life) answerSeries(req *http.Request, data []byte, call api.Call) (*http.Response, bool) {
	if call.Verb != "patch" || !isEvent(api.Kind(call.Kind)) {
		return nil, false
	}
	event, ok := l.series.patched(req.URL.Path, data)
	if !ok {
		return nil, false
	}
	go func() {
		resp, err := l.exchange(req.Clone(l.ctx), data, call)
		if err == nil {
			closeBody(resp)
		}
	}()
	return answer(req, http.StatusOK, event), true
}
