package controllerruntime

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
)

// loggedErrors is how many errors of an operator a failed test reports.
const loggedErrors = 10

// errorLog keeps the newest errors that an operator logs, for the report of a test that fails: without them, it does not say why a reconciler does
// nothing.
type errorLog struct {
	mu    sync.Mutex
	lines []errorLine // each text once
}

// errorLine is an error, and when it was logged last.
type errorLine struct {
	at   time.Time
	text string
}

func (l *errorLog) add(text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = append(slices.DeleteFunc(l.lines, func(known errorLine) bool { return known.text == text }), errorLine{time.Now(), text})
	if len(l.lines) > loggedErrors {
		l.lines = l.lines[1:]
	}
}

// report logs the errors if the test has failed.
func (l *errorLog) report(t testing.TB, operator string) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	if !t.Failed() || len(l.lines) == 0 {
		return
	}
	var out strings.Builder
	for _, line := range l.lines {
		fmt.Fprintf(&out, "\n%s %s", line.at.UTC().Format("15:04:05"), line.text)
	}
	t.Logf("The last errors that operator %q logged:%s", operator, out.String())
}

// logger returns a logger that keeps errors and discards everything else.
func (l *errorLog) logger() logr.Logger {
	return logr.New(&errorSink{funcr.NewFormatter(funcr.Options{}), l})
}

// errorSink is a sink of an errorLog.
type errorSink struct {
	funcr.Formatter
	log *errorLog
}

func (s errorSink) Enabled(int) bool { return false }

func (s errorSink) Info(int, string, ...any) {}

func (s errorSink) Error(err error, msg string, keysAndValues ...any) {
	_, line := s.FormatError(err, msg, keysAndValues)
	s.log.add(line)
}

func (s errorSink) WithName(name string) logr.LogSink {
	s.AddName(name)
	return &s
}

// WithValues leaves out the ID of a reconciliation: with it, no error would be the same as another.
func (s errorSink) WithValues(keysAndValues ...any) logr.LogSink {
	var kept []any
	for pair := range slices.Chunk(keysAndValues, 2) {
		if pair[0] != "reconcileID" {
			kept = append(kept, pair...)
		}
	}
	s.AddValues(kept)
	return &s
}
