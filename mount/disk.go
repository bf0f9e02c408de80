package mount

import (
	"errors"
	"io/fs"
	"strings"

	"github.com/tidwall/btree"
)

// Disk is what a node keeps below the directory of its kubelet: directories, files, symbolic links, and what is mounted where. It
// outlives the kubelet; a reboot takes the mounts off. Paths are absolute.
type Disk struct {
	entries btree.Map[string, *diskEntry]
	broken  map[string]error
	mounts  int
	changed func()
}

type diskEntry struct {
	kind   entryKind
	data   Metadata
	target string
	mount  *Mount
	locked bool
}

type entryKind int

const (
	directory entryKind = iota
	file
	symlink
)

// Mount is something mounted on a node.
type Mount struct {
	// Path is where, Source what it was made from: the path of the device mount, or "" for a device mount itself.
	Path, Source string
	// Plugin and Volume say what it is: the CSI driver or in-tree plugin, and the ID of the volume there.
	Plugin, Volume string
	// Pod is the uid of the pod it is for, "" for a device mount.
	Pod string
	// Block is true for a device, false for a file system.
	Block bool
	// Group owns the files, zero if nobody said so (MNT-330).
	Group int64
}

// Metadata is what a file vol_data.json says.
type Metadata struct {
	SpecName, Driver, Handle string
	Ephemeral                bool
}

// What Remove refuses with.
var (
	errBusy     = errors.New("device or resource busy")
	errNotEmpty = errors.New("directory not empty")
)

// newDisk makes a disk with nothing but the root.
func newDisk() *Disk { return &Disk{broken: map[string]error{}} }

// Mounts lists what is mounted, in the order of paths.
func (d *Disk) Mounts() []Mount { return d.mountsUnder("") }

// Paths lists everything there is, in order: directories with a slash at their end, links with their target.
func (d *Disk) Paths() []string {
	var lines []string
	d.entries.Scan(func(path string, e *diskEntry) bool {
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

// Exists reports whether there is anything at the path.
func (d *Disk) Exists(path string) bool {
	_, ok := d.entries.Get(path)
	return ok
}

// Mounted reports whether something is mounted at the path.
func (d *Disk) Mounted(path string) bool {
	e, ok := d.entries.Get(path)
	return ok && e.mount != nil
}

// Read is the content of a vol_data.json.
func (d *Disk) Read(path string) (Metadata, error) {
	e, ok := d.entries.Get(path)
	if !ok || e.kind != file {
		return Metadata{}, &fs.PathError{Op: "open", Path: path, Err: fs.ErrNotExist}
	}
	return e.data, d.broken[path]
}

// Locked reports whether a loop device holds the device file at the path (MNT-227).
func (d *Disk) Locked(path string) bool {
	e, ok := d.entries.Get(path)
	return ok && e.locked
}

// children lists the names in a directory, in order.
func (d *Disk) children(dir string) []string {
	var names []string
	prefix := dir + "/"
	d.entries.Ascend(prefix, func(p string, _ *diskEntry) bool {
		if !strings.HasPrefix(p, prefix) {
			return false
		}
		if rest := p[len(prefix):]; !strings.Contains(rest, "/") {
			names = append(names, rest)
		}
		return true
	})
	return names
}

// walk visits a directory and everything in it, in the order of paths.
func (d *Disk) walk(dir string, visit func(path string, e *diskEntry)) {
	if e, ok := d.entries.Get(dir); ok {
		visit(dir, e)
	}
	prefix := dir + "/"
	d.entries.Ascend(prefix, func(p string, e *diskEntry) bool {
		if !strings.HasPrefix(p, prefix) {
			return false
		}
		visit(p, e)
		return true
	})
}

// mountsUnder lists the mounts at a directory and below it; "" is everywhere.
func (d *Disk) mountsUnder(dir string) []Mount {
	if d.mounts == 0 {
		return nil
	}
	var mounts []Mount
	d.walk(dir, func(_ string, e *diskEntry) {
		if e.mount != nil {
			mounts = append(mounts, *e.mount)
		}
	})
	return mounts
}

// isDirectory reports whether the path is a directory.
func (d *Disk) isDirectory(path string) bool {
	e, ok := d.entries.Get(path)
	return ok && e.kind == directory
}
