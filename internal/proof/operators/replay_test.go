package operators

import (
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/rest"
)

// replay ends a served run and repeats its script: both have the same trace. The programs have ended, so nothing is sent any more.
func (c *cluster) replay() {
	c.t.Helper()
	served := c.trace()
	require.NoError(c.t, c.server.cmd.Process.Signal(syscall.SIGTERM))
	require.Zero(c.t, c.server.ended(), c.server.output())
	begin := time.Now()
	script := strings.TrimSuffix(c.config, ".yaml") + ".run.txtar"
	cmd := exec.Command(c.server.cmd.Path, "run", "-q", "--trace", script+".trace", script)
	out, err := cmd.CombinedOutput()
	require.NoError(c.t, err, string(out))
	data, err := os.ReadFile(script + ".trace")
	require.NoError(c.t, err)
	repeated := string(data)
	repeated = repeated[:min(len(repeated), len(served))] // time passed behind the request for the trace
	want, got := strings.Split(served, "\n"), strings.Split(repeated, "\n")
	for i, line := range want {
		if i >= len(got) || got[i] != line {
			c.t.Fatalf("the script of the run has another trace from line %d of %d:\nserved:\n%s\nrepeated:\n%s", i+1, len(want), around(want, i), around(got, i))
		}
	}
	c.t.Logf("the script of the run has the same %d lines in its trace; %.1f s", len(want)-1, time.Since(begin).Seconds())
}

// around returns the lines around one.
func around(lines []string, at int) string {
	return strings.Join(lines[min(max(0, at-5), len(lines)):min(at+5, len(lines))], "\n")
}

// trace returns the trace of the run until now.
func (c *cluster) trace() string {
	c.t.Helper()
	client, err := rest.HTTPClientFor(c.access)
	require.NoError(c.t, err)
	defer client.CloseIdleConnections()
	resp, err := client.Get(c.access.Host + "/volsim/trace")
	require.NoError(c.t, err)
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	require.NoError(c.t, err)
	require.Equal(c.t, http.StatusOK, resp.StatusCode, string(data))
	return string(data)
}
