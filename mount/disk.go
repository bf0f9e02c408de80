package mount

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

// BreakDisk makes every change of the disk at that absolute path fail with err, such as a mount or the removal of a directory. A nil err
// repairs the path.
func (n *Node) BreakDisk(path string, err error) { n.disk.Break(path, err) }
