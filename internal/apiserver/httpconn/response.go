package httpconn

import (
	"errors"
	"net"
	"net/http"
	"strconv"
	"time"
)

// response takes the answer of a handler and sends it. It is as net/http sends it, but for bodies of unknown length, which net/http sends in chunks
// if they are long. It is used again and again.
type response struct {
	conn    net.Conn
	header  http.Header
	code    int // 0 until it is known
	length  int // of the body, as the header says; -1 if it does not
	written int
	out     []byte // what has not been sent
	body    []byte // of unknown length
	err     error
	date    []byte // in the header
	second  int64  // of the date
}

// most is how much is sent together with the header. More would have to be copied.
const most = 16 << 10

func (w *response) begin(c net.Conn) {
	w.conn, w.code, w.length, w.written, w.body, w.err = c, 0, -1, 0, nil, nil
	if w.out = w.out[:0]; cap(w.out) > 2*most {
		w.out = nil
	}
	if w.header == nil {
		w.header = http.Header{}
	}
	clear(w.header)
}

// Header implements http.ResponseWriter.
func (w *response) Header() http.Header { return w.header }

// WriteHeader implements http.ResponseWriter.
func (w *response) WriteHeader(code int) {
	if w.code != 0 {
		return
	}
	w.code = code
	if text := w.header["Content-Length"]; len(text) == 1 {
		if n, err := strconv.Atoi(text[0]); err == nil && n >= 0 {
			w.length = n
			w.appendHead()
		}
	}
}

// Write implements http.ResponseWriter.
func (w *response) Write(p []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	if !hasBody(w.code) {
		return 0, http.ErrBodyNotAllowed
	}
	if w.written += len(p); w.length >= 0 && w.written > w.length {
		return 0, http.ErrContentLength
	}
	switch {
	case w.length < 0:
		w.body = append(w.body, p...)
		return len(p), nil
	case len(w.out)+len(p) <= most:
		w.out = append(w.out, p...)
		return len(p), w.err
	}
	w.send()
	if w.err == nil {
		_, w.err = w.conn.Write(p)
	}
	return len(p), w.err
}

// send sends what there is.
func (w *response) send() {
	if w.err == nil && len(w.out) > 0 {
		_, w.err = w.conn.Write(w.out)
	}
	w.out = w.out[:0]
}

func hasBody(code int) bool {
	return code >= 200 && code != http.StatusNoContent && code != http.StatusNotModified
}

var errShort = errors.New("the body is shorter than its header says")

// end completes the answer.
func (w *response) end() error {
	w.WriteHeader(http.StatusOK)
	if w.length < 0 {
		w.appendHead()
		w.out = append(w.out, w.body...)
	}
	w.send()
	if w.err == nil && w.length > w.written && hasBody(w.code) {
		return errShort
	}
	return w.err
}

// appendHead appends the first line and the header. If the header does not say how long the body is, all of it is known.
func (w *response) appendHead() {
	if !hasBody(w.code) {
		delete(w.header, "Content-Length")
	}
	w.out = append(strconv.AppendInt(append(w.out, "HTTP/1.1 "...), int64(w.code), 10), ' ')
	text := http.StatusText(w.code)
	if text == "" {
		text = "status code " + strconv.Itoa(w.code)
	}
	w.out = append(append(w.out, text...), "\r\n"...)
	_ = w.header.Write((*appender)(&w.out)) // which cannot fail
	if w.header["Date"] == nil {
		w.out = append(append(append(w.out, "Date: "...), w.now()...), "\r\n"...)
	}
	if w.length < 0 && hasBody(w.code) {
		w.out = append(strconv.AppendInt(append(w.out, "Content-Length: "...), int64(len(w.body)), 10), "\r\n"...)
		if _, known := w.header["Content-Type"]; !known && len(w.body) > 0 {
			w.out = append(append(append(w.out, "Content-Type: "...), http.DetectContentType(w.body)...), "\r\n"...)
		}
	}
	w.out = append(w.out, "\r\n"...)
}

// now returns the time as a header has it.
func (w *response) now() []byte {
	now := time.Now()
	if second := now.Unix(); second != w.second || w.date == nil {
		w.second, w.date = second, now.UTC().AppendFormat(w.date[:0], http.TimeFormat)
	}
	return w.date
}

// appender is a writer that appends.
type appender []byte

func (a *appender) Write(p []byte) (int, error) {
	*a = append(*a, p...)
	return len(p), nil
}

func (a *appender) WriteString(s string) (int, error) {
	*a = append(*a, s...)
	return len(s), nil
}
