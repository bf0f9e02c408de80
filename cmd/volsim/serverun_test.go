package main

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// running is a served cluster, and a client of it.
type running struct {
	t      *testing.T
	config string // the kubeconfig
	record string // the script of the run
	url    string
	out    *bytes.Buffer // not before stop
	stop   func()
}

// serving serves a cluster until the end of the test.
func serving(t *testing.T, flags serveFlags) *running {
	t.Helper()
	dir := t.TempDir()
	r := &running{t: t, config: filepath.Join(dir, "volsim.yaml"), record: filepath.Join(dir, "volsim.run.txtar"), out: &bytes.Buffer{}}
	flags.kubeconfig = r.config
	if flags.listen == "" {
		flags.listen = "127.0.0.1:0"
	}
	cmd := newServe()
	cmd.SetOut(r.out)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- flags.run(ctx, cmd) }()
	stopped := false
	r.stop = func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		require.NoError(t, <-ended)
	}
	t.Cleanup(r.stop)
	require.Eventually(t, func() bool {
		data, err := os.ReadFile(r.config)
		_, rest, _ := strings.Cut(string(data), "server: ")
		r.url, _, _ = strings.Cut(rest, "\n")
		return err == nil && r.url != ""
	}, time.Minute, 10*time.Millisecond)
	return r
}

// send sends "METHOD PATH" with a body and headers, "Name: value", and returns the answer.
func (r *running) send(line, body string, headers ...string) (code int, text string) {
	r.t.Helper()
	method, path, _ := strings.Cut(line, " ")
	req, err := http.NewRequest(method, r.url+path, strings.NewReader(body))
	require.NoError(r.t, err)
	req.Header.Set("User-Agent", "tester/v1")
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		req.Header.Set(name, value)
	}
	resp, err := http.DefaultClient.Do(req)
	require.NoError(r.t, err)
	data, err := io.ReadAll(resp.Body)
	require.NoError(r.t, err)
	require.NoError(r.t, resp.Body.Close())
	return resp.StatusCode, string(data)
}

// command runs a command line and returns what it prints.
func command(t *testing.T, args ...string) string {
	t.Helper()
	var out, errOut bytes.Buffer
	require.Zero(t, execute(args, nil, &out, &errOut), errOut.String())
	return out.String()
}

const (
	servedClass = `{"apiVersion":"storage.k8s.io/v1","kind":"StorageClass","metadata":{"name":"fast"},"provisioner":"disk.example.com"}`
	servedClaim = "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {generateName: data-}\nspec:\n  storageClassName: fast\n" +
		"  accessModes: [ReadWriteOnce]\n  resources: {requests: {storage: 1Gi}}\n"
	servedJob = `{"apiVersion":"batch/v1","kind":"Job","metadata":{"name":"once"},"spec":{"template":{"spec":{"restartPolicy":"Never","containers":[{"name":"c","image":"web"}]}}}}`
	servedPod = `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"web","labels":{"it's":"a # $sign \"quoted\""}},"spec":{"containers":[{"name":"c","image":"web"}]}}`
)

// TestServeRecord checks that the script of a run has the trace of the run, however time passes.
func TestServeRecord(t *testing.T) {
	manifest := filepath.Join(t.TempDir(), "app.yaml")
	require.NoError(t, os.WriteFile(manifest, []byte("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: app}\n"), 0o600))
	for _, pace := range []string{"settle", "manual", "auto", "1000x"} {
		t.Run(pace, func(t *testing.T) {
			r := serving(t, serveFlags{nodes: []string{"n1", "n2"}, drivers: []string{"disk.example.com@n1", "other.example.com"}, time: pace, files: []string{manifest}})
			const core = " /api/v1/namespaces/default/"
			claims := core + "persistentvolumeclaims"
			r.send("POST /apis/storage.k8s.io/v1/storageclasses?fieldManager=kubectl-create", servedClass)
			command(t, "do", "fault backend disk.example.com Create error=Internal:'it is on fire' once", "--kubeconfig", r.config)
			code, text := r.send("POST"+claims, servedClaim, "Content-Type: application/yaml")
			require.Equal(t, http.StatusCreated, code, text)
			command(t, "clock", "advance", "1m", "--kubeconfig", r.config)
			code, _ = r.send("POST"+core+"pods", servedPod)
			require.Equal(t, http.StatusUnprocessableEntity, code, "the key of the label is invalid")
			code, text = r.send("POST"+core+"pods", strings.Replace(servedPod, `"it's":"a # $sign \"quoted\""`, "", 1))
			require.Equal(t, http.StatusCreated, code, text)
			command(t, "do", "crash kube-scheduler", "fault api create configmap actor=user/tester error=Conflict once", "--kubeconfig", r.config)
			code, text = r.send("POST"+core+"configmaps", `{"metadata":{"name":"c"},"data":{"it's":"x"}}`)
			require.Equal(t, http.StatusConflict, code, text)
			code, text = r.send("PATCH"+core+"configmaps/d?fieldManager=me&force=true", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: d}\ndata: {a: \"it's # $1\"}\n",
				"Content-Type: application/apply-patch+yaml")
			require.Equal(t, http.StatusCreated, code, text)
			r.send("GET"+core+"configmaps", "")
			// API-540: neither a list nor a watch starts the controller of Jobs, because the script does not have them.
			r.send("GET /apis/batch/v1/jobs", "")
			r.send("GET /apis/batch/v1/jobs?watch=true&timeoutSeconds=1", "")
			code, text = r.send("POST /apis/batch/v1/namespaces/default/jobs", servedJob)
			require.Equal(t, http.StatusCreated, code, text)
			r.send("DELETE"+core+"pods/web", `{"gracePeriodSeconds":0}`)
			r.send("DELETE"+claims, "")
			command(t, "do", "restart kube-scheduler", "settle", "--kubeconfig", r.config)
			_, want := r.send("GET /volsim/trace", "")
			require.Contains(t, want, "it is on fire")
			require.Contains(t, want, "user/me")
			r.stop()
			require.Contains(t, r.out.String(), "then try: volsim run "+r.record)

			got := command(t, "run", "-q", "--trace", "-", r.record)
			_, got, _ = strings.Cut(got, "\n") // the result of the script
			if pace == "auto" || pace == "1000x" {
				got = got[:min(len(got), len(want))] // time passed behind the request for the trace
			}
			require.Equal(t, want, got)
		})
	}
}

// TestServeConsole explains, draws, and lets a client crash.
func TestServeConsole(t *testing.T) {
	r := serving(t, serveFlags{time: "manual"})
	r.send("POST /api/v1/namespaces/default/persistentvolumeclaims", strings.Replace(servedClaim, "generateName: data-", "name: data", 1),
		"Content-Type: application/yaml")
	_, text := r.send("GET /volsim/explain?object=pvc/data", "")
	require.Contains(t, text, "fast")
	code, text := r.send("GET /volsim/", "")
	require.Equal(t, http.StatusOK, code)
	require.Contains(t, text, `<iframe src="picture"`)
	_, text = r.send("GET /volsim/picture", "")
	require.Contains(t, text, "</html>")
	code, text = r.send("POST /volsim/do", "config seed=1")
	require.Equal(t, http.StatusBadRequest, code)
	require.Contains(t, text, "must come before")
	code, _ = r.send("GET /volsim/do", "")
	require.Equal(t, http.StatusMethodNotAllowed, code)

	command(t, "client", "crash", "tester", "--kubeconfig", r.config)
	req, err := http.NewRequest(http.MethodGet, r.url+"/version", nil)
	require.NoError(t, err)
	req.Header.Set("User-Agent", "tester/v1")
	_, err = http.DefaultClient.Do(req)
	require.Error(t, err)
	command(t, "client", "restart", "tester", "--kubeconfig", r.config)
	code, _ = r.send("GET /version", "")
	require.Equal(t, http.StatusOK, code)
}
