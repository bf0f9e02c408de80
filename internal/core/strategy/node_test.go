package strategy

import (
	"testing"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volsim/volsim/internal/core/strategy/sample"
)

func TestNodeCreate(t *testing.T) {
	capacity := func(pairs ...string) func(*coreNode) {
		return func(n *coreNode) {
			n.Status.Capacity, n.Status.Allocatable = sample.Amounts(pairs...), sample.Amounts("cpu", "1")
		}
	}
	checkCreates(t, Node, sample.Node, []row[*coreNode]{
		{"API-195", "a good node", func(*coreNode) {}, ""},
		{"API-195", "less than nothing", capacity("memory", "-1"), "status.capacity.memory I"},
		{"API-195", "less than nothing, by default too", func(n *coreNode) { n.Status.Capacity = sample.Amounts("memory", "-1") },
			"status.allocatable.memory I; status.capacity.memory I"},
		{"API-195", "half a pod", capacity("pods", "1500m"), "status.capacity.pods I"},
		{"API-195", "half a device", capacity("example.com/gpu", "500m"), "status.capacity.example.com/gpu I"},
		{"API-195", "half a core", capacity("cpu", "500m"), ""},
		{"API-195", "half of something of Kubernetes", capacity("kubernetes.io/x", "500m"), ""},
		{"API-195", "half of what is requested", capacity("requests.example.com/x", "500m"), ""},
		{"API-195", "half a device of a long name", capacity("example.com/"+string(make([]byte, 64)), "500m"), ""},
		{"API-195", "nothing at all", func(n *coreNode) { n.Status = corev1.NodeStatus{} }, ""},
		{"API-236", "good taints and ranges", func(n *coreNode) {
			n.Spec.Taints = []corev1.Taint{{Key: "a", Effect: corev1.TaintEffectNoSchedule}, {Key: "a", Effect: corev1.TaintEffectNoExecute}}
			n.Spec.PodCIDRs = []string{"10.0.0.0/24", "fd00::/64"}
		}, ""},
		{"API-236", "bad taints", func(n *coreNode) {
			n.Spec.Taints = []corev1.Taint{{Key: "a"}, {Key: "-", Value: "-", Effect: "x"}, {Key: "a"}}
		}, "metadata.taints[0].effect R; metadata.taints[1].effect N; metadata.taints[1].key I; metadata.taints[1].value I; " +
			"metadata.taints[2] D; metadata.taints[2].effect R"},
		{"API-236", "two ranges of a family", func(n *coreNode) { n.Spec.PodCIDRs = []string{"10.0.0.0/24", "10.0.1.0/24"} }, "spec.podCIDRs I"},
		{"API-236", "no range", func(n *coreNode) { n.Spec.PodCIDRs = []string{"10.0.0.1"} }, "spec.podCIDRs[0] I"},
	})
}

func TestNodeUpdate(t *testing.T) {
	placed := func(n *coreNode) { n.Spec.ProviderID, n.Spec.PodCIDRs = "p://1", []string{"10.0.0.0/24"} }
	checkUpdates(t, Node, sample.Node, []change[*coreNode]{
		{"API-236", "what may change", placed, func(n *coreNode) {
			n.Labels, n.Spec.Unschedulable = nil, true
			n.Spec.Taints = []corev1.Taint{{Key: "a", Effect: corev1.TaintEffectNoSchedule}}
		}, ""},
		{"API-236", "first identity and range", nil, placed, ""},
		{"API-236", "another identity", placed, func(n *coreNode) { n.Spec.ProviderID = "p://2" }, "spec.providerID F"},
		{"API-236", "no identity", placed, func(n *coreNode) { n.Spec.ProviderID = "" }, "spec.providerID F"},
		{"API-236", "another range", placed, func(n *coreNode) { n.Spec.PodCIDR, n.Spec.PodCIDRs = "", []string{"10.0.1.0/24"} },
			"spec.podCIDRs F"},
		{"API-236", "another old identity", nil, func(n *coreNode) { n.Spec.DoNotUseExternalID = "x" }, "spec.externalID F"},
		{"API-236", "a status that is ignored", nil, func(n *coreNode) { n.Status.Capacity = sample.Amounts("cpu", "-1") }, ""},
		{"API-033", "a prefix for names", nil, func(n *coreNode) { n.GenerateName = "A_" }, "metadata.generateName I"},
	}, false)
	checkUpdates(t, Node, sample.Node, []change[*coreNode]{
		{"API-245", "other capacity", nil, func(n *coreNode) { n.Status.Capacity = sample.Amounts("cpu", "8") }, ""},
		{"API-245", "less than nothing", nil, func(n *coreNode) { n.Status.Capacity = sample.Amounts("cpu", "-8") }, "status.capacity.cpu I"},
		{"API-245", "an address twice", nil, func(n *coreNode) {
			n.Status.Addresses = []corev1.NodeAddress{{Type: "Hostname", Address: "n1"}, {Type: "Hostname", Address: "n1"}}
		}, "status.addresses[1] D"},
		{"API-245", "a spec that is ignored", placed, func(n *coreNode) { n.Spec.ProviderID = "p://2" }, ""},
	}, true)
}

func TestNodePreparation(t *testing.T) {
	node := sample.Node()
	node.Spec.ConfigSource, node.Status.Config = &corev1.NodeConfigSource{}, &corev1.NodeConfigStatus{}
	Node.PrepareCreate(node, metav1.Time{})
	assert.Equal(t, sample.Node(), node, "API-109: the status is kept, the old ways of configuration are not")

	old := sample.Node()
	node.Labels, node.Status, node.Spec.Unschedulable = map[string]string{"a": "b"}, corev1.NodeStatus{}, true
	Node.PrepareUpdate(node, old)
	assert.Equal(t, old.Status, node.Status, "API-236: the status is kept")
	assert.True(t, node.Spec.Unschedulable, "API-236: the spec is the request's")

	node.Status = corev1.NodeStatus{Phase: "x"}
	Node.PrepareStatus(node, old, metav1.Time{})
	assert.Equal(t, old.Spec, node.Spec, "API-245: the spec is kept")
	assert.EqualValues(t, "x", node.Status.Phase, "API-245: the status is the request's")
	assert.Equal(t, map[string]string{"a": "b"}, node.Labels, "API-245: so are the labels")
}

func TestNodeDefaults(t *testing.T) {
	node := sample.Node()
	node.Status.Capacity = sample.Amounts("cpu", "100u")
	defaultNode(node)
	assert.Equal(t, "1m", node.Status.Capacity.Cpu().String(), "API-082")
	assert.Equal(t, node.Status.Capacity, node.Status.Allocatable, "API-095: everything can be allocated")
	assert.Zero(t, node.Status.Conditions[0].LastHeartbeatTime.Nanosecond(), "API-006")
	node = sample.Node()
	node.Status.Allocatable = sample.Amounts("cpu", "3")
	defaultNode(node)
	assert.Equal(t, sample.Amounts("cpu", "3"), node.Status.Allocatable, "API-095: what is given stays")
	node.Spec.PodCIDR, node.Spec.PodCIDRs = "10.0.0.0/24", []string{"10.0.1.0/24"}
	defaultNode(node)
	assert.Equal(t, []string{"10.0.0.0/24"}, node.Spec.PodCIDRs, "API-236: the older field goes first")
}

func TestNodeEquality(t *testing.T) {
	a, b := sample.Node(), sample.Node()
	b.Status.Images = []corev1.ContainerImage{}
	assert.True(t, Node.Equal(a, b), "API-014: nil and empty are the same bytes")
	b.Status.Capacity = sample.Amounts("cpu", "4", "memory", "8192Mi", "pods", "110", "example.com/gpu", "2")
	assert.True(t, Node.Equal(a, b), "API-081: 8192Mi is written 8Gi")
	b.Status.Capacity = sample.Amounts("cpu", "4", "memory", "8589934592", "pods", "110", "example.com/gpu", "2")
	assert.False(t, Node.Equal(a, b), "API-083: the same value in another family is another text")
}
