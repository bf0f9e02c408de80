package mount

import (
	"fmt"
	"path"
)

// Mount is one mounted file system or device. Mounts survive the kubelet, but not a reboot of the node.
type Mount struct {
	// Path is the absolute path of the mount point.
	Path string
	// Plugin is the name of the CSI driver or in-tree plugin.
	Plugin string
	// Volume is the ID of the volume in that plugin's backend.
	Volume string
	// Pod is the uid of the pod that the mount belongs to. "" is a mount for all pods of the node.
	Pod string
}

// Mounts lists what is mounted below the directory of the kubelet, /var/lib/kubelet, sorted by path.
func (n *Node) Mounts() []Mount {
	var mounts []Mount
	for _, m := range n.disk.Mounts() {
		mounts = append(mounts, Mount{Path: m.Path, Plugin: m.Plugin, Volume: m.Volume, Pod: m.Pod})
	}
	return mounts
}

// BreakDisk makes every change of the disk at that path fail with err, such as a mount or the removal of a directory. A nil err repairs the
// path. It returns an error for a path that is not absolute and clean: the kubelet uses no other.
func (n *Node) BreakDisk(file string, err error) error {
	if !path.IsAbs(file) || path.Clean(file) != file {
		return fmt.Errorf("break the disk of node %s at %q: the path is not absolute and clean; want one like /var/lib/kubelet/pods", n.name, file)
	}
	n.disk.Break(file, err)
	return nil
}
