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
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/volsim/volsim"
	"github.com/volsim/volsim/internal/apiserver"
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
	handler, _ := apiserver.NewWithClock(apiserver.Config{Backend: apiserver.ForEngine(e), TaintNodes: true, PodPriority: true}, e, apiserver.Pace{Settle: true})
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
	send    func(c caller, client, n int) error
}

const configmaps = "/api/v1/namespaces/default/configmaps"

func create(c caller, path, name string) error {
	return c.call("POST", path, "application/json", `{"metadata":{"name":"`+name+`"},"data":{"k":"v"}}`)
}

func patch(c caller, client, n int) error {
	return c.call("PATCH", configmaps+"/patched"+strconv.Itoa(client), "application/merge-patch+json", `{"data":{"k":"`+strconv.Itoa(n)+`"}}`)
}

// creates returns a load's function that creates objects whose names begin with prefix.
func creates(prefix string) func(c caller, client, n int) error {
	return func(c caller, client, n int) error {
		return create(c, configmaps, prefix+strconv.Itoa(client)+"-"+strconv.Itoa(n))
	}
}

func list(c caller, _, _ int) error {
	return c.call("GET", "/api/v1/namespaces/kube-system/configmaps", "application/json", "")
}

var loads = []load{
	{name: "lists of 10,000", clients: 2, reads: true, send: list},
	{name: "creates", clients: 20, send: creates("c")},
	{name: "patches", clients: 20, send: patch},
	{name: "creates one after the other", clients: 1, send: creates("s")},
	{name: "patches one after the other", clients: 1, send: patch},
	// The heap of a server is now as large as the server is fast.
	{name: "lists of 10,000 after the writes", clients: 2, reads: true, send: list},
}

// together calls fn from several clients of a server at the same time, and returns how long that took.
func together(t testing.TB, s *server, clients int, fn func(c caller, client int) error) time.Duration {
	t.Helper()
	callers := make([]caller, clients)
	for i := range callers {
		c, err := s.caller()
		require.NoError(t, err)
		defer c.close()
		callers[i] = c
	}
	failed := make([]error, clients)
	var running sync.WaitGroup
	began := time.Now()
	for i, c := range callers {
		running.Go(func() { failed[i] = fn(c, i) })
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
	var done atomic.Int64
	before := s.processorTime(t)
	took := together(t, s, l.clients, func(c caller, client int) error {
		began := time.Now()
		for n := 0; time.Since(began) < d; n++ {
			if err := l.send(c, client, round*1_000_000+n); err != nil {
				return err
			}
			done.Add(1)
		}
		return nil
	})
	return measured{done.Load(), took, s.processorTime(t) - before}
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
		together(b, s, 1, func(c caller, _ int) error {
			for n := range 20 {
				if err := create(c, configmaps, "patched"+strconv.Itoa(n)); err != nil {
					return err
				}
			}
			return nil
		})
		if i == durable {
			continue
		}
		together(b, s, 10, func(c caller, client int) error {
			for n := range 1000 {
				if err := create(c, "/api/v1/namespaces/kube-system/configmaps", fmt.Sprintf("m%d-%d", client, n)); err != nil {
					return err
				}
			}
			return nil
		})
	}
	for _, l := range loads {
		b.Run(l.name, func(b *testing.B) {
			sums := make([]measured, len(servers))
			for round := 0; b.Loop(); round++ {
				for i, s := range servers {
					if l.reads && i == durable {
						continue
					}
					m, sum := l.measure(b, s, round, 2*time.Second), &sums[i]
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
