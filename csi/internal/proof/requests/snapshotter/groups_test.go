package snapshotter

import (
	"context"
	"strings"
	"testing"

	spec "github.com/container-storage-interface/spec/lib/go/csi"
	"github.com/go-logr/logr"
	groupsnapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v8/apis/volumegroupsnapshot/v1"
	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v8/apis/volumesnapshot/v1"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	"github.com/volsim/volsim/csi/csitest"
	"github.com/volsim/volsim/csi/internal/proof/requests"
	"github.com/volsim/volsim/csi/internal/testdriver"
)

// secretPrefix begins the annotations that name the Secret of a group's content, and getSecretPrefix the parameters that name that of
// GetVolumeGroupSnapshot.
const (
	secretPrefix    = "groupsnapshot.storage.kubernetes.io/deletion-secret-"
	getSecretPrefix = "csi.storage.k8s.io/group-snapshotter-get-secret-"
)

// TestGroupRequests compares the requests about group snapshots that csitest makes, as the csi-snapshotter, with those of the real one.
func TestGroupRequests(t *testing.T) {
	klog.SetLogger(logr.Discard())
	t.Setenv("KUBE_FEATURE_WatchListClient", "false") // the fake client of the snapshotter has no bookmarks
	secrets := map[string]string{"user": "u", "key": "k"}
	for _, tt := range []struct {
		name       string
		parameters map[string]string
		secrets    map[string]string
	}{
		{name: "a group"},
		{name: "parameters and secrets", parameters: map[string]string{"type": "copy", "pool": "7"}, secrets: secrets},
	} {
		t.Run(tt.name, func(t *testing.T) {
			ours := runStory(t, "group-snapshot-life", tt.parameters, tt.secrets)
			create := ours.Request("CreateVolumeGroupSnapshot").(*spec.CreateVolumeGroupSnapshotRequest)
			remove := ours.Request("DeleteVolumeGroupSnapshot").(*spec.DeleteVolumeGroupSnapshotRequest)
			driver, secret, class := requests.NewDriver(t, &requests.Case{}), &corev1.Secret{}, groupClass(tt.parameters, tt.secrets != nil)
			secret.Namespace, secret.Name, secret.Data = "default", "key", map[string][]byte{"user": []byte("u"), "key": []byte("k")}
			makeVolumes(t, driver, create.GetSourceVolumeIds())

			content := groupContent(tt.secrets != nil)
			content.Spec.VolumeGroupSnapshotRef.UID = types.UID(strings.TrimPrefix(create.GetName(), "groupsnapshot-"))
			content.Spec.Source.VolumeHandles = create.GetSourceVolumeIds()
			call(t, driver, secret, "CreateVolumeGroupSnapshot", content, class)

			content.Status = &groupsnapshotv1.VolumeGroupSnapshotContentStatus{VolumeGroupSnapshotHandle: &remove.GroupSnapshotId}
			for i, id := range remove.GetSnapshotIds() {
				content.Status.VolumeSnapshotInfoList = append(content.Status.VolumeSnapshotInfoList,
					groupsnapshotv1.VolumeSnapshotInfo{VolumeHandle: create.GetSourceVolumeIds()[i], SnapshotHandle: id})
			}
			content.DeletionTimestamp = new(metav1.Now())
			content.Annotations["groupsnapshot.storage.kubernetes.io/volumegroupsnapshot-being-deleted"] = "yes"
			call(t, driver, secret, "DeleteVolumeGroupSnapshot", content, class)
			requests.Compare(t, driver, ours, "", "CreateVolumeGroupSnapshot", "DeleteVolumeGroupSnapshot")

			ours = runStory(t, "group-snapshot", tt.parameters, tt.secrets)
			get := ours.Request("GetVolumeGroupSnapshot").(*spec.GetVolumeGroupSnapshotRequest)
			imported := groupContent(tt.secrets != nil)
			imported.Spec.Source.GroupSnapshotHandles = &groupsnapshotv1.GroupSnapshotHandles{
				VolumeGroupSnapshotHandle: get.GetGroupSnapshotId(), VolumeSnapshotHandles: get.GetSnapshotIds()}
			call(t, driver, secret, "GetVolumeGroupSnapshot", imported, class)
			requests.Compare(t, driver, ours, "", "GetVolumeGroupSnapshot")
		})
	}
}

// runStory runs a story of csitest without faults and returns the driver with its requests.
func runStory(t *testing.T, story string, parameters, secrets map[string]string) *requests.Driver {
	t.Helper()
	driver := requests.NewDriver(t, &requests.Case{})
	report, err := csitest.Check(csitest.Config{Controller: driver.Conn, Replay: story, SnapshotParameters: parameters, Secrets: secrets})
	require.NoError(t, err)
	require.Empty(t, report.Findings)
	return driver
}

// makeVolumes creates volumes; the first ones of a test driver have the IDs of those in the story.
func makeVolumes(t *testing.T, driver *requests.Driver, ids []string) {
	t.Helper()
	for _, id := range ids {
		reply, err := spec.NewControllerClient(driver.Conn).CreateVolume(context.Background(), &spec.CreateVolumeRequest{Name: id,
			VolumeCapabilities: []*spec.VolumeCapability{{AccessType: &spec.VolumeCapability_Mount{Mount: &spec.VolumeCapability_MountVolume{}},
				AccessMode: &spec.VolumeCapability_AccessMode{Mode: spec.VolumeCapability_AccessMode_SINGLE_NODE_WRITER}}}})
		require.NoError(t, err)
		require.Equal(t, id, reply.GetVolume().GetVolumeId())
	}
}

// groupClass returns the VolumeGroupSnapshotClass of the contents.
func groupClass(parameters map[string]string, secret bool) *groupsnapshotv1.VolumeGroupSnapshotClass {
	class := &groupsnapshotv1.VolumeGroupSnapshotClass{ObjectMeta: metav1.ObjectMeta{Name: "class"}, Driver: testdriver.Name,
		DeletionPolicy: snapshotv1.VolumeSnapshotContentDelete, Parameters: map[string]string{}}
	for key, value := range parameters {
		class.Parameters[key] = value
	}
	if secret {
		class.Parameters[getSecretPrefix+"name"], class.Parameters[getSecretPrefix+"namespace"] = "key", "default"
	}
	return class
}

// groupContent returns the content of a group snapshot as the snapshot-controller creates it, without its source.
func groupContent(secret bool) *groupsnapshotv1.VolumeGroupSnapshotContent {
	content := &groupsnapshotv1.VolumeGroupSnapshotContent{ObjectMeta: metav1.ObjectMeta{Name: "content", ResourceVersion: "1",
		Annotations: map[string]string{}},
		Spec: groupsnapshotv1.VolumeGroupSnapshotContentSpec{Driver: testdriver.Name, DeletionPolicy: snapshotv1.VolumeSnapshotContentDelete,
			VolumeGroupSnapshotClassName: new("class"), VolumeGroupSnapshotRef: corev1.ObjectReference{Namespace: "default", Name: "group"}}}
	if secret {
		content.Annotations[secretPrefix+"name"], content.Annotations[secretPrefix+"namespace"] = "key", "default"
	}
	return content
}
