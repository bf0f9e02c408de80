package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
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

// TestServeLoad: while clients write as fast as they can, every watcher sees every change once and in order.
func TestServeLoad(t *testing.T) {
	r := serving(t, serveFlags{time: "settle", record: noRecord})
	const maps = "/api/v1/namespaces/default/configmaps"
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: *loadWriters}}
	for i := range *loadWriters {
		code, text := r.send("POST "+maps, fmt.Sprintf(`{"metadata":{"name":"w%d"}}`, i))
		require.Equal(t, http.StatusCreated, code, text)
	}
	var seen []*atomic.Int64
	var watching, writing sync.WaitGroup
	problems := make(chan error, *loadWatchers+*loadWriters)
	for range *loadWatchers {
		resp, err := http.Get(r.url + maps + "?watch=1&resourceVersion=" + lastVersion(t, r, maps))
		require.NoError(t, err)
		n := &atomic.Int64{}
		seen = append(seen, n)
		watching.Go(func() {
			defer resp.Body.Close()
			problems <- watched(resp, n)
		})
	}
	var written atomic.Int64
	end := time.Now().Add(*loadTime)
	for i := range *loadWriters {
		writing.Go(func() {
			for k := 0; time.Now().Before(end); k++ {
				req, err := http.NewRequest(http.MethodPatch, fmt.Sprintf("%s%s/w%d", r.url, maps, i), strings.NewReader(fmt.Sprintf(`{"data":{"k":"%d"}}`, k)))
				if err != nil {
					problems <- err
					return
				}
				req.Header.Set("Content-Type", "application/merge-patch+json")
				resp, err := client.Do(req)
				if err != nil || resp.StatusCode != http.StatusOK {
					problems <- fmt.Errorf("patch: %v %v", resp, err)
					return
				}
				_ = resp.Body.Close() // the answer does not matter
				written.Add(1)
			}
		})
	}
	writing.Wait()
	require.Eventually(t, func() bool {
		for _, n := range seen {
			if n.Load() < written.Load() {
				return false
			}
		}
		return true
	}, time.Minute, 10*time.Millisecond, "a watcher has missed a change")
	for _, n := range seen {
		require.Equal(t, written.Load(), n.Load())
	}
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	t.Logf("%d writes in %v with %d watchers: %.0f per second; heap %d MiB", written.Load(), *loadTime, *loadWatchers,
		float64(written.Load())/loadTime.Seconds(), memory.HeapAlloc>>20)
	r.stop()
	watching.Wait()
	close(problems)
	for err := range problems {
		require.NoError(t, err)
	}
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

// watched counts the events of a watch until it ends, and returns an error for one out of order.
func watched(resp *http.Response, n *atomic.Int64) error {
	last := uint64(0)
	lines := bufio.NewScanner(resp.Body)
	for lines.Scan() {
		var event struct {
			Object struct {
				Metadata struct{ ResourceVersion string }
			}
		}
		if err := json.Unmarshal(lines.Bytes(), &event); err != nil {
			return err
		}
		version, err := strconv.ParseUint(event.Object.Metadata.ResourceVersion, 10, 64)
		if err != nil || version <= last {
			return fmt.Errorf("version %q after %d", event.Object.Metadata.ResourceVersion, last)
		}
		last = version
		n.Add(1)
	}
	return nil // the server has ended
}
