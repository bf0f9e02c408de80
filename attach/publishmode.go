package attach

import (
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
)

// CSIMode is an access mode as CSI drivers know it.
type CSIMode string

// The access modes of CSI that an external attacher sends.
const (
	SingleNodeWriter       CSIMode = "SINGLE_NODE_WRITER"
	SingleNodeSingleWriter CSIMode = "SINGLE_NODE_SINGLE_WRITER"
	SingleNodeMultiWriter  CSIMode = "SINGLE_NODE_MULTI_WRITER"
	MultiNodeReaderOnly    CSIMode = "MULTI_NODE_READER_ONLY"
	MultiNodeMultiWriter   CSIMode = "MULTI_NODE_MULTI_WRITER"
)

// PublishMode is the one mode that stands for those of a PersistentVolume when it is attached (ATT-176). multiWriter says that the
// driver tells one pod from one node. Modes that cannot be one are an error.
func PublishMode(modes []corev1.PersistentVolumeAccessMode, multiWriter bool) (CSIMode, error) {
	has := map[corev1.PersistentVolumeAccessMode]bool{}
	for _, mode := range modes {
		has[mode] = true
	}
	rwop, rwx, rox, rwo := has[corev1.ReadWriteOncePod], has[corev1.ReadWriteMany], has[corev1.ReadOnlyMany], has[corev1.ReadWriteOnce]
	switch {
	case rwop && len(has) > 1:
		// ATT-176
		return "", fmt.Errorf("unsupported AccessMode combination: %+v", modes)
	case rwop && multiWriter:
		return SingleNodeSingleWriter, nil
	case rwop:
		return SingleNodeWriter, nil
	case rwx:
		// ATT-176: whatever else there is.
		return MultiNodeMultiWriter, nil
	case rox && rwo:
		return "", errors.New("CSI does not support ReadOnlyMany and ReadWriteOnce on the same PersistentVolume")
	case rox:
		return MultiNodeReaderOnly, nil
	case rwo && multiWriter:
		return SingleNodeMultiWriter, nil
	case rwo:
		return SingleNodeWriter, nil
	}
	return "", fmt.Errorf("unsupported AccessMode combination: %+v", modes)
}

// accessMode is the mode as backends are asked for it.
func (m CSIMode) accessMode() corev1.PersistentVolumeAccessMode {
	switch m {
	case SingleNodeSingleWriter:
		return corev1.ReadWriteOncePod
	case MultiNodeReaderOnly:
		return corev1.ReadOnlyMany
	case MultiNodeMultiWriter:
		return corev1.ReadWriteMany
	}
	return corev1.ReadWriteOnce
}
