package operators

import (
	"context"
	"encoding/base64"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"
)

// patience is how long, in real time, a step may take.
const patience = time.Minute

// tick is the time between two looks.
const tick = 20 * time.Millisecond

// bin is the directory of the programs.
var bin string

// TestMain chooses the directory of the programs: OPERATORS, which keeps them for other runs, or one that is removed.
func TestMain(m *testing.M) {
	os.Exit(func() int {
		if bin = os.Getenv("OPERATORS"); bin == "" {
			dir, err := os.MkdirTemp("", "operators")
			if err != nil {
				panic(err)
			}
			defer os.RemoveAll(dir)
			bin = dir
		}
		return m.Run()
	}())
}

// build returns the program of a package, built in a directory of its module.
func build(t *testing.T, dir, pkg string) string {
	t.Helper()
	name := filepath.Base(dir)
	if !filepath.IsLocal(dir) {
		name = path.Base(pkg) // it is of this project
	}
	return buildAs(t, name, dir, pkg)
}

// buildAs builds one of several programs of a module.
func buildAs(t *testing.T, name, dir, pkg string) string {
	t.Helper()
	file := filepath.Join(bin, name)
	cmd := exec.Command("go", "build", "-o", file, pkg)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
	return file
}

// source returns the directory of a module that the module in dir requires.
func source(t *testing.T, dir, module string) string {
	t.Helper()
	cmd := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", module)
	cmd.Dir = dir
	out, err := cmd.Output()
	require.NoError(t, err)
	return strings.TrimSpace(string(out))
}

// program is a running program.
type program struct {
	t    *testing.T
	log  string
	cmd  *exec.Cmd
	done chan struct{}
}

// start runs a program until the end of the test. Its output is logged if the test fails.
func start(t *testing.T, file string, args ...string) *program {
	t.Helper()
	p := &program{t: t, log: filepath.Join(t.TempDir(), "log"), done: make(chan struct{})}
	log, err := os.Create(p.log)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	p.cmd = exec.CommandContext(ctx, file, args...)
	p.cmd.Stdout, p.cmd.Stderr = log, log
	require.NoError(t, p.cmd.Start())
	go func() {
		_ = p.cmd.Wait() // its output says why it ended
		close(p.done)
	}()
	t.Cleanup(func() {
		cancel()
		<-p.done
		_ = log.Close()
		if t.Failed() {
			lines := strings.Split(p.output(), "\n")
			t.Logf("%s:\n%s", filepath.Base(file), strings.Join(lines[max(0, len(lines)-60):], "\n"))
		}
	})
	return p
}

func (p *program) output() string {
	p.t.Helper()
	data, err := os.ReadFile(p.log)
	require.NoError(p.t, err)
	return string(data)
}

// ended waits until the program has ended by itself, and returns its exit status.
func (p *program) ended() int {
	p.t.Helper()
	select {
	case <-p.done:
	case <-time.After(patience):
		p.t.Fatal("the program does not end")
	}
	return p.cmd.ProcessState.ExitCode()
}

// complaint finds lines with errors in the formats of klog, logrus and zap, and what client-go says about watches that break.
var complaint = regexp.MustCompile(`(?im)^(E\d{4} .*|.*(level=(error|fatal|panic)|"(log\.)?level":"error"|\tERROR\t|^panic:|watch ended with error|watch lost|failed to (list|watch)).*)$`)

// clean checks that the program still runs and logged no error but those that it also logs in a real cluster.
func (p *program) clean(expected ...string) {
	p.t.Helper()
	select {
	case <-p.done:
		p.t.Fatal("the program has ended")
	default:
	}
	p.quiet(expected...)
}

// quiet checks that the program logged no error but the expected ones.
func (p *program) quiet(expected ...string) {
	p.t.Helper()
	out := p.output()
	require.NotEmpty(p.t, out)
lines:
	for _, line := range complaint.FindAllString(out, -1) {
		for _, text := range expected {
			if strings.Contains(line, text) {
				continue lines
			}
		}
		p.t.Errorf("the program logs: %s", line)
	}
}

// cluster is a served cluster.
type cluster struct {
	t      *testing.T
	server *program
	config string
	access *rest.Config
	client dynamic.Interface
	mapper *restmapper.DeferredDiscoveryRESTMapper
}

// modes are the ways to serve, each with its flags: HTTP/1.1 without authentication, and HTTP/2 with TLS and a token.
var modes = []struct {
	name  string
	flags []string
}{{"plain", nil}, {"secure", []string{"--secure"}}}

// inModes runs a test against a cluster of its own in each mode.
func inModes(t *testing.T, fn func(t *testing.T, c *cluster), flags ...string) {
	for _, mode := range modes {
		t.Run(mode.name, func(t *testing.T) {
			begin := time.Now()
			fn(t, serve(t, append(mode.flags, flags...)...))
			t.Logf("%.1f s", time.Since(begin).Seconds())
		})
	}
}

// serve starts volsim serve. If the test passes, the run is repeated.
func serve(t *testing.T, flags ...string) *cluster {
	t.Helper()
	c := &cluster{t: t, config: filepath.Join(t.TempDir(), "volsim.yaml")}
	file := build(t, "../../..", "github.com/volsim/volsim/cmd/volsim")
	c.server = start(t, file, append([]string{"serve", "--kubeconfig", c.config, "--trace-limit", "0"}, flags...)...)
	require.Eventually(t, func() bool {
		data, err := os.ReadFile(c.config)
		return err == nil && len(data) > 0
	}, patience, tick)
	var err error
	c.access, err = clientcmd.BuildConfigFromFlags("", c.config)
	require.NoError(t, err)
	t.Cleanup(func() {
		if !t.Failed() {
			c.replay()
		}
	})
	c.access.UserAgent, c.access.QPS = "tester", -1
	c.client, err = dynamic.NewForConfig(c.access)
	require.NoError(t, err)
	disco, err := discovery.NewDiscoveryClientForConfig(c.access)
	require.NoError(t, err)
	c.mapper = restmapper.NewDeferredDiscoveryRESTMapper(&fresh{disco})
	return c
}

// fresh is a discovery client without a cache.
type fresh struct{ *discovery.DiscoveryClient }

func (*fresh) Fresh() bool { return true }
func (*fresh) Invalidate() {}

// apply applies manifests with server-side apply.
func (c *cluster) apply(manifests string) {
	c.t.Helper()
	for _, text := range regexp.MustCompile(`(?m)^---$`).Split(manifests, -1) {
		obj := &unstructured.Unstructured{}
		require.NoError(c.t, yaml.Unmarshal([]byte(text), &obj.Object))
		if len(obj.Object) == 0 {
			continue
		}
		c.applyObject(obj)
	}
}

// applyObject applies an object. A program may not serve its webhooks yet.
func (c *cluster) applyObject(obj *unstructured.Unstructured) {
	c.t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(tick) {
		_, err := c.resource(obj.GroupVersionKind(), obj.GetNamespace()).Apply(c.t.Context(), obj.GetName(), obj, metav1.ApplyOptions{FieldManager: "tester"})
		if err == nil {
			return
		}
		if !strings.Contains(err.Error(), "failed calling webhook") || time.Now().After(deadline) {
			require.NoError(c.t, err, obj.Object)
		}
	}
}

// trust writes the authority of the certificate of a program's webhooks into their configurations.
func (c *cluster) trust(authority []byte) {
	c.t.Helper()
	for _, kind := range []string{"MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"} {
		all := c.of(object{version: "admissionregistration.k8s.io/v1", kind: kind})
		list, err := all.List(c.t.Context(), metav1.ListOptions{})
		require.NoError(c.t, err)
		for i := range list.Items {
			hooks, _, err := unstructured.NestedSlice(list.Items[i].Object, "webhooks")
			require.NoError(c.t, err)
			for _, hook := range hooks {
				hook.(map[string]any)["clientConfig"].(map[string]any)["caBundle"] = base64.StdEncoding.EncodeToString(authority)
			}
			require.NoError(c.t, unstructured.SetNestedSlice(list.Items[i].Object, hooks, "webhooks"))
			_, err = all.Update(c.t.Context(), &list.Items[i], metav1.UpdateOptions{})
			require.NoError(c.t, err)
		}
	}
}

// kustomize applies what kubectl apply -k applies.
func (c *cluster) kustomize(dir string) {
	c.t.Helper()
	opts := krusty.MakeDefaultOptions()
	opts.Reorder = krusty.ReorderOptionLegacy // namespaces first
	all, err := krusty.MakeKustomizer(opts).Run(filesys.MakeFsOnDisk(), dir)
	require.NoError(c.t, err)
	text, err := all.AsYaml()
	require.NoError(c.t, err)
	c.apply(string(text))
}

// mount writes the entries of a Secret to a directory as soon as there are any, as a kubelet does for a pod.
func (c *cluster) mount(secret object, dir string) {
	c.t.Helper()
	var data map[string]any
	require.Eventually(c.t, func() bool {
		obj, err := c.of(secret).Get(c.t.Context(), secret.name, metav1.GetOptions{})
		require.NoError(c.t, err)
		data, _, err = unstructured.NestedMap(obj.Object, "data")
		require.NoError(c.t, err)
		return len(data) > 0
	}, patience, tick)
	for name, value := range data {
		content, err := base64.StdEncoding.DecodeString(value.(string))
		require.NoError(c.t, err)
		require.NoError(c.t, os.WriteFile(filepath.Join(dir, name), content, 0o600))
	}
}

// replace takes the pods of a namespace's Deployments away, because a program of the test is in their place.
func (c *cluster) replace(deployments ...object) {
	c.t.Helper()
	for _, deployment := range deployments {
		c.patch(deployment, `{"spec":{"replicas":0}}`)
	}
	c.none("v1", "Pod", deployments[0].namespace)
}

// applyFile applies a file.
func (c *cluster) applyFile(file string) {
	c.t.Helper()
	data, err := os.ReadFile(file)
	require.NoError(c.t, err)
	c.apply(string(data))
}

func (c *cluster) resource(kind schema.GroupVersionKind, namespace string) dynamic.ResourceInterface {
	c.t.Helper()
	var mapping *meta.RESTMapping
	require.EventuallyWithT(c.t, func(t *assert.CollectT) {
		c.mapper.Reset()
		var err error
		mapping, err = c.mapper.RESTMapping(kind.GroupKind(), kind.Version)
		require.NoError(t, err)
	}, patience, tick)
	if mapping.Scope.Name() == meta.RESTScopeNameRoot {
		return c.client.Resource(mapping.Resource)
	}
	if namespace == "" {
		namespace = "default"
	}
	return c.client.Resource(mapping.Resource).Namespace(namespace)
}

// object names an object, such as v1 Pod default/web.
type object struct{ version, kind, namespace, name string }

func (c *cluster) of(o object) dynamic.ResourceInterface {
	c.t.Helper()
	return c.resource(schema.FromAPIVersionAndKind(o.version, o.kind), o.namespace)
}

// field returns a field of an object as text, "" if there is none, and "gone" if there is no such object.
func (c *cluster) field(o object, name string) string {
	c.t.Helper()
	obj, err := c.of(o).Get(c.t.Context(), o.name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return "gone"
	}
	require.NoError(c.t, err)
	value, ok, err := unstructured.NestedFieldNoCopy(obj.Object, strings.Split(name, ".")...)
	require.NoError(c.t, err)
	if !ok {
		return ""
	}
	return fmt.Sprint(value)
}

// entry returns an entry of a ConfigMap.
func (c *cluster) entry(o object, key string) string {
	c.t.Helper()
	obj, err := c.of(o).Get(c.t.Context(), o.name, metav1.GetOptions{})
	require.NoError(c.t, err)
	text, ok, err := unstructured.NestedString(obj.Object, "data", key)
	require.NoError(c.t, err)
	require.True(c.t, ok, key)
	return text
}

// until waits until a field has a value; "gone" is the end of the object.
func (c *cluster) until(o object, name, want string) {
	c.t.Helper()
	var got string
	for deadline := time.Now().Add(patience); ; time.Sleep(tick) {
		if got = c.field(o, name); got == want {
			return
		}
		if time.Now().After(deadline) {
			c.t.Fatalf("%s of %s %s/%s is %q, want %q", name, o.kind, o.namespace, o.name, got, want)
		}
	}
}

// changes waits until a field has another value than before, and the object is there.
func (c *cluster) changes(o object, name, before string) {
	c.t.Helper()
	require.Eventually(c.t, func() bool {
		now := c.field(o, name)
		return now != before && now != "gone"
	}, patience, tick, "%s of %s %s/%s stays %s", name, o.kind, o.namespace, o.name, before)
}

// names returns the names of all objects of a kind in a namespace.
func (c *cluster) names(version, kind, namespace string) []string {
	c.t.Helper()
	list, err := c.of(object{version: version, kind: kind, namespace: namespace}).List(c.t.Context(), metav1.ListOptions{})
	require.NoError(c.t, err)
	names := []string{}
	for _, item := range list.Items {
		names = append(names, item.GetName())
	}
	return names
}

// none waits until there is no object of a kind in a namespace.
func (c *cluster) none(version, kind, namespace string) {
	c.t.Helper()
	var names []string
	for deadline := time.Now().Add(patience); ; time.Sleep(tick) {
		if names = c.names(version, kind, namespace); len(names) == 0 {
			return
		}
		if time.Now().After(deadline) {
			c.t.Fatalf("there still are %s: %v", kind, names)
		}
	}
}

func (c *cluster) delete(o object) {
	c.t.Helper()
	require.NoError(c.t, c.of(o).Delete(c.t.Context(), o.name, metav1.DeleteOptions{}))
}

// patch makes a merge patch.
func (c *cluster) patch(o object, patch string) {
	c.t.Helper()
	_, err := c.of(o).Patch(c.t.Context(), o.name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	require.NoError(c.t, err)
}

func claim(name string) object  { return object{"v1", "PersistentVolumeClaim", "default", name} }
func pod(name string) object    { return object{"v1", "Pod", "default", name} }
func volume(name string) object { return object{"v1", "PersistentVolume", "", name} }

// write writes a file that a program reads, and returns its name.
func write(t *testing.T, name, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	return file
}
