// Package volsimtest helps to write tests with volsim. [New] returns a cluster whose methods fail the test themselves:
//
//	func TestSmallestVolumeWins(t *testing.T) {
//		c := volsimtest.New(t)
//		c.Create(fake.Volume("huge", "100Gi"), fake.Volume("snug", "12Gi"))
//		c.Settle()
//		c.Create(fake.Claim("data", "10Gi"))
//		c.Settle()
//		require.Equal(t, "snug", c.Claim("data").Spec.VolumeName)
//	}
package volsimtest

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim"
	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/explain"
)

// Cluster is a cluster in a test. Its methods end the test where those of the embedded cluster return an error. For a call that
// is expected to fail, use the embedded cluster: c.Cluster.Create(obj).
type Cluster struct {
	*volsim.Cluster
	t testing.TB
}

// New returns a new cluster, which is closed at the end of the test. It takes at most one configuration; none is the zero Config.
func New(t testing.TB, cfg ...volsim.Config) *Cluster {
	t.Helper()
	if len(cfg) > 1 {
		t.Fatalf("volsimtest.New: %d configurations; give one", len(cfg))
	}
	var config volsim.Config
	if len(cfg) == 1 {
		config = cfg[0]
	}
	c, err := volsim.New(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return &Cluster{c, t}
}

func (c *Cluster) must(err error) {
	c.t.Helper()
	if err != nil {
		c.t.Fatal(err)
	}
}

// Create creates objects in order.
func (c *Cluster) Create(objs ...api.Object) {
	c.t.Helper()
	c.must(c.Cluster.Create(objs...))
}

// Update replaces an object except for its status.
func (c *Cluster) Update(obj api.Object) {
	c.t.Helper()
	c.must(c.Cluster.Update(obj))
}

// UpdateStatus replaces the status of an object.
func (c *Cluster) UpdateStatus(obj api.Object) {
	c.t.Helper()
	c.must(c.Cluster.UpdateStatus(obj))
}

// Patch applies a JSON merge patch to the object that obj names by type, namespace and name.
func (c *Cluster) Patch(obj api.Object, patch string) {
	c.t.Helper()
	c.must(c.Cluster.Patch(obj, patch))
}

// Delete deletes the object that obj names by type, namespace and name.
func (c *Cluster) Delete(obj api.Object) {
	c.t.Helper()
	c.must(c.Cluster.Delete(obj))
}

// Apply creates or replaces the objects of a manifest.
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

// Explain says why an object is in its state, such as "pvc/data" or "pod/web".
func (c *Cluster) Explain(object string) explain.Explanation {
	c.t.Helper()
	x, err := c.Cluster.Explain(object)
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
	c.must(err)
	return obj
}
