package sidecars

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/volsim/volsim/csi/internal/testdriver"
)

// client sends requests to the served cluster.
type client struct {
	t   *testing.T
	url string
}

var serverLine = regexp.MustCompile(`server: (\S+)`)

func newClient(t *testing.T, config string) *client {
	t.Helper()
	data, err := os.ReadFile(config)
	require.NoError(t, err)
	return &client{t, serverLine.FindStringSubmatch(string(data))[1]}
}

func (c *client) send(method, path, body string) (int, string) {
	c.t.Helper()
	req, err := http.NewRequest(method, c.url+path, strings.NewReader(body))
	require.NoError(c.t, err)
	req.Header.Set("User-Agent", "tester/v1")
	req.Header.Set("Content-Type", map[string]string{"PATCH": "application/merge-patch+json"}[method])
	resp, err := http.DefaultClient.Do(req)
	require.NoError(c.t, err)
	data, err := io.ReadAll(resp.Body)
	require.NoError(c.t, err)
	require.NoError(c.t, resp.Body.Close())
	return resp.StatusCode, string(data)
}

// must sends a request that must succeed.
func (c *client) must(method, path, body string) string {
	c.t.Helper()
	code, text := c.send(method, path, body)
	require.Less(c.t, code, 300, text)
	return text
}

// field returns a field of an object, such as status.phase; nil if it has none.
func (c *client) field(path, name string) any {
	c.t.Helper()
	code, text := c.send("GET", path, "")
	if code == http.StatusNotFound {
		return "not found"
	}
	require.Equal(c.t, http.StatusOK, code, text)
	decoder := json.NewDecoder(bytes.NewReader([]byte(text)))
	var value any
	require.NoError(c.t, decoder.Decode(&value))
	for part := range strings.SplitSeq(name, ".") {
		fields, _ := value.(map[string]any)
		value = fields[part]
	}
	return value
}

// patience is how long, in real time, a step may take. Most steps take less than a second; provisioning is retried with backoff.
const patience = 90 * time.Second

// until waits until the field of an object has a value.
func (c *client) until(path, name string, want any) {
	c.t.Helper()
	var got any
	require.Eventually(c.t, func() bool {
		got = c.field(path, name)
		return fmt.Sprint(got) == fmt.Sprint(want)
	}, patience, 20*time.Millisecond, "%s: %s is not %v", path, name, want)
}

// created waits until so many objects, or more, were created in a collection, those that are gone included.
func (c *client) created(path string, want int) {
	c.t.Helper()
	require.Eventually(c.t, func() bool {
		return strings.Count(c.must("GET", path+"?watch=true&resourceVersion=1&timeoutSeconds=1", ""), `"ADDED"`) >= want
	}, patience, time.Millisecond, "%d objects", want)
}

// gone waits until a collection is empty.
func (c *client) gone(path string) {
	c.t.Helper()
	require.Eventually(c.t, func() bool {
		items, _ := c.field(path, "items").([]any)
		return len(items) == 0
	}, patience, 20*time.Millisecond, "%s is not empty", path)
}

const (
	storage   = "/apis/storage.k8s.io/v1/"
	snapshots = "/apis/snapshot.storage.k8s.io/v1/"
	claims    = "/api/v1/namespaces/default/persistentvolumeclaims"
	pods      = "/api/v1/namespaces/default/pods"

	claim = `{"apiVersion":"v1","kind":"PersistentVolumeClaim","metadata":{"name":"NAME"},
		"spec":{"storageClassName":"fast","accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"SIZE"}}SOURCE}}`
	pod = `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"web"},"spec":{
		"containers":[{"name":"c","image":"web","volumeMounts":[{"name":"v","mountPath":"/v"}]}],
		"volumes":[{"name":"v","persistentVolumeClaim":{"claimName":"data"}}]}}`
)

// TestLife: a volume is provisioned, attached, mounted, grown while it is in use, copied to a snapshot and from there to a second volume,
// detached and deleted. The sidecars do what they do in a real cluster; scheduler, kubelet and the controllers of Kubernetes are volsim's.
func TestLife(t *testing.T) {
	bin := os.Getenv("SIDECARS")
	if bin == "" {
		bin = t.TempDir()
	}
	var programs []string
	for _, pkg := range sidecars {
		programs = append(programs, build(t, bin, ".", pkg))
	}
	_, socket := newDriver(t)
	config := serve(t, bin)
	for _, program := range programs {
		args := []string{"--kubeconfig", config, "--csi-address", socket, "-v", "4"}
		if strings.HasSuffix(program, "snapshot-controller") {
			args = []string{"--kubeconfig", config, "-v", "4"}
		}
		start(t, program, args...)
	}
	c := newClient(t, config)
	begin := time.Now()
	step := func(text string) {
		t.Logf("%6.2f s: %s", time.Since(begin).Seconds(), text)
	}

	c.must("POST", storage+"storageclasses", `{"apiVersion":"storage.k8s.io/v1","kind":"StorageClass","metadata":{"name":"fast"},"provisioner":"`+
		testdriver.Name+`","allowVolumeExpansion":true}`)
	c.must("POST", snapshots+"volumesnapshotclasses", `{"apiVersion":"snapshot.storage.k8s.io/v1","kind":"VolumeSnapshotClass",
		"metadata":{"name":"copies"},"driver":"`+testdriver.Name+`","deletionPolicy":"Delete"}`)
	c.must("POST", claims, strings.NewReplacer("NAME", "data", "SIZE", "1Gi", "SOURCE", "").Replace(claim))
	c.until(claims+"/data", "status.phase", "Bound")
	volume := fmt.Sprint(c.field(claims+"/data", "spec.volumeName"))
	require.Equal(t, testdriver.Name, c.field("/api/v1/persistentvolumes/"+volume, "spec.csi.driver"))
	step("provisioned and bound")

	c.must("POST", pods, pod)
	c.until(pods+"/web", "status.phase", "Running")
	step("attached and mounted")

	c.must("PATCH", claims+"/data", `{"spec":{"resources":{"requests":{"storage":"2Gi"}}}}`)
	c.until(claims+"/data", "status.capacity.storage", "2Gi")
	step("grown while in use")

	c.must("POST", snapshots+"namespaces/default/volumesnapshots", `{"apiVersion":"snapshot.storage.k8s.io/v1","kind":"VolumeSnapshot",
		"metadata":{"name":"copy"},"spec":{"volumeSnapshotClassName":"copies","source":{"persistentVolumeClaimName":"data"}}}`)
	c.until(snapshots+"namespaces/default/volumesnapshots/copy", "status.readyToUse", true)
	step("snapshot ready")

	c.must("POST", claims, strings.NewReplacer("NAME", "restored", "SIZE", "2Gi", "SOURCE",
		`,"dataSource":{"apiGroup":"snapshot.storage.k8s.io","kind":"VolumeSnapshot","name":"copy"}`).Replace(claim))
	c.until(claims+"/restored", "status.phase", "Bound")
	step("restored")

	c.must("DELETE", pods+"/web", "")
	c.gone(pods)
	c.gone(storage + "volumeattachments")
	step("unmounted and detached")

	c.must("DELETE", snapshots+"namespaces/default/volumesnapshots/copy", "")
	c.gone(snapshots + "volumesnapshotcontents")
	c.must("DELETE", claims, "")
	c.gone(claims)
	c.gone("/api/v1/persistentvolumes")
	step("deleted")
}
