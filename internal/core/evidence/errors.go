package evidence

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/storage"
)

// meanings say what the codes of gRPC mean in a reply of a CSI driver.
var meanings = map[storage.Code]string{
	storage.InvalidArgument:   "the driver refuses the request: a parameter of the class, the size, or the mode",
	storage.NotFound:          "the storage system has no such volume, node or snapshot",
	storage.AlreadyExists:     "the storage system has a volume of that name with other properties",
	"PermissionDenied":        "the credentials of the driver lack a permission",
	"Unauthenticated":         "the storage system does not accept the credentials of the driver",
	storage.ResourceExhausted: "the storage system has no room, or a quota or limit is used up",
	// The volume is in a state in which the call is impossible.
	storage.FailedPrecondition: "the state of the volume does not allow the call: it may be in use or attached to another node",
	storage.Aborted:            "another call for this volume is still under way",
	storage.OutOfRange:         "the storage system has no volumes of that size",
	storage.Unimplemented:      "the driver does not have this call",
	storage.Internal:           "the driver failed, and its own log says why",
	storage.Unavailable:        "the driver or the API of its storage system cannot be reached",
	storage.DeadlineExceeded:   "the driver did not answer in time, and may still have done it",
}

// Meaning says what the error of a failing driver means, and when the call is made again after now; "" for an error without a code.
func (a Assumption) Meaning(now time.Time) string {
	meaning := meanings[a.Code]
	if a.FullNode() {
		meaning = "the node has as many volumes of the driver as it can have"
	}
	if meaning == "" || a.before {
		return ""
	}
	// XPROV-001, ATT-171, EXP-020, MNT-005: the longest waits between two attempts.
	wait := 5 * time.Minute
	if Sidecar(a.Operation) == "" {
		wait = 122 * time.Second
	}
	text := fmt.Sprintf("%s means that %s; it is retried at most %s apart", a.Code, meaning, strings.TrimSuffix(wait.String(), "0s"))
	if next := a.Last.Add(wait); !a.Last.IsZero() && next.After(now) {
		text += ", next by " + next.UTC().Format(time.TimeOnly)
	}
	return text
}

// FullNode reports whether a driver has attached as many volumes to the node as it can: so the CSI specification defines the code for
// ControllerPublishVolume.
func (a Assumption) FullNode() bool {
	return a.Operation == storage.Attach && a.Code == storage.ResourceExhausted
}

// accessMode matches errors about the access modes of a volume.
var accessMode = regexp.MustCompile(`(?i)access ?mode|MULTI_NODE|volume capabilit`)

// AboutModes reports whether a driver refuses a claim because of its access modes: it asks for more than ReadWriteOnce.
func (a Assumption) AboutModes(claim *corev1.PersistentVolumeClaim) bool {
	shared := slices.ContainsFunc(claim.Spec.AccessModes, func(mode corev1.PersistentVolumeAccessMode) bool { return mode != corev1.ReadWriteOnce })
	return shared && a.Operation == storage.Create && accessMode.MatchString(a.Message)
}

// Sidecar returns the container of a driver's controller plugin that makes a call; "" for the calls of a kubelet to the node plugin.
func Sidecar(op storage.Op) string {
	switch op {
	case storage.Create, storage.Delete:
		return "csi-provisioner"
	case storage.Attach, storage.Detach:
		return "csi-attacher"
	case storage.Expand, storage.Modify:
		return "csi-resizer"
	case storage.CreateSnapshot, storage.DeleteSnapshot, storage.GetSnapshot:
		return "csi-snapshotter"
	}
	return ""
}

// Log says which log tells why a call of a driver fails; node is that of the kubelet that makes the call.
func Log(op storage.Op, driver, node string) string {
	if sidecar := Sidecar(op); sidecar != "" {
		return fmt.Sprintf("the log of container %s, and of the driver's own container, in the controller plugin of driver %s", sidecar, driver)
	}
	return fmt.Sprintf("the log of the node plugin of driver %s on node %s", driver, node)
}
