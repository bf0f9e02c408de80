package kubectl

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestWaiting carries out command lines that wait, such as drain, with kubectl in one cluster and in a script in another one that equals it, and
// compares what they print. Each block of waiting.txt begins with a cluster of its own, in which controllers and kubelets run; "~" marks lines
// that a script carries out in both. What pods that leave together print is compared in any order, as kubectl evicts them at the same time.
func TestWaiting(t *testing.T) {
	dir, err := filepath.Abs("testdata/waiting")
	require.NoError(t, err)
	data, err := os.ReadFile(filepath.Join(dir, "waiting.txt"))
	require.NoError(t, err)
	var compared atomic.Int32
	t.Cleanup(func() { t.Logf("%d command lines compared", compared.Load()) })
	for block := range strings.SplitSeq(string(data), "\n\n") {
		name, lines, _ := strings.Cut(strings.TrimSpace(block), "\n")
		t.Run(strings.TrimPrefix(name, "# "), func(t *testing.T) {
			t.Parallel()
			// The clusters are behind the clock of kubectl, so that a deletion of a minute ago is one for kubectl, too.
			start := time.Now().UTC().Truncate(time.Second).Add(-10 * time.Minute)
			theirs, ours := begin(t, dir, start), begin(t, dir, start)
			for line := range strings.Lines(lines) {
				line = strings.TrimSpace(line)
				if text, both := strings.CutPrefix(line, "~ "); both {
					requireSame(t, theirs.ours(t, text), ours.ours(t, text))
					continue
				}
				compared.Add(1)
				if a, b := printed(line, theirs.waiting(t, line)), printed(line, ours.ours(t, line)); a != b {
					t.Errorf("%s", line)
					requireSame(t, a, b)
				}
			}
		})
	}
}

var (
	// ages are what get -w prints as ages: those of kubectl are by its own clock.
	ages = regexp.MustCompile(`\b\d+[smh]\b`)
	// reasons follow what kubectl says when the time is over.
	reasons = regexp.MustCompile(`(?m)(timed out waiting for the condition(?: on \S+)?): .*`)
	// reports are those of client-go about watches that end with the command.
	reports = regexp.MustCompile(`(?m)^[EIW]\d{4} .* reflector\.go:.*\n`)
	// kubectl introduces some errors, and others not.
	errorAtAll = regexp.MustCompile(`(?m)^error: `)
)

// printed returns an output as it is compared.
func printed(line, text string) string {
	text = errorAtAll.ReplaceAllString(reasons.ReplaceAllString(introduced(reports.ReplaceAllString(text, "")), "$1"), "")
	switch {
	case strings.HasPrefix(line, "drain"):
		lines := slices.Sorted(strings.Lines(text))
		return strings.Join(lines, "")
	case strings.HasPrefix(line, "get"):
		return ages.ReplaceAllString(text, "AGE")
	}
	return text
}

// patient reports when a client waits: a watch has begun, or a deletion.
type patient struct {
	handler http.Handler
	once    sync.Once
	waits   chan struct{}
}

func (p *patient) begin() { p.once.Do(func() { close(p.waits) }) }

func (p *patient) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.URL.Query().Has("watch"):
		w = &answering{ResponseWriter: w, begin: p.begin}
	case strings.HasSuffix(r.URL.Path, "/eviction") || r.Method == http.MethodDelete:
		defer p.begin()
	}
	p.handler.ServeHTTP(w, r)
}

// answering calls begin when the answer begins.
type answering struct {
	http.ResponseWriter
	begin func()
}

func (a *answering) Unwrap() http.ResponseWriter { return a.ResponseWriter }

func (a *answering) Flush() {
	a.ResponseWriter.(http.Flusher).Flush()
	a.begin()
}

// waiting runs a command line with kubectl. From its first request that waits on, virtual time passes like real time.
func (p *pair) waiting(t *testing.T, line string) string {
	t.Helper()
	patient := &patient{handler: p.server, waits: make(chan struct{})}
	listener, config := p.listen(t, patient)
	defer listener.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	cmd, out := p.kubectl(ctx, line, config)
	require.NoError(t, cmd.Start())
	ended := make(chan struct{})
	go func() {
		_ = cmd.Wait() // a command may fail; what it prints is compared
		close(ended)
	}()
	select {
	case <-ended:
		return out.String()
	case <-patient.waits:
	}
	from := time.Now()
	for {
		select {
		case <-ended:
			return out.String()
		case <-time.After(50 * time.Millisecond):
			passed := time.Since(from)
			from = from.Add(passed)
			p.server.Do(func() { require.NoError(t, p.session.Cluster().Advance(passed)) })
		}
	}
}
