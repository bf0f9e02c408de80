package volsim_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim"
	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/storage"
)

// An old class of an in-tree plugin works with the driver that replaced it, from provisioning to deletion.
func TestMigratedClass(t *testing.T) {
	const name = "ebs.csi.aws.com"
	driver := &recorder{Memory: fake.CSI(name), last: map[storage.Op]any{}}
	c := newCluster(t, volsim.Config{Backends: []storage.Backend{driver}})
	class := fake.Class("gp2", "kubernetes.io/aws-ebs", fake.Expandable(), fake.Parameters("type", "gp2", "fsType", "xfs"))
	pod := fake.Pod("web", fake.Claims("data"))
	require.NoError(t, c.Create(fake.Node("n1"), class, fake.Claim("data", "1Gi", fake.InClass("gp2")), pod))
	require.NoError(t, c.Advance(time.Minute))
	running, err := c.Pods.Get("default/web")
	require.NoError(t, err)
	require.Equal(t, corev1.PodRunning, running.Status.Phase)

	claim, err := c.Claims.Get("default/data")
	require.NoError(t, err)
	pv, err := c.Volumes.Get(claim.Spec.VolumeName)
	require.NoError(t, err)
	require.NotNil(t, pv.Spec.AWSElasticBlockStore, "MIG-030: the source is in-tree")
	handle := pv.Spec.AWSElasticBlockStore.VolumeID
	require.Equal(t, "xfs", pv.Spec.AWSElasticBlockStore.FSType, "MIG-020: the parameter fsType")
	require.Equal(t, name, pv.Annotations["pv.kubernetes.io/migrated-to"], "PROV-050")
	require.Equal(t, "kubernetes.io/aws-ebs", pv.Annotations["pv.kubernetes.io/provisioned-by"], "XPROV-030")
	node, err := c.Nodes.Get("n1")
	require.NoError(t, err)
	want := []corev1.UniqueVolumeName{corev1.UniqueVolumeName("kubernetes.io/csi/" + name + "^" + handle)}
	require.Equal(t, want, node.Status.VolumesInUse, "MIG-001, ATT-200: the node knows it as a CSI volume")
	csiNode, err := c.CSINodes.Get("n1")
	require.NoError(t, err)
	require.Contains(t, strings.Split(csiNode.Annotations["storage.alpha.kubernetes.io/migrated-plugins"], ","), "kubernetes.io/aws-ebs", "MIG-008")
	if diff := cmp.Diff(storage.NodeRequest{ID: handle, FSType: "xfs"},
		storage.NodeRequest{ID: driver.last[storage.Stage].(storage.NodeRequest).ID, FSType: driver.last[storage.Stage].(storage.NodeRequest).FSType}); diff != "" {
		t.Errorf("MIG-001: stage (-want +got):\n%s", diff)
	}

	require.NoError(t, c.Patch(claim, `{"spec":{"resources":{"requests":{"storage":"2Gi"}}}}`))
	require.NoError(t, c.Advance(5*time.Minute))
	claim, err = c.Claims.Get("default/data")
	require.NoError(t, err)
	size := claim.Status.Capacity[corev1.ResourceStorage]
	require.Equal(t, "2Gi", size.String(), "EXP-013: the resizer of the driver expands it")

	require.NoError(t, c.Delete(pod))
	require.NoError(t, c.Delete(claim))
	require.NoError(t, c.Advance(10*time.Minute))
	require.Empty(t, driver.Volumes(), "XPROV-053: the driver deletes it")
	_, err = c.Volumes.Get(pv.Name)
	require.Error(t, err)
	require.Empty(t, c.Violations())
}

// Existing disks of in-tree plugins are attached and mounted by the driver that replaced the plugin: those of claims, and those in pods.
func TestMigratedVolumes(t *testing.T) {
	const name = "pd.csi.storage.gke.io"
	driver := &recorder{Memory: fake.CSI(name, fake.Lenient()), last: map[storage.Op]any{}}
	c := newCluster(t, volsim.Config{Backends: []storage.Backend{driver}})
	pv := fake.Volume("old", "1Gi", fake.Labels(corev1.LabelTopologyZone, "us-east1-b"))
	pv.Spec.PersistentVolumeSource = corev1.PersistentVolumeSource{GCEPersistentDisk: &corev1.GCEPersistentDiskVolumeSource{PDName: "disk-1"}}
	const static = "projects/UNSPECIFIED/zones/us-east1-b/disks/disk-1"
	zone := fake.Labels("topology.gke.io/zone", "us-east1-b", corev1.LabelTopologyZone, "us-east1-b")
	pod := fake.Pod("web", fake.Claims("data"))
	require.NoError(t, c.Create(fake.Node("n1", zone), pv, fake.Claim("data", "1Gi", fake.VolumeName("old")), pod))
	require.NoError(t, c.Advance(time.Minute))
	require.Equal(t, static, driver.last[storage.Attach].(storage.NodeRequest).ID, "ATT-200, MIG-004")
	require.Equal(t, static, driver.last[storage.Publish].(storage.NodeRequest).ID, "MNT-072i")
	require.NoError(t, c.Delete(pod))
	require.NoError(t, c.Advance(time.Minute))
	require.Equal(t, static, driver.last[storage.Detach].(storage.NodeRequest).ID, "ATT-200")

	inPod := fake.Pod("old-pod")
	inPod.Spec.Volumes = []corev1.Volume{{Name: "disk", VolumeSource: corev1.VolumeSource{
		GCEPersistentDisk: &corev1.GCEPersistentDiskVolumeSource{PDName: "disk-2", FSType: "ext4"}}}}
	inPod.Spec.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: "disk", MountPath: "/disk"}}
	require.NoError(t, c.Create(inPod))
	require.NoError(t, c.Advance(time.Minute))
	const direct = "projects/UNSPECIFIED/zones/UNSPECIFIED/disks/disk-2"
	var sources []string
	for _, va := range c.Attachments.List() {
		require.NotNil(t, va.Spec.Source.InlineVolumeSpec, "ATT-200: the attachment has the source itself")
		sources = append(sources, va.Spec.Source.InlineVolumeSpec.CSI.VolumeHandle)
	}
	require.Equal(t, []string{direct}, sources, "ATT-200, MIG-002")
	running, err := c.Pods.Get("default/old-pod")
	require.NoError(t, err)
	require.Equal(t, corev1.PodRunning, running.Status.Phase, "MIG-002: the pod runs")
	require.NoError(t, c.Delete(inPod))
	require.NoError(t, c.Advance(5*time.Minute))
	require.Equal(t, direct, driver.last[storage.Detach].(storage.NodeRequest).ID, "ATT-200: it is detached")
	require.Empty(t, c.Violations())
}
