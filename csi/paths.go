package csi

import (
	"os"
	"path/filepath"

	spec "github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/protobuf/proto"
)

// path returns the path of a kubelet as the driver gets it: below Config.Root, if there is one.
func (d *Driver) path(node, path string) string {
	if d.cfg.Root == "" || path == "" {
		return path
	}
	return filepath.Join(d.cfg.Root, node, path)
}

// directoryMode is that of the directories that a kubelet creates.
const directoryMode = 0o750

// before creates the directories that a kubelet creates before a call: the staging directory, and that around the target path.
func (d *Driver) before(request proto.Message) error {
	if d.cfg.Root == "" {
		return nil
	}
	switch r := request.(type) {
	case *spec.NodeStageVolumeRequest:
		return os.MkdirAll(r.GetStagingTargetPath(), directoryMode)
	case *spec.NodePublishVolumeRequest:
		return os.MkdirAll(filepath.Dir(r.GetTargetPath()), directoryMode)
	}
	return nil
}

// after removes the staging directory, which must be empty, after a call that succeeded. The driver removes the target path.
func (d *Driver) after(request proto.Message) error {
	if r, ok := request.(*spec.NodeUnstageVolumeRequest); ok && d.cfg.Root != "" {
		if err := os.Remove(r.GetStagingTargetPath()); err != nil && !os.IsNotExist(err) {
			return err
		}
	}
	return nil
}
