package kubectl

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pmezard/go-difflib/difflib"
	"github.com/stretchr/testify/require"
	"golang.org/x/tools/txtar"

	"github.com/volsim/volsim"
	"github.com/volsim/volsim/internal/apiserver"
	"github.com/volsim/volsim/internal/core/internals"
	"github.com/volsim/volsim/internal/tools/script"
)

// age is how old the objects of a pair are when kubectl reads them: so old that a few seconds do not change an age that is printed.
const age = 20*24*time.Hour + 12*time.Hour

// pair is a served cluster to which two clients talk: kubectl, and the commands of scripts.
type pair struct {
	t       *testing.T
	dir     string
	config  string
	server  *apiserver.Server
	session *script.Session
}

// newPair begins a cluster, whose controllers and time then stand still, for kubectl and scripts.
func newPair(t *testing.T, dir string, start time.Time) *pair {
	t.Helper()
	p := begin(t, dir, start)
	p.freeze()
	var listener *httptest.Server
	listener, p.config = p.listen(t, p.server)
	t.Cleanup(listener.Close)
	return p
}

// begin begins a cluster with the script begin.txt of the folder, whose files are the manifests in it.
func begin(t *testing.T, dir string, start time.Time) *pair {
	t.Helper()
	begin, err := os.ReadFile(filepath.Join(dir, "begin.txt"))
	require.NoError(t, err)
	manifests, err := filepath.Glob(filepath.Join(dir, "*.yaml"))
	require.NoError(t, err)
	archive := &txtar.Archive{Comment: append([]byte("config server=true strict-namespaces=true start="+start.Format(time.RFC3339)+"\n"), begin...)}
	for _, name := range manifests {
		data, err := os.ReadFile(name)
		require.NoError(t, err)
		archive.Files = append(archive.Files, txtar.File{Name: filepath.Base(name), Data: data})
	}
	parsed, err := script.Parse("begin.txt", txtar.Format(archive))
	require.NoError(t, err)
	p := &pair{t: t, dir: dir}
	p.session, err = script.Begin(parsed, script.Options{Server: func(c *volsim.Cluster) script.Server {
		p.server = apiserver.New(apiserver.Config{Backend: apiserver.ForEngine(internals.Engine(c)), TaintNodes: true, PodPriority: true, Inject: c.Faults.Inject})
		return p.request
	}})
	require.NoError(t, err)
	t.Cleanup(p.session.Cluster().Close)
	_, err = p.session.Run()
	require.NoError(t, err)
	return p
}

// listen serves the cluster, and writes a configuration of kubectl for it.
func (p *pair) listen(t *testing.T, handler http.Handler) (listener *httptest.Server, config string) {
	t.Helper()
	listener = httptest.NewServer(handler)
	config = filepath.Join(t.TempDir(), "config")
	text := "apiVersion: v1\nkind: Config\ncurrent-context: volsim\nclusters:\n- name: volsim\n  cluster: {server: \"" + listener.URL +
		"\"}\ncontexts:\n- name: volsim\n  context: {cluster: volsim}\n"
	require.NoError(t, os.WriteFile(config, []byte(text), 0o600))
	return listener, config
}

// freeze stops all controllers and kubelets and lets virtual time pass until the present, so that nothing changes any more.
func (p *pair) freeze() {
	p.t.Helper()
	c := p.session.Cluster()
	for _, name := range c.Controllers() {
		require.NoError(p.t, c.Crash(name))
	}
	for _, node := range c.Nodes.List() {
		n, err := c.Node(node.Name)
		require.NoError(p.t, err)
		n.Stop()
	}
	require.NoError(p.t, c.Advance(age-c.Now().Sub(p.session.Start())))
}

// request carries out the command request.
func (p *pair) request(r script.Request) (script.Answer, error) {
	req, err := http.NewRequest(r.Method, "http://cluster"+r.Path, bytes.NewReader(r.Body))
	if err != nil {
		return script.Answer{}, err
	}
	req.Header.Set("User-Agent", r.Client)
	req.Header.Set("Content-Type", r.MediaType)
	resp, err := p.server.RoundTrip(req)
	if err != nil {
		return script.Answer{}, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return script.Answer{Code: resp.StatusCode, Body: body}, err
}

// theirs runs a command line with kubectl.
func (p *pair) theirs(line string) string {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	cmd, out := p.kubectl(ctx, line, p.config)
	_ = cmd.Run() // a command may fail; what it prints is compared
	return out.String()
}

// kubectl returns the command for a line, and what it will print.
func (p *pair) kubectl(ctx context.Context, line, config string) (*exec.Cmd, *bytes.Buffer) {
	// The line has the quotes of a shell.
	cmd := exec.CommandContext(ctx, "sh", "-c", "exec "+program+" "+line)
	cmd.Dir = p.dir
	cmd.Env = append(os.Environ(), "KUBECONFIG="+config, "HOME="+filepath.Dir(config), "TZ=UTC")
	out := &bytes.Buffer{}
	cmd.Stdout, cmd.Stderr = out, out
	return cmd, out
}

// ours runs a command line as a script does.
func (p *pair) ours(t *testing.T, line string) string {
	t.Helper()
	var text string
	do := p.server.Do
	if strings.HasPrefix(line, "get --raw") {
		do = func(fn func()) { fn() } // the line sends a request itself
	}
	do(func() {
		result, err := p.session.Do(line)
		if err == nil {
			last := result.Commands[len(result.Commands)-1]
			text = last.Output
			if last.Error == "" {
				return
			}
			err = result.Failures[len(result.Failures)-1]
		}
		at := new(script.Error)
		require.ErrorAs(t, err, &at)
		for _, each := range parts(at.Err) {
			text += "error: " + each.Error() + "\n"
		}
	})
	return text
}

// parts returns the errors that one consists of.
func parts(err error) []error {
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return []error{err}
	}
	var all []error
	for _, each := range joined.Unwrap() {
		all = append(all, parts(each)...)
	}
	return all
}

// commandLines returns the lines of a file without comments.
func commandLines(t *testing.T, file string) []string {
	t.Helper()
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	var lines []string
	for line := range strings.Lines(string(data)) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			lines = append(lines, line)
		}
	}
	return lines
}

// TestReading compares what kubectl and a script print about one cluster. Nothing but the introduction of errors is normalized: the objects are
// so old that both clocks give the same ages. Where both refuse a line, the words may differ.
func TestReading(t *testing.T) {
	dir, err := filepath.Abs("testdata/compare")
	require.NoError(t, err)
	p := newPair(t, dir, time.Now().UTC().Truncate(time.Second).Add(-age))
	lines, refused := commandLines(t, filepath.Join(dir, "reading.txt")), commandLines(t, filepath.Join(dir, "refused.txt"))
	theirs := p.allOfTheirs(append(slices.Clone(lines), refused...))
	for i, line := range lines {
		t.Run(line, func(t *testing.T) {
			requireSame(t, introduced(theirs[i]), introduced(p.ours(t, line)))
		})
	}
	for i, line := range refused {
		t.Run(line, func(t *testing.T) {
			require.Regexp(t, "(?m)^error: ", introduced(theirs[len(lines)+i]))
			require.Regexp(t, "^error: .", p.ours(t, line))
		})
	}
	t.Logf("%d command lines compared, and %d that both refuse", len(lines), len(refused))
}

// allOfTheirs runs command lines that only read, several at once.
func (p *pair) allOfTheirs(lines []string) []string {
	theirs := make([]string, len(lines))
	next := make(chan int)
	var workers sync.WaitGroup
	for range max(2, runtime.NumCPU()) {
		workers.Go(func() {
			for i := range next {
				theirs[i] = p.theirs(lines[i])
			}
		})
	}
	for i := range lines {
		next <- i
	}
	close(next)
	workers.Wait()
	return theirs
}

// requireSame fails with a diff of two outputs that are not equal.
func requireSame(t *testing.T, theirs, ours string) {
	t.Helper()
	if theirs == ours {
		return
	}
	diff, err := difflib.GetUnifiedDiffString(difflib.UnifiedDiff{A: difflib.SplitLines(theirs), B: difflib.SplitLines(ours), FromFile: "kubectl", ToFile: "script", Context: 2})
	require.NoError(t, err)
	t.Errorf("the outputs differ:\n%s", diff)
}

// introductions are what kubectl, and a script, write before what the API server says; kubectl has another for invalid objects.
var (
	introductions = regexp.MustCompile(`^(?:Error from server \(\w+\): |error: )` +
		`(?:failed to create \w+: |error when \w+ "[^"]*": |(?:[\w.]+:\d+: )?(?:create|patch|update|delete) [\w./-]+: )?`)
	invalid = regexp.MustCompile(`^The (\w+ "[^"]+" is invalid: )`)
)

// introduced replaces the introductions of errors.
func introduced(text string) string {
	var out strings.Builder
	for line := range strings.Lines(text) {
		line = invalid.ReplaceAllString(line, "error: $1")
		out.WriteString(introductions.ReplaceAllString(line, "error: "))
	}
	return out.String()
}
