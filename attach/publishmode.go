package attach

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/internal/core/objects"
)

// PublishMode returns the CSI access mode, such as "SINGLE_NODE_WRITER", with which a PersistentVolume of these modes is attached
// (ATT-176). multiWriter: the driver has the capability SINGLE_NODE_MULTI_WRITER. It returns an error for modes that no CSI mode stands
// for.
func PublishMode(modes []corev1.PersistentVolumeAccessMode, multiWriter bool) (string, error) {
	return objects.PublishMode(modes, multiWriter)
}
