package mount

import "github.com/volsim/volsim/mount/internal/disk"

// Disk gives access to what a node keeps below the directory of its kubelet. It survives the kubelet; a reboot removes only the mounts.
type Disk struct{ disk *disk.Disk }

// Mount is one mounted file system or device.
type Mount struct {
	// Path is the mount point. Source is the path it was mounted from: the device mount, or "" for a device mount itself.
	Path, Source string
	// Plugin is the CSI driver or in-tree plugin, Volume the ID of the volume there.
	Plugin, Volume string
	// Pod is the uid of the pod that the mount belongs to, "" for a device mount.
	Pod string
	// Block is true for a device, false for a file system.
	Block bool
	// Group owns the files; zero means that no group was set.
	Group int64
}

// Mounts lists all mounts, ordered by path.
func (d Disk) Mounts() []Mount {
	var mounts []Mount
	for _, m := range d.disk.Mounts() {
		mounts = append(mounts, Mount(m))
	}
	return mounts
}

// Paths lists all entries in order. Directories end with a slash; links show their target.
func (d Disk) Paths() []string { return d.disk.Paths() }

// Exists reports whether the path exists. Paths are absolute.
func (d Disk) Exists(path string) bool { return d.disk.Exists(path) }

// Mounted reports whether the path is a mount point.
func (d Disk) Mounted(path string) bool { return d.disk.Mounted(path) }

// Locked reports whether a loop device holds the device file at the path.
func (d Disk) Locked(path string) bool { return d.disk.Locked(path) }

// Break makes every change at the path fail with err, like a failing disk. Nil repairs the path.
func (d Disk) Break(path string, err error) { d.disk.Break(path, err) }
