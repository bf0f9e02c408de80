package apiserver

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

// caller is a client that makes one request after the other.
type caller interface {
	// call sends a request with a body of a media type, and reads the answer. An answer that is no success is an error.
	call(method, path, mediaType, body string) error
	close() error
}

// caller returns a client of a server: one of the same process, or one with a connection of its own.
func (s *server) caller() (caller, error) {
	if s.transport != nil {
		return local{s, make([]byte, 64<<10)}, nil
	}
	u, err := url.Parse(s.url)
	if err != nil {
		return nil, err
	}
	conn, err := net.Dial("tcp", u.Host)
	if err != nil {
		return nil, err
	}
	if u.Scheme == "https" {
		conn = tls.Client(conn, &tls.Config{InsecureSkipVerify: true})
	}
	head := " HTTP/1.1\r\nHost: " + u.Host + "\r\nUser-Agent: load/v1\r\nAccept: application/json\r\n"
	if s.token != "" {
		head += "Authorization: Bearer " + s.token + "\r\n"
	}
	return &connection{conn: conn, head: head, answer: bufio.NewReaderSize(conn, 64<<10)}, nil
}

// connection is a client that keeps its connection. Servers and clients share the processors of one machine, so it does no more than a load needs:
// net/http would take as much processor time for a request as the server.
type connection struct {
	conn    net.Conn
	head    string // of each request, after the path
	request []byte
	answer  *bufio.Reader
}

func (c *connection) close() error { return c.conn.Close() }

func (c *connection) call(method, path, mediaType, body string) error {
	c.request = append(c.request[:0], method...)
	for _, text := range [...]string{" ", path, c.head, "Content-Type: ", mediaType, "\r\nContent-Length: ", strconv.Itoa(len(body)), "\r\n\r\n", body} {
		c.request = append(c.request, text...)
	}
	if _, err := c.conn.Write(c.request); err != nil {
		return err
	}
	status, err := c.line()
	if err != nil {
		return err
	}
	failed := len(status) < 10 || status[9] != '2'
	line := string(status)
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
	if failed {
		text, _ := io.ReadAll(io.LimitReader(c.answer, int64(length)))
		return fmt.Errorf("%s %s: %s %s", method, path, line, text)
	}
	if !chunked {
		_, err := c.answer.Discard(length)
		return err
	}
	return c.discardChunks()
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

func (c local) call(method, path, mediaType, body string) error {
	req, err := http.NewRequest(method, c.server.url+path, strings.NewReader(body))
	if err != nil {
		return err
	}
	req.Header["User-Agent"], req.Header["Content-Type"] = []string{"load/v1"}, []string{mediaType}
	resp, err := c.server.transport.RoundTrip(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode >= 300 {
		text, _ := io.ReadAll(resp.Body)
		return fmt.Errorf("%s %s: %d %s", method, path, resp.StatusCode, text)
	}
	for err == nil {
		_, err = resp.Body.Read(c.answer) // io.Copy would not even copy
	}
	if err == io.EOF {
		return nil
	}
	return err
}
