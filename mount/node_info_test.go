package mount

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/storage"
)

// describing is a driver that describes its nodes.
type describing struct {
	*fake.Memory
	info  storage.NodeInfo
	err   error
	asked int
}

func (d *describing) NodeInfo(string) (storage.NodeInfo, error) {
	d.asked++
	return d.info, d.err
}

// tried is how long the four tries of an attempt take.
const tried = 310 * time.Millisecond

// A driver that describes its nodes names the node, labels it, and is callable only after that succeeded (MNT-362).
func TestNodeInfo(t *testing.T) {
	driver := &describing{info: storage.NodeInfo{ID: "i-7", Topology: storage.Segment{"zone": "a", "rack": "2"}}}
	w := newFixture(t, func(s *setup) {
		s.wrap = func(m *fake.Memory) storage.Backend { driver.Memory = m; return driver }
	})
	node := func() *corev1.Node {
		node, _ := w.Store().Nodes.Lookup(nodeName)
		return node
	}
	entry := func() storagev1.CSINodeDriver {
		object, ok := w.Store().CSINodes.Lookup(nodeName)
		if !ok || len(object.Spec.Drivers) != 1 {
			t.Fatalf("MNT-362: the CSINode is %+v, want one driver", object)
		}
		return object.Spec.Drivers[0]
	}
	want(t, "MNT-362: labels", []string{node().Labels["zone"], node().Labels["rack"]}, []string{"a", "2"})
	want(t, "MNT-362: annotation", node().Annotations[annNodeIDs], `{"d":"i-7"}`)
	want(t, "MNT-362: entry", entry(), storagev1.CSINodeDriver{Name: driverName, NodeID: "i-7", TopologyKeys: []string{"rack", "zone"}})

	// The driver registers again and returns another ID: the API server rejects that, because entries are immutable. The entry must be removed.
	driver.info.ID = "i-8"
	w.node.Unregister(driverName)
	w.node.Register(driverName)
	w.Advance(tried)
	want(t, "MNT-362: new annotation", node().Annotations[annNodeIDs], `{"d":"i-8"}`)
	want(t, "MNT-362: new ID rejected", entry().NodeID == "i-7" && w.node.kubelet.plugins.Failed[driverName], true)
	w.Delete(api.CSINode, nodeName)
	w.Advance(time.Minute)
	want(t, "MNT-362: new ID", entry().NodeID, "i-8")
	want(t, "MNT-362: registered", w.node.kubelet.plugins.Failed[driverName], false)

	// Then it fails, and recovers.
	driver.err = storage.Errorf(storage.Unavailable, "starting")
	w.node.Unregister(driverName)
	w.node.Register(driverName)
	w.Advance(time.Second)
	_, err := w.node.kubelet.plugins.For("kubernetes.io/csi").NewUnmounter("nobody", "none")
	want(t, "MNT-362: failed", w.node.kubelet.plugins.Failed[driverName] && err != nil, true)
	driver.err = nil
	w.Advance(time.Minute)
	want(t, "MNT-362: recovered", w.node.kubelet.plugins.Failed[driverName], false)

	// A label with another value stays.
	driver.info.Topology = storage.Segment{"zone": "b"}
	w.node.Unregister(driverName)
	w.node.Register(driverName)
	w.Advance(tried)
	want(t, "MNT-362: label", node().Labels["zone"], "a")
	want(t, "MNT-362: collision", w.node.kubelet.plugins.Failed[driverName], true)
	driver.info = storage.NodeInfo{}
	w.Advance(time.Minute)
	want(t, "MNT-362: empty ID", w.node.kubelet.plugins.Failed[driverName], true)
}
