package apiserver

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/volsim/volsim"
	"github.com/volsim/volsim/internal/apiserver"
	"github.com/volsim/volsim/internal/apiserver/clock"
	"github.com/volsim/volsim/internal/core/internals"
)

// served starts volsim serve with further flags, the binary of the environment variable VOLSIM or one that is built.
func served(t testing.TB, flags ...string) *server {
	t.Helper()
	binary, dir := os.Getenv("VOLSIM"), t.TempDir()
	if binary == "" {
		binary = filepath.Join(dir, "volsim")
		cmd := exec.Command("go", "build", "-o", binary, "./cmd/volsim")
		cmd.Dir = "../../.."
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, string(out))
	}
	config := filepath.Join(dir, "volsim.yaml")
	pid := start(t, dir, binary, append([]string{"serve", "--kubeconfig", config, "--record", "none"}, flags...)...)
	url, token := "", ""
	require.Eventually(t, func() bool {
		data, err := os.ReadFile(config)
		field := func(name string) string {
			_, rest, _ := strings.Cut(string(data), name)
			value, _, _ := strings.Cut(rest, "\n")
			return value
		}
		url, token = field("server: "), field("token: ")
		return err == nil && url != ""
	}, time.Minute, 50*time.Millisecond)
	s := newServer(t, "volsim", url, token)
	s.pids = []int{pid}
	return s
}

// inProcess returns the server that Go tests have: clients call it without a network. Its processor time is also that of the clients.
func inProcess(t testing.TB) *server {
	t.Helper()
	c, err := volsim.New(volsim.Config{StrictNamespaces: true, TraceLimit: 50_000})
	require.NoError(t, err)
	t.Cleanup(c.Close)
	e := internals.Engine(c)
	handler, _ := apiserver.NewWithClock(apiserver.Config{Backend: apiserver.ForEngine(e), TaintNodes: true, PodPriority: true}, e, clock.Pace{Settle: true})
	return &server{name: "in-process", url: "http://volsim.invalid", transport: handler, pids: []int{os.Getpid()}}
}

// processorTime returns how long the processes of a server have run. Linux counts in hundredths of a second.
func (s *server) processorTime(t testing.TB) time.Duration {
	t.Helper()
	var sum time.Duration
	for _, pid := range s.pids {
		data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		require.NoError(t, err)
		fields := strings.Fields(string(data[strings.LastIndexByte(string(data), ')'):]))
		for _, text := range fields[12:14] { // utime, stime
			n, err := strconv.Atoi(text)
			require.NoError(t, err)
			sum += time.Duration(n) * 10 * time.Millisecond
		}
	}
	return sum
}

// load makes requests from several clients at the same time, until one fails.
type load struct {
	name    string
	clients int
	reads   bool // it does not wait for the disk
	request func(client, n int) message
}

const configmaps = "/api/v1/namespaces/default/configmaps"

func create(path, name string) message {
	return message{"POST", path, "application/json", `{"metadata":{"name":"` + name + `"},"data":{"k":"v"}}`}
}

func patch(client, n int) message {
	return message{"PATCH", configmaps + "/patched" + strconv.Itoa(client), "application/merge-patch+json", `{"data":{"k":"` + strconv.Itoa(n) + `"}}`}
}

// creates returns a load's function that creates objects whose names begin with prefix.
func creates(prefix string) func(client, n int) message {
	return func(client, n int) message {
		return create(configmaps, prefix+strconv.Itoa(client)+"-"+strconv.Itoa(n))
	}
}

func list(_, _ int) message {
	return message{"GET", "/api/v1/namespaces/kube-system/configmaps", "application/json", ""}
}

var loads = []load{
	{name: "lists of 10,000", clients: 2, reads: true, request: list},
	{name: "creates", clients: 20, request: creates("c")},
	{name: "patches", clients: 20, request: patch},
	{name: "creates one after the other", clients: 1, request: creates("s")},
	{name: "patches one after the other", clients: 1, request: patch},
	// The heap of a server is now as large as the server is fast.
	{name: "lists of 10,000 after the writes", clients: 2, reads: true, request: list},
}

// requests makes the requests that next returns for each client, all clients at the same time and each one after the other, until it returns false.
// It returns how long that took.
func requests(t testing.TB, s *server, clients int, next func(client int) (message, bool)) time.Duration {
	t.Helper()
	if s.transport != nil {
		return inGoroutines(t, s, clients, next)
	}
	connections := make([]*connection, clients)
	for i := range connections {
		c, err := s.connect()
		require.NoError(t, err)
		defer c.close()
		connections[i] = c
	}
	began := time.Now()
	err := drive(connections, next)
	took := time.Since(began)
	require.NoError(t, err)
	return took
}

// inGoroutines is requests for a server of the same process.
func inGoroutines(t testing.TB, s *server, clients int, next func(client int) (message, bool)) time.Duration {
	t.Helper()
	failed := make([]error, clients)
	var running sync.WaitGroup
	began := time.Now()
	for i := range clients {
		running.Go(func() {
			c := local{s, make([]byte, 64<<10)}
			for failed[i] == nil {
				m, ok := next(i)
				if !ok {
					return
				}
				failed[i] = c.call(m)
			}
		})
	}
	running.Wait()
	took := time.Since(began)
	require.NoError(t, errors.Join(failed...))
	return took
}

// measured holds the figures of one server: requests, the time that passed, and the processor time of the server.
type measured struct {
	count           int64
	took, processor time.Duration
}

func (m measured) rate() float64 { return float64(m.count) / m.took.Seconds() }

// cost returns the processor time of a request in microseconds.
func (m measured) cost() float64 { return float64(m.processor.Microseconds()) / float64(m.count) }

// measure loads a server for a while.
func (l load) measure(t testing.TB, s *server, round int, d time.Duration) measured {
	t.Helper()
	sent := make([]struct {
		n int
		_ [56]byte // clients in goroutines do not share the memory of a counter
	}, l.clients)
	before, began := s.processorTime(t), time.Now()
	took := requests(t, s, l.clients, func(client int) (message, bool) {
		if time.Since(began) >= d {
			return message{}, false
		}
		sent[client].n++
		return l.request(client, round*1_000_000+sent[client].n), true
	})
	m := measured{took: took, processor: s.processorTime(t) - before}
	for _, c := range sent {
		m.count += int64(c.n)
	}
	return m
}

// fill creates the objects that the loads patch and list.
func fill(t testing.TB, s *server, patched, listed int) {
	t.Helper()
	n := 0
	requests(t, s, 1, func(int) (message, bool) {
		n++
		return create(configmaps, "patched"+strconv.Itoa(n-1)), n <= patched
	})
	const clients = 10
	sent := [clients]int{}
	requests(t, s, clients, func(client int) (message, bool) {
		sent[client]++
		return create("/api/v1/namespaces/kube-system/configmaps", fmt.Sprintf("m%d-%d", client, sent[client])), sent[client] <= listed/clients
	})
}

// BenchmarkSpeed: requests per second of kube-apiserver with etcd, of volsim serve, and of volsim in the process of its clients, in turns, and the
// processor time of each request. A round of the benchmark is two seconds for each server and each kind of request. The times that it prints are
// those of the first server.
func BenchmarkSpeed(b *testing.B) {
	servers := []*server{real(b, false), real(b, true), served(b), served(b, "--secure"), inProcess(b)}
	for i, name := range []string{"real", "real, etcd writes to disk", "served", "served with TLS", "in process"} {
		servers[i].name = name
	}
	const durable = 1
	for i, s := range servers {
		listed := 10_000
		if i == durable {
			listed = 0
		}
		fill(b, s, 20, listed)
	}
	compare(b, servers, 2*time.Second, func(l load, server int) bool { return !l.reads || server != durable })
}

// BenchmarkSpeedFloor: volsim serve through HTTP, and a server in Go that does nothing but read the same requests and write the same
// answers, in turns.
func BenchmarkSpeedFloor(b *testing.B) {
	volsim := served(b)
	fill(b, volsim, 20, 0)
	volsim.name = "served"
	compare(b, []*server{volsim, bare(b, volsim)}, time.Second, func(l load, _ int) bool { return !l.reads })
}

// bare starts a server that answers with what another server has answered.
func bare(t testing.TB, from *server) *server {
	t.Helper()
	dir := t.TempDir()
	binary, address, post, merge := filepath.Join(dir, "bare"), filepath.Join(dir, "address"), filepath.Join(dir, "post"), filepath.Join(dir, "patch")
	out, err := exec.Command("go", "build", "-o", binary, "./bare").CombinedOutput()
	require.NoError(t, err, string(out))
	c, err := from.connect()
	require.NoError(t, err)
	defer c.close()
	for file, m := range map[string]message{post: creates("bare")(0, 1), merge: patch(0, 1)} {
		require.NoError(t, c.send(m))
		data := make([]byte, 4<<10)
		n, err := c.conn.Read(data)
		require.NoError(t, err)
		require.Regexp(t, `(?s)^HTTP/1.1 20.*}\n$`, string(data[:n]), "one read returns the whole answer")
		require.NoError(t, os.WriteFile(file, data[:n], 0o600))
	}
	s := &server{name: "a bare server", pids: []int{start(t, dir, binary, address, post, merge)}}
	require.Eventually(t, func() bool {
		data, err := os.ReadFile(address)
		s.url = string(data)
		return err == nil && s.url != ""
	}, time.Minute, 50*time.Millisecond)
	return s
}

// compare measures servers in turns, with the loads that are for them.
func compare(b *testing.B, servers []*server, turn time.Duration, fits func(l load, server int) bool) {
	b.Helper()
	for _, l := range loads {
		if !fits(l, 0) {
			continue
		}
		b.Run(l.name, func(b *testing.B) {
			sums := make([]measured, len(servers))
			for round := 0; b.Loop(); round++ {
				for i, s := range servers {
					if !fits(l, i) {
						continue
					}
					m, sum := l.measure(b, s, round, turn), &sums[i]
					sum.count, sum.took, sum.processor = sum.count+m.count, sum.took+m.took, sum.processor+m.processor
				}
			}
			var table strings.Builder
			for i, m := range sums {
				if m.count > 0 {
					fmt.Fprintf(&table, "\n%-26s %9.1f a second, %5.1f times; %9.1f µs of processor time, %5.1f times; %9.1f µs for a request of a client", servers[i].name,
						m.rate(), m.rate()/sums[0].rate(), m.cost(), sums[0].cost()/m.cost(), 1e6*float64(l.clients)/m.rate())
				}
			}
			b.Log(table.String())
			b.ReportMetric(0, "ns/op")
		})
	}
}
