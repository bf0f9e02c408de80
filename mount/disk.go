package mount

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
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

// Break makes every change at the path fail with err, as a disk does that goes bad; nil mends it.
func (d *Disk) Break(path string, err error) {
	if err == nil {
		delete(d.broken, path)
		return
	}
	d.broken[path] = &fs.PathError{Op: "access", Path: path, Err: err}
}

// Remove takes away one entry, as rmdir and unlink do: a directory must be empty, and nothing mounted there.
func (d *Disk) Remove(path string) error {
	if err := d.broken[path]; err != nil {
		return err
	}
	e, ok := d.entries.Get(path)
	switch {
	case !ok:
		return &fs.PathError{Op: "remove", Path: path, Err: fs.ErrNotExist}
	case e.mount != nil:
		return &fs.PathError{Op: "remove", Path: path, Err: errBusy}
	case e.kind == directory && len(d.children(path)) > 0:
		return &fs.PathError{Op: "remove", Path: path, Err: errNotEmpty}
	}
	d.entries.Delete(path)
	d.touch()
	return nil
}

// removeIfThere is Remove for what may be gone already.
func (d *Disk) removeIfThere(path string) error {
	if err := d.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// removeAll takes away a directory with all in it, unless something is mounted below.
func (d *Disk) removeAll(path string) error {
	if mounts := d.mountsUnder(path); len(mounts) > 0 {
		return fmt.Errorf("%s is on another filesystem", mounts[0].Path)
	}
	var gone []string
	d.walk(path, func(p string, _ *diskEntry) { gone = append(gone, p) })
	for i := len(gone) - 1; i >= 0; i-- {
		if err := d.Remove(gone[i]); err != nil {
			return err
		}
	}
	return nil
}

// mkdir makes a directory and those above it.
func (d *Disk) mkdir(dir string) error {
	if err := d.broken[dir]; err != nil {
		return err
	}
	for ; dir != "/" && dir != "."; dir = path.Dir(dir) {
		if d.Exists(dir) {
			break
		}
		d.entries.Set(dir, &diskEntry{kind: directory})
	}
	d.touch()
	return nil
}

// write makes a vol_data.json.
func (d *Disk) write(name string, data Metadata) error {
	if err := d.broken[name]; err != nil {
		return err
	}
	if err := d.mkdir(path.Dir(name)); err != nil {
		return err
	}
	d.entries.Set(name, &diskEntry{kind: file, data: data})
	d.touch()
	return nil
}

// link makes a symbolic link, replacing one.
func (d *Disk) link(name, target string) error {
	if err := d.broken[name]; err != nil {
		return err
	}
	if err := d.mkdir(path.Dir(name)); err != nil {
		return err
	}
	d.entries.Set(name, &diskEntry{kind: symlink, target: target})
	d.touch()
	return nil
}

// mount mounts something at m.Path, over what is there. The place is made if it is not: a file for a device.
func (d *Disk) mount(m Mount) error {
	if err := d.broken[m.Path]; err != nil {
		return err
	}
	e, ok := d.entries.Get(m.Path)
	if !ok {
		if err := d.mkdir(path.Dir(m.Path)); err != nil {
			return err
		}
		e = &diskEntry{kind: directory}
		if m.Block {
			e.kind = file
		}
		d.entries.Set(m.Path, e)
	}
	if e.mount == nil {
		d.mounts++
	}
	e.mount = &m
	d.touch()
	return nil
}

// unmount takes off what is mounted at the path, if anything is; the place stays.
func (d *Disk) unmount(path string) error {
	if err := d.broken[path]; err != nil {
		return err
	}
	if e, ok := d.entries.Get(path); ok && e.mount != nil {
		e.mount, e.locked = nil, false
		d.mounts--
		d.touch()
	}
	return nil
}

// lock takes or releases the loop device on a mounted device file.
func (d *Disk) lock(path string, locked bool) {
	if e, ok := d.entries.Get(path); ok {
		e.locked = locked && e.mount != nil
	}
}

// Locked reports whether a loop device holds the device file at the path (MNT-227).
func (d *Disk) Locked(path string) bool {
	e, ok := d.entries.Get(path)
	return ok && e.locked
}

// reboot takes every mount off.
func (d *Disk) reboot() {
	d.entries.Scan(func(_ string, e *diskEntry) bool {
		e.mount, e.locked = nil, false
		return true
	})
	d.mounts = 0
	d.touch()
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

func (d *Disk) touch() {
	if d.changed != nil {
		d.changed()
	}
}
