// Package klog writes the log lines of simulated components in the text format of k8s.io/klog:
//
//	I0101 00:00:05.000000       1 pv_controller.go:0] "Synchronizing PersistentVolume" logger="persistentvolume-binder-controller" volumeName="pv1"
//
// Each call of a controller stands where the real controller has its own, with the same text, level and keys. The header has virtual
// time, process 1, the source file of the real controller, and 0 in place of the line number.
//
// A nil Logger drops everything. Attributes are rendered only for lines that are written, so a call costs next to nothing without a log.
package klog

import (
	"fmt"
	"io"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Config configures a log.
type Config struct {
	// Out receives the lines, each with one Write.
	Out io.Writer
	// V is the verbosity: lines with a higher level are dropped.
	V int
	// Modules are the verbosities of source files. The first whose pattern matches replaces V.
	Modules []Module
}

// Module is the verbosity of the source files whose name without ".go" matches a pattern of path.Match.
type Module struct {
	Pattern string
	V       int
}

// ParseModules reads modules in the format of klog's flag --vmodule: comma-separated PATTERN=LEVEL.
func ParseModules(text string) ([]Module, error) {
	var list []Module
	for item := range strings.SplitSeq(text, ",") {
		if item == "" {
			continue
		}
		pattern, level, _ := strings.Cut(item, "=")
		v, err := strconv.Atoi(level)
		if _, invalid := path.Match(pattern, ""); err != nil || invalid != nil || pattern == "" || v < 0 {
			return nil, fmt.Errorf("want comma-separated PATTERN=LEVEL, such as pv_controller*=5, got %q", item)
		}
		list = append(list, Module{Pattern: strings.TrimSuffix(pattern, ".go"), V: v})
	}
	return list, nil
}

// Log is the log of one run. A nil Log gives loggers that drop everything.
type Log struct {
	cfg  Config
	now  func() time.Time
	line []byte
	err  error
}

// New returns a log whose lines have the time that now returns. It is nil if cfg is nil.
func New(cfg *Config, now func() time.Time) *Log {
	if cfg == nil || cfg.Out == nil {
		return nil
	}
	return &Log{cfg: *cfg, now: now}
}

// Enabled reports whether lines of that level are written for some source file.
func (l *Log) Enabled(v int) bool {
	return l != nil && (v <= l.cfg.V || slices.ContainsFunc(l.cfg.Modules, func(m Module) bool { return v <= m.V }))
}

// Err returns the first error of Config.Out. Nothing is written after it.
func (l *Log) Err() error {
	if l == nil {
		return nil
	}
	return l.err
}

// Logger returns the logger of a source file, given without ".go". The name is that of the component, the value of the key logger; "" is
// none.
func (l *Log) Logger(file, name string) *Logger {
	if l == nil {
		return nil
	}
	v := l.cfg.V
	for _, m := range l.cfg.Modules {
		if ok, _ := path.Match(m.Pattern, file); ok {
			v = m.V
			break
		}
	}
	return &Logger{log: l, file: file, name: name, v: v}
}

// Logger writes the lines of one source file of one component.
type Logger struct {
	log  *Log
	file string
	name string
	v    int
}

// Enabled reports whether lines of that level are written.
func (l *Logger) Enabled(v int) bool { return l != nil && v <= l.v }

// Info writes a line of that level.
func (l *Logger) Info(v int, text string, attrs ...Attr) {
	if l == nil || v > l.v {
		return
	}
	l.write('I', text, attrs)
}

// Warning writes a line with severity W and without a name, as klog.Warningf does. It has no level.
func (l *Logger) Warning(text string) {
	if l != nil {
		l.plain('W', text)
	}
}

// Infof writes text as it is, without quotes and name, as klog.V(v).Infof does.
func (l *Logger) Infof(v int, format string, args ...any) {
	if l == nil || v > l.v {
		return
	}
	l.plain('I', fmt.Sprintf(format, args...))
}

// Error writes a line with severity E. It has no level. A nil error is omitted.
func (l *Logger) Error(err error, text string, attrs ...Attr) {
	if l == nil {
		return
	}
	l.write('E', text, attrs, Err(err))
}

func (l *Logger) plain(severity byte, text string) {
	log := l.log
	log.line = append(l.header(severity), text...)
	log.flush()
}

func (l *Logger) write(severity byte, text string, attrs []Attr, first ...Attr) {
	log := l.log
	line := strconv.AppendQuote(l.header(severity), text)
	for _, a := range first {
		line = a.append(line)
	}
	if l.name != "" {
		line = String("logger", l.name).append(line)
	}
	for _, a := range attrs {
		line = a.append(line)
	}
	log.line = line
	log.flush()
}

func (l *Logger) header(severity byte) []byte {
	line := append(l.log.line[:0], severity)
	line = l.log.now().AppendFormat(line, "0102 15:04:05.000000")
	line = append(line, "       1 "...)
	line = append(line, l.file...)
	return append(line, ".go:0] "...)
}

func (l *Log) flush() {
	l.line = append(l.line, '\n')
	if l.err == nil {
		_, l.err = l.cfg.Out.Write(l.line)
	}
}
