package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"hash/maphash"
	"net/http"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var (
	loadTime     = flag.Duration("load", time.Second, "how long TestServeLoad writes")
	loadWatchers = flag.Int("watchers", 20, "number of watchers in TestServeLoad")
	loadWriters  = flag.Int("writers", 5, "number of writers in TestServeLoad")
)

const (
	loaded = "/api/v1/namespaces/default/configmaps"
	// loadRounds is in how many parts TestServeLoad writes. After each, the watchers catch up, and the memory is measured.
	loadRounds = 4
	// loadBehind is how many writes a watcher may be behind before writers wait for it: memory must not depend on how fast the test reads.
	loadBehind = 2000
	// loadTrace is how many entries the trace keeps: few, so that it is full soon.
	loadTrace = 1_000
)

// TestServeLoad: while clients write as fast as watchers can read, every watcher sees every change once and in the order of the trace. The
// heap after a garbage collection is as large at the end of each quarter as at that of the first.
func TestServeLoad(t *testing.T) {
	r := serving(t, serveFlags{time: "settle", record: noRecord, traceLimit: loadTrace})
	l := &loadTest{running: r, client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: *loadWriters}}, next: make([]int, *loadWriters),
		problems: make(chan error, *loadWatchers+loadRounds**loadWriters)}
	for i := range *loadWriters {
		code, text := r.send("POST "+loaded, fmt.Sprintf(`{"metadata":{"name":"w%d"},"data":{"k":"0"}}`, i))
		require.Equal(t, http.StatusCreated, code, text)
	}
	var watching sync.WaitGroup
	from := lastVersion(t, r, loaded)
	for i := range *loadWatchers {
		resp, err := http.Get(r.url + loaded + "?watch=1&resourceVersion=" + from)
		require.NoError(t, err)
		w := &watched{body: bufio.NewScanner(resp.Body), next: make([]int, *loadWriters), keeps: i == 0}
		l.watchers = append(l.watchers, w)
		watching.Go(func() {
			defer resp.Body.Close()
			l.problems <- w.run()
		})
	}
	var heap [loadRounds]uint64
	for round := range loadRounds {
		l.write(*loadTime / loadRounds)
		l.catchUp()
		heap[round] = heapInUse()
	}
	first := l.watchers[0]
	for _, w := range l.watchers {
		require.Equal(t, first.sum.Sum64(), w.sum.Sum64(), "a watcher saw other changes than the first, or in another order")
	}
	l.compareTrace(first.last)
	t.Logf("%d writes in %v, %d watchers and %d writers: %.0f writes and %.0f events a second; heap after each quarter %d MiB", l.written.Load(), *loadTime,
		*loadWatchers, *loadWriters, float64(l.written.Load())/loadTime.Seconds(), float64(l.written.Load()*int64(*loadWatchers))/loadTime.Seconds(), mebibytes(heap[:]))
	for round := 1; round < loadRounds; round++ {
		require.Less(t, heap[round], heap[0]+heap[0]/8+4<<20, "the heap grows: %d MiB after the quarters", mebibytes(heap[:]))
	}
	r.stop()
	watching.Wait()
	close(l.problems)
	for err := range l.problems {
		require.NoError(t, err)
	}
}

// loadTest is a running load.
type loadTest struct {
	*running
	client   *http.Client
	watchers []*watched
	next     []int // of each writer, the next value
	written  atomic.Int64
	problems chan error
}

// write lets all writers write for a while.
func (l *loadTest) write(d time.Duration) {
	var writing sync.WaitGroup
	end := time.Now().Add(d)
	for i := range l.next {
		writing.Go(func() {
			for time.Now().Before(end) {
				if l.slowest() < l.written.Load()-loadBehind {
					time.Sleep(time.Millisecond)
					continue
				}
				l.next[i]++
				if err := l.patch(i, l.next[i]); err != nil {
					l.problems <- err
					return
				}
				l.written.Add(1)
			}
		})
	}
	writing.Wait()
}

func (l *loadTest) patch(writer, value int) error {
	req, err := http.NewRequest(http.MethodPatch, fmt.Sprintf("%s%s/w%d", l.url, loaded, writer), strings.NewReader(fmt.Sprintf(`{"data":{"k":"%d"}}`, value)))
	if err != nil {
		return err
	}
	req.Header.Set("User-Agent", fmt.Sprintf("w%d", writer))
	req.Header.Set("Content-Type", "application/merge-patch+json")
	resp, err := l.client.Do(req)
	if err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("patch: %s", resp.Status)
	}
	return resp.Body.Close()
}

// slowest returns how many changes the slowest watcher has seen.
func (l *loadTest) slowest() int64 {
	n := l.watchers[0].seen.Load()
	for _, w := range l.watchers[1:] {
		n = min(n, w.seen.Load())
	}
	return n
}

func (l *loadTest) catchUp() {
	require.Eventually(l.t, func() bool { return l.slowest() == l.written.Load() }, time.Minute, 10*time.Millisecond, "a watcher has missed a change")
}

var tracedWrite = regexp.MustCompile(`(?m)ConfigMap/default/w(\d+): .*data\.k.*"(\d+)"$`)

// compareTrace compares the last changes that a watcher saw with the trace.
func (l *loadTest) compareTrace(last []change) {
	_, text := l.send("GET /volsim/trace", "")
	var traced []change
	for _, m := range tracedWrite.FindAllStringSubmatch(text, -1) {
		writer, _ := strconv.Atoi(m[1]) // digits
		value, _ := strconv.Atoi(m[2])
		traced = append(traced, change{writer, value})
	}
	require.NotEmpty(l.t, traced, text[max(0, len(text)-500):])
	n := min(len(traced), len(last))
	require.Equal(l.t, traced[len(traced)-n:], last[len(last)-n:], "the order of the trace")
}

// change is a write as a watcher sees it.
type change struct{ writer, value int }

// watched is a watch. Others read seen while it runs.
type watched struct {
	body  *bufio.Scanner
	seen  atomic.Int64
	next  []int // of each writer, the value seen last
	sum   maphash.Hash
	keeps bool
	last  []change // the last ones, if keeps
}

var hashSeed = maphash.MakeSeed()

// run reads events until the watch ends, and returns an error for one that is missing or out of order.
func (w *watched) run() error {
	w.sum.SetSeed(hashSeed)
	version := 0
	for w.body.Scan() {
		line := w.body.Text()
		c := change{number(line, `"name":"w`), number(line, `"k":"`)}
		v := number(line, `"resourceVersion":"`)
		if c.writer < 0 || v <= version || c.value != w.next[c.writer]+1 {
			return fmt.Errorf("after version %d and value %d: %s", version, w.next[max(c.writer, 0)], line)
		}
		version = v
		w.next[c.writer] = c.value
		fmt.Fprintln(&w.sum, c.writer, c.value, v)
		if w.keeps {
			if w.last = append(w.last, c); len(w.last) > 2*loadTrace {
				w.last = append([]change(nil), w.last[loadTrace:]...)
			}
		}
		w.seen.Add(1)
	}
	return nil // the server has ended
}

// number returns the number after a text, or -1.
func number(line, after string) int {
	_, rest, _ := strings.Cut(line, after)
	digits, _, _ := strings.Cut(rest, `"`)
	if n, err := strconv.Atoi(digits); err == nil {
		return n
	}
	return -1
}

func heapInUse() uint64 {
	runtime.GC()
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	return memory.HeapAlloc
}

func mebibytes(sizes []uint64) []uint64 {
	var out []uint64
	for _, n := range sizes {
		out = append(out, n>>20)
	}
	return out
}

// lastVersion returns the resourceVersion of a list.
func lastVersion(t *testing.T, r *running, path string) string {
	t.Helper()
	_, text := r.send("GET "+path, "")
	var list struct {
		Metadata struct{ ResourceVersion string }
	}
	require.NoError(t, json.Unmarshal([]byte(text), &list))
	return list.Metadata.ResourceVersion
}
