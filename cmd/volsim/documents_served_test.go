package main

import (
	"bytes"
	"context"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"
)

// servedLine matches a command line of a served cluster or of the playground.
var servedLine = regexp.MustCompile(`^(?:go run \./cmd/)?volsim (serve|do|client|clock|playground)\b`)

// TestServedCommandLines runs the command lines of the documents and of the help that serve something or talk to a served cluster: those of
// one block in order, on one cluster. Only the address, and a folder outside of the repository, are replaced.
func TestServedCommandLines(t *testing.T) {
	var blocks [][]string
	for _, lines := range documentBlocks(t) {
		blocks = append(blocks, lines)
	}
	for _, cmd := range newRoot().Commands() {
		blocks = append(blocks, joinLines(cmd.Example))
	}
	ran := 0
	for _, lines := range blocks {
		if lines = slices.DeleteFunc(lines, func(line string) bool { return !servedLine.MatchString(line) }); len(lines) == 0 {
			continue
		}
		ran += len(lines)
		t.Run(lines[0], func(t *testing.T) {
			dir := t.TempDir()
			playground := filepath.Join(dir, "web", "dist")
			require.NoError(t, os.MkdirAll(playground, 0o755))
			write(t, playground, "volsim.wasm.zst", "the simulator")
			t.Chdir(dir)
			if verb := servedLine.FindStringSubmatch(lines[0])[1]; verb != "serve" && verb != "playground" {
				serveLine(t, newServe(), "--kubeconfig", "volsim.yaml", "--nodes", "n1,n2", "--driver", "disk.example.com")
				createServedClaim(t)
			}
			for _, line := range lines {
				args := shellWords(strings.TrimPrefix(strings.TrimPrefix(line, "go run ./cmd/"), "volsim "))
				switch args[0] {
				case "serve":
					serveLine(t, newServe(), args[1:]...)
					createServedClaim(t)
				case "playground":
					if at := slices.Index(args, "--dir"); at >= 0 {
						args[at+1] = playground
					}
					require.Contains(t, serveLine(t, newPlayground(), args[1:]...), "open http://127.0.0.1:")
				default:
					command(t, args...)
				}
			}
		})
	}
	require.GreaterOrEqual(t, ran, 20)
}

// serveLine runs a command that serves until the end of the test, on a free port. It returns what the command has printed once it serves.
func serveLine(t *testing.T, cmd *cobra.Command, args ...string) string {
	t.Helper()
	out := &lockedBuffer{}
	cmd.SetOut(out)
	if at := slices.Index(args, "--listen"); at >= 0 {
		args = slices.Delete(args, at, at+2)
	}
	cmd.SetArgs(append(args, "--listen", "127.0.0.1:0"))
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- cmd.ExecuteContext(ctx) }()
	t.Cleanup(func() {
		stop()
		require.NoError(t, <-ended)
	})
	require.Eventually(t, func() bool { return strings.Contains(out.String(), "http://") }, time.Minute, 10*time.Millisecond)
	return out.String()
}

// createServedClaim creates what kubectl apply would create in the documents.
func createServedClaim(t *testing.T) {
	t.Helper()
	config, err := os.ReadFile("volsim.yaml")
	require.NoError(t, err)
	_, rest, _ := strings.Cut(string(config), "server: ")
	url, _, _ := strings.Cut(rest, "\n")
	claim := strings.Replace(servedClaim, "generateName: data-", "name: data", 1)
	resp, err := http.Post(url+"/api/v1/namespaces/default/persistentvolumeclaims", "application/yaml", strings.NewReader(claim))
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	require.Equal(t, http.StatusCreated, resp.StatusCode)
}

var (
	shellBlock = regexp.MustCompile("(?s)```(sh|console)\n(.*?)\n```")
	comment    = regexp.MustCompile(`(^| +)# .*$`)
)

// documentBlocks returns the command lines of each block of shell commands in the documents, by document and position.
func documentBlocks(t *testing.T) (blocks [][]string) {
	t.Helper()
	for _, document := range documentFiles(t) {
		data, err := os.ReadFile(document)
		require.NoError(t, err)
		for _, match := range shellBlock.FindAllStringSubmatch(string(data), -1) {
			if filepath.Base(document) == "scripts.md" && !strings.HasPrefix(match[2], "volsim ") {
				continue // commands of scripts: package script reads the examples of its reference
			}
			lines := joinLines(match[2])
			if match[1] == "console" {
				lines = slices.DeleteFunc(lines, func(line string) bool { return !strings.HasPrefix(line, "$ ") })
			}
			for i, line := range lines {
				lines[i] = strings.TrimPrefix(line, "$ ")
			}
			blocks = append(blocks, lines)
		}
	}
	require.Greater(t, len(blocks), 20)
	return blocks
}

// joinLines returns the lines of a text without comments. A line that ends with a backslash goes on in the next one.
func joinLines(text string) (lines []string) {
	for line := range strings.Lines(strings.ReplaceAll(text, "\\\n", " ")) {
		if line = strings.TrimSpace(comment.ReplaceAllString(strings.TrimSpace(line), "")); line != "" {
			lines = append(lines, line)
		}
	}
	return lines
}

// documentFiles are the documents with command lines.
func documentFiles(t *testing.T) []string {
	t.Helper()
	root, err := filepath.Abs("../..")
	require.NoError(t, err)
	files, err := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	require.NoError(t, err)
	for _, name := range []string{"README.md", "CONTRIBUTING.md", "examples/README.md", "problems/README.md"} {
		files = append(files, filepath.Join(root, name))
	}
	return files
}

// shellWords splits a line as a shell does. A word may be in single quotes.
func shellWords(line string) (words []string) {
	for i, part := range strings.Split(line, "'") {
		if i%2 == 1 {
			words = append(words, part)
			continue
		}
		words = append(words, strings.Fields(part)...)
	}
	return words
}

var (
	goLine     = regexp.MustCompile(`^(?:cd (\S+) && )?(?:\w+=\S+ )?go (?:-C (\S+) )?(test|run)\b(?: -C (\S+))? ?(.*)$`)
	otherLines = []struct{ prefix, reason string }{
		{"volsim csi ", "csi/cmd/volsim-csi runs it with a driver"},
		{"git clone ", "TestCSI and TestDocumentedInstallation compare it"},
		{"go -C volsim install ", "TestDocumentedInstallation checks the package"},
		{"go install ", "TestDocumentedInstallation checks the package"},
		{"go mod edit ", "internal/proof/kubectl and the other modules do the same"},
		{"kubectl get ", "TestDocumentedDump compares it"},
		{"kubectl ", "internal/proof/kubectl runs kubectl, and volsim as its plugin"},
		{"ln -s ", "TestExplainCluster of internal/proof/kubectl calls the plugin so"},
		{"docker build ", "csi/cmd/volsim-csi checks the Dockerfile"},
		{"for pod in ", "csi/cmd/volsim-csi joins the logs of the pods of the Job"},
		{"csi-provisioner ", "csi/internal/proof/sidecars runs it"},
	}
)

// TestDocumentedProgramLines: every line of a block of shell commands is run by a test, or the test that stands for it is named here. A line
// with go test or go run names packages, tests and benchmarks that exist.
func TestDocumentedProgramLines(t *testing.T) {
	for _, lines := range documentBlocks(t) {
		if lines[0] == "plain() {" {
			continue // TestDocumentedComparison of internal/proof/log runs the block
		}
		for _, line := range lines {
			goTool := goLine.FindStringSubmatch(line)
			switch {
			case commandLine.MatchString(line), servedLine.MatchString(line):
			case goTool != nil:
				checkGoLine(t, line, filepath.Join("../..", goTool[1], goTool[2], goTool[4]), goTool[3], shellWords(goTool[5]))
			default:
				require.True(t, slices.ContainsFunc(otherLines, func(o struct{ prefix, reason string }) bool { return strings.HasPrefix(line, o.prefix) }),
					"no test runs this line of a document: %s", line)
			}
		}
	}
}

// checkGoLine checks the packages and the patterns of tests and benchmarks in a command line.
func checkGoLine(t *testing.T, line, dir, verb string, args []string) {
	t.Helper()
	if verb == "run" {
		main, err := filepath.Glob(filepath.Join(dir, args[0], "*.go"))
		require.NoError(t, err)
		require.NotEmpty(t, main, line)
		return
	}
	var source bytes.Buffer
	for _, arg := range args {
		if arg != "." && !strings.HasPrefix(arg, "./") {
			continue
		}
		base := filepath.Join(dir, strings.TrimSuffix(arg, "..."))
		require.DirExists(t, base, line)
		require.NoError(t, filepath.WalkDir(base, func(path string, d os.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, "_test.go") {
				return err
			}
			data, err := os.ReadFile(path)
			source.Write(data)
			return err
		}))
	}
	for i, arg := range args {
		if (arg != "-run" && arg != "-bench") || i+1 == len(args) || args[i+1] == "^$" || args[i+1] == "." {
			continue
		}
		for pattern := range strings.SplitSeq(inParentheses.ReplaceAllString(args[i+1], ""), "|") {
			name, _, _ := strings.Cut(pattern, "/")
			name = strings.TrimPrefix(strings.TrimPrefix(strings.Trim(name, "^$"), "Test"), "Benchmark")
			declared := regexp.MustCompile(`\nfunc (Test|Benchmark|Fuzz|Example)\w*` + regexp.QuoteMeta(name))
			require.True(t, declared.Match(source.Bytes()), "%s: no test named %s", line, pattern)
		}
	}
}

var inParentheses = regexp.MustCompile(`\([^)]*\)`)

// TestDocumentedInstallation: the packages that the documents install exist.
func TestDocumentedInstallation(t *testing.T) {
	installed := regexp.MustCompile(`go (?:-C volsim(\S*) )?install (?:github\.com/volsim/volsim/)?(?:\./)?(\S+?)(?:@latest)?(?: |$)`)
	found := 0
	for _, lines := range documentBlocks(t) {
		for _, line := range lines {
			for _, match := range installed.FindAllStringSubmatch(line, -1) {
				require.FileExists(t, filepath.Join("../..", match[1], match[2], "main.go"), line)
				found++
			}
		}
	}
	require.GreaterOrEqual(t, found, 3)
}

// lockedBuffer is a buffer that one goroutine writes and another one reads.
type lockedBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}
