package backends

import (
	"errors"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/internal/core/intree"
	"github.com/volsim/volsim/storage"
)

// InTreePlugin is a volume plugin that is compiled into kube-controller-manager and kubelet. Supports reports whether it is in charge of
// the source, which may be nil.
type InTreePlugin interface {
	storage.Backend
	Supports(*corev1.PersistentVolumeSource) bool
}

// Recycler is an in-tree plugin that scrubs the data off a volume, so that it can be claimed again. The source may be nil.
type Recycler interface {
	Recycle(id string, source *corev1.PersistentVolumeSource) error
}

// Preparer is an in-tree plugin that can reject a request before Create is called: "Failed to create provisioner" (PROV-044).
type Preparer interface {
	Prepare(storage.CreateRequest) error
}

// InTreeDescriber is an in-tree plugin with [InTreeCapabilities]. A plugin without this method has the zero value.
type InTreeDescriber interface {
	InTreeCapabilities() InTreeCapabilities
}

// InTreeCapabilities describes what the methods of an in-tree plugin do not show.
type InTreeCapabilities struct {
	// MountOptions is true if classes and volumes of the plugin may have mount options (PROV-043).
	MountOptions bool
	// RecyclerPod is true if a pod scrubs the volumes, as for NFS and hostPath (RECL-070). The pod calls Recycle.
	RecyclerPod bool
}

// BlockSupporter is a backend whose provisioner may reject claims for block volumes (XPROV-021). That of any other backend accepts them.
type BlockSupporter interface {
	SupportsBlock() bool
}

// Delayer is a backend whose calls take time. The caller waits that long, then the call takes effect. id is the handle of the volume, or
// for Create its name. A negative delay counts as zero.
type Delayer interface {
	Delay(op storage.Op, id string) time.Duration
}

// InTreePrefix begins the names of in-tree plugins.
const InTreePrefix = "kubernetes.io/"

// IsInTree reports whether the backend is an in-tree plugin and not a CSI driver: by its name, or because it is an [InTreePlugin].
func IsInTree(b storage.Backend) bool {
	if _, ok := b.(InTreePlugin); ok {
		return true
	}
	return strings.HasPrefix(b.Name(), InTreePrefix)
}

// Handle returns the ID by which backends know the volume: the volumeHandle of its CSI source, if it has one or is translated into one, else
// the name of the PersistentVolume. So two PersistentVolumes with the same CSI handle are one volume, and two with the same NFS path are two.
func Handle(pv *corev1.PersistentVolume) string {
	// MIG-001: also for the driver that replaced an in-tree plugin.
	if translated, err := intree.Volume(pv); err == nil && translated.Spec.CSI != nil {
		return translated.Spec.CSI.VolumeHandle
	}
	return pv.Name
}

// ErrVolumeInUse is the error of an in-tree plugin's Delete while the volume is in use. The PersistentVolume then stays Released, and
// the deletion is retried (RECL-027). Test for it with errors.Is.
var ErrVolumeInUse = errors.New("volume is in use")

// VolumeInUse returns an error with exactly this message that is [ErrVolumeInUse].
func VolumeInUse(message string) error { return volumeInUse(message) }

type volumeInUse string

func (e volumeInUse) Error() string { return string(e) }

// RECL-027: the PersistentVolume controller distinguishes this error from all others.
func (e volumeInUse) Is(target error) bool { return target == ErrVolumeInUse }
