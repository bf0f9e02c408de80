package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// The libraries of Kubernetes contain much that the simulator never calls, but that a program links because types or package variables
// refer to it. The simulator of the page is built from copies without it:
//
//   - encodings as protocol buffers and as CBOR, the documentation of fields, random objects for tests
//   - the stream of a watch over HTTP; with it, all of net/http but the numbers and names of the protocol
//   - the log of Kubernetes, and JSON and YAML as values of server-side apply
//
// What is removed is not called: the compiler reports a reference that is left, and the traces of all lessons are the same in the page
// and in the command (internal/proof/browser/playground).

// unused are the names of files that are not copied.
var unused = map[string]bool{
	"generated.pb.go": true, "types_swagger_doc_generated.go": true, "swagger_doc_generator.go": true, "zz_generated.model_name.go": true, "streamwatcher.go": true,
	"time_proto.go": true, "micro_time_proto.go": true, "quantity_proto.go": true, "types_proto.go": true,
	"time_fuzz.go": true, "micro_time_fuzz.go": true, "instr_fuzz.go": true,
}

// modules are those of which copies are made. Of klog only the files of replaced remain.
var modules = []string{"k8s.io/api", "k8s.io/apimachinery", klog, "sigs.k8s.io/structured-merge-diff/v6"}

const klog = "k8s.io/klog/v2"

// replaced are files, by module and path, that are written instead of copied.
var replaced = map[string]string{
	"k8s.io/apimachinery/pkg/runtime/serializer/cbor/direct/direct.go": `package direct

import "errors"

var errUnsupported = errors.New("CBOR is not supported in the browser")

func Marshal(any) ([]byte, error)     { return nil, errUnsupported }
func Unmarshal([]byte, any) error     { return errUnsupported }
func Diagnose([]byte) (string, error) { return "", errUnsupported }
`,
	// Files that stay refer to these.
	"k8s.io/apimachinery/pkg/apis/meta/v1/generated.pb.go": `package v1

import "errors"

type Timestamp struct {
	Seconds int64
	Nanos   int32
}

var (
	errUnsupported            = errors.New("protocol buffers are not supported in the browser")
	ErrInvalidLengthGenerated = errUnsupported
	ErrIntOverflowGenerated   = errUnsupported
)

func encodeVarintGenerated([]byte, int, uint64) int { return 0 }
func sovGenerated(uint64) int                       { return 0 }
func skipGenerated([]byte) (int, error)             { return 0, errUnsupported }
`,
	klog + "/klog.go": `package klog

import (
	"context"
	"fmt"
)

type (
	Logger  struct{}
	Verbose struct{}
)

func Background() Logger                                       { return Logger{} }
func FromContext(context.Context) Logger                       { return Logger{} }
func NewContext(ctx context.Context, _ Logger) context.Context { return ctx }
func LoggerWithName(l Logger, _ string) Logger                 { return l }

func (l Logger) V(int) Logger             { return l }
func (l Logger) WithCallDepth(int) Logger { return l }
func (Logger) Info(string, ...any)         {}
func (Logger) Error(error, string, ...any) {}

func V(int) Verbose                { return Verbose{} }
func (Verbose) Infof(string, ...any) {}

func Info(...any)                    {}
func Warningf(string, ...any)        {}
func Errorf(string, ...any)          {}
func ErrorS(error, string, ...any)   {}
func Fatalf(format string, a ...any) { panic(fmt.Sprintf(format, a...)) }
`,
	klog + "/textlogger/textlogger.go": `package textlogger

import (
	"io"

	"k8s.io/klog/v2"
)

func NewConfig(...any) any      { return nil }
func Output(io.Writer) any      { return nil }
func WithHeader(bool) any       { return nil }
func NewLogger(any) klog.Logger { return klog.Logger{} }
`,
}

// cut are parts of files, by module and path, that are left out: from the first text up to the second.
var cut = map[string][][2]string{
	"sigs.k8s.io/structured-merge-diff/v6/value/value.go": {
		{"\t\"bytes\"\n", "\t\"fmt\"\n"}, {"\t\"io\"\n", "\t\"strings\"\n"}, {"\n\tjsoniter ", ")\n\n// A Value"}, {"// FromJSON is", "// Equals returns"},
	},
}

// tag matches a tag of a field that only protocol buffers read.
var tag = regexp.MustCompile(` protobuf:"[^"]*"`)

// trimmed copies modules without what the simulator does not need. It returns a go.mod that replaces the modules with the copies, and an
// overlay of the standard library.
func trimmed(tmp string) (modfile, overlay string, err error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", "", err
	}
	mod, err := os.ReadFile("../go.mod")
	if err != nil {
		return "", "", err
	}
	for _, module := range modules {
		source, err := output("..", "go", "list", "-m", "-f", "{{.Dir}}", module)
		if err != nil {
			return "", "", fmt.Errorf("find the module %s: %w", module, err)
		}
		// The copy stays, so that the next build finds its packages compiled.
		target := filepath.Join(cache, "volsim-web", module, filepath.Base(source))
		if err := copyModule(module, source, target); err != nil {
			return "", "", fmt.Errorf("copy the module %s: %w", module, err)
		}
		mod = fmt.Appendf(mod, "\nreplace %s => %s\n", module, target)
	}
	sum, err := os.ReadFile("../go.sum")
	if err != nil {
		return "", "", err
	}
	modfile = filepath.Join(tmp, "go.mod")
	for name, data := range map[string][]byte{"go.mod": mod, "go.sum": sum} {
		if err := os.WriteFile(filepath.Join(tmp, name), data, 0o644); err != nil {
			return "", "", err
		}
	}
	overlay, err = smallHTTP(tmp)
	return modfile, overlay, err
}

// smallHTTP writes an overlay in which the package net/http has its constants only.
func smallHTTP(tmp string) (overlay string, err error) {
	root, err := output(".", "go", "env", "GOROOT")
	if err != nil {
		return "", err
	}
	folder := filepath.Join(root, "src", "net", "http")
	files, err := filepath.Glob(filepath.Join(folder, "*.go"))
	if err != nil {
		return "", err
	}
	replace := map[string]string{}
	for _, file := range files {
		if name := filepath.Base(file); name != "status.go" && name != "method.go" {
			replace[file] = "" // it does not exist
		}
	}
	rest := filepath.Join(tmp, "http.go")
	text := "package http\n\nimport \"errors\"\n\nvar ErrAbortHandler = errors.New(\"net/http: abort Handler\")\n"
	if err := os.WriteFile(rest, []byte(text), 0o644); err != nil {
		return "", err
	}
	replace[filepath.Join(folder, "server.go")] = rest
	data, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	overlay = filepath.Join(tmp, "overlay.json")
	return overlay, os.WriteFile(overlay, data, 0o644)
}

func copyModule(module, source, target string) error {
	return filepath.WalkDir(source, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(source, path)
		if err != nil {
			return err
		}
		to := filepath.Join(target, name)
		if e.IsDir() {
			if e.Name() == "testdata" {
				return fs.SkipDir
			}
			return os.MkdirAll(to, 0o755)
		}
		if strings.HasSuffix(e.Name(), "_test.go") || filepath.Ext(path) != ".go" && e.Name() != "go.mod" {
			return nil
		}
		file := module + "/" + filepath.ToSlash(name)
		text, ok := replaced[file]
		if !ok && (unused[e.Name()] || module == klog && e.Name() != "go.mod") {
			return os.RemoveAll(to)
		}
		data := []byte(text)
		if !ok {
			if data, err = os.ReadFile(path); err != nil {
				return err
			}
		}
		data = tag.ReplaceAll(data, nil)
		for _, part := range cut[file] {
			before, rest, found := bytes.Cut(data, []byte(part[0]))
			_, after, ended := bytes.Cut(rest, []byte(part[1]))
			if !found || !ended {
				return fmt.Errorf("%s has no %q before %q", file, part[0], part[1])
			}
			data = slices.Concat(before, []byte(part[1]), after)
		}
		if old, err := os.ReadFile(to); err == nil && bytes.Equal(old, data) {
			return nil
		}
		return os.WriteFile(to, data, 0o644)
	})
}

// output returns what a command prints, without the end of the line.
func output(dir, name string, args ...string) (string, error) {
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Stderr = dir, os.Stderr
	out, err := cmd.Output()
	return strings.TrimSpace(string(out)), err
}
