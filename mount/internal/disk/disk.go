package disk

import (
	"io/fs"
	"strings"

	"github.com/tidwall/btree"
)

// Disk is the file tree and the mount table of one node. It outlives the kubelet. A reboot removes the mounts and keeps the files.
// All paths are absolute.
type Disk struct {
	entries btree.Map[string, *entry]
	broken  map[string]error
	mounts  int // number of entries with a mount

	// OnChange is called after every change of the tree or of the mounts. Nil means no call.
	OnChange func()
}

type entry struct {
	kind   entryKind
	data   *Metadata // of a file, unless it is a device
	target string    // of a link
	mount  *Mount
	locked bool // only a mounted device
}

// plainDirectory is the entry of every directory at which nothing was ever mounted. It does not change.
var plainDirectory = &entry{kind: directory}

type entryKind int

const (
	directory entryKind = iota
	file
	symlink
)

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
	// Group owns the files; zero means that no group was set (MNT-330: the fsGroup of the pod).
	Group int64
	// Label is the SELinux label of the mount option context, "" for none.
	Label string
}

// Metadata is the content of a file vol_data.json.
type Metadata struct {
	SpecName, Driver, Handle string
	Ephemeral                bool
	Label                    string // the SELinux label that the volume is mounted with
}

// New returns an empty disk.
func New() *Disk { return &Disk{broken: map[string]error{}} }

// Mounts lists all mounts, ordered by path.
func (d *Disk) Mounts() []Mount { return d.MountsUnder("") }

// Paths lists all entries in order. Directories end with a slash; links show their target.
func (d *Disk) Paths() []string {
	var lines []string
	d.entries.Scan(func(path string, e *entry) bool {
		switch e.kind {
		case directory:
			path += "/"
		case symlink:
			path += " -> " + e.target
		}
		lines = append(lines, path)
		return true
	})
	return lines
}

// Exists reports whether the path exists.
func (d *Disk) Exists(path string) bool {
	_, ok := d.entries.Get(path)
	return ok
}

// Mounted reports whether the path is a mount point.
func (d *Disk) Mounted(path string) bool {
	e, ok := d.entries.Get(path)
	return ok && e.mount != nil
}

// Err returns the error that every change at the path fails with, nil if the path works.
func (d *Disk) Err(path string) error { return d.broken[path] }

// ReadMetadata returns the content of a metadata file.
func (d *Disk) ReadMetadata(path string) (Metadata, error) {
	e, ok := d.entries.Get(path)
	switch {
	case !ok || e.kind != file:
		return Metadata{}, &fs.PathError{Op: "open", Path: path, Err: fs.ErrNotExist}
	case e.data == nil:
		return Metadata{}, d.broken[path]
	}
	return *e.data, d.broken[path]
}

// Locked reports whether a loop device holds the device file at the path (MNT-227: mapping a block volume locks it).
func (d *Disk) Locked(path string) bool {
	e, ok := d.entries.Get(path)
	return ok && e.locked
}

// Children lists the names in a directory, in order.
func (d *Disk) Children(dir string) []string {
	var names []string
	d.walk(dir, func(p string, _ *entry) bool {
		if len(p) == len(dir) {
			return true
		}
		if rest := p[len(dir)+1:]; !strings.Contains(rest, "/") {
			if names == nil {
				names = make([]string, 0, fewNames)
			}
			names = append(names, rest)
		}
		return true
	})
	return names
}

// fewNames is how many names a list has room for at first.
const fewNames = 8

// empty reports whether there is nothing in a directory.
func (d *Disk) empty(dir string) bool {
	empty := true
	d.walk(dir, func(path string, _ *entry) bool {
		empty = len(path) == len(dir)
		return empty
	})
	return empty
}

// walk visits a directory and everything below it, ordered by path, until visit returns false.
func (d *Disk) walk(dir string, visit func(path string, e *entry) bool) {
	d.entries.Ascend(dir, func(path string, e *entry) bool {
		// A path that continues with a smaller character than the slash comes between the directory and what is below it.
		switch rest, ok := strings.CutPrefix(path, dir); {
		case !ok || rest != "" && rest[0] > '/':
			return false
		case rest == "" || rest[0] == '/':
			return visit(path, e)
		}
		return true
	})
}

// MountedUnder reports whether anything is mounted at a directory or below it.
func (d *Disk) MountedUnder(dir string) bool { return d.FirstUnder(dir) != nil }

// FirstUnder returns the first mount at a directory or below it, nil for none. Only this package may change it.
func (d *Disk) FirstUnder(dir string) (first *Mount) {
	if d.mounts > 0 {
		d.walk(dir, func(_ string, e *entry) bool {
			first = e.mount
			return first == nil
		})
	}
	return first
}

// MountsUnder lists the mounts at a directory and below it; "" means the whole disk.
func (d *Disk) MountsUnder(dir string) []Mount {
	if d.mounts == 0 {
		return nil
	}
	var mounts []Mount
	d.walk(dir, func(_ string, e *entry) bool {
		if e.mount != nil {
			mounts = append(mounts, *e.mount)
		}
		return true
	})
	return mounts
}
