package script

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/fake"
)

// The objects of an in-tree plugin use the CSI driver that replaced it (MIG-001, MIG-002, MIG-020).
func TestStorageOf(t *testing.T) {
	pv, pod := fake.Volume("pv", "1Gi"), fake.Pod("web")
	pv.Spec.PersistentVolumeSource = corev1.PersistentVolumeSource{Cinder: &corev1.CinderPersistentVolumeSource{VolumeID: "c"}}
	pod.Spec.Volumes = []corev1.Volume{{VolumeSource: corev1.VolumeSource{
		GCEPersistentDisk: &corev1.GCEPersistentDiskVolumeSource{PDName: "d"}}}, {}}
	require.Equal(t, []string{"ebs.csi.aws.com"}, storageOf(fake.Class("gp2", "kubernetes.io/aws-ebs")))
	require.Equal(t, []string{"cinder.csi.openstack.org"}, storageOf(pv))
	require.Equal(t, []string{"pd.csi.storage.gke.io"}, storageOf(pod))
	require.Empty(t, storageOf(fake.Class("none", noProvisioner)))
}

// TestIsDump: a dump is known by the resourceVersion of its objects, however its YAML or JSON is written.
func TestIsDump(t *testing.T) {
	for text, want := range map[string]bool{
		"metadata:\n  resourceVersion: \"7\"\n":                  true,
		"metadata:\n  resourceVersion: '7'\n":                    true,
		"metadata:\n  'resourceVersion': '7'\n":                  true,
		"metadata: {name: a, resourceVersion: '7'}":              true,
		`{"metadata":{"name":"a","resourceVersion":"7"}}`:        true,
		`{"metadata":{"resourceVersion" : "7"}}`:                 true,
		"kind: List\nmetadata:\n  resourceVersion: ''\nitems:\n": false,
		"kind: List\nmetadata:\n  resourceVersion: \"\"\n":       false,
		"data:\n  text: the resourceVersion is 7\n":              false,
	} {
		require.Equal(t, want, isDump([]File{{Name: "a.yaml", Data: []byte(text)}}), text)
	}
}
