// Package httpconn answers simple HTTP/1.1 requests of a connection without net/http's server, which takes more time for them than the handler: it
// starts a goroutine for each request, waits until that has ended, and sets deadlines. All other requests are net/http's, and so is everything that
// it knows about broken, slow and large ones.
package httpconn

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"
)

// Listener accepts connections for an http.Server. A connection answers the simple requests at its beginning with Handler. The first one that is not
// simple, and all after it, are those of the server.
//
// A request is simple if it is one of HTTP/1.1 with a complete head of at most 16 KiB and a body of a known length that is 256 KiB or less, wants no
// treatment of the connection (Connection, Expect, Upgrade, Transfer-Encoding and the like), and has nothing unusual in it.
type Listener struct {
	net.Listener
	// Handler must not change the header of a request, which may be that of the next one.
	Handler http.Handler
	// TLS, unless it is nil, makes the connections those of TLS. The server does not see that: for HTTP/2 it must accept UnencryptedHTTP2.
	TLS *tls.Config
	// Context is that of the requests. It does not end when a client is gone.
	Context context.Context
	// Simple reports whether Handler answers a request with that method and that target at once. It must say no to streams.
	Simple func(method, target string) bool
	// HeadTimeout is how long the rest of a head may take, BodyTimeout how long the rest of a body, and IdleTimeout how long the next request.
	HeadTimeout, BodyTimeout, IdleTimeout time.Duration
}

// Accept implements net.Listener.
func (l *Listener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	remote := c.RemoteAddr().String()
	if c = newDirect(c); l.TLS != nil {
		c = tls.Server(c, l.TLS)
	}
	return &conn{Conn: c, listener: l, remote: remote}, nil
}

// conn is a connection. The server reads a request from it; Read then answers simple ones, and returns the bytes of another one.
type conn struct {
	net.Conn
	listener *Listener
	remote   string
	released bool      // the server has the connection
	ended    error     // why there will be no further request
	in       []byte    // what has been read and not been used
	buffer   []byte    // for what is read next
	idleFrom time.Time // when the deadline of an idle connection was set
	known    head      // of the last request
	out      response
}

const (
	maxHead   = 16 << 10
	maxBody   = 256 << 10
	firstRead = 4 << 10
	// keptBuffer is the largest buffer that a connection keeps while it is idle.
	keptBuffer = 64 << 10
)

// Read implements net.Conn.
func (c *conn) Read(p []byte) (int, error) {
	if !c.released && c.ended == nil {
		if c.ended = c.serve(); c.ended != nil {
			c.explain(c.ended)
		}
		c.released = c.ended == nil
	}
	if c.ended != nil {
		return 0, c.ended
	}
	if len(c.in) > 0 {
		n := copy(p, c.in)
		if c.in = c.in[n:]; len(c.in) == 0 {
			c.in, c.buffer = nil, nil
		}
		return n, nil
	}
	return c.Conn.Read(p)
}

// explain answers to HTTP where TLS was expected, as the server does.
func (c *conn) explain(err error) {
	if first := (tls.RecordHeaderError{}); errors.As(err, &first) && first.Conn != nil && isHTTP(first.RecordHeader) {
		_, _ = io.WriteString(first.Conn, "HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request to an HTTPS server.\n") // a client that is gone does not need it
	}
}

// isHTTP reports whether a connection begins with a request of HTTP.
func isHTTP(beginning [5]byte) bool {
	return slices.ContainsFunc(append(methods, http.MethodHead, http.MethodOptions), func(method string) bool {
		return strings.HasPrefix(method+" / ", string(beginning[:]))
	})
}

// CloseWrite ends the sending side. The server calls it before it closes a connection whose request it has not read.
func (c *conn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

// serve answers simple requests. It returns nil when the next one is not simple: what has been read of it is in c.in. An error ends the connection.
func (c *conn) serve() error {
	last := ""
	for first := true; ; first = false {
		if len(c.in) == 0 {
			if !first { // the server has set a deadline for the first request
				c.idle()
			}
			if err := c.fill(firstRead); err != nil {
				return err
			}
		}
		if !c.known.isOf(c.in) && !c.parse() || !c.complete(c.known.size) {
			return c.release(last)
		}
		c.out.begin(c.Conn)
		c.listener.Handler.ServeHTTP(&c.out, c.known.next(c.in))
		if err := c.out.end(); err != nil {
			return io.EOF // the server has nothing to add
		}
		c.in, last = c.in[c.known.size:], c.known.method
	}
}

// parse reads the head of the next request. It returns false if the request is not simple.
func (c *conn) parse() bool {
	r, ok := parse(c.in)
	if !ok || !c.listener.Simple(r.method, r.target) {
		return false
	}
	known, err := r.decode(c.listener.Context, c.in, c.known.text)
	if err != nil {
		return false
	}
	known.like.RemoteAddr = c.remote
	c.known = known
	return true
}

// idle sets the deadline for the next request. It need not be exact, and setting it takes time. Reading from a closed connection fails anyway.
func (c *conn) idle() {
	if now := time.Now(); now.Sub(c.idleFrom) > c.listener.IdleTimeout/100 {
		c.idleFrom = now
		_ = c.SetReadDeadline(now.Add(c.listener.IdleTimeout))
	}
}

// release leaves the connection to the server. After a request, of which last is the method, it does what the server does then: it waits for four
// bytes, ignores line breaks after a POST, and sets a deadline for the head.
func (c *conn) release(last string) error {
	c.known = head{}
	for last != "" && len(c.in) < 4 {
		if err := c.fill(firstRead); err != nil {
			return io.EOF
		}
	}
	if last == http.MethodPost {
		c.in = c.in[4-len(bytes.TrimLeft(c.in[:4], "\r\n")):]
	}
	return c.SetReadDeadline(time.Now().Add(c.listener.HeadTimeout))
}

// fill reads once, with room for that many bytes.
func (c *conn) fill(room int) error {
	if len(c.in) == 0 {
		c.in = c.buffer[:0]
	}
	if cap(c.in)-len(c.in) < room {
		c.in = append(make([]byte, 0, len(c.in)+room), c.in...)
	}
	if cap(c.in) <= keptBuffer {
		c.buffer = c.in[:0]
	}
	n, err := c.Conn.Read(c.in[len(c.in):cap(c.in)])
	c.in = c.in[:len(c.in)+n]
	if n > 0 {
		return nil
	}
	if err == nil {
		err = io.ErrNoProgress
	}
	return err
}

// complete reads the rest of a request. It returns false if that fails: the server then finds out why.
func (c *conn) complete(size int) bool {
	if len(c.in) >= size {
		return true
	}
	c.idleFrom = time.Time{} // from now on another deadline is set
	if c.SetReadDeadline(time.Now().Add(c.listener.BodyTimeout)) != nil {
		return false
	}
	for len(c.in) < size {
		if c.fill(size-len(c.in)) != nil {
			return false
		}
	}
	return true
}
