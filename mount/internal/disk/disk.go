package disk

import (
	"io/fs"
	"maps"
	"slices"
	"strings"
)

// Disk is the file tree and the mount table of one node. It outlives the kubelet. A reboot removes the mounts and keeps the files.
// All paths are absolute.
type Disk struct {
	entries map[string]*entry // by path
	root    entry             // above all entries
	mounted []*entry
	// unused is memory of entries; so is removed, whose next leads to the others.
	unused  []entry
	removed *entry
	broken  map[string]error

	// OnChange is called after every change of the tree or of the mounts. Nil means no call.
	OnChange func()
}

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
func New() *Disk {
	return &Disk{entries: map[string]*entry{}, root: entry{clean: true}, broken: map[string]error{}}
}

// Mounts lists all mounts, ordered by path.
func (d *Disk) Mounts() []Mount { return d.MountsUnder("") }

// Paths lists all entries in order. Directories end with a slash; links show their target.
func (d *Disk) Paths() []string {
	var lines []string
	for _, path := range slices.Sorted(maps.Keys(d.entries)) {
		switch e := d.entries[path]; e.kind {
		case directory:
			path += "/"
		case symlink:
			path += " -> " + *e.target
		}
		lines = append(lines, path)
	}
	return lines
}

// Exists reports whether the path exists.
func (d *Disk) Exists(path string) bool {
	return d.entries[path] != nil
}

// Mounted reports whether the path is a mount point.
func (d *Disk) Mounted(path string) bool {
	e := d.entries[path]
	return e != nil && e.mount != nil
}

// Err returns the error that every change at the path fails with, nil if the path works.
func (d *Disk) Err(path string) error { return d.broken[path] }

// ReadMetadata returns the content of a metadata file.
func (d *Disk) ReadMetadata(path string) (Metadata, error) {
	e := d.entries[path]
	switch {
	case e == nil || e.kind != file:
		return Metadata{}, &fs.PathError{Op: "open", Path: path, Err: fs.ErrNotExist}
	case e.data == nil:
		return Metadata{}, d.broken[path]
	}
	return *e.data, d.broken[path]
}

// Locked reports whether a loop device holds the device file at the path (MNT-227: mapping a block volume locks it).
func (d *Disk) Locked(path string) bool {
	e := d.entries[path]
	return e != nil && e.locked
}

// Children lists the names in a directory, in order.
func (d *Disk) Children(dir string) []string {
	e := d.entries[dir]
	if e == nil || e.first == nil {
		return nil
	}
	n := 0
	for below := e.first; below != nil; below = below.next {
		n++
	}
	names := make([]string, 0, n)
	for below := e.first; below != nil; below = below.next {
		names = append(names, below.path[len(dir)+1:])
	}
	slices.Sort(names)
	return names
}

// MountedUnder reports whether anything is mounted at a directory or below it.
func (d *Disk) MountedUnder(dir string) bool { return d.FirstUnder(dir) != nil }

// FirstUnder returns the first mount at a directory or below it, nil for none. Only this package may change it.
func (d *Disk) FirstUnder(dir string) (first *Mount) {
	if len(d.mounted) > 0 {
		d.find(dir).walk(func(e *entry) {
			if e.mount != nil && (first == nil || e.path < first.Path) {
				first = e.mount
			}
		})
	}
	return first
}

// MountsUnder lists the mounts at a directory and below it, ordered by path; "" means the whole disk.
func (d *Disk) MountsUnder(dir string) []Mount {
	if len(d.mounted) == 0 {
		return nil
	}
	var mounts []Mount
	d.find(dir).walk(func(e *entry) {
		if e.mount != nil {
			mounts = append(mounts, *e.mount)
		}
	})
	slices.SortFunc(mounts, func(a, b Mount) int { return strings.Compare(a.Path, b.Path) })
	return mounts
}

// MountsFrom lists the paths of the mounts with a source, in order.
func (d *Disk) MountsFrom(source string) []string {
	var paths []string
	for _, e := range d.mounted {
		if e.mount.Source == source {
			paths = append(paths, e.path)
		}
	}
	slices.Sort(paths)
	return paths
}
