package objects

import (
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
)

// The access modes of CSI that sidecars send.
const (
	singleNodeWriter       = "SINGLE_NODE_WRITER"
	singleNodeSingleWriter = "SINGLE_NODE_SINGLE_WRITER"
	singleNodeMultiWriter  = "SINGLE_NODE_MULTI_WRITER"
	multiNodeReaderOnly    = "MULTI_NODE_READER_ONLY"
	multiNodeMultiWriter   = "MULTI_NODE_MULTI_WRITER"
)

// PublishMode returns the CSI access mode, such as "SINGLE_NODE_WRITER", with which a PersistentVolume of these modes is attached or
// expanded (ATT-176, EXP-027). multiWriter: the driver has the capability SINGLE_NODE_MULTI_WRITER. It returns an error for modes that no
// CSI mode stands for.
func PublishMode(modes []corev1.PersistentVolumeAccessMode, multiWriter bool) (string, error) {
	has := map[corev1.PersistentVolumeAccessMode]bool{}
	for _, mode := range modes {
		has[mode] = true
	}
	rwop, rwx, rox, rwo := has[corev1.ReadWriteOncePod], has[corev1.ReadWriteMany], has[corev1.ReadOnlyMany], has[corev1.ReadWriteOnce]
	switch {
	case rwop && len(has) > 1:
		// ATT-176: ReadWriteOncePod excludes all other modes.
		return "", fmt.Errorf("unsupported AccessMode combination: %+v", modes)
	case rwop && multiWriter:
		return singleNodeSingleWriter, nil
	case rwop:
		return singleNodeWriter, nil
	case rwx:
		// ATT-176: ReadWriteMany includes all other modes.
		return multiNodeMultiWriter, nil
	case rox && rwo:
		return "", errors.New("CSI does not support ReadOnlyMany and ReadWriteOnce on the same PersistentVolume")
	case rox:
		return multiNodeReaderOnly, nil
	case rwo && multiWriter:
		return singleNodeMultiWriter, nil
	case rwo:
		return singleNodeWriter, nil
	}
	return "", fmt.Errorf("unsupported AccessMode combination: %+v", modes)
}

// ModeOfCSI returns the mode of the API that a request to a backend has for a CSI mode.
func ModeOfCSI(mode string) corev1.PersistentVolumeAccessMode {
	switch mode {
	case singleNodeSingleWriter:
		return corev1.ReadWriteOncePod
	case multiNodeReaderOnly:
		return corev1.ReadOnlyMany
	case multiNodeMultiWriter:
		return corev1.ReadWriteMany
	}
	return corev1.ReadWriteOnce
}
