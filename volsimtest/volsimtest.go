// Package volsimtest helps to write tests with volsim. [New] returns a cluster whose methods end the test where those of volsim.Cluster
// return an error:
//
//	func TestSmallestVolumeWins(t *testing.T) {
//		c := volsimtest.New(t)
//		c.Create(fake.Volume("huge", "100Gi"), fake.Volume("snug", "12Gi"))
//		c.Settle()
//		c.Create(fake.Claim("data", "10Gi"))
//		c.Settle()
//		require.Equal(t, "snug", c.Claim("data").Spec.VolumeName)
//	}
//
// At the end of the test it reports the violations of invariants, and the rules of Cluster.Faults that are invalid, as errors. If the test
// failed, it also logs the fault rules that never applied, and up to three objects: those that the test read last come first, then those that
// it or a client wrote. Of each it logs the YAML, why it is in its state, and the last lines of the trace about it.
//
// [RunScripts] runs scripts as tests, and [TestBackend] tests a storage backend.
package volsimtest

import (
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim"
	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/check"
	"github.com/volsim/volsim/controller"
	"github.com/volsim/volsim/explain"
	"github.com/volsim/volsim/internal/core/objname"
	"github.com/volsim/volsim/mount"
)

// Cluster is a cluster in a test. Its methods end the test where those of the embedded cluster return an error. For a call that
// is expected to fail, use the embedded cluster: err := c.Cluster.Create(obj).
type Cluster struct {
	*volsim.Cluster
	t    testing.TB
	used [uses][]api.Ref // the objects that the test used, the last one last
}

// New returns a new cluster, which is closed at the end of the test. It takes at most one configuration; none is the zero Config.
//
// If Config.Check is nil, New sets it to check.All. At the end of the test, each violation that no user or fault forced (check.Unforced) is
// an error of the test. Set Config.Check to an empty slice to check nothing. An invalid rule of Cluster.Faults is an error of the test, too.
func New(t testing.TB, cfg ...volsim.Config) *Cluster {
	t.Helper()
	if len(cfg) > 1 {
		t.Fatalf("volsimtest.New: %d configurations; give one", len(cfg))
	}
	var config volsim.Config
	if len(cfg) == 1 {
		config = cfg[0]
	}
	if config.Check == nil {
		config.Check = check.All()
	}
	inner, err := volsim.New(config)
	if err != nil {
		t.Fatal(err)
	}
	c := &Cluster{Cluster: inner, t: t}
	t.Cleanup(c.end)
	return c
}

// reported has the tests for which a cluster has reported: only the newest one does.
var reported sync.Map

// end finishes the test: it reports violations, invalid fault rules and, if the test failed, the objects that it used.
func (c *Cluster) end() {
	c.t.Helper()
	for _, violation := range check.Unforced(c.Violations()) {
		c.t.Errorf("an invariant was broken: %v", violation)
	}
	if err := c.Faults.Err(); err != nil {
		c.t.Errorf("invalid rules of Faults: %v", err)
	}
	if c.t.Failed() {
		if _, done := reported.LoadOrStore(c.t, true); !done {
			c.report()
		}
	}
	c.Close()
}

// must ends the test if a call failed. objs are the objects of the call.
func (c *Cluster) must(err error, objs ...api.Object) {
	c.t.Helper()
	for _, obj := range objs {
		if api.KindOf(obj) != "" {
			c.note(written, api.KindOf(obj), api.KeyOf(obj))
		}
	}
	if err != nil {
		c.t.Fatal(err)
	}
}

// Create creates objects in order, and writes what is stored back into them.
func (c *Cluster) Create(objs ...api.Object) {
	c.t.Helper()
	c.must(c.Cluster.Create(objs...), objs...)
}

// Update replaces an object except for its status.
func (c *Cluster) Update(obj api.Object) {
	c.t.Helper()
	c.must(c.Cluster.Update(obj), obj)
}

// UpdateStatus replaces the status of an object.
func (c *Cluster) UpdateStatus(obj api.Object) {
	c.t.Helper()
	c.must(c.Cluster.UpdateStatus(obj), obj)
}

// Patch applies a JSON merge patch to the object that obj names by type, namespace and name.
func (c *Cluster) Patch(obj api.Object, patch string) {
	c.t.Helper()
	c.must(c.Cluster.Patch(obj, patch), obj)
}

// PatchStatus applies a JSON merge patch to the status of the object that obj names.
func (c *Cluster) PatchStatus(obj api.Object, patch string) {
	c.t.Helper()
	c.must(c.Cluster.PatchStatus(obj, patch), obj)
}

// Delete deletes the object that obj names by type, namespace and name.
func (c *Cluster) Delete(obj api.Object) {
	c.t.Helper()
	c.must(c.Cluster.Delete(obj), obj)
}

// DeleteWith is Delete with options.
func (c *Cluster) DeleteWith(obj api.Object, opts api.DeleteOptions) {
	c.t.Helper()
	c.must(c.Cluster.DeleteWith(obj, opts), obj)
}

// Load stores objects unchanged, including status and uid.
func (c *Cluster) Load(objs ...api.Object) {
	c.t.Helper()
	c.must(c.Cluster.Load(objs...), objs...)
}

// Apply creates or changes the objects of a manifest, as kubectl apply does.
func (c *Cluster) Apply(manifest string) {
	c.t.Helper()
	c.must(c.Cluster.Apply([]byte(manifest)))
}

// Settle runs until only background work remains. Settle after creating volumes, before creating their claims: see
// volsim.Cluster.Settle.
func (c *Cluster) Settle() {
	c.t.Helper()
	c.must(c.Cluster.Settle())
}

// Advance runs everything that is due within d.
func (c *Cluster) Advance(d time.Duration) {
	c.t.Helper()
	c.must(c.Cluster.Advance(d))
}

// Until runs event by event until cond holds. The test fails after limit of virtual time.
func (c *Cluster) Until(cond func() bool, limit time.Duration) {
	c.t.Helper()
	c.must(c.Cluster.Until(cond, limit))
}

// AddController adds a controller of the test's own and starts it.
func (c *Cluster) AddController(ctl controller.Controller) {
	c.t.Helper()
	c.must(c.Cluster.AddController(ctl))
}

// Crash stops a controller at once.
func (c *Cluster) Crash(controller string) {
	c.t.Helper()
	c.must(c.Cluster.Crash(controller))
}

// Restart starts a controller that crashed.
func (c *Cluster) Restart(controller string) {
	c.t.Helper()
	c.must(c.Cluster.Restart(controller))
}

// Node returns a node, which can be stopped, cut off and started. The Node object is in the table Nodes.
func (c *Cluster) Node(name string) *mount.Node {
	c.t.Helper()
	node, err := c.Cluster.Node(name)
	c.must(err)
	return node
}

// Explain says why an object is in its state, such as "pvc/data" or "pod/web".
func (c *Cluster) Explain(object string) explain.Explanation {
	c.t.Helper()
	x, err := c.Cluster.Explain(object)
	if ref, parseErr := objname.Parse(object); parseErr == nil {
		c.note(asked, ref.Kind, ref.Key)
	}
	c.must(err)
	return x
}

// Volume returns the PersistentVolume of that name.
func (c *Cluster) Volume(name string) *corev1.PersistentVolume {
	c.t.Helper()
	return Get[*corev1.PersistentVolume](c, name)
}

// Claim returns the claim; key is namespace/name, or a name in namespace default.
func (c *Cluster) Claim(key string) *corev1.PersistentVolumeClaim {
	c.t.Helper()
	return Get[*corev1.PersistentVolumeClaim](c, key)
}

// Pod returns the pod; key is namespace/name, or a name in namespace default.
func (c *Cluster) Pod(key string) *corev1.Pod {
	c.t.Helper()
	return Get[*corev1.Pod](c, key)
}

// Get returns the object of type T; it ends the test if there is none.
func Get[T api.Object](c *Cluster, key string) T {
	c.t.Helper()
	obj, err := volsim.Get[T](c.Cluster, key)
	c.note(asked, api.KindOf(obj), key)
	c.must(err)
	return obj
}
