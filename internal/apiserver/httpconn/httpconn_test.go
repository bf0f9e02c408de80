package httpconn

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// echo answers with the request as a handler sees it. Its path says what else the answer is like.
func echo(w http.ResponseWriter, req *http.Request) {
	data, err := io.ReadAll(io.LimitReader(req.Body, 1<<20))
	var text bytes.Buffer
	fmt.Fprintf(&text, "%s %s %q %q %s %q %d %v %v %v\n", req.Method, req.RequestURI, req.URL.Path, req.URL.RawQuery, req.Proto, req.Host, req.ContentLength,
		req.TransferEncoding, req.Close, err)
	_ = req.Header.Write(&text)
	text.Write(data)
	switch {
	case strings.HasPrefix(req.URL.Path, "/abort"):
		panic(http.ErrAbortHandler)
	case strings.HasPrefix(req.URL.Path, "/none"):
		w.WriteHeader(http.StatusNoContent)
		return
	case strings.HasPrefix(req.URL.Path, "/empty"):
		return
	case strings.HasPrefix(req.URL.Path, "/unknown"): // of unknown length and type
		_, _ = w.Write(text.Bytes()[:min(text.Len(), 1500)])
		return
	case strings.HasPrefix(req.URL.Path, "/short"):
		w.Header().Set("Content-Length", "1000000")
	case strings.HasPrefix(req.URL.Path, "/large"):
		text.WriteString(strings.Repeat("large ", 100_000))
	}
	if w.Header().Get("Content-Length") == "" {
		w.Header().Set("Content-Length", fmt.Sprint(text.Len()))
	}
	w.Header().Set("Content-Type", "text/plain")
	w.Header().Add("Warning", "b\r\nc")
	w.Header().Add("Warning", "a")
	w.WriteHeader(http.StatusCreated)
	half := text.Len() / 2
	_, _ = w.Write(text.Next(half))
	_, _ = w.Write(text.Bytes())
}

// target is where a server listens, and with what TLS.
type target struct {
	address string
	tls     *tls.Config // nil for none
}

func (to target) dial() (net.Conn, error) {
	if to.tls == nil {
		return net.Dial("tcp", to.address)
	}
	return tls.Dial("tcp", to.address, &tls.Config{InsecureSkipVerify: true})
}

// certified returns a configuration of TLS with a certificate.
func certified() *tls.Config {
	server := httptest.NewTLSServer(nil)
	defer server.Close()
	return &tls.Config{Certificates: server.TLS.Certificates, NextProtos: []string{"h2", "http/1.1"}}
}

// servers returns an http.Server without a Listener of this package and one with it, and how many requests the latter was given.
func servers(t testing.TB, secure *tls.Config) (plain, simple target, given *atomic.Int64) {
	t.Helper()
	given = new(atomic.Int64)
	serve := func(run func(*http.Server, net.Listener) error) target {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		server := &http.Server{Handler: http.HandlerFunc(echo), ReadHeaderTimeout: time.Second, IdleTimeout: 2 * time.Second, ErrorLog: log.New(io.Discard, "", 0)}
		go func() { _ = run(server, l) }()
		t.Cleanup(func() { _ = server.Close() })
		return target{l.Addr().String(), secure}
	}
	plain = serve(func(server *http.Server, l net.Listener) error {
		if server.TLSConfig = secure; secure != nil {
			return server.ServeTLS(l, "", "")
		}
		return server.Serve(l)
	})
	simple = serve(func(server *http.Server, l net.Listener) error {
		server.Protocols = &http.Protocols{}
		server.Protocols.SetHTTP1(true)
		server.Protocols.SetUnencryptedHTTP2(secure != nil)
		return server.Serve(&Listener{
			Listener: l, TLS: secure, Context: context.Background(), HeadTimeout: time.Second, BodyTimeout: time.Second, IdleTimeout: 2 * time.Second,
			Simple: func(_, target string) bool { return !strings.Contains(target, "watch") },
			Handler: http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
				given.Add(1)
				echo(w, req)
			}),
		})
	})
	return plain, simple, given
}

var date = regexp.MustCompile(`Date: [^\r]*GMT\r\n`)

// exchange sends data, in parts, and returns everything that comes back.
func exchange(t testing.TB, to target, parts ...string) string {
	t.Helper()
	conn, err := to.dial()
	require.NoError(t, err)
	defer conn.Close()
	require.NoError(t, conn.SetDeadline(time.Now().Add(10*time.Second)))
	for i, part := range parts {
		if i > 0 {
			time.Sleep(5 * time.Millisecond)
		}
		if _, err := io.WriteString(conn, part); err != nil {
			break // the server has closed the connection
		}
	}
	_ = conn.(interface{ CloseWrite() error }).CloseWrite()
	answer, err := io.ReadAll(conn)
	if netErr := net.Error(nil); errors.As(err, &netErr) {
		require.False(t, netErr.Timeout(), "no answer to %q", parts)
	}
	return date.ReplaceAllString(string(answer), "Date: now\r\n")
}

const (
	get  = "GET /api/v1/pods?limit=500&labelSelector=a%3Db%2Cc HTTP/1.1\r\nHost: localhost:80\r\nuser-agent: kubectl/v1\r\nAccept: a, b\r\nAccept: c\r\n\r\n"
	post = "POST /api HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\nContent-Length:  7 \r\n\r\n{\"a\":1}"
)

// TestAnswers compares the answers to raw requests with those of net/http.
func TestAnswers(t *testing.T) {
	with := func(line string) string { return "GET / HTTP/1.1\r\nHost: h\r\n" + line + "\r\n\r\n" }
	tests := []struct {
		name, data string
		simple     int64 // how many requests the server does not see
	}{
		{"get", get, 1},
		{"post", post, 1},
		{"pipelined", get + post + post + get, 4},
		{"the same head again", post + strings.Replace(post, "1}", "2}", 1) + get + get + strings.Replace(get, "kubectl", "kubelet", 1) + post, 6},
		{"the same head but for its end", post + strings.Replace(post, "7 \r\n\r\n", "7 \r\nTE: a\r\n\r\n", 1) + get, 1},
		{"the same head without its end", get + get[:len(get)-1], 1},
		{"the same head without a body", post + post[:len(post)-7], 1},
		{"rest of a head is missing", post + "GET / HTTP/1.1\r\nHost: h\r\n", 1},
		{"rest of a body is missing", post + post[:len(post)-1], 1},
		{"large body", "PUT / HTTP/1.1\r\nHost: h\r\nContent-Length: 200000\r\n\r\n" + strings.Repeat("b", 200_000) + post, 2},
		{"larger body", "PUT / HTTP/1.1\r\nHost: h\r\nContent-Length: 300000\r\n\r\n" + strings.Repeat("b", 300_000) + post, 0},
		{"large head", with("A: "+strings.Repeat("a", 20<<10)) + post, 0},
		{"large answer", strings.Replace(get, "/api", "/large", 1) + post, 2},
		{"no content", strings.Replace(post, "/api", "/none", 1) + post, 2},
		{"empty", strings.Replace(post, "/api", "/empty", 1) + post, 2},
		{"unknown length", strings.Replace(post, "/api", "/unknown", 1) + post, 2},
		{"abort", get + strings.Replace(get, "/api", "/abort", 1) + get, 2},
		{"shorter than it says", strings.Replace(get, "/api", "/short", 1) + get, 1},
		{"watch", get + strings.Replace(get, "?", "?watch=1&", 1) + get, 1},
		{"escaped letters", get + strings.Replace(get, "?", "?w%61tch=1&", 1) + get, 1},
		{"chunks", "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n" + get, 0},
		{"both lengths", "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n" + get, 0},
		{"two lengths", "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabcd" + get, 0},
		{"length with a sign", "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: +3\r\n\r\nabc" + get, 0},
		{"negative length", "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: -3\r\n\r\nabc" + get, 0},
		{"no length", "POST / HTTP/1.1\r\nHost: h\r\n\r\n" + get, 2},
		{"continue", "POST / HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\nabc" + get, 0},
		{"close", with("Connection: close") + get, 0},
		{"keep alive", with("Connection: keep-alive") + get, 0},
		{"upgrade", with("Connection: Upgrade\r\nUpgrade: h2c") + get, 0},
		{"HTTP/1.0", get + "GET / HTTP/1.0\r\nHost: h\r\n\r\n" + get, 1},
		{"HTTP/1.2", "GET / HTTP/1.2\r\nHost: h\r\n\r\n", 0},
		{"beginning of HTTP/2", "PRI * HTTP/2.0\r\n\r\n", 0},
		{"no host", "GET / HTTP/1.1\r\n\r\n" + get, 0},
		{"two hosts", "GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n" + get, 0},
		{"bad host", "GET / HTTP/1.1\r\nHost: a b\r\n\r\n" + get, 0},
		{"space before a colon", with("A : b") + get, 0},
		{"no colon", with("A") + get, 0},
		{"no name", with(": b") + get, 0},
		{"continued line", with("A: b\r\n c") + get, 0},
		{"control character", with("A: \x01") + get, 0},
		{"tab", with("A:\tb\t") + get, 0},
		{"other bytes", with("A: \xff\xfe") + get, 0},
		{"carriage return", with("A: b\rc") + get, 0},
		{"no value", with("A:") + get, 2},
		{"spaces", with("A:   b c  ") + get, 2},
		{"line breaks only", "GET / HTTP/1.1\nHost: h\n\n" + get, 0},
		{"head", "HEAD / HTTP/1.1\r\nHost: h\r\n\r\n" + get, 0},
		{"options", "OPTIONS * HTTP/1.1\r\nHost: h\r\n\r\n" + get, 0},
		{"whole URL", "GET http://h/api HTTP/1.1\r\nHost: h\r\n\r\n" + get, 0},
		{"two slashes", "GET //h/api HTTP/1.1\r\nHost: h\r\n\r\n" + get, 0},
		{"fragment", "GET /a#b HTTP/1.1\r\nHost: h\r\n\r\n" + get, 0},
		{"bad escape", "GET /a%2 HTTP/1.1\r\nHost: h\r\n\r\n" + get, 0},
		{"escape at the end", "GET /a% HTTP/1.1\r\nHost: h\r\n\r\n" + get, 0},
		{"slash", "GET /a%2Fb?c%20d=+e HTTP/1.1\r\nHost: h\r\n\r\n" + get, 2},
		{"bad query", "GET /a?b;c=%zz HTTP/1.1\r\nHost: h\r\n\r\n" + get, 2},
		{"space in the target", "GET /a b HTTP/1.1\r\nHost: h\r\n\r\n" + get, 0},
		{"many fields", with(strings.Repeat("A: b\r\n", 100)+"C: d") + get, 2},
		{"nonsense", "\x00\xff\r\n\r\n" + get, 0},
		{"nothing", "", 0},
		{"empty lines", "\r\n\r\n" + get, 0},
	}
	for name, secure := range map[string]*tls.Config{"TCP": nil, "TLS": certified()} {
		plain, simple, given := servers(t, secure)
		for _, test := range tests {
			t.Run(name+"/"+test.name, func(t *testing.T) {
				want := exchange(t, plain, test.data)
				given.Store(0)
				require.Equal(t, want, exchange(t, simple, test.data))
				require.Equal(t, test.simple, given.Load())
			})
		}
	}
}

// TestParts: it does not matter how the bytes of requests arrive.
func TestParts(t *testing.T) {
	plain, simple, _ := servers(t, nil)
	data := post + post + get + post
	want := exchange(t, plain, data)
	for i := range data {
		require.Equal(t, want, exchange(t, simple, data[:i], data[i:]), "%d", i)
	}
}

// TestSlow: a connection that is silent ends, however far its request has come.
func TestSlow(t *testing.T) {
	_, simple, _ := servers(t, nil)
	_, secure, _ := servers(t, certified())
	handshake := target{secure.address, nil} // by hand
	for _, test := range []struct {
		name    string
		to      target
		data    string
		answers int
	}{
		{"nothing", simple, "", 0},
		{"part of the first head", simple, get[:10], 0},
		{"part of another head", simple, get + get[:10], 1},
		{"idle", simple, get, 1},
		{"no handshake", handshake, "", 0},
		{"part of a handshake", handshake, "\x16\x03\x01\x02", 0},
		{"nothing after the handshake", secure, "", 0},
		{"part of the first head with TLS", secure, get[:10], 0},
		{"idle with TLS", secure, get, 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			conn, err := test.to.dial()
			require.NoError(t, err)
			defer conn.Close()
			_, err = io.WriteString(conn, test.data)
			require.NoError(t, err)
			require.NoError(t, conn.SetDeadline(time.Now().Add(20*time.Second)))
			answer, err := io.ReadAll(conn)
			require.NoError(t, err)
			require.Equal(t, test.answers, strings.Count(string(answer), "HTTP/1.1 201"))
		})
	}
}

// TestClose: closing the server ends connections that it has not seen a request of.
func TestClose(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	h := http.HandlerFunc(echo)
	server := &http.Server{Handler: h}
	ended := make(chan error)
	go func() {
		ended <- server.Serve(&Listener{
			Listener: l, Handler: h, Context: t.Context(), Simple: func(_, _ string) bool { return true },
			HeadTimeout: time.Minute, BodyTimeout: time.Minute, IdleTimeout: time.Minute,
		})
	}()
	conn, err := net.Dial("tcp", l.Addr().String())
	require.NoError(t, err)
	defer conn.Close()
	_, err = io.WriteString(conn, get)
	require.NoError(t, err)
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	require.NoError(t, err)
	require.Equal(t, http.StatusCreated, resp.StatusCode)
	require.NoError(t, server.Close())
	require.ErrorIs(t, <-ended, http.ErrServerClosed)
	require.NoError(t, conn.SetDeadline(time.Now().Add(20*time.Second)))
	_, err = io.Copy(io.Discard, conn)
	require.NoError(t, err)
}

// FuzzAnswers compares the answers to any bytes with those of net/http.
func FuzzAnswers(f *testing.F) {
	plain, simple, _ := servers(f, nil)
	f.Add(get + post + post + get + get)
	f.Add(strings.Replace(post, "/api", "/none", 1) + strings.Replace(get, "/api", "/unknown", 1))
	f.Add("POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n")
	f.Add(post[:len(post)-1])
	f.Add("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
	f.Add("\r\n\r\n" + get)
	f.Fuzz(func(t *testing.T, data string) {
		require.Equal(t, exchange(t, plain, data), exchange(t, simple, data))
	})
}

// TestDirect: all bytes arrive in order, also when they do not fit into the buffers of the connection.
func TestDirect(t *testing.T) {
	for _, test := range []struct {
		name         string
		size, writes int
	}{
		{"small writes", 3, 10_000},
		{"writes that are sent directly", 60 << 10, 200},
		{"larger writes", 1 << 20, 20},
	} {
		t.Run(test.name, func(t *testing.T) {
			client, server := directPair(t)
			sent := bytes.Repeat([]byte("0123456789abc"), test.size*test.writes/13+1)[:test.size*test.writes]
			written := make(chan error)
			go func() {
				for part := range slices.Chunk(sent, test.size) {
					if n, err := server.Write(part); err != nil || n != len(part) {
						written <- fmt.Errorf("%d of %d bytes: %w", n, len(part), err)
						return
					}
				}
				written <- server.(interface{ CloseWrite() error }).CloseWrite()
			}()
			time.Sleep(10 * time.Millisecond) // until the buffers are full
			go func() {
				_, _ = io.Copy(client, client)
				_ = client.Close()
			}()
			got, err := io.ReadAll(server)
			require.NoError(t, err)
			require.NoError(t, <-written)
			require.True(t, bytes.Equal(sent, got))
		})
	}
}

// TestDirectErrors: errors are those of package net.
func TestDirectErrors(t *testing.T) {
	read := func(c net.Conn) error {
		_, err := c.Read(make([]byte, 10))
		return err
	}
	client, server := directPair(t)
	require.NoError(t, server.SetReadDeadline(time.Now().Add(10*time.Millisecond)))
	require.ErrorIs(t, read(server), os.ErrDeadlineExceeded)
	require.NoError(t, server.SetReadDeadline(time.Time{}))
	require.NoError(t, client.(*net.TCPConn).SetLinger(0))
	require.NoError(t, client.Close())
	require.ErrorIs(t, read(server), syscall.ECONNRESET)
	_, err := server.Write([]byte("a"))
	require.ErrorIs(t, err, syscall.EPIPE)
	require.NoError(t, server.Close())
	require.ErrorIs(t, read(server), net.ErrClosed)
	_, err = server.Write([]byte("a"))
	require.ErrorIs(t, err, net.ErrClosed)

	client, server = directPair(t)
	ended := make(chan error)
	go func() { ended <- read(server) }()
	require.NoError(t, client.Close())
	require.Equal(t, io.EOF, <-ended)
}

// directPair returns a connection of package net and its other end, which is direct.
func directPair(t *testing.T) (client, server net.Conn) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	client, err = net.Dial("tcp", l.Addr().String())
	require.NoError(t, err)
	t.Cleanup(func() { _ = client.Close() })
	accepted, err := l.Accept()
	require.NoError(t, err)
	server = newDirect(accepted)
	t.Cleanup(func() { _ = server.Close() })
	return client, server
}
