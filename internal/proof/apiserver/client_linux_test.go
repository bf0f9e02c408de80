package apiserver

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// message is a request of a load, with a body of a media type.
type message struct{ method, path, mediaType, body string }

// connect returns a client with a connection of its own.
func (s *server) connect() (*connection, error) {
	u, err := url.Parse(s.url)
	if err != nil {
		return nil, err
	}
	address, err := net.ResolveTCPAddr("tcp4", u.Host)
	if err != nil {
		return nil, err
	}
	fd, err := dial(address)
	if err != nil {
		return nil, err
	}
	conn := net.Conn(&socket{fd: fd, remote: address})
	if u.Scheme == "https" {
		conn = tls.Client(conn, &tls.Config{InsecureSkipVerify: true})
	}
	head := " HTTP/1.1\r\nHost: " + u.Host + "\r\nUser-Agent: load/v1\r\nAccept: application/json\r\n"
	if s.token != "" {
		head += "Authorization: Bearer " + s.token + "\r\n"
	}
	return &connection{conn: conn, fd: fd, head: head, answer: bufio.NewReaderSize(conn, 64<<10)}, nil
}

// socket is a connection whose reads and writes are system calls that wait. A connection of package net would cost the client a second thread, which
// waits for all connections of the process.
type socket struct {
	net.Conn // without deadlines
	fd       int
	remote   net.Addr
}

func dial(address *net.TCPAddr) (int, error) {
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return 0, err
	}
	to := &syscall.SockaddrInet4{Port: address.Port, Addr: [4]byte(address.IP.To4())}
	if err := errors.Join(syscall.SetsockoptInt(fd, syscall.IPPROTO_TCP, syscall.TCP_NODELAY, 1), syscall.Connect(fd, to)); err != nil {
		return 0, errors.Join(err, syscall.Close(fd))
	}
	return fd, nil
}

// again repeats a system call that a signal has interrupted.
func again(call func() (int, error)) (int, error) {
	for {
		if n, err := call(); err != syscall.EINTR {
			return n, err
		}
	}
}

func (s *socket) Read(p []byte) (int, error) {
	n, err := again(func() (int, error) { return syscall.Read(s.fd, p) })
	if n == 0 && err == nil && len(p) > 0 {
		err = io.EOF
	}
	return max(n, 0), err
}

func (s *socket) Write(p []byte) (int, error) {
	for written := 0; ; {
		n, err := again(func() (int, error) { return syscall.Write(s.fd, p[written:]) })
		if written += max(n, 0); err != nil || written == len(p) {
			return written, err
		}
	}
}

func (s *socket) Close() error         { return syscall.Close(s.fd) }
func (s *socket) RemoteAddr() net.Addr { return s.remote }

func (s *socket) SetDeadline(time.Time) error      { return nil }
func (s *socket) SetWriteDeadline(time.Time) error { return nil }

// connection is a client that keeps its connection. Servers and clients share the processors of one machine, so it does no more than a load needs:
// net/http would take as much processor time for a request as the server.
type connection struct {
	conn   net.Conn
	fd     int
	head   string // of each request, after the path
	sent   message
	out    []byte
	answer *bufio.Reader
}

func (c *connection) close() error { return c.conn.Close() }

func (c *connection) call(m message) error {
	if err := c.send(m); err != nil {
		return err
	}
	return c.receive()
}

// send sends a request.
func (c *connection) send(m message) error {
	c.sent, c.out = m, append(c.out[:0], m.method...)
	for _, text := range [...]string{" ", m.path, c.head, "Content-Type: ", m.mediaType, "\r\nContent-Length: "} {
		c.out = append(c.out, text...)
	}
	c.out = strconv.AppendInt(c.out, int64(len(m.body)), 10)
	c.out = append(append(c.out, "\r\n\r\n"...), m.body...)
	_, err := c.conn.Write(c.out)
	return err
}

// receive reads the answer to the request that was sent.
func (c *connection) receive() error {
	status, err := c.line()
	if err != nil {
		return err
	}
	failed := ""
	if len(status) < 10 || status[9] != '2' {
		failed = string(status)
	}
	length, chunked := 0, false
	for {
		header, err := c.line()
		if err != nil {
			return err
		}
		if len(header) == 0 {
			break
		}
		if value, ok := bytes.CutPrefix(header, []byte("Content-Length: ")); ok {
			if length, err = strconv.Atoi(string(value)); err != nil {
				return err
			}
		}
		chunked = chunked || bytes.Equal(header, []byte("Transfer-Encoding: chunked"))
	}
	if failed != "" {
		text, _ := io.ReadAll(io.LimitReader(c.answer, int64(length)))
		return fmt.Errorf("%s %s: %s %s", c.sent.method, c.sent.path, failed, text)
	}
	if !chunked {
		_, err := c.answer.Discard(length)
		return err
	}
	return c.discardChunks()
}

// drive makes the requests that next returns for each client: all clients on one thread, as load generators do. Each client sends its next request
// when it has its answer, until next returns false.
func drive(clients []*connection, next func(client int) (message, bool)) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if len(clients) == 1 {
		for {
			m, ok := next(0)
			if !ok {
				return nil
			}
			if err := clients[0].call(m); err != nil {
				return err
			}
		}
	}
	ready, err := syscall.EpollCreate1(syscall.EPOLL_CLOEXEC)
	if err != nil {
		return err
	}
	defer syscall.Close(ready)
	waiting := 0
	send := func(client int) error {
		m, ok := next(client)
		if !ok {
			return nil
		}
		waiting++
		return clients[client].send(m)
	}
	for i, c := range clients {
		if err := syscall.EpollCtl(ready, syscall.EPOLL_CTL_ADD, c.fd, &syscall.EpollEvent{Events: syscall.EPOLLIN, Fd: int32(i)}); err != nil {
			return err
		}
		if err := send(i); err != nil {
			return err
		}
	}
	events := make([]syscall.EpollEvent, len(clients))
	for waiting > 0 {
		n, err := again(func() (int, error) { return syscall.EpollWait(ready, events, -1) })
		if err != nil {
			return err
		}
		for _, event := range events[:n] {
			waiting--
			if err := clients[event.Fd].receive(); err != nil {
				return err
			}
			if err := send(int(event.Fd)); err != nil {
				return err
			}
		}
	}
	return nil
}

// line reads a line of an answer, without its end. It is valid until the next read.
func (c *connection) line() ([]byte, error) {
	line, err := c.answer.ReadSlice('\n')
	return bytes.TrimSuffix(line, []byte("\r\n")), err
}

// discardChunks reads the body of an answer whose length was not known.
func (c *connection) discardChunks() error {
	for {
		line, err := c.line()
		if err != nil {
			return err
		}
		size, err := strconv.ParseInt(string(line), 16, 64)
		if err != nil {
			return err
		}
		if _, err := c.answer.Discard(int(size) + len("\r\n")); err != nil || size == 0 {
			return err
		}
	}
}

// local is a client in the process of its server.
type local struct {
	server *server
	answer []byte
}

func (c local) close() error { return nil }

func (c local) call(m message) error {
	req, err := http.NewRequest(m.method, c.server.url+m.path, strings.NewReader(m.body))
	if err != nil {
		return err
	}
	req.Header["User-Agent"], req.Header["Content-Type"] = []string{"load/v1"}, []string{m.mediaType}
	resp, err := c.server.transport.RoundTrip(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode >= 300 {
		text, _ := io.ReadAll(resp.Body)
		return fmt.Errorf("%s %s: %d %s", m.method, m.path, resp.StatusCode, text)
	}
	for err == nil {
		_, err = resp.Body.Read(c.answer) // io.Copy would not even copy
	}
	if err == io.EOF {
		return nil
	}
	return err
}
