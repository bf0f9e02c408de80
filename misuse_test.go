package volsim_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/volsim/volsim"
	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/controller"
	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/internal/core/actors"
	"github.com/volsim/volsim/internal/core/internals"
	"github.com/volsim/volsim/internal/core/store"
	"github.com/volsim/volsim/storage"
)

// stranger is an object of no kind that a cluster holds, and not even a pointer.
type stranger struct{ *corev1.Secret }

// TestMisuse: what makes no sense is an error that says what is wrong, and nothing happens.
func TestMisuse(t *testing.T) {
	var missing *pvType
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "s", Namespace: "default"}}
	inNamespace := goodVolume("new")
	inNamespace.Namespace = "other"
	type cluster = *volsim.Cluster
	objects := map[string]struct {
		obj  api.Object
		want string
	}{
		"nil":                 {nil, "the object is nil; pass a pointer to a k8s.io/api type"},
		"a nil volume":        {missing, "the object is nil; pass a pointer to a k8s.io/api type"},
		"no kind":             {&unstructured.Unstructured{}, "*unstructured.Unstructured is of an unknown kind; set its apiVersion and kind, or use a client whose scheme has the type (controllerruntime.NewClient)"},
		"something else":      {stranger{secret}, "volsim_test.stranger is of an unknown kind; set its apiVersion and kind, or use a client whose scheme has the type (controllerruntime.NewClient)"},
		"a volume of no name": {&pvType{}, "PersistentVolume: metadata.name is empty; name the object"},
	}
	calls := map[string]func(cluster, api.Object) error{
		"create": func(c cluster, o api.Object) error { return c.Create(o) },
		"create ": func(c cluster, o api.Object) error {
			return internals.Create(c, o, store.CreateOptions{SkipValidation: true})
		},
		"update": func(c cluster, o api.Object) error { return c.Update(o) },
		"update ": func(c cluster, o api.Object) error {
			return internals.Update(c, o, store.UpdateOptions{SkipValidation: true})
		},
		"update  ": func(c cluster, o api.Object) error { return c.UpdateStatus(o) },
		"patch":    func(c cluster, o api.Object) error { return c.Patch(o, "{}") },
		"patch ":   func(c cluster, o api.Object) error { return c.PatchStatus(o, "{}") },
		"delete":   func(c cluster, o api.Object) error { return c.Delete(o) },
		"delete ":  func(c cluster, o api.Object) error { return c.DeleteWith(o, api.DeleteOptions{}) },
		"load":     func(c cluster, o api.Object) error { return c.Load(o) },
	}
	c := furnished(t)
	before, changes := everything(c), watchAll(t, c)
	for what, o := range objects {
		for verb, call := range calls {
			err := call(c, o.obj)
			require.Error(t, err, "%s %s", verb, what)
			assert.Contains(t, err.Error(), o.want, "%s %s", verb, what)
			assert.True(t, strings.HasPrefix(err.Error(), strings.TrimSpace(verb)), "%s %s: %v", verb, what, err)
		}
	}
	for _, test := range []struct {
		name string
		err  error
		want string
	}{
		{"twice in one call", c.Create(goodVolume("new"), goodVolume("new")), "create PersistentVolume/new: the object is given twice"},
		{"twice, a namespace aside", c.Create(goodVolume("new"), inNamespace), "create PersistentVolume/new: the object is given twice"},
		{"an int among labels", c.Create(untyped(map[string]any{"metadata": map[string]any{"name": "a", "labels": map[string]any{"a": 1}}})),
			"create ConfigMap: metadata.labels.a is of type int; use string, bool, int64, float64, []any or map[string]any"},
		{"an int64 among labels", c.Create(untyped(map[string]any{"metadata": map[string]any{"name": "a", "labels": map[string]any{"a": int64(1)}}})), "labels"},
		{"an int in a list", c.Update(untyped(map[string]any{"metadata": map[string]any{"name": "a"}, "x": []any{"y", 5}})), "update ConfigMap: x[1] is of type int; use"},
		{"a good one before a nil", c.Create(goodVolume("new"), nil), "the object is nil"},
		{"loading a good one before a nil", c.Load(goodVolume("new"), missing), "the object is nil"},
		{"time backwards", c.Advance(-time.Second), "advance -1s: time does not run backwards; give zero or more"},
		{"until nothing", c.Until(nil, time.Second), "until: the condition is nil"},
		{"until before now", c.Until(func() bool { return true }, -time.Second), "until: the limit is -1s; give zero or more"},
		{"a populator of nothing", c.AddController(controller.Populator{}.Controller()), "Populator.Kind is empty; name the kind of the data sources"},
		{"a local volume of no node", c.Create(fake.Volume("new", "1Gi", fake.LocalSource("/disk", ""))), "LocalSource of no node"},
		{"a crash of an unknown controller", c.Crash("nobody"), `crash "nobody": there is no such controller; there are machine/n1, kubelet/n1, `},
		{"a crash of a misspelt kubelet", c.Crash("kubelets/n1"), `crash "kubelets/n1": there is no such controller; did you mean "kubelet/n1"`},
		{"a restart of an unknown controller", c.Restart("nobody"), `restart "nobody": there is no such controller; there are machine/n1, kubelet/n1, `},
		{"a manifest that is none", c.Apply([]byte("a: b: c")), "apply: line 1: yaml: "},
		{"a manifest of an unknown kind", c.Apply([]byte("apiVersion: v1\nkind: Vault")), `apply: line 1: no matches for kind "Vault" in version "v1"`},
		{"a manifest of a kind without a definition", c.Apply([]byte("apiVersion: example.com/v1\nkind: Vault\nmetadata: {name: v}")),
			`create Vault.example.com/v: no matches for kind "Vault" in version "example.com/v1"; ensure CRDs are installed first`},
		{"a manifest whose end cannot be read", c.Apply([]byte("apiVersion: v1\nkind: Node\nmetadata: {name: new}\n---\nkind: Pod\n")), "apply: line 5: apiVersion is missing"},
	} {
		require.Error(t, test.err, test.name)
		assert.Contains(t, test.err.Error(), test.want, test.name)
	}
	require.ErrorIs(t, c.Apply([]byte("apiVersion: v1\nkind: Vault")), api.ErrUnknownKind)
	require.ErrorIs(t, c.Apply([]byte("apiVersion: example.com/v1\nkind: Vault\nmetadata: {name: v}")), api.ErrUnknownKind)
	_, err := c.Volumes.Watch(nil)
	require.EqualError(t, err, "watch PersistentVolume: the function is nil")
	_, err = c.Explain("default/none")
	require.True(t, apierrors.IsNotFound(err), "%v", err)
	_, err = c.Claims.Get("none")
	require.True(t, apierrors.IsNotFound(err), "%v", err)
	require.NoError(t, c.Create(), "nothing to do")
	require.NoError(t, c.Apply(nil), "nothing to do")
	assert.Zero(t, *changes)
	assert.Equal(t, before, everything(c))
}

// untyped returns an unstructured ConfigMap with these fields.
func untyped(fields map[string]any) *unstructured.Unstructured {
	fields["apiVersion"], fields["kind"] = "v1", "ConfigMap"
	return &unstructured.Unstructured{Object: fields}
}

// TestApply: what is there is changed as by kubectl apply, of whatever kind; what is not is created.
func TestApply(t *testing.T) {
	c := furnished(t)
	const manifest = `
apiVersion: storage.k8s.io/v1
kind: CSIDriver
metadata: {name: csi.example.com}
spec: {podInfoOnMount: true}
---
apiVersion: v1
kind: Node
metadata: {name: n2}
`
	for range 2 {
		require.NoError(t, c.Apply([]byte(manifest)))
	}
	driver, err := c.CSIDrivers.Get("csi.example.com")
	require.NoError(t, err)
	assert.True(t, *driver.Spec.PodInfoOnMount)
	_, err = c.Nodes.Get("n2")
	require.NoError(t, err)
	err = c.Apply([]byte(strings.Replace(manifest, "metadata: {", "metadata: {resourceVersion: '1', ", 1)))
	require.True(t, apierrors.IsConflict(err), "API-011: %v", err)

	// A claim that is bound keeps its volume, and what others wrote.
	const claim = `{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: again, labels: {LABELS}}, spec: {storageClassName: "",
  accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}`
	apply := func(labels string) map[string]string {
		t.Helper()
		require.NoError(t, c.Apply([]byte(strings.Replace(claim, "LABELS", labels, 1))))
		stored, err := c.Claims.Get("again")
		require.NoError(t, err)
		return stored.Labels
	}
	require.Equal(t, map[string]string{"a": "1", "b": "1"}, apply("a: '1', b: '1'"))
	require.NoError(t, c.Patch(fake.Claim("again", "1Gi"), `{"metadata":{"labels":{"mine":"1"}},"spec":{"volumeName":"for-again"}}`))
	require.Equal(t, map[string]string{"a": "2", "mine": "1"}, apply("a: '2'"), "b was in the manifest before, and mine was in none")
	bound, err := c.Claims.Get("again")
	require.NoError(t, err)
	require.Equal(t, "for-again", bound.Spec.VolumeName)
	apply("a: '2'")
	same, err := c.Claims.Get("again")
	require.NoError(t, err)
	require.Equal(t, bound.ResourceVersion, same.ResourceVersion, "nothing changes")
	err = c.Apply([]byte(strings.Replace(claim, "ReadWriteOnce", "ReadWriteMany", 1)))
	require.True(t, apierrors.IsInvalid(err), "%v", err)
	// The containers of a Deployment are merged by name, as with kubectl.
	const deployment = `{apiVersion: apps/v1, kind: Deployment, metadata: {name: web}, spec: {selector: {matchLabels: {a: b}},
  template: {metadata: {labels: {a: b}}, spec: {containers: [{name: main, image: IMAGE}]}}}}`
	require.NoError(t, c.Apply([]byte(deployment)))
	require.NoError(t, c.Settle())
	web, err := volsim.Get[*appsv1.Deployment](c, "web")
	require.NoError(t, err)
	web.Spec.Template.Spec.Containers = append(web.Spec.Template.Spec.Containers, corev1.Container{Name: "beside", Image: "x"})
	require.NoError(t, c.Update(web))
	require.NoError(t, c.Apply([]byte(strings.Replace(deployment, "IMAGE", "new", 1))))
	web, err = volsim.Get[*appsv1.Deployment](c, "web")
	require.NoError(t, err)
	require.Len(t, web.Spec.Template.Spec.Containers, 2)
	require.Equal(t, "new", web.Spec.Template.Spec.Containers[0].Image)
}

// TestClosed: after Close the state can be read, and everything else is an error.
func TestClosed(t *testing.T) {
	c, err := volsim.New(volsim.Config{})
	require.NoError(t, err)
	require.NoError(t, c.Create(fake.Claim("data", "1Gi")))
	require.NoError(t, c.Settle())
	c.Close()
	c.Close()
	_, noNode := c.AddNode("n1")
	for want, err := range map[string]error{
		"create": c.Create(fake.Claim("more", "1Gi")), "update": c.Update(fake.Claim("data", "2Gi")), "patch": c.Patch(fake.Claim("data", "1Gi"), "{}"),
		"delete": c.Delete(fake.Claim("data", "1Gi")), "advance": c.Advance(time.Hour), "settle": c.Settle(), "until": c.Until(func() bool { return true }, time.Hour),
		"crash": c.Crash(actors.PersistentVolume), "restart": c.Restart(actors.PersistentVolume), "add node": noNode,
		"add controller": c.AddController(controller.Controller{Name: "x", Start: func(*controller.Setup) {}}),
	} {
		require.EqualError(t, err, want+": the cluster is closed")
	}
	claim, err := c.Claims.Get("data")
	require.NoError(t, err)
	require.Equal(t, corev1.ClaimPending, claim.Status.Phase)
}

// TestOneCluster: a backend that a cluster has used cannot be used in another one, also when the first is closed.
func TestOneCluster(t *testing.T) {
	cfg := volsim.Config{Backends: []storage.Backend{fake.CSI("disk.example.com")}}
	idle, err := volsim.New(cfg)
	require.NoError(t, err)
	idle.Close()
	c, err := volsim.New(cfg)
	require.NoError(t, err)
	require.NoError(t, c.Create(fake.Class("fast", "disk.example.com"), fake.Claim("data", "1Gi", fake.InClass("fast"))))
	require.NoError(t, c.Settle())
	c.Close()
	_, err = volsim.New(cfg)
	require.EqualError(t, err, `volsim: Config.Backends: backend "disk.example.com" belongs to another cluster, and has its volumes; `+
		"make a new backend for each cluster")
}

// TestBadConfig: an error names the field and says what to do.
func TestBadConfig(t *testing.T) {
	for _, test := range []struct {
		name  string
		cfg   volsim.Config
		wants []string
	}{
		{"calls back in time", volsim.Config{Latency: -1}, []string{"Config.Latency is -1ns", "give zero"}},
		{"settling before it starts", volsim.Config{SettleLimit: -time.Hour}, []string{"Config.SettleLimit is -1h0m0s", "give zero"}},
		{"a resync before the last", volsim.Config{ResyncPeriod: -1}, []string{"Config.ResyncPeriod is -1ns", "give zero"}},
		{"news before it happens", volsim.Config{Lag: map[string]time.Duration{actors.PersistentVolume: -1}}, []string{"Config.Lag of \"" + actors.PersistentVolume, "give zero"}},
		{"a lag of an unknown controller", volsim.Config{Lag: map[string]time.Duration{"nobody": 1}}, []string{`Config.Lag names "nobody"`, "there are ", actors.PersistentVolume}},
		{"news for all kubelets", volsim.Config{Lag: map[string]time.Duration{volsim.Kubelets: 1}}, []string{`Config.Lag names "kubelet"`, `as "kubelet/n1"`}},
		{"news for a controller that does not run", volsim.Config{Lag: map[string]time.Duration{actors.PersistentVolume: 1}, Without: []string{actors.PersistentVolume}},
			[]string{`Config.Lag names "persistentvolume-controller", which does not run: Config.Without names "persistentvolume-controller"`, "remove one"}},
		{"news for a kubelet in a cluster without kubelets", volsim.Config{Lag: map[string]time.Duration{actors.Kubelet("n1"): 1}, Without: []string{volsim.Kubelets}},
			[]string{`Config.Lag names "kubelet/n1"`, `Config.Without names "kubelet"`, "remove one"}},
		{"news for the kubelet of no node", volsim.Config{Lag: map[string]time.Duration{actors.Kubelet(""): 1}}, []string{`Config.Lag names "kubelet/"`}},
		{"without an unknown controller", volsim.Config{Without: []string{"nobody"}}, []string{`Config.Without names "nobody"`, "there are ", actors.PersistentVolume}},
		{"a health monitor of no driver", volsim.Config{HealthMonitors: []string{"d"}},
			[]string{`Config.HealthMonitors names "d"`, "there is no such CSI driver"}},
		{"a health monitor of a driver without conditions", volsim.Config{HealthMonitors: []string{"d"},
			Backends: []storage.Backend{fake.CSI("d", fake.Only(storage.Create))}},
			[]string{`Config.HealthMonitors names "d"`, "can neither ListConditions nor GetCondition"}},
		{"a node watcher of no monitor", volsim.Config{NodeWatcher: true}, []string{"Config.NodeWatcher is set", "Config.HealthMonitors names no driver"}},
		{"attaching again before the failure", volsim.Config{Attacher: volsim.SidecarConfig{RetryStart: -1}}, []string{"Config.Attacher.RetryStart is -1ns", "give zero"}},
		{"a feature gate that is not simulated", volsim.Config{FeatureGates: map[string]bool{"AnyVolumeDataSource": true}},
			[]string{`Config.FeatureGates: "AnyVolumeDataSource" is not`, "these are: CSIVolumeHealth, CrossNamespaceVolumeDataSource"}},
		{"provisioning retries that shrink", volsim.Config{Backends: []storage.Backend{fake.CSI("a.example.com")},
			Provisioner: volsim.SidecarConfig{RetryStart: time.Hour}}, []string{"Provisioner.RetryMax is 5m0s"}},
		{"a scheduler that gives up before it starts", volsim.Config{Scheduler: volsim.SchedulerConfig{BindTimeout: -1}}, []string{"BindTimeout is -1ns"}},
		{"the far future", volsim.Config{Start: time.Date(20000, 1, 1, 0, 0, 0, 0, time.UTC)}, []string{"Config.Start is in the year 20000", "give zero"}},
		{"before the calendar", volsim.Config{Start: time.Date(-5, 1, 1, 0, 0, 0, 0, time.UTC)}, []string{"Config.Start is in the year -5", "give zero"}},
		{"no backend", volsim.Config{Backends: []storage.Backend{nil}}, []string{"Config.Backends", "backend 1 of 1 is nil", "remove it"}},
		{"two of one name", volsim.Config{Backends: []storage.Backend{fake.CSI("a.example.com"), fake.CSI("a.example.com")}},
			[]string{"Config.Backends", "backend 2 of 2", `named "a.example.com"`, "choose another name"}},
		{"a backend of no name", volsim.Config{Backends: []storage.Backend{fake.CSI("")}}, []string{"Config.Backends", "name is empty", "name it"}},
	} {
		c, err := volsim.New(test.cfg)
		require.Error(t, err, test.name)
		assert.Nil(t, c, test.name)
		for _, want := range test.wants {
			assert.Contains(t, err.Error(), want, test.name)
		}
	}
	_, err := volsim.New(volsim.Config{Lag: map[string]time.Duration{actors.Kubelet("n7"): time.Second}})
	require.NoError(t, err, "the node may come later")
}
