package kubectl

import (
	"bytes"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/volsim/volsim"
	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/internal/apiserver"
	"github.com/volsim/volsim/internal/core/internals"
	"github.com/volsim/volsim/storage"
)

// program is kubectl: that of the environment variable KUBECTL, or else it is built by TestMain.
var program = os.Getenv("KUBECTL")

func TestMain(m *testing.M) {
	os.Exit(func() int {
		dir, err := os.MkdirTemp("", "kubectl")
		if err != nil {
			panic(err)
		}
		defer os.RemoveAll(dir)
		if program != "" {
			return m.Run()
		}
		program = filepath.Join(dir, "kubectl")
		if out, err := exec.Command("go", "build", "-o", program, "k8s.io/kubernetes/cmd/kubectl").CombinedOutput(); err != nil {
			panic(string(out))
		}
		return m.Run()
	}())
}

// stories are the transcripts in testdata.
var stories = []string{"bestfit", "edits", "prebound", "protect", "quota", "refused", "sts-retain", "wffc-local", "yaml", "csi-dynamic", "snap-restore"}

// races are the lines of transcripts, as normalized, that were decided by a race of two processes, each followed by what is printed here.
var races = map[string][]string{
	"csi-dynamic": {
		// The provisioner emitted its Event before the binder did, which had made it start.
		"Normal Provisioning AGE hostpath.csi.k8s.io External provisioner is provisioning volume for claim \"default/data\"\n", "",
		"Normal ProvisioningSucceeded", "Normal Provisioning AGE hostpath.csi.k8s.io External provisioner is provisioning volume for claim " +
			"\"default/data\"\nNormal ProvisioningSucceeded",
		"Provisioning data\nExternalProvisioning data\n", "ExternalProvisioning data\nProvisioning data\n",
		"ProvisioningSucceeded data\nFailedScheduling web\nFailedScheduling web\n", "ProvisioningSucceeded data\nFailedScheduling web\n",
	},
}

// TestStories runs the commands of each story. "~N" lets N seconds of virtual time pass.
func TestStories(t *testing.T) {
	for _, name := range stories {
		t.Run(name, func(t *testing.T) {
			dir, err := filepath.Abs(filepath.Join("testdata", name))
			require.NoError(t, err)
			want, err := os.ReadFile(filepath.Join(dir, "output.txt"))
			require.NoError(t, err)
			steps, err := os.ReadFile(filepath.Join(dir, "steps"))
			require.NoError(t, err)
			s := newSession(t, dir)
			got := &bytes.Buffer{}
			for step := range strings.Lines(string(steps)) {
				step = strings.TrimSpace(step)
				if seconds, ok := strings.CutPrefix(step, "~"); ok {
					n, err := strconv.Atoi(seconds)
					require.NoError(t, err)
					s.advance(time.Duration(n) * time.Second)
				} else if step != "" {
					got.WriteString("> " + step + "\n" + s.run(step))
				}
			}
			wanted := normalized(string(want))
			for pair := range slices.Chunk(races[name], 2) {
				require.Contains(t, wanted, pair[0])
				wanted = strings.Replace(wanted, pair[0], pair[1], 1)
			}
			require.Equal(t, wanted, normalized(got.String()))
		})
	}
}

// session is a cluster with two nodes, and kubectl as its client.
type session struct {
	t       *testing.T
	dir     string
	config  string
	cluster *volsim.Cluster
	server  *apiserver.Server
}

func newSession(t *testing.T, dir string) *session {
	t.Helper()
	// kubectl computes ages with its own clock.
	driver := fake.CSI("hostpath.csi.k8s.io", fake.Latency(storage.Create, 20*time.Millisecond))
	c, err := volsim.New(volsim.Config{Start: time.Now().UTC(), Backends: []storage.Backend{driver}})
	require.NoError(t, err)
	t.Cleanup(c.Close)
	for _, name := range []string{"n1", "n2"} {
		node, err := c.AddNode(name)
		require.NoError(t, err)
		if name == "n2" {
			node.Unregister(driver.Name())
		}
	}
	// The transcripts begin when the nodes are known, and without Events.
	require.NoError(t, c.Advance(10*time.Second))
	events := internals.Engine(c).Store().Events
	for _, e := range c.Events() {
		_, err := events.Delete(api.KeyOf(e), api.DeleteOptions{})
		require.NoError(t, err)
	}
	s := &session{t: t, dir: dir, cluster: c, config: filepath.Join(t.TempDir(), "config")}
	s.server = apiserver.New(apiserver.Config{Backend: apiserver.ForEngine(internals.Engine(c)), TaintNodes: true, PodPriority: true})
	listener := httptest.NewServer(s.server)
	t.Cleanup(listener.Close)
	config := "apiVersion: v1\nkind: Config\ncurrent-context: volsim\nclusters:\n- name: volsim\n  cluster: {server: \"" + listener.URL +
		"\"}\ncontexts:\n- name: volsim\n  context: {cluster: volsim}\n"
	require.NoError(t, os.WriteFile(s.config, []byte(config), 0o600))
	return s
}

func (s *session) advance(d time.Duration) {
	s.server.Do(func() { require.NoError(s.t, s.cluster.Advance(d)) })
}

// pause is the time between two commands, in which controllers work.
const pause = 500 * time.Millisecond

// patience is the real time after which virtual time passes for a command that has not ended.
const patience = 5 * time.Second

// run runs kubectl and returns what it prints.
func (s *session) run(line string) string {
	s.t.Helper()
	// The line has the quotes of a shell.
	cmd := exec.Command("sh", "-c", program+" "+line)
	cmd.Dir = s.dir
	cmd.Env = append(os.Environ(), "KUBECONFIG="+s.config, "HOME="+filepath.Dir(s.config), "KUBECTL_EXTERNAL_DIFF=diff -u -N")
	out := &bytes.Buffer{}
	cmd.Stdout, cmd.Stderr = out, out
	require.NoError(s.t, cmd.Start())
	ended := make(chan struct{})
	go func() {
		_ = cmd.Wait() // a command may fail; what it prints is compared
		close(ended)
	}()
	// A command may wait for the controllers.
	for waiting := true; waiting; {
		select {
		case <-ended:
			waiting = false
		case <-time.After(patience):
			s.advance(pause)
		}
	}
	s.advance(pause)
	return out.String()
}

// replacements remove what differs from run to run.
var replacements = []struct {
	pattern *regexp.Regexp
	by      string
}{
	{regexp.MustCompile(`\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b`), "UID"},
	{regexp.MustCompile(`(fakeRuntime://\w+_)[0-9a-f-]{36}`), "${1}UID"},
	{regexp.MustCompile(`\bcsi-[0-9a-f]{64}\b`), "csi-HASH"},
	{regexp.MustCompile(`192\.168\.\d+\.\d+`), "<none>"},
	{regexp.MustCompile(`\b\d+(\.\d+)?(s|m|ms|h|d|m\d+s|h\d+m|d\d+h)\b( \(x\d+ over [^)]*\))?`), "AGE"},
	{regexp.MustCompile(`<unknown>|<invalid>`), "AGE"},
	{regexp.MustCompile(`AGE \(x\d+ over AGE\)`), "AGE"},
	{regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ`), "TIME"},
	{regexp.MustCompile(`(resourceVersion: )"\d+"`), `$1"N"`},
	{regexp.MustCompile(`(resourceVersion": )"\d+"`), `$1"N"`},
	// Events name the driver only, and not the process.
	{regexp.MustCompile(`(hostpath\.csi\.k8s\.io)_vm_[0-9a-f-]{36}`), "${1}"},
	{regexp.MustCompile(`\s+`), " "},
}

// normalized returns a transcript without uids, ages, addresses, versions and blanks.
func normalized(text string) string {
	var out []string
	for line := range strings.Lines(text) {
		for _, r := range replacements {
			line = r.pattern.ReplaceAllString(line, r.by)
		}
		if line = strings.TrimSpace(line); line != "" {
			out = append(out, line)
		}
	}
	return strings.Join(out, "\n") + "\n"
}
