package apiserver

import (
	"net/http"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	utilnet "k8s.io/apimachinery/pkg/util/net"
)

// answer is the answer to a request: data, or a stream.
type answer struct {
	code        int
	contentType string
	warnings    []string
	header      http.Header // further headers, nil for none
	flow        *flow       // nil for none
	data        []byte
	items, tail []byte // what follows data in a list whose items are shared
	stream      *stream
}

// size returns how many bytes of data there are.
func (a *answer) size() int { return len(a.data) + len(a.items) + len(a.tail) }

// setHeaders adds the headers of an answer to those that have none of them.
func (a *answer) setHeaders(h http.Header) {
	values := [...]string{"no-cache, private", a.contentType, ""}
	h["Cache-Control"] = values[0:1:1]
	if a.contentType != "" {
		h["Content-Type"] = values[1:2:2]
	}
	if a.stream == nil && a.code != http.StatusNoContent {
		values[2] = strconv.Itoa(a.size())
		h["Content-Length"] = values[2:3:3]
	}
	for _, text := range a.warnings {
		if value, err := utilnet.NewWarningHeader(299, "-", text); err == nil {
			h.Add("Warning", value)
		}
	}
	if a.flow != nil {
		h["X-Kubernetes-Pf-Flowschema-Uid"], h["X-Kubernetes-Pf-Prioritylevel-Uid"] = a.flow.schema, a.flow.level
	}
	for name, values := range a.header {
		h[name] = values
	}
}

// plainText is the answer to a request that is not one of Kubernetes.
func plainText(code int, text string) *answer {
	return &answer{code: code, contentType: "text/plain; charset=utf-8", data: []byte(text)}
}

// refusal answers a request that its client may not make.
func refusal(req *http.Request, err error) *answer {
	a := failure(req, nil, err)
	if apierrors.IsForbidden(err) {
		a.header = http.Header{"X-Content-Type-Options": {"nosniff"}}
	}
	return a
}

// failure answers with a Status, or with a text for a path that does not exist.
func failure(req *http.Request, r *request, err error) *answer {
	if err == errNoRoute && inGroup(req.URL.Path) {
		err = serverError(http.StatusNotFound, "")
	}
	if err == errNoRoute {
		return &answer{
			code: http.StatusNotFound, contentType: "text/plain; charset=utf-8", data: []byte(errNoRoute.Error() + "\n"),
			header: http.Header{"X-Content-Type-Options": {"nosniff"}},
		}
	}
	status := statusOf(err)
	f, negotiateErr := negotiate(req, unconverted)
	if negotiateErr != nil {
		f = format{raw: true} // API-587
	}
	data, err := f.encode(status, statusKind)
	if err == nil {
		data, err = f.write(data)
	}
	if err != nil {
		panic(err) // a Status can always be encoded
	}
	a := &answer{code: int(status.Code), contentType: f.contentType(), data: data}
	if r != nil {
		a.warnings = r.warnings
	}
	if details := status.Details; details != nil && details.RetryAfterSeconds > 0 {
		// client-go waits so long, and asks again by itself.
		a.header = http.Header{"Retry-After": {strconv.Itoa(int(details.RetryAfterSeconds))}}
	}
	return a
}
