package evidence

import (
	"regexp"
	"strings"

	"github.com/volsim/volsim/storage"
)

// This file reads texts, because the objects give nothing but a message.

// grpcError is the text of a gRPC error, which status.Error of google.golang.org/grpc/internal/status writes.
var grpcError = regexp.MustCompile(`rpc error: code = (\w+) desc = `)

// errorOf returns the code and the description of a driver's error in a message; ok is false if the message has none.
func errorOf(message string) (code storage.Code, desc string, ok bool) {
	at := grpcError.FindStringSubmatchIndex(message)
	if at == nil {
		return "", "", false
	}
	return storage.Code(message[at[2]:at[3]]), strings.TrimSpace(message[at[1]:]), true
}

// mountCalls maps the start of FailedMount and FailedMapVolume messages to the call of the driver that failed. The functions
// operationGenerator.GenerateMountVolumeFunc and GenerateMapVolumeFunc write them.
var mountCalls = []struct {
	prefix string
	op     storage.Op
}{
	{"MountVolume.MountDevice failed", storage.Stage},
	{"MountVolume.SetUp failed", storage.Publish},
	{"MapVolume.SetUpDevice failed", storage.Stage},
	{"MapVolume.MapPodDevice failed", storage.Publish},
	{"MountVolume.Setup failed while expanding volume", storage.NodeExpand},
	{"MapVolume.MarkVolumeAsMounted failed while expanding volume", storage.NodeExpand},
}

// mountCall returns the call of the driver that a mount failure is about; ok is false for other failures.
func mountCall(message string) (op storage.Op, ok bool) {
	for _, known := range mountCalls {
		if strings.HasPrefix(message, known.prefix) {
			return known.op, true
		}
	}
	return "", false
}

// mountVolume is how operationGenerator and operationExecutor name a volume: for volume "NAME".
var mountVolume = regexp.MustCompile(`for volume "([^"]+)"`)

// volumeOf returns the name of the PersistentVolume that a mount or attach failure names; "" if there is none.
func volumeOf(message string) string {
	if found := mountVolume.FindStringSubmatch(message); found != nil {
		return found[1]
	}
	return ""
}

// mountTimedOut reports whether the kubelet gave up waiting for volumes. Kubelet.SyncPod writes the text.
func mountTimedOut(message string) bool {
	return strings.HasPrefix(message, "Unable to attach or mount volumes") &&
		(strings.Contains(message, "timed out waiting for the condition") || strings.Contains(message, "context deadline exceeded"))
}

// labelConflict is the error of a pod whose SELinux label is not that of the others that use a volume on the node. desiredStateOfWorld.AddPodToVolume
// writes it.
var labelConflict = regexp.MustCompile(`conflicting SELinux labels of volume ([^ ]+): "`)

// ConflictOf returns the volume that a pod cannot use on its node because of its SELinux label (MNT-339), from a message; ok is false if the
// message is about something else.
func ConflictOf(message string) (volume string, ok bool) {
	found := labelConflict.FindStringSubmatch(message)
	if found == nil {
		return "", false
	}
	return found[1], true
}

// ownershipFailed is in the error of a kubelet that could not give the files of a volume the group fsGroup of the pod, after the driver had mounted it.
// csiMountMgr.SetUpAt writes it.
const ownershipFailed = "applyFSGroup failed"

// OwnershipFailed reports whether an assumption about a mount is about the group of the files (MNT-333).
func (a Assumption) OwnershipFailed() bool { return strings.Contains(a.Message, ownershipFailed) }

// absent is the error of an API server about an object that does not exist, which apierrors.NewNotFound writes: RESOURCE.GROUP "NAME" not found.
var absent = regexp.MustCompile(`([A-Za-z]+(?:\.[a-z0-9-]+)+ "[^"]+") not found`)

// Absent returns the object that, by the error of a driver, does not exist: `SecretProviderClass.secrets-store.csi.x-k8s.io "aws"`; "" if the error
// is about something else.
func (a Assumption) Absent() string {
	if found := absent.FindStringSubmatch(a.Message); found != nil {
		return found[1]
	}
	return ""
}
