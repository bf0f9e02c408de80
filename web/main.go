// Command web builds the playground: one static folder that any web server can serve. It needs Go and nothing else.
//
//	go run -C web .            # builds web/dist
//	go run -C web . DIR        # builds DIR
package main

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"strings"

	"github.com/evanw/esbuild/pkg/api"
	"github.com/klauspost/compress/zstd"
)

// maxFirstLoad bounds what the first visit loads, compressed, in bytes.
const maxFirstLoad = 6_000_000

func main() {
	if err := build(); err != nil {
		fmt.Fprintln(os.Stderr, "web:", err)
		os.Exit(1)
	}
}

func build() error {
	dist := "dist"
	switch {
	case len(os.Args) > 2 || len(os.Args) == 2 && strings.HasPrefix(os.Args[1], "-"):
		return errors.New("want at most the name of a folder: go run -C web . [DIR]")
	case len(os.Args) == 2:
		dist = os.Args[1]
	}
	if err := checkPackages(); err != nil {
		return err
	}
	if err := os.MkdirAll(dist, 0o755); err != nil {
		return err
	}
	steps := []func(dist string) error{bundle, simulator, lessons, static}
	for _, step := range steps {
		if err := step(dist); err != nil {
			return err
		}
	}
	return measure(dist)
}

// bundle makes one file of the page's program and the editor, and one of the worker.
func bundle(dist string) error {
	return errors.Join(bundleFile(dist, "app.js", api.FormatESModule), bundleFile(dist, "worker.js", api.FormatIIFE))
}

func bundleFile(dist, name string, format api.Format) error {
	result := api.Build(api.BuildOptions{
		EntryPoints: []string{"src/" + name}, Outfile: filepath.Join(dist, name), Bundle: true, Write: true, Format: format,
		MinifyWhitespace: true, MinifyIdentifiers: true, MinifySyntax: true, Target: api.ES2022, NodePaths: []string{"npm"},
		LegalComments: api.LegalCommentsNone,
	})
	var problems []error
	for _, m := range result.Errors {
		at := ""
		if m.Location != nil {
			at = fmt.Sprintf("%s:%d: ", m.Location.File, m.Location.Line)
		}
		problems = append(problems, errors.New(at+m.Text))
	}
	return errors.Join(problems...)
}

// simulator builds the simulator for the browser, and compresses it: any host serves a file as it is, and the worker decompresses it.
func simulator(dist string) error {
	tmp, err := os.MkdirTemp("", "volsim-web-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	modfile, overlay, err := trimmed(tmp)
	if err != nil {
		return err
	}
	wasm := filepath.Join(tmp, "volsim.wasm")
	args := []string{"build", "-modfile=" + modfile, "-overlay=" + overlay, "-trimpath", "-buildvcs=false", "-ldflags=-s -w"}
	for _, packages := range notInlined {
		args = append(args, "-gcflags="+packages+"=-l")
	}
	cmd := exec.Command("go", append(args, "-o", wasm, "./internal/tools/playground/wasm")...)
	cmd.Dir = ".."
	cmd.Env = append(os.Environ(), "GOOS=js", "GOARCH=wasm", "GOFLAGS=")
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("build the simulator: %w", err)
	}
	data, err := os.ReadFile(wasm)
	if err != nil {
		return err
	}
	z, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedBestCompression), zstd.WithWindowSize(16<<20))
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dist, "volsim.wasm.zst"), z.EncodeAll(data, nil), 0o644); err != nil {
		return err
	}
	root, err := output(".", "go", "env", "GOROOT")
	if err != nil {
		return err
	}
	glue, err := os.ReadFile(filepath.Join(root, "lib", "wasm", "wasm_exec.js"))
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dist, "wasm_exec.js"), glue, 0o644)
}

// lesson is a script that the page offers.
type lesson struct {
	ID    string `json:"id"`
	Group string `json:"group"`
	Title string `json:"title"`
	Text  string `json:"text"`
	About string `json:"about,omitempty"`
}

// lessons collects the lessons and the known problems.
func lessons(dist string) error {
	var all []lesson
	for group, pattern := range map[string]string{"Lessons": "../examples/*/lesson.txtar", "Known problems": "../problems/*.txtar"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			return err
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				return err
			}
			l := lesson{Group: group, Text: string(text), ID: strings.TrimSuffix(filepath.Base(file), ".txtar")}
			first, _, _ := strings.Cut(strings.TrimLeft(l.Text, "# "), "\n")
			l.Title = strings.TrimSuffix(first, ".")
			if group == "Lessons" {
				l.ID = filepath.Base(filepath.Dir(file))
				number, _, _ := strings.Cut(l.ID, "-")
				l.Title = strings.TrimLeft(number, "0") + ". " + l.Title
				about, err := os.ReadFile(filepath.Join(filepath.Dir(file), "README.md"))
				if err != nil {
					return err
				}
				l.About = string(about)
			}
			all = append(all, l)
		}
	}
	sort.Slice(all, func(i, j int) bool {
		if all[i].Group != all[j].Group {
			return all[i].Group == "Lessons"
		}
		return all[i].ID < all[j].ID
	})
	data, err := json.Marshal(all)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dist, "lessons.json"), data, 0o644)
}

// static copies the other files. The service worker gets the sum of all files as its version.
func static(dist string) error {
	for _, name := range []string{"index.html", "app.css"} {
		data, err := os.ReadFile(filepath.Join("src", name))
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dist, name), data, 0o644); err != nil {
			return err
		}
	}
	sum := sha256.New()
	for _, name := range loaded {
		data, err := os.ReadFile(filepath.Join(dist, name))
		if err != nil {
			return err
		}
		sum.Write(data)
	}
	service, err := os.ReadFile("src/sw.js")
	if err != nil {
		return err
	}
	service = bytes.ReplaceAll(service, []byte("VERSION"), []byte(hex.EncodeToString(sum.Sum(nil))[:16]))
	return os.WriteFile(filepath.Join(dist, "sw.js"), service, 0o644)
}

// notInlined are packages without inlining, which makes the compressed program smaller: by 3 % for k8s.io, by 1 or 2 % for each large part of volsim, and by less for
// each of the others. The engine and the store are inlined: they take most of the time. The effect on speed is not measured; the network, cryptography, the parser of Go
// and CBOR are not used in a browser.
var notInlined = []string{
	"k8s.io/...", "sigs.k8s.io/...", "golang.org/x/...", "go.yaml.in/...", "github.com/json-iterator/...", "net/...", "crypto/...", "vendor/...",
	"go/...", "mime/...", "log/...", "encoding/asn1", "encoding/pem", "github.com/fxamacker/...", "text/...", "html/...",
	"github.com/volsim/volsim/internal/tools/...", "github.com/volsim/volsim/check", "github.com/volsim/volsim/explain/...", "github.com/volsim/volsim/fake",
	"github.com/volsim/volsim/internal/core/evidence", "github.com/volsim/volsim/internal/core/warnings", "github.com/volsim/volsim/internal/controllers/...", "github.com/volsim/volsim/internal/core/strategic", "github.com/volsim/volsim/internal/core/strategy",
	"github.com/volsim/volsim/mount/...", "github.com/volsim/volsim/reclaim", "encoding/...", "regexp/...", "fmt", "math/...", "compress/...", "bufio", "gopkg.in/...",
	"github.com/volsim/volsim/attach", "github.com/volsim/volsim/binder", "github.com/volsim/volsim/internal/core/kubeletstatus",
	"github.com/volsim/volsim/internal/core/pvcontroller", "github.com/volsim/volsim/internal/core/quota", "github.com/volsim/volsim/internal/core/plain",
	"github.com/volsim/volsim/internal/core/objects", "github.com/volsim/volsim/internal/core/objkinds", "github.com/volsim/volsim/internal/core/snapshots",
	"github.com/volsim/volsim", "github.com/volsim/volsim/internal/core/podresources", "github.com/volsim/volsim/internal/core/podpatch", "github.com/volsim/volsim/internal/core/snapshot",
	"github.com/volsim/volsim/internal/core/intree", "github.com/volsim/volsim/internal/core/yamljson", "github.com/volsim/volsim/internal/core/backends", "github.com/volsim/volsim/internal/core/cron",
	"reflect", "os/...", "io/...", "path/...",
	"time", "strconv", "flag", "github.com/davecgh/go-spew/...", "github.com/pmezard/go-difflib/...", "github.com/modern-go/...", "github.com/go-logr/...",
	"github.com/volsim/volsim/internal/core/match", "github.com/volsim/volsim/internal/core/fieldpos", "github.com/volsim/volsim/internal/core/objname",
	"github.com/volsim/volsim/internal/core/grants", "github.com/volsim/volsim/internal/core/jsonscan",
	"github.com/volsim/volsim/internal/core/scheme", "github.com/volsim/volsim/internal/core/sidecar", "github.com/volsim/volsim/internal/core/claimsync",
	"github.com/volsim/volsim/internal/core/gates", "github.com/volsim/volsim/internal/core/similar", "github.com/volsim/volsim/internal/core/actors",
	"github.com/volsim/volsim/scenario", "github.com/volsim/volsim/controller", "github.com/volsim/volsim/trace", "github.com/volsim/volsim/api", "github.com/volsim/volsim/storage",
	"strings", "bytes", "unicode/...", "context", "errors",
}

// loaded are the files of the first visit.
var loaded = []string{"index.html", "app.css", "app.js", "worker.js", "wasm_exec.js", "volsim.wasm.zst", "lessons.json"}

// measure prints the size of the first load, compressed, and fails if it is above the limit.
func measure(dist string) error {
	total := 0
	for _, name := range loaded {
		data, err := os.ReadFile(filepath.Join(dist, name))
		if err != nil {
			return err
		}
		size := len(data)
		if !strings.HasSuffix(name, ".zst") {
			var out bytes.Buffer
			z, _ := gzip.NewWriterLevel(&out, gzip.BestCompression) // the level is valid
			if _, err := z.Write(data); err != nil {
				return err
			}
			if err := z.Close(); err != nil {
				return err
			}
			size = out.Len()
		}
		total += size
		fmt.Printf("%9d bytes compressed  %s\n", size, name)
	}
	fmt.Printf("%9d bytes in all, of at most %d\n", total, maxFirstLoad)
	if total > maxFirstLoad {
		return fmt.Errorf("the first load has %d bytes: want at most %d", total, maxFirstLoad)
	}
	return nil
}
