package httpconn

import (
	"bytes"
	"context"
	"net/http"
	"net/textproto"
	"net/url"
	"strconv"
	"strings"
)

// request is a request whose head has been looked at.
type request struct {
	method, target string
	head           int // bytes of the head
	size           int // bytes of head and body
	fields         int // how many header fields it has
}

// methods are those of simple requests.
var methods = []string{http.MethodGet, http.MethodPost, http.MethodPatch, http.MethodPut, http.MethodDelete}

// parse looks at the request at the beginning of data. ok is false if its head is not complete, or if it is not simple: net/http decides about
// everything that it would refuse.
func parse(data []byte) (r request, ok bool) {
	end := bytes.Index(data[:min(len(data), maxHead)], []byte("\r\n\r\n"))
	if end < 0 {
		return request{}, false
	}
	r.head = end + len("\r\n\r\n")
	line, rest, _ := bytes.Cut(data[:end+len("\r\n")], []byte("\r\n"))
	if !r.parseLine(line) {
		return request{}, false
	}
	hosts, length := 0, -1
	for len(rest) > 0 {
		line, rest, _ = bytes.Cut(rest, []byte("\r\n"))
		name, value, simple := field(line)
		if !simple {
			return request{}, false
		}
		r.fields++
		switch {
		case same(name, "host"):
			if hosts++; !isHost(value) {
				return request{}, false
			}
		case same(name, "content-length"):
			n, err := strconv.ParseUint(string(value), 10, 32)
			if err != nil || length >= 0 || n > maxBody {
				return request{}, false
			}
			length = int(n)
		case ofConnection(name):
			return request{}, false
		}
	}
	r.size = r.head + max(length, 0)
	return r, hosts == 1
}

// parseLine reads the first line.
func (r *request) parseLine(line []byte) bool {
	line, ok := bytes.CutSuffix(line, []byte(" HTTP/1.1"))
	method, target, found := bytes.Cut(line, []byte(" "))
	if !ok || !found || len(target) == 0 || target[0] != '/' || bytes.HasPrefix(target, []byte("//")) {
		return false
	}
	for _, known := range methods {
		if string(method) == known {
			r.method = known
		}
	}
	for i, c := range target {
		// A letter that is escaped may hide a word that Simple looks for.
		if c <= ' ' || c > '~' || c == '#' || c == '%' && (i+1 == len(target) || target[i+1] >= '4' && target[i+1] <= '7') {
			return false
		}
	}
	r.target = string(target)
	return r.method != ""
}

// field splits a line of the header. ok is false for anything unusual.
func field(line []byte) (name, value []byte, ok bool) {
	name, value, found := bytes.Cut(line, []byte(":"))
	if !found || len(name) == 0 {
		return nil, nil, false
	}
	for _, c := range name {
		if c != '-' && (c < '0' || c > '9') && (c|' ' < 'a' || c|' ' > 'z') {
			return nil, nil, false
		}
	}
	for _, c := range value {
		if c < ' ' || c > '~' {
			return nil, nil, false
		}
	}
	return name, bytes.Trim(value, " "), true
}

// same compares the name of a field with one in small letters.
func same(name []byte, small string) bool {
	return len(name) == len(small) && bytes.EqualFold(name, []byte(small))
}

// ofConnection reports whether a field is about the connection or about how the body is sent.
func ofConnection(name []byte) bool {
	for _, small := range [...]string{
		"connection", "proxy-connection", "keep-alive", "expect", "upgrade", "transfer-encoding", "te", "trailer", "http2-settings",
	} {
		if same(name, small) {
			return true
		}
	}
	return false
}

// isHost reports whether a value is the plain name or address of a host, perhaps with a port.
func isHost(value []byte) bool {
	for _, c := range value {
		if c != '.' && c != '-' && c != ':' && c != '[' && c != ']' && (c < '0' || c > '9') && (c|' ' < 'a' || c|' ' > 'z') {
			return false
		}
	}
	return len(value) > 0
}

// head is the head of a simple request. Clients often send the same one again.
type head struct {
	request
	text []byte
	like *http.Request // without a body
}

// isOf reports whether data begins with the head.
func (h *head) isOf(data []byte) bool { return len(h.text) > 0 && bytes.HasPrefix(data, h.text) }

// next returns the request as net/http has it. Its body is a part of data.
func (h *head) next(data []byte) *http.Request {
	both := &struct {
		http.Request
		url  url.URL
		body body
	}{Request: *h.like, url: *h.like.URL}
	req := &both.Request
	req.URL, req.Body = &both.url, http.NoBody
	if h.size > h.head {
		both.body.Reset(data[h.head:h.size])
		req.Body = &both.body
	}
	return req
}

// decode returns the head that was looked at, which is at the beginning of data. It uses room for the text.
func (r request) decode(ctx context.Context, data, room []byte) (head, error) {
	req, err := http.NewRequestWithContext(ctx, r.method, r.target, nil)
	if err != nil {
		return head{}, err
	}
	req.RequestURI, req.ContentLength = r.target, int64(r.size-r.head)
	text := string(data[:r.head-len("\r\n")])
	_, text, _ = strings.Cut(text, "\r\n")
	values := make([]string, 0, r.fields)
	for len(text) > 0 {
		var line string
		line, text, _ = strings.Cut(text, "\r\n")
		name, value, _ := strings.Cut(line, ":")
		name, value = textproto.CanonicalMIMEHeaderKey(name), strings.Trim(value, " ")
		if name == "Host" {
			req.Host = value
			continue
		}
		if req.Header[name] != nil {
			req.Header[name] = append(req.Header[name], value)
			continue
		}
		values = append(values, value)
		n := len(values)
		req.Header[name] = values[n-1 : n : n]
	}
	return head{r, append(room[:0], data[:r.head]...), req}, nil
}

// body is the body of a request, which has been read.
type body struct{ bytes.Reader }

// Close implements io.Closer.
func (*body) Close() error { return nil }
