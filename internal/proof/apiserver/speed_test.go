package apiserver

import (
	"fmt"
	"io"
	"net/http"
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

// served starts volsim serve, the binary of the environment variable VOLSIM or one that is built.
func served(t testing.TB) *server {
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
	pid := start(t, dir, binary, "serve", "--kubeconfig", config, "--record", "none")
	url := ""
	require.Eventually(t, func() bool {
		data, err := os.ReadFile(config)
		_, rest, _ := strings.Cut(string(data), "server: ")
		url, _, _ = strings.Cut(rest, "\n")
		return err == nil && url != ""
	}, time.Minute, 50*time.Millisecond)
	s := newServer(t, "volsim", url, "")
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
	return &server{name: "in-process", url: "http://volsim.invalid", client: &http.Client{Transport: handler}, pids: []int{os.Getpid()}}
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
	send    func(s *server, client, n int) error
}

const configmaps = "/api/v1/namespaces/default/configmaps"

// ask sends a request and reads the answer.
func (s *server) ask(method, path, contentType, body string) error {
	req, err := http.NewRequest(method, s.url+path, strings.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("User-Agent", "load/v1")
	req.Header.Set("Content-Type", contentType)
	if s.token != "" {
		req.Header.Set("Authorization", "Bearer "+s.token)
	}
	resp, err := s.client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode >= 300 {
		text, _ := io.ReadAll(resp.Body)
		return fmt.Errorf("%s %s: %d %s", method, path, resp.StatusCode, text)
	}
	_, err = io.Copy(io.Discard, resp.Body)
	return err
}

var loads = []load{
	{"creates", 20, func(s *server, client, n int) error {
		return s.ask("POST", configmaps, "application/json", fmt.Sprintf(`{"metadata":{"name":"c%d-%d"},"data":{"k":"v"}}`, client, n))
	}},
	{"patches", 20, func(s *server, client, n int) error {
		return s.ask("PATCH", fmt.Sprintf("%s/patched%d", configmaps, client), "application/merge-patch+json", fmt.Sprintf(`{"data":{"k":"%d"}}`, n))
	}},
	{"lists of 10,000", 2, func(s *server, _, _ int) error {
		return s.ask("GET", "/api/v1/namespaces/kube-system/configmaps", "", "")
	}},
}

// measure loads a server for a while and returns the requests, the time that passed, and the processor time of the server.
func (l load) measure(t testing.TB, s *server, round int, d time.Duration) (count int64, took, processor time.Duration) {
	t.Helper()
	var done atomic.Int64
	var clients sync.WaitGroup
	before, began := s.processorTime(t), time.Now()
	failed := make(chan error, l.clients)
	for i := range l.clients {
		clients.Go(func() {
			for n := 0; time.Since(began) < d; n++ {
				if err := l.send(s, i, round*1_000_000+n); err != nil {
					failed <- err
					return
				}
				done.Add(1)
			}
		})
	}
	clients.Wait()
	close(failed)
	for err := range failed {
		require.NoError(t, err)
	}
	return done.Load(), time.Since(began), s.processorTime(t) - before
}

// BenchmarkSpeed: requests per second of kube-apiserver with etcd, of volsim serve, and of volsim in the process of its clients, in turns, and the
// processor time of each request. A round of the benchmark is two seconds for each server and each kind of request.
func BenchmarkSpeed(b *testing.B) {
	servers := []*server{real(b), served(b), inProcess(b)}
	for _, s := range servers {
		if network, ok := s.client.Transport.(*http.Transport); ok {
			network.MaxIdleConnsPerHost = 50
		}
		for i := range 20 {
			require.NoError(b, s.ask("POST", configmaps, "application/json", fmt.Sprintf(`{"metadata":{"name":"patched%d"}}`, i)))
		}
		var filling sync.WaitGroup
		for i := range 10 {
			filling.Go(func() {
				for n := range 1000 {
					err := s.ask("POST", "/api/v1/namespaces/kube-system/configmaps", "application/json", fmt.Sprintf(`{"metadata":{"name":"m%d-%d"},"data":{"k":"v"}}`, i, n))
					if err != nil {
						b.Error(err)
						return
					}
				}
			})
		}
		filling.Wait()
	}
	for _, l := range loads {
		b.Run(l.name, func(b *testing.B) {
			count, took, processor := make([]int64, len(servers)), make([]time.Duration, len(servers)), make([]time.Duration, len(servers))
			for round := 0; b.Loop(); round++ {
				for i, s := range servers {
					n, t, p := l.measure(b, s, round, 2*time.Second)
					count[i], took[i], processor[i] = count[i]+n, took[i]+t, processor[i]+p
				}
			}
			rate, cost := make([]float64, len(servers)), make([]float64, len(servers))
			for i, s := range servers {
				rate[i] = float64(count[i]) / took[i].Seconds()
				cost[i] = float64(processor[i].Microseconds()) / float64(count[i])
				b.ReportMetric(rate[i], s.name+"/s")
				b.ReportMetric(cost[i], s.name+"-cpu-µs")
				if i > 0 {
					b.ReportMetric(rate[i]/rate[0], s.name+"-times")
					b.ReportMetric(cost[0]/cost[i], s.name+"-cpu-times")
				}
			}
			b.ReportMetric(0, "ns/op")
		})
	}
}
