package requests

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volsim/volsim"
	"github.com/volsim/volsim/csi"
	"github.com/volsim/volsim/csi/internal/testdriver"
	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/storage"
)

// Case is the life of one volume.
type Case struct {
	Name       string
	zone       string // topology of the driver
	mountGroup bool   // the driver has VOLUME_MOUNT_GROUP
	block      bool
	Inline     bool // the volume is in the pod
	Fixed      bool // the volume does not grow
	class      func(*storagev1.StorageClass)
	claim      func(*corev1.PersistentVolumeClaim)
	pod        func(*corev1.Pod)
	driver     func(*storagev1.CSIDriverSpec)
	Attributes bool // the claim has a VolumeAttributesClass from the beginning
	secret     bool // every call that can have a secret has one
}

// modes returns a function that sets the access modes of a claim.
func modes(modes ...corev1.PersistentVolumeAccessMode) func(*corev1.PersistentVolumeClaim) {
	return func(c *corev1.PersistentVolumeClaim) { c.Spec.AccessModes = modes }
}

func fsGroup(pod *corev1.Pod) {
	pod.Spec.SecurityContext = &corev1.PodSecurityContext{FSGroup: new(int64(1234))}
}

func readOnly(pod *corev1.Pod) { pod.Spec.Volumes[0].PersistentVolumeClaim.ReadOnly = true }

func podInfo(d *storagev1.CSIDriverSpec) { d.PodInfoOnMount = new(true) }

// Cases are the lives of volumes that are compared.
var Cases = []Case{
	{Name: "ReadWriteOnce"},
	{Name: "ReadWriteMany", claim: modes(corev1.ReadWriteMany)},
	{Name: "ReadOnlyMany", claim: modes(corev1.ReadOnlyMany), Fixed: true},
	{Name: "ReadWriteOncePod", claim: modes(corev1.ReadWriteOncePod)},
	{Name: "several modes", claim: modes(corev1.ReadWriteOnce, corev1.ReadWriteMany)},
	{Name: "read-only in the pod", pod: readOnly, Fixed: true},
	{Name: "block", block: true, Fixed: true},
	{Name: "block, ReadWriteMany", block: true, Fixed: true, claim: modes(corev1.ReadWriteMany)},
	{Name: "file system and mount options", class: func(c *storagev1.StorageClass) {
		c.MountOptions, c.Parameters = []string{"noatime", "discard"}, map[string]string{"csi.storage.k8s.io/fstype": "xfs", "type": "ssd"}
	}},
	{Name: "parameters", class: func(c *storagev1.StorageClass) { c.Parameters = map[string]string{"type": "ssd", "iops": "7"} }},
	{Name: "topology", zone: "a", class: func(c *storagev1.StorageClass) {
		c.VolumeBindingMode = new(storagev1.VolumeBindingWaitForFirstConsumer)
	}},
	{Name: "topology of the cluster", zone: "a"},
	{Name: "allowed topologies", zone: "a", class: func(c *storagev1.StorageClass) {
		c.AllowedTopologies = []corev1.TopologySelectorTerm{{MatchLabelExpressions: []corev1.TopologySelectorLabelRequirement{
			{Key: "topology.test.csi.volsim.dev/zone", Values: []string{"a"}}}}}
	}},
	{Name: "information about the pod", driver: podInfo},
	{Name: "secrets", secret: true},
	{Name: "a group with VOLUME_MOUNT_GROUP", mountGroup: true, pod: fsGroup},
	{Name: "a group without VOLUME_MOUNT_GROUP", pod: fsGroup},
	{Name: "a VolumeAttributesClass", Attributes: true},
	{Name: "inline", Inline: true, Fixed: true, driver: func(d *storagev1.CSIDriverSpec) {
		podInfo(d)
		d.VolumeLifecycleModes = []storagev1.VolumeLifecycleMode{storagev1.VolumeLifecycleEphemeral}
	}},
}

// Simulate runs the life of a volume in a simulated cluster. It returns the requests, and the objects at the time when the pod runs.
func Simulate(t *testing.T, tt *Case) (*Driver, *Objects) {
	t.Helper()
	r := NewDriver(t, tt)
	driver, err := csi.New(context.Background(), csi.Config{Controller: r.Conn})
	require.NoError(t, err)
	c, err := volsim.New(volsim.Config{Backends: []storage.Backend{driver}})
	require.NoError(t, err)
	t.Cleanup(c.Close)
	o := &Objects{CSIDriver: &storagev1.CSIDriver{ObjectMeta: metav1.ObjectMeta{Name: testdriver.Name}}}
	if tt.driver != nil {
		tt.driver(&o.CSIDriver.Spec)
	}
	class := fake.Class("disk", testdriver.Name, fake.Expandable())
	if tt.secret {
		o.Secret = &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "key"}, Data: map[string][]byte{"user": []byte("u"), "key": []byte("k")}}
		class.Parameters = map[string]string{}
		for _, prefix := range []string{"provisioner", "controller-publish", "node-stage", "node-publish", "controller-expand", "node-expand"} {
			class.Parameters["csi.storage.k8s.io/"+prefix+"-secret-name"] = "key"
			class.Parameters["csi.storage.k8s.io/"+prefix+"-secret-namespace"] = "default"
		}
		require.NoError(t, c.Create(o.Secret))
	}
	if tt.class != nil {
		tt.class(class)
	}
	claim := fake.Claim("data", "1Gi", fake.InClass("disk"))
	pod := fake.Pod("web", fake.Claims("data"))
	if tt.block {
		claim.Spec.VolumeMode = new(corev1.PersistentVolumeBlock)
		pod = fake.Pod("web", fake.BlockClaims("data"))
	}
	if tt.Inline {
		pod = fake.Pod("web", fake.Claims("data"))
		pod.Spec.Volumes[0].VolumeSource = corev1.VolumeSource{CSI: &corev1.CSIVolumeSource{Driver: testdriver.Name,
			VolumeAttributes: map[string]string{"size": "1"}}}
	}
	if tt.Attributes {
		o.Attributes = &storagev1.VolumeAttributesClass{ObjectMeta: metav1.ObjectMeta{Name: "gold"},
			DriverName: testdriver.Name, Parameters: map[string]string{"iops": "9"}}
		o.Changed = o.Attributes.DeepCopy()
		o.Changed.Name, o.Changed.Parameters = "silver", map[string]string{"iops": "8"}
		claim.Spec.VolumeAttributesClassName = new("gold")
		require.NoError(t, c.Create(o.Attributes, o.Changed))
	}
	if tt.claim != nil {
		tt.claim(claim)
	}
	if tt.pod != nil {
		tt.pod(pod)
	}
	require.NoError(t, c.Create(fake.Node("n1"), o.CSIDriver, class))
	require.NoError(t, c.Advance(time.Minute))
	if !tt.Inline {
		require.NoError(t, c.Create(claim))
	}
	require.NoError(t, c.Create(pod))
	require.NoError(t, c.Advance(time.Minute))
	read(t, c, tt, o)
	if !tt.Fixed {
		require.NoError(t, c.Patch(claim, `{"spec":{"resources":{"requests":{"storage":"2Gi"}}}}`))
		require.NoError(t, c.Advance(5*time.Minute))
	}
	if tt.Attributes {
		require.NoError(t, c.Patch(claim, `{"spec":{"volumeAttributesClassName":"silver"}}`))
		require.NoError(t, c.Advance(5*time.Minute))
	}
	require.NoError(t, c.Delete(pod))
	require.NoError(t, c.Advance(10*time.Minute))
	if !tt.Inline {
		require.NoError(t, c.Delete(claim))
		require.NoError(t, c.Advance(10*time.Minute))
	}
	return r, o
}

// read reads the objects of a cluster in which the pod runs.
func read(t *testing.T, c *volsim.Cluster, tt *Case, o *Objects) {
	t.Helper()
	var err error
	o.Pod, err = c.Pods.Get("default/web")
	require.NoError(t, err)
	require.Equal(t, corev1.PodRunning, o.Pod.Status.Phase)
	o.Node, err = c.Nodes.Get("n1")
	require.NoError(t, err)
	o.CSINode, err = c.CSINodes.Get("n1")
	require.NoError(t, err)
	o.CSIDriver, err = c.CSIDrivers.Get(testdriver.Name)
	require.NoError(t, err)
	if tt.Inline {
		return
	}
	o.Class, err = c.Classes.Get("disk")
	require.NoError(t, err)
	o.Claim, err = c.Claims.Get("default/data")
	require.NoError(t, err)
	o.Volume, err = c.Volumes.Get(o.Claim.Spec.VolumeName)
	require.NoError(t, err)
	all := c.Attachments.List()
	require.Len(t, all, 1)
	o.Attachment = all[0]
}

// Objects are the API objects of the cluster, at the time when the pod runs.
type Objects struct {
	Class      *storagev1.StorageClass
	Claim      *corev1.PersistentVolumeClaim
	Volume     *corev1.PersistentVolume
	Attachment *storagev1.VolumeAttachment
	Node       *corev1.Node
	CSINode    *storagev1.CSINode
	CSIDriver  *storagev1.CSIDriver
	Pod        *corev1.Pod
	Secret     *corev1.Secret
	Attributes *storagev1.VolumeAttributesClass // of the claim when the volume is created
	Changed    *storagev1.VolumeAttributesClass // of the claim later
}
