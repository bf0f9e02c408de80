package apiserver

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/volsim/volsim"
	"github.com/volsim/volsim/internal/apiserver"
	"github.com/volsim/volsim/internal/apiserver/clock"
	"github.com/volsim/volsim/internal/apiserver/webhooks"
	"github.com/volsim/volsim/internal/core/internals"
	"github.com/volsim/volsim/internal/tools/standard"
)

// programs are the binaries that the test runs, by package. An environment variable may name one that exists.
var programs = map[string]string{
	"k8s.io/kubernetes/cmd/kube-apiserver": os.Getenv("KUBE_APISERVER"),
	"go.etcd.io/etcd/server/v3":            os.Getenv("ETCD"),
	"k8s.io/kubernetes/cmd/kubectl":        os.Getenv("KUBECTL"),
}

// built is the directory of the programs that the test builds. It outlives each test, because all of them share the programs.
var built string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "programs")
	if err != nil {
		panic(err)
	}
	built = dir
	code := m.Run()
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

// program returns the binary of a package, and builds it if need be.
func program(t testing.TB, path string) string {
	t.Helper()
	if programs[path] == "" {
		file := filepath.Join(built, filepath.Base(path))
		out, err := exec.Command("go", "build", "-o", file, path).CombinedOutput()
		require.NoError(t, err, string(out))
		programs[path] = file
	}
	return programs[path]
}

// server is one of the two servers.
type server struct {
	name   string
	url    string
	token  string
	config string // of kubectl
	client *http.Client
	// transport is set for a server in the process of its clients.
	transport http.RoundTripper
	pids      []int // of its processes, if it has its own
}

// simulated starts a server of volsim without controllers, in real time: kubectl shows managedFields in the order of their times.
func simulated(t *testing.T) *server {
	t.Helper()
	config := volsim.Config{Start: time.Now().UTC(), StrictNamespaces: true}
	internals.Options(&config).NoControllers = true
	c, err := volsim.New(config)
	require.NoError(t, err)
	t.Cleanup(c.Close)
	objects, _ := standard.New(standard.APIServer, nil)
	require.NoError(t, c.AddController(objects))
	e := internals.Engine(c)
	handler, clock := apiserver.NewWithClock(apiserver.Config{
		Backend: apiserver.ForEngine(e), TaintNodes: true, PodPriority: true, StoredRoles: true, Webhooks: webhooks.NewClient(nil),
	}, e, clock.Pace{Factor: 1})
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { clock.Run(ctx) })
	t.Cleanup(func() {
		cancel()
		running.Wait()
	})
	listener := httptest.NewServer(handler)
	t.Cleanup(listener.Close)
	return newServer(t, "volsim", listener.URL, "")
}

// real starts kube-apiserver and etcd. No controllers run. Unless durable, etcd does not wait for the disk, as with envtest.
func real(t testing.TB, durable bool) *server {
	t.Helper()
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	out, err := exec.Command("openssl", "genrsa", "-out", filepath.Join(dir, "key"), "2048").CombinedOutput()
	require.NoError(t, err, string(out))
	etcd, peers, secure := freePort(t), freePort(t), freePort(t)
	database := start(t, dir, program(t, "go.etcd.io/etcd/server/v3"), "--data-dir", filepath.Join(dir, "etcd"), "--unsafe-no-fsync="+strconv.FormatBool(!durable),
		"--log-level=error", "--listen-client-urls=http://"+etcd, "--advertise-client-urls=http://"+etcd, "--listen-peer-urls=http://"+peers)
	_, port, _ := net.SplitHostPort(secure)
	apiserver := start(t, dir, program(t, "k8s.io/kubernetes/cmd/kube-apiserver"), "--etcd-servers=http://"+etcd, "--cert-dir="+dir, "--secure-port="+port,
		"--bind-address=127.0.0.1", "--service-account-key-file="+filepath.Join(dir, "key"), "--service-account-issuer=https://reference.invalid",
		"--service-account-signing-key-file="+filepath.Join(dir, "key"), "--token-auth-file="+file("tokens", "token,admin,admin,system:masters\n"),
		"--disable-admission-plugins=ServiceAccount", "--service-cluster-ip-range=10.0.0.0/24", "--authorization-mode=RBAC",
		// API-356: without it, each privileged container is refused.
		"--allow-privileged=true")
	s := newServer(t, "kube-apiserver", "https://"+secure, "token")
	s.pids = []int{database, apiserver}
	ready := func() bool {
		// The default namespaces are the last objects that the server creates. It is ready when it has the default roles.
		for _, path := range []string{"/readyz", "/api/v1/namespaces/default"} {
			if code, _, _, err := s.send(request{method: "GET", path: path}); err != nil || code != http.StatusOK {
				return false
			}
		}
		return true
	}
	require.Eventually(t, ready, 2*time.Minute, time.Second)
	return s
}

func freePort(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, l.Close())
	return l.Addr().String()
}

// start runs a program until the test ends, and returns the ID of its process.
func start(t testing.TB, dir, program string, args ...string) (pid int) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	cmd := exec.CommandContext(ctx, program, args...)
	log, err := os.Create(filepath.Join(dir, filepath.Base(program)+".log"))
	require.NoError(t, err)
	cmd.Stdout, cmd.Stderr = log, log
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		cancel()
		_ = cmd.Wait() // it was killed
		_ = log.Close()
	})
	return cmd.Process.Pid
}

func newServer(t testing.TB, name, url, token string) *server {
	t.Helper()
	s := &server{name: name, url: url, token: token, config: filepath.Join(t.TempDir(), "config")}
	s.client = &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	config := fmt.Sprintf(`{"apiVersion":"v1","kind":"Config","current-context":"c","clusters":[{"name":"c","cluster":{"server":%q}}],`+
		`"users":[{"name":"c","user":{"token":%q}}],"contexts":[{"name":"c","context":{"cluster":"c","user":"c"}}]}`, url, token)
	if strings.HasPrefix(url, "https") {
		config = strings.Replace(config, `"cluster":{`, `"cluster":{"insecure-skip-tls-verify":true,`, 1)
	}
	require.NoError(t, os.WriteFile(s.config, []byte(config), 0o600))
	return s
}

// request is an HTTP request, or a command line of kubectl.
type request struct {
	line         int
	method, path string
	header       [][2]string
	body         string
	command      string
}

func (r request) String() string {
	if r.command != "" {
		return "kubectl " + r.command
	}
	return r.method + " " + r.path
}

// asUser reports whether a request reads in the name of a user.
func (r request) asUser() bool {
	return r.method == "GET" && slices.ContainsFunc(r.header, func(h [2]string) bool { return h[0] == "Impersonate-User" })
}

// only chooses the files of testdata.
var only = flag.String("only", "*", "the name of the file of requests, without .txt")

var headerLine = regexp.MustCompile(`^([A-Z][A-Za-z-]+): (.*)$`)

// readRequests reads blocks separated by empty lines: "METHOD PATH" or "$ COMMAND", then headers, then the body or the standard input.
func readRequests(t *testing.T, file string) []request {
	t.Helper()
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	var list []request
	begins := true
	for i, line := range strings.Split(string(data), "\n") {
		switch last := len(list) - 1; {
		case strings.HasPrefix(line, "# "):
		case strings.TrimSpace(line) == "":
			begins = true
		case begins:
			begins = false
			r := request{line: i + 1}
			if command, ok := strings.CutPrefix(line, "$ "); ok {
				r.command = command
			} else {
				r.method, r.path, _ = strings.Cut(line, " ")
			}
			list = append(list, r)
		case list[last].body == "" && headerLine.MatchString(line):
			m := headerLine.FindStringSubmatch(line)
			list[last].header = append(list[last].header, [2]string{m[1], m[2]})
		default:
			list[last].body += line + "\n"
		}
	}
	return list
}

// send sends a request.
func (s *server) send(r request) (code int, header http.Header, body string, err error) {
	req, err := http.NewRequest(r.method, s.url+r.path, strings.NewReader(r.body))
	if err != nil {
		return 0, nil, "", err
	}
	req.Header.Set("User-Agent", "client/v1")
	if r.body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	for _, h := range r.header {
		req.Header.Set(h[0], h[1])
	}
	if s.token != "" {
		req.Header.Set("Authorization", "Bearer "+s.token)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	resp, err := s.client.Do(req.WithContext(ctx))
	if err != nil {
		return 0, nil, "", err
	}
	data, err := io.ReadAll(resp.Body)
	_ = resp.Body.Close() // it was read
	return resp.StatusCode, resp.Header, string(data), err
}

// run runs kubectl.
func (s *server) run(t *testing.T, r request) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 40*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, "sh", "-c", program(t, "k8s.io/kubernetes/cmd/kubectl")+" "+r.command)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+s.config, "HOME="+filepath.Dir(s.config), "KUBECTL_EXTERNAL_DIFF=diff -u -N",
		"KUBE_EDITOR=sed -i s/before/after/")
	cmd.Stdin = strings.NewReader(r.body)
	out := &bytes.Buffer{}
	cmd.Stdout, cmd.Stderr = out, out
	cmd.WaitDelay = time.Second // the shell may leave kubectl behind, which has the output open
	err := cmd.Run()
	// The shell exits with 126 or 127 if kubectl did not run; the two servers would agree about that.
	require.NotContains(t, []int{-1, 126, 127}, cmd.ProcessState.ExitCode(), "%s: %v: %s", r, err, out)
	return normalizedText(out.String()) + fmt.Sprintf("exit: %v", err)
}

// answer returns what is compared of the answer to a request.
func (s *server) answer(t *testing.T, r request) string {
	t.Helper()
	if r.command != "" {
		return s.run(t, r)
	}
	code, header, body, err := s.send(r)
	require.NoError(t, err, "%s: %s", s.name, r)
	return answerText(code, header, body)
}

// answerText returns an answer as text that is comparable.
func answerText(code int, header http.Header, body string) string {
	text := fmt.Sprintf("%d %s\n", code, header.Get("Content-Type"))
	if seconds := header.Get("Retry-After"); seconds != "" {
		text += "Retry-After: " + seconds + "\n"
	}
	for _, warning := range header.Values("Warning") {
		text += "Warning: " + warning + "\n"
	}
	if strings.Contains(header.Get("Content-Type"), "protobuf") {
		body = fromProtobuf(header.Get("Content-Type"), body)
	}
	return text + normalizedBody(body)
}

// normalizedBody makes JSON, or each line of a stream of JSON, comparable.
func normalizedBody(body string) string {
	var value any
	if err := json.Unmarshal([]byte(body), &value); err == nil {
		out, _ := json.MarshalIndent(normalizedValue(value), "", " ") // it was decoded from JSON
		return normalizedText(string(out))
	}
	var lines []string
	for line := range strings.Lines(body) {
		var value any
		if err := json.Unmarshal([]byte(line), &value); err != nil {
			return normalizedText(body)
		}
		out, _ := json.MarshalIndent(normalizedValue(value), "", " ")
		lines = append(lines, normalizedText(string(out)))
	}
	return strings.Join(lines, "\n")
}

// hidden are fields whose values differ from run to run.
var hidden = map[string]bool{
	"uid": true, "resourceVersion": true, "creationTimestamp": true, "deletionTimestamp": true, "continue": true, "time": true, "storageVersionHash": true,
	"lastTransitionTime": true, "serverAddress": true, "gitCommit": true, "gitVersion": true, "gitTreeState": true, "buildDate": true, "goVersion": true,
}

// notServed are the names in discovery of what volsim does not serve: it needs containers, a network, or accounts, or is deprecated.
var notServed = map[string]bool{
	"componentstatuses": true, "namespaces/finalize": true, "nodes/proxy": true, "pods/attach": true, "pods/exec": true, "pods/log": true, "pods/portforward": true, "pods/proxy": true, "pods/resize": true,
	"serviceaccounts/token": true, "services/proxy": true,
}

// simulatedGroup reports whether a group in discovery is one that every simulated cluster has, and a real one only with CustomResourceDefinitions.
func simulatedGroup(value any) bool {
	group, _ := value.(map[string]any)
	name, ok := group["name"].(string)
	if meta, _ := group["metadata"].(map[string]any); !ok {
		name, _ = meta["name"].(string)
	}
	return strings.HasSuffix(name, "snapshot.storage.k8s.io") || name == "gateway.networking.k8s.io"
}

func normalizedValue(value any) any {
	switch value := value.(type) {
	case map[string]any:
		for kind, field := range map[string]string{"APIGroupList": "groups", "APIGroupDiscoveryList": "items"} {
			if list, ok := value[field].([]any); ok && value["kind"] == kind {
				value[field] = slices.DeleteFunc(list, simulatedGroup)
			}
		}
		if resources, ok := value["resources"].([]any); ok && value["version"] != nil {
			value["resources"] = slices.DeleteFunc(resources, func(r any) bool { return notServed[fmt.Sprint(r.(map[string]any)["resource"])] })
		}
		if resources, ok := value["resources"].([]any); ok && value["kind"] == "APIResourceList" {
			value["resources"] = slices.DeleteFunc(resources, func(r any) bool { return notServed[fmt.Sprint(r.(map[string]any)["name"])] })
		}
		for name, v := range value {
			if text, ok := v.(string); ok && hidden[name] && (text != "" || strings.HasPrefix(name, "git")) {
				value[name] = "*"
				continue
			}
			value[name] = normalizedValue(v)
		}
	case []any:
		for i := range value {
			value[i] = normalizedValue(value[i])
		}
	}
	return value
}

var replacements = []struct {
	pattern *regexp.Regexp
	by      string
}{
	{regexp.MustCompile(`\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b`), "UID"},
	{regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z`), "TIME"},
	{regexp.MustCompile(`\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d [+-]\d{4}`), "TIME"},
	{regexp.MustCompile(`(resourceVersion: )"\d+"`), `$1"N"`},
	{regexp.MustCompile(`(Resource Version: +)\d+`), "${1}N"},
	{regexp.MustCompile(`(resourceVersion\\*": ?\\*")\d+(\\*")`), "${1}N${2}"},
	{regexp.MustCompile(`\b\d+(\.\d+)?(s|m|m\d+s)\b`), "AGE"},
	{regexp.MustCompile(`https?://127.0.0.1:\d+`), "URL"},
	{regexp.MustCompile(`(Too large resource version: \d+, current: )\d+`), "${1}N"},
	{regexp.MustCompile(`[^ ]*/(LIVE|MERGED)-\d+`), "$1"},
	{regexp.MustCompile(`\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d+ [+-]\d{4}`), "TIME"},
	{regexp.MustCompile(`\d{4}-\d\d-\d\d \d\d:\d\d:\d\d [+-]\d{4} UTC`), "TIME"},
	{regexp.MustCompile(`W\d{4} \d\d:\d\d:\d\d\.\d+ +\d+ `), "W "}, // a warning of kubectl itself
	{regexp.MustCompile(`\bgen-[a-z0-9]{5}\b`), "gen-NAME"},
	{regexp.MustCompile(`kubectl-edit-\d+`), "kubectl-edit-N"},
	{regexp.MustCompile(`\bselfType\d+`), "selfType"},
	{regexp.MustCompile(`(?m)^I\d{4} .* reflector\.go:.*\n`), ""}, // client-go, if a command ends while a watch begins
	// How the scheme is named depends on how kube-apiserver was compiled.
	{regexp.MustCompile(`in scheme \\*"[^"]*"`), "in scheme NAME"},
	{regexp.MustCompile(`[ \t]+`), " "},
}

func normalizedText(text string) string {
	for _, r := range replacements {
		text = r.pattern.ReplaceAllString(text, r.by)
	}
	return text
}

// TestReference sends the requests of testdata to both servers.
func TestReference(t *testing.T) {
	files, err := filepath.Glob("testdata/" + *only + ".txt")
	require.NoError(t, err)
	want, got := real(t, false), simulated(t)
	count := 0
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			for _, r := range readRequests(t, file) {
				count++
				expected, actual := want.answer(t, r), got.answer(t, r)
				// kube-apiserver reads roles from a cache, which may not know the last write yet.
				for end := time.Now().Add(5 * time.Second); expected != actual && r.asUser() && time.Now().Before(end); {
					time.Sleep(50 * time.Millisecond)
					expected = want.answer(t, r)
				}
				if expected != actual {
					t.Errorf("%s:%d: %s\n%s", file, r.line, r, difference(expected, actual))
				}
			}
		})
	}
	t.Logf("%d requests and command lines", count)
}

// difference shows the lines that differ, with the lines around them.
func difference(want, got string) string {
	dir, err := os.MkdirTemp("", "difference")
	if err != nil {
		return err.Error()
	}
	defer os.RemoveAll(dir)
	for name, text := range map[string]string{"kube-apiserver": want, "volsim": got} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text+"\n"), 0o600); err != nil {
			return err.Error()
		}
	}
	cmd := exec.Command("diff", "-U", "2", "kube-apiserver", "volsim")
	cmd.Dir = dir
	out, _ := cmd.CombinedOutput() // they differ
	if len(out) > 6000 {
		out = append(out[:6000], "\n..."...)
	}
	return string(out)
}
