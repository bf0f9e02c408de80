package snapshotter

import (
	"fmt"
	"testing"

	spec "github.com/container-storage-interface/spec/lib/go/csi"
	"github.com/go-logr/logr"
	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v8/apis/volumesnapshot/v1"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/klog/v2"

	"github.com/volsim/volsim/csi/internal/proof/requests"
)

// TestStories compares the requests of the csi-snapshotter in all stories of csitest with those of the real one, on the same API objects.
func TestStories(t *testing.T) {
	klog.SetLogger(logr.Discard())
	t.Setenv("KUBE_FEATURE_WatchListClient", "false") // the fake client of the snapshotter has no bookmarks
	calls := requests.StoryCalls(t, "CreateSnapshot", "DeleteSnapshot", "ListSnapshots")
	compared := map[string]int{}
	for _, c := range calls {
		t.Run(fmt.Sprintf("%s %s %d", c.Story, c.Method, c.Seq), func(t *testing.T) {
			stub := requests.NewStub(t) // the controller of an earlier call may still repeat that call
			stub.Replay(c.Method, c.Reply)
			content, objects := storyObjects(t, c)
			require.NotNil(t, content, "no content for %v", c.Request)
			secret := &corev1.Secret{}
			if len(c.Secrets) > 0 {
				secret = c.Secrets[len(c.Secrets)-1]
			}
			call(t, stub, secret, c.Method, append(objects, content)...)
			requests.CompareCall(t, stub, c, "")
			compared[c.Method]++
		})
	}
	require.NotEmpty(t, compared["CreateSnapshot"])
	t.Logf("%d requests compared: %v", len(calls), compared)
}

// storyObjects returns the content that a call is about, as it is before the call, and the classes.
func storyObjects(t *testing.T, c *requests.Call) (content *snapshotv1.VolumeSnapshotContent, classes []runtime.Object) {
	for _, u := range c.Snapshots {
		switch u.GetKind() {
		case "VolumeSnapshotClass":
			classes = append(classes, typed[snapshotv1.VolumeSnapshotClass](t, u))
		case "VolumeSnapshotContent":
			if found := typed[snapshotv1.VolumeSnapshotContent](t, u); isAbout(c, found) {
				content = found
			}
		}
	}
	if content != nil && c.Method != "DeleteSnapshot" {
		content.Status = nil
	} else if content != nil && content.DeletionTimestamp == nil {
		content.DeletionTimestamp = new(metav1.Now())
	}
	return content, classes
}

func isAbout(c *requests.Call, content *snapshotv1.VolumeSnapshotContent) bool {
	switch request := c.Request.(type) {
	case *spec.CreateSnapshotRequest:
		return request.GetName() == "snapshot-"+string(content.Spec.VolumeSnapshotRef.UID)
	case *spec.ListSnapshotsRequest:
		return content.Spec.Source.SnapshotHandle != nil && *content.Spec.Source.SnapshotHandle == request.GetSnapshotId()
	case *spec.DeleteSnapshotRequest:
		return content.Status != nil && content.Status.SnapshotHandle != nil && *content.Status.SnapshotHandle == request.GetSnapshotId()
	}
	return false
}
