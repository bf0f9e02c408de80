package strategy

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apiresource "k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volsim/volsim/internal/core/strategy/sample"
)

func TestCSIDriverCreate(t *testing.T) {
	checkCreates(t, CSIDriver, goodDriver, []row[*csiDriver]{
		{"API-094", "a good driver", func(*csiDriver) {}, ""},
		{"API-180", "unknown policy for groups", func(d *csiDriver) { d.Spec.FSGroupPolicy = new(storagev1.FSGroupPolicy("x")) },
			"spec.fsGroupPolicy N"},
		{"API-180", "a policy for groups", func(d *csiDriver) { d.Spec.FSGroupPolicy = new(storagev1.FileFSGroupPolicy) }, ""},
		{"API-181", "unknown mode", func(d *csiDriver) {
			d.Spec.VolumeLifecycleModes = []storagev1.VolumeLifecycleMode{"Persistent", "x"}
		}, "spec.volumeLifecycleModes N"},
		{"API-181", "both modes", func(d *csiDriver) {
			d.Spec.VolumeLifecycleModes = []storagev1.VolumeLifecycleMode{"Ephemeral", "Persistent"}
		}, ""},
		{"API-182", "an audience twice, with a lifetime that does not matter then", func(d *csiDriver) {
			d.Spec.TokenRequests = []storagev1.TokenRequest{{Audience: "a"}, {Audience: "a", ExpirationSeconds: new(int64(1))}}
		}, "spec.tokenRequests[1].audience D"},
		{"API-182", "lifetimes too short and too long", func(d *csiDriver) {
			d.Spec.TokenRequests = []storagev1.TokenRequest{
				{Audience: "a", ExpirationSeconds: new(int64(599))}, {ExpirationSeconds: new(int64(1<<32 + 1))},
				{Audience: "b", ExpirationSeconds: new(int64(1 << 32))},
			}
		}, "spec.tokenRequests[0].expirationSeconds I; spec.tokenRequests[1].expirationSeconds I"},
		{"API-183", "asked all the time", func(d *csiDriver) { d.Spec.NodeAllocatableUpdatePeriodSeconds = new(int64(9)) },
			"spec.nodeAllocatableUpdatePeriodSeconds I"},
		{"API-183", "asked often", func(d *csiDriver) { d.Spec.NodeAllocatableUpdatePeriodSeconds = new(int64(10)) }, ""},
		{"API-184", "secrets without tokens", func(d *csiDriver) {
			d.Spec.TokenRequests, d.Spec.ServiceAccountTokenInSecrets = nil, new(false)
		}, "spec.serviceAccountTokenInSecrets I"},
		{"API-184", "secrets with tokens", func(d *csiDriver) { d.Spec.ServiceAccountTokenInSecrets = new(true) }, ""},
		{"API-185", "the name of the object may be long", func(d *csiDriver) { d.Name = strings.Repeat("a", 253) }, ""},
	})
	assert.Equal(t, "spec.attachedRequired R; spec.podInfoOnMount R; spec.seLinuxMount R; spec.storageCapacity R",
		sample.Faults(validateDriver(&csiDriver{})), "API-185: without defaults")
}

func TestCSIDriverUpdate(t *testing.T) {
	checkUpdates(t, CSIDriver, goodDriver, []change[*csiDriver]{
		{"API-233", "what may change", nil, func(d *csiDriver) {
			d.Spec.PodInfoOnMount, d.Spec.StorageCapacity, d.Spec.TokenRequests, d.Spec.SELinuxMount = new(true), new(true), nil, new(true)
			d.Spec.FSGroupPolicy, d.Spec.RequiresRepublish = new(storagev1.NoneFSGroupPolicy), new(true)
		}, ""},
		{"API-233", "no attaching any more", nil, func(d *csiDriver) { d.Spec.AttachRequired = new(false) }, "spec.attachedRequired I"},
		{"API-233", "another mode", nil, func(d *csiDriver) { d.Spec.VolumeLifecycleModes = []storagev1.VolumeLifecycleMode{"Ephemeral"} },
			"spec.volumeLifecycleModes I"},
		{"API-101", "missing fields get their defaults", func(d *csiDriver) { d.Spec.AttachRequired = new(false) },
			func(d *csiDriver) { d.Spec.AttachRequired = nil }, "spec.attachedRequired I"},
	}, false)

	driver, old := goodDriver(), goodDriver()
	defaultDriver(driver)
	defaultDriver(old)
	driver.Labels = map[string]string{"a": "b"}
	assert.False(t, CSIDriver.SpecChanged(driver, old), "API-233: labels are no change of the spec")
	driver.Spec.TokenRequests[0].ExpirationSeconds = new(int64(601))
	assert.True(t, CSIDriver.SpecChanged(driver, old), "API-233: any change of the spec raises the generation")
	assert.False(t, CSIDriver.Equal(driver, old), "API-014")
}

func TestCSIDriverDefaults(t *testing.T) {
	driver := &csiDriver{Spec: storagev1.CSIDriverSpec{PreventPodSchedulingIfMissing: new(true)}}
	defaultDriver(driver)
	CSIDriver.PrepareCreate(driver, metav1.Time{})
	assert.Equal(t, storagev1.CSIDriverSpec{
		AttachRequired: new(true), PodInfoOnMount: new(false), StorageCapacity: new(false), RequiresRepublish: new(false),
		SELinuxMount:         new(false),
		FSGroupPolicy:        new(storagev1.ReadWriteOnceWithFSTypeFSGroupPolicy),
		VolumeLifecycleModes: []storagev1.VolumeLifecycleMode{storagev1.VolumeLifecyclePersistent},
	}, driver.Spec, "API-094")
	driver.Spec.PreventPodSchedulingIfMissing = new(true)
	CSIDriver.PrepareUpdate(driver, goodDriver())
	assert.Nil(t, driver.Spec.PreventPodSchedulingIfMissing, "API-094: the feature is off")
}

func TestCSINode(t *testing.T) {
	const first = "spec.drivers[0]"
	checkCreates(t, CSINode, goodCSINode, []row[*csiNode]{
		{"API-186", "a good node", func(*csiNode) {}, ""},
		{"API-100", "no drivers", func(n *csiNode) { n.Spec.Drivers = nil }, ""},
		{"API-186", "no name", func(n *csiNode) { n.Spec.Drivers[0].Name = "" }, first + ".name R"},
		{"API-186", "a long name", func(n *csiNode) { n.Spec.Drivers[0].Name = strings.Repeat("a", 64) }, first + ".name L"},
		{"API-186", "a long bad name", func(n *csiNode) { n.Spec.Drivers[0].Name = strings.Repeat("_", 64) },
			first + ".name I; " + first + ".name L"},
		{"API-186", "a driver twice", func(n *csiNode) { n.Spec.Drivers[1].Name = n.Spec.Drivers[0].Name }, "spec.drivers[1].name D"},
		{"API-187", "a driver that does not know the node", func(n *csiNode) { n.Spec.Drivers[0].NodeID = "" }, first + ".nodeID R"},
		{"API-187", "a long name of the node", func(n *csiNode) { n.Spec.Drivers[0].NodeID = strings.Repeat("n", 257) }, first + ".nodeID I"},
		{"API-187", "the longest", func(n *csiNode) { n.Spec.Drivers[0].NodeID = strings.Repeat("n", 256) }, ""},
		{"API-188", "less than none", func(n *csiNode) { n.Spec.Drivers[0].Allocatable.Count = new(int32(-1)) }, first + ".allocatable.count I"},
		{"API-188", "none", func(n *csiNode) { n.Spec.Drivers[0].Allocatable.Count = new(int32(0)) }, ""},
		{"API-188", "no limit", func(n *csiNode) { n.Spec.Drivers[0].Allocatable.Count = nil }, ""},
		{"API-189", "bad keys", func(n *csiNode) { n.Spec.Drivers[0].TopologyKeys = []string{"a", "", "a", "-"} },
			first + " D; " + first + " I; " + first + " R"},
	})
	checkUpdates(t, CSINode, goodCSINode, []change[*csiNode]{
		{"API-234", "another limit", nil, func(n *csiNode) { n.Spec.Drivers[0].Allocatable = nil }, ""},
		{"API-234", "a driver less", nil, func(n *csiNode) { n.Spec.Drivers = n.Spec.Drivers[1:] }, ""},
		{"API-234", "a driver more", nil, func(n *csiNode) {
			n.Spec.Drivers = append(n.Spec.Drivers, storagev1.CSINodeDriver{Name: "new.example.com", NodeID: "i"})
		}, ""},
		{"API-234", "another name of the node", nil, func(n *csiNode) { n.Spec.Drivers[0].NodeID = "i-2" }, "spec.drivers I"},
		{"API-234", "other keys", nil, func(n *csiNode) { n.Spec.Drivers[0].TopologyKeys = nil }, "spec.drivers I"},
		{"API-033", "a prefix for names", nil, func(n *csiNode) { n.GenerateName = "A_" }, "metadata.generateName I"},
	}, false)
	a, b := goodCSINode(), goodCSINode()
	assert.True(t, CSINode.Equal(a, b), "API-014")
	b.Spec.Drivers[0].Allocatable.Count = new(int32(17))
	assert.False(t, CSINode.Equal(a, b), "API-014")
	assert.Nil(t, CSINode.Defaults, "API-100")
}

func TestStorageCapacity(t *testing.T) {
	badTopology := func(c *csiStorageCapacity) {
		c.NodeTopology.MatchExpressions = []metav1.LabelSelectorRequirement{{Key: "a", Operator: metav1.LabelSelectorOpIn, Values: []string{"-"}}}
	}
	checkCreates(t, CSIStorageCapacity, goodCapacity, []row[*csiStorageCapacity]{
		{"API-192", "a good report", func(*csiStorageCapacity) {}, ""},
		{"API-190", "no class", func(c *csiStorageCapacity) { c.StorageClassName = "" }, "storageClassName I"},
		{"API-190", "no name of a class", func(c *csiStorageCapacity) { c.StorageClassName = "A" }, "storageClassName I"},
		{"API-191", "no topology", func(c *csiStorageCapacity) { c.NodeTopology = nil }, ""},
		{"API-191", "bad labels", func(c *csiStorageCapacity) { c.NodeTopology.MatchLabels["-"] = "" }, "nodeTopology.matchLabels I"},
		{"API-191", "bad expressions", func(c *csiStorageCapacity) {
			c.NodeTopology.MatchExpressions = []metav1.LabelSelectorRequirement{
				{Key: "-", Operator: "x"}, {Key: "a", Operator: metav1.LabelSelectorOpIn},
				{Key: "a", Operator: metav1.LabelSelectorOpExists, Values: []string{"b"}},
			}
		}, "nodeTopology.matchExpressions[0].key I; nodeTopology.matchExpressions[0].operator I; " +
			"nodeTopology.matchExpressions[1].values R; nodeTopology.matchExpressions[2].values F"},
		{"API-191", "a bad value", badTopology, "nodeTopology.matchExpressions[0].values[0] I"},
		{"API-192", "nothing", func(c *csiStorageCapacity) { c.Capacity = new(apiresource.MustParse("0")) }, ""},
		{"API-192", "less than nothing", func(c *csiStorageCapacity) { c.Capacity = new(apiresource.MustParse("-1")) }, "capacity I"},
		{"API-192", "a largest volume of less than nothing",
			func(c *csiStorageCapacity) { c.MaximumVolumeSize = new(apiresource.MustParse("-1")) }, ""},
	})
	checkUpdates(t, CSIStorageCapacity, goodCapacity, []change[*csiStorageCapacity]{
		{"API-235", "another capacity", nil,
			func(c *csiStorageCapacity) { c.Capacity, c.MaximumVolumeSize = nil, new(apiresource.MustParse("1Gi")) }, ""},
		{"API-235", "another class", nil, func(c *csiStorageCapacity) { c.StorageClassName = "slow" }, "storageClassName I"},
		{"API-235", "another topology", nil, func(c *csiStorageCapacity) { c.NodeTopology = nil }, "nodeTopology I"},
		{"API-235", "a bad topology that was there", badTopology, func(c *csiStorageCapacity) { c.Capacity = nil }, ""},
		{"API-033", "a prefix for names", nil, func(c *csiStorageCapacity) { c.GenerateName = "A_" }, "metadata.generateName I"},
	}, false)
	a, b := goodCapacity(), goodCapacity()
	assert.True(t, CSIStorageCapacity.Equal(a, b), "API-014")
	b.Capacity = new(apiresource.MustParse("10737418240"))
	assert.False(t, CSIStorageCapacity.Equal(a, b), "API-083")
}

func TestEvent(t *testing.T) {
	for _, test := range []struct{ name, namespace, object, want string }{
		{"of an object in a namespace", "a", "a", ""},
		{"of an object without one", "default", "", ""},
		{"in another namespace", "a", "b", "involvedObject.namespace I"},
		{"of an object without one, elsewhere", "a", "", "involvedObject.namespace I"},
	} {
		event := &coreEvent{ObjectMeta: metav1.ObjectMeta{Namespace: test.namespace},
			InvolvedObject: corev1.ObjectReference{Namespace: test.object}}
		assert.Equal(t, test.want, sample.Faults(Event.ValidateCreate(event)), "an event %s", test.name)
		assert.Equal(t, test.want, sample.Faults(Event.ValidateUpdate(event, event)), "an event %s, updated", test.name)
	}
	a := &coreEvent{ObjectMeta: metav1.ObjectMeta{Name: "a"}, Count: 1}
	b := &coreEvent{ObjectMeta: metav1.ObjectMeta{Name: "b"}, Count: 1}
	assert.True(t, Event.Equal(a, b), "API-014: metadata aside")
	b.Count = 2
	assert.False(t, Event.Equal(a, b), "API-014")
	assert.Equal(t, "b", b.Name, "the event was written to")
}
