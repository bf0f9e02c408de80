package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"
	"time"
)

// guard decides who may talk to a served cluster.
type guard struct {
	token string // "" for none
	// issued reports whether the cluster has issued a token, to a ServiceAccount. The server decides what it allows.
	issued    func(token string) bool
	tls       *tls.Config // nil for none
	authority []byte      // the certificate in PEM
}

// newGuard returns the guard for the address: on a loopback address none is needed.
func (f *serveFlags) newGuard() (*guard, error) {
	g := &guard{token: f.token}
	host, _, err := net.SplitHostPort(f.listen)
	if err != nil {
		return nil, usageError{errors.New("invalid --listen: want ADDRESS:PORT, such as 127.0.0.1:0")}
	}
	ip := net.ParseIP(host)
	local := host == "localhost" || ip != nil && ip.IsLoopback()
	if local && !f.secure {
		return g, nil
	}
	if f.kubeconfig == "" {
		return nil, usageError{errors.New("missing --kubeconfig: clients need the certificate and the token in it")}
	}
	if g.token == "" {
		g.token = rand.Text()
	}
	return g, g.certify(host)
}

// certify makes a certificate for this run.
func (g *guard) certify(host string) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	now := time.Now()
	const life = 365 * 24 * time.Hour
	cert := &x509.Certificate{
		SerialNumber: big.NewInt(now.UnixNano()), Subject: pkix.Name{CommonName: "volsim"}, NotBefore: now.Add(-time.Hour), NotAfter: now.Add(life),
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		IsCA: true, BasicConstraintsValid: true, DNSNames: []string{"localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc"},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback},
	}
	if ip := net.ParseIP(host); ip != nil {
		cert.IPAddresses = append(cert.IPAddresses, ip)
	} else if host != "" {
		cert.DNSNames = append(cert.DNSNames, host)
	}
	// All addresses of the machine: clients elsewhere use one of them.
	if name, err := os.Hostname(); err == nil {
		cert.DNSNames = append(cert.DNSNames, name)
	}
	if addresses, err := net.InterfaceAddrs(); err == nil {
		for _, a := range addresses {
			if n, ok := a.(*net.IPNet); ok {
				cert.IPAddresses = append(cert.IPAddresses, n.IP)
			}
		}
	}
	der, err := x509.CreateCertificate(rand.Reader, cert, cert, key.Public(), key)
	if err != nil {
		return err
	}
	g.authority = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	g.tls = &tls.Config{
		MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"}, Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}},
	}
	return nil
}

// reachable returns the address at which clients find a listener: one of this machine, if it listens on all of them.
func reachable(addr net.Addr) string {
	tcp, ok := addr.(*net.TCPAddr)
	if !ok || !tcp.IP.IsUnspecified() {
		return addr.String()
	}
	found := net.IPv4(127, 0, 0, 1)
	if addresses, err := net.InterfaceAddrs(); err == nil {
		for _, a := range addresses {
			if n, ok := a.(*net.IPNet); ok && n.IP.To4() != nil && n.IP.IsGlobalUnicast() {
				found = n.IP
				break
			}
		}
	}
	return (&net.TCPAddr{IP: found, Port: tcp.Port}).String()
}

func (g *guard) scheme() string {
	if g.tls != nil {
		return "https"
	}
	return "http"
}

// unauthorized is the answer to a request without the token.
const unauthorized = `{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"Unauthorized","reason":"Unauthorized","code":401}` + "\n"

// bodyPatience is how long the body of a request may take to arrive.
const bodyPatience = 30 * time.Second

// handler lets those requests pass that may.
func (g *guard) handler(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		// Pages of other sites must not write to a server on this machine.
		if origin := req.Header.Get("Origin"); origin != "" {
			if u, err := url.Parse(origin); err != nil || u.Host != req.Host {
				http.Error(w, "requests of other sites are refused", http.StatusForbidden)
				return
			}
		}
		if !g.admits(req) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusUnauthorized)
			_, _ = io.WriteString(w, unauthorized) // a client that is gone does not need it
			return
		}
		next.ServeHTTP(w, req)
	})
}

// patient limits how long a handler waits for the body of a request.
func patient(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if req.ContentLength != 0 {
			control := http.NewResponseController(w)
			_ = control.SetReadDeadline(time.Now().Add(bodyPatience)) // a connection without deadlines has none
			req.Body = &timedBody{ReadCloser: req.Body, done: sync.OnceFunc(func() { _ = control.SetReadDeadline(time.Time{}) })}
		}
		next.ServeHTTP(w, req)
	})
}

// admits reports whether a request has the token, or for the API server one of a ServiceAccount. Probes need none, as with kube-apiserver.
func (g *guard) admits(req *http.Request) bool {
	if g.token == "" {
		return true
	}
	switch req.URL.Path {
	case "/livez", "/readyz", "/healthz", "/version":
		return true
	}
	given := strings.TrimPrefix(req.Header.Get("Authorization"), "Bearer ")
	if given == "" {
		_, given, _ = req.BasicAuth() // a browser asks for a password
	}
	a, b := sha256.Sum256([]byte(given)), sha256.Sum256([]byte(g.token))
	return subtle.ConstantTimeCompare(a[:], b[:]) == 1 || !strings.HasPrefix(req.URL.Path, "/volsim/") && g.issued(given)
}

// timedBody calls done when everything was read: from then on the connection may be silent.
type timedBody struct {
	io.ReadCloser
	done func()
}

func (b *timedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil {
		b.done()
	}
	return n, err
}

func (b *timedBody) Close() error {
	err := b.ReadCloser.Close()
	b.done()
	return err
}
