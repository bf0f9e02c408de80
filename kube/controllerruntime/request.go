package controllerruntime

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/apiserver"
	"github.com/volsim/volsim/internal/core/engine"
)

// errEnded is the error of a request that an operator makes after its crash.
var errEnded = errors.New("the operator has crashed")

// RoundTrip makes a request of the operator. A task of the engine lets it take effect, and its answer arrive. A request of the goroutine of the test
// is answered at once, as one by NewClient.
func (l *life) RoundTrip(req *http.Request) (*http.Response, error) {
	if l.pump.inTest() {
		return l.base.RoundTrip(req)
	}
	var data []byte
	if req.Body != nil {
		var err error
		if data, err = io.ReadAll(req.Body); err != nil {
			return nil, err
		}
		_ = req.Body.Close() // everything was read
	}
	call, ok := l.server.CallOf(withBody(req, data))
	if l.ctx.Err() != nil {
		return ended(req, call)
	}
	if !ok {
		// controller-runtime asks for the kinds with a mutex locked for which other goroutines wait, so this request cannot wait.
		return l.server.RoundTrip(withBody(req, data))
	}
	if resp, ok := l.answerSeries(req, data, call); ok {
		return resp, nil
	}
	return l.exchange(req, data, call)
}

// withBody returns a request that can be sent.
func withBody(req *http.Request, data []byte) *http.Request {
	again := req.Clone(req.Context())
	again.Body = io.NopCloser(bytes.NewReader(data))
	return again
}

// exchange makes a request, and returns when its answer has arrived.
func (l *life) exchange(req *http.Request, data []byte, call api.Call) (*http.Response, error) {
	x := &exchange{call: call, permit: make(chan struct{}, 1), reply: make(chan error, 1)}
	x.faults = call.Verb != "list" && call.Verb != "watch"
	l.pump.add(arrival{
		operator: l.op.Name,
		rank:     fmt.Sprintf("%s %s %s %s %s %s\n%s", call.Verb, call.Kind, call.Key, req.URL.RequestURI(), req.Header.Get("Accept"), callers(), data),
		schedule: func() { l.schedule(x) },
	})
	gone := func() (*http.Response, error) {
		if l.ctx.Err() != nil {
			return ended(req, call)
		}
		return nil, req.Context().Err()
	}
	select {
	case <-x.permit:
	case err := <-x.reply:
		return failed(req, err)
	case <-req.Context().Done():
		return gone()
	case <-l.ctx.Done():
		return gone()
	}
	resp, err := l.server.RoundTrip(withBody(req, data))
	if call.Verb == "create" && isEvent(api.Kind(call.Kind)) && err == nil && resp.StatusCode == http.StatusCreated {
		err = l.series.created(req.URL.Path, resp)
	}
	select {
	case lost := <-x.reply:
		if lost != nil {
			closeBody(resp)
			return failed(req, lost)
		}
		if call.Verb == "watch" && err == nil {
			resp.Body = l.watchBody(resp.Body)
		}
		return resp, err
	case <-req.Context().Done():
	case <-l.ctx.Done():
	}
	closeBody(resp)
	return gone()
}

// ended answers a request that an operator makes after its end. It is an error, but not for Events: recorders write those that they cannot send to
// the log of client-go, which a program that has crashed does not do.
func ended(req *http.Request, call api.Call) (*http.Response, error) {
	if kind := api.Kind(call.Kind); !isEvent(kind) {
		return nil, errEnded
	} else if kind == api.Event {
		return answer(req, http.StatusOK, []byte(`{"apiVersion":"v1","kind":"Event"}`)), nil
	}
	return answer(req, http.StatusOK, []byte(`{"apiVersion":"events.k8s.io/v1","kind":"Event"}`)), nil
}

func closeBody(resp *http.Response) {
	if resp != nil {
		_ = resp.Body.Close() // there is nothing to report
	}
}

// watchBody is the body of the answer to a watch. It ends with the request or the life, as if the server had ended the watch: client-go sends
// other errors as events, and waits for ever if no goroutine receives them.
type watchBody struct {
	io.ReadCloser
	life context.Context
}

func (l *life) watchBody(body io.ReadCloser) io.ReadCloser {
	context.AfterFunc(l.ctx, func() { _ = body.Close() }) // there is nothing to report
	return watchBody{body, l.ctx}
}

func (b watchBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil || b.life.Err() != nil {
		return 0, io.EOF
	}
	return n, nil
}

// exchange is a request and its answer.
type exchange struct {
	call   api.Call
	faults bool          // faults may hit it
	permit chan struct{} // the request may take effect
	reply  chan error    // the answer may arrive, or this error instead
}

// schedule queues the task of a request.
func (l *life) schedule(x *exchange) {
	if l.ctx.Err() != nil {
		return // the task would belong to the next life
	}
	l.actor.Go(x.call.Verb+" "+x.call.Kind+" "+x.call.Key, func(p *engine.Process) {
		serve := func() {
			l.process = p
			x.permit <- struct{}{}
			l.pump.wait()
			l.process = nil
		}
		var err error
		if x.faults {
			err = p.Exchange(x.call, serve)
		} else {
			p.Wait()
			serve()
		}
		if x.call.Verb != "get" {
			l.busy()
		}
		x.reply <- err
		l.pump.wait()
	})
}

// awaitEvent returns when a watch event may arrive. Requests have their own tasks.
func (l *life) awaitEvent(what apiserver.Transition, canceled <-chan struct{}) apiserver.Permit {
	if what.Verb != "" {
		return apiserver.Permit{}
	}
	permit := make(chan struct{}, 1)
	l.pump.add(arrival{
		operator: l.op.Name,
		rank:     fmt.Sprintf("~ %020d %s %06d", what.Order, what.Object, what.Watch),
		schedule: func() {
			if l.ctx.Err() != nil {
				return
			}
			e := l.actor.Engine()
			l.actor.After(what.At.Add(e.LagOf(l.op.Name)).Sub(e.Now()), "watch of "+string(what.Object.Kind), func(*engine.Process) {
				if !isEvent(what.Object.Kind) && what.Object.Kind != "Lease" {
					l.busy()
				}
				permit <- struct{}{}
				l.pump.wait()
			})
		},
	})
	select {
	case <-permit:
	case <-canceled:
	case <-l.ctx.Done():
	}
	return apiserver.Permit{}
}

// callers returns the call stack of a request. It distinguishes requests of two reconcilers that are otherwise alike.
func callers() string {
	const skipped, deepest = 3, 64
	pcs := make([]uintptr, deepest)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(skipped, pcs)])
	var text strings.Builder
	for {
		frame, more := frames.Next()
		fmt.Fprintf(&text, "%s:%d ", frame.Function, frame.Line)
		if !more {
			return text.String()
		}
	}
}

// failed returns the answer of a request that an injected fault made fail: a Status, or an error of the connection.
func failed(req *http.Request, err error) (*http.Response, error) {
	var known apierrors.APIStatus
	if !errors.As(err, &known) {
		return nil, err
	}
	status := known.Status()
	status.Kind, status.APIVersion = "Status", "v1"
	data, encodeErr := json.Marshal(status)
	if encodeErr != nil {
		return nil, err
	}
	return answer(req, int(status.Code), data), nil
}

// answer returns an answer in JSON.
func answer(req *http.Request, code int, data []byte) *http.Response {
	return &http.Response{
		StatusCode: code, Status: strconv.Itoa(code), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(bytes.NewReader(data)), Request: req,
		ContentLength: int64(len(data)),
	}
}

// isEvent reports whether a kind is that of Events, of either group.
func isEvent(kind api.Kind) bool { return kind == api.Event || kind == "Event.events.k8s.io" }
