package disk

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
)

// Errors of Remove.
var (
	ErrBusy     = errors.New("device or resource busy")
	ErrNotEmpty = errors.New("directory not empty")
)

// Break makes every change at the path fail with err, like a failing disk. Nil repairs the path.
func (d *Disk) Break(path string, err error) {
	if err == nil {
		delete(d.broken, path)
		return
	}
	d.broken[path] = &fs.PathError{Op: "access", Path: path, Err: err}
}

// Remove deletes one entry, like rmdir and unlink. It fails for a directory that is not empty and for a mount point.
func (d *Disk) Remove(path string) error {
	if err := d.broken[path]; err != nil {
		return err
	}
	e := d.entries[path]
	switch {
	case e == nil:
		return &fs.PathError{Op: "remove", Path: path, Err: fs.ErrNotExist}
	case e.mount != nil:
		return &fs.PathError{Op: "remove", Path: path, Err: ErrBusy}
	case e.first != nil:
		return &fs.PathError{Op: "remove", Path: path, Err: ErrNotEmpty}
	}
	d.drop(e)
	d.notify()
	return nil
}

// RemoveIfExists is like Remove, but a path that does not exist is no error.
func (d *Disk) RemoveIfExists(path string) error {
	if d.entries[path] == nil && d.broken[path] == nil {
		return nil
	}
	if err := d.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// RemoveAll deletes a directory with its contents. With a mount at the path or below it, it fails and deletes nothing.
func (d *Disk) RemoveAll(path string) error {
	if m := d.FirstUnder(path); m != nil {
		return fmt.Errorf("%s is on another filesystem", m.Path)
	}
	e := d.entries[path]
	if e == nil {
		return nil
	}
	if e.first == nil {
		return d.Remove(path)
	}
	var gone []string
	e.walk(func(e *entry) { gone = append(gone, e.path) })
	slices.Sort(gone)
	for i := len(gone) - 1; i >= 0; i-- {
		if err := d.Remove(gone[i]); err != nil {
			return err
		}
	}
	return nil
}

// Mkdir creates a directory and its parents.
func (d *Disk) Mkdir(dir string) error {
	if err := d.broken[dir]; err != nil {
		return err
	}
	d.mkdir(dir)
	d.notify()
	return nil
}

// mkdir returns the entry of a directory, which exists then.
func (d *Disk) mkdir(dir string) *entry {
	if e := d.entries[dir]; e != nil {
		return e
	}
	if dir == "/" || dir == "." {
		return &d.root
	}
	above := d.above(dir)
	if above == nil {
		above = d.mkdir(Parent(dir))
	}
	return d.add(dir, above)
}

// above returns the entry of the directory of a path, without work on the path itself: what comes before its last slash is the directory if
// there is an entry of that name, and its name is clean. Otherwise above returns nil, and Parent computes the directory.
func (d *Disk) above(path string) *entry {
	if at := strings.LastIndexByte(path, '/'); at > 0 {
		if e := d.entries[path[:at]]; e != nil && e.clean {
			return e
		}
	}
	return nil
}

// create returns the entry at a path, after it has created its directory, and the entry itself unless it exists.
func (d *Disk) create(path string, kind entryKind) (*entry, error) {
	parent := d.above(path)
	if parent == nil {
		dir := Parent(path)
		if err := d.broken[dir]; err != nil {
			return nil, err
		}
		parent = d.mkdir(dir)
	} else if err := d.broken[parent.path]; err != nil {
		return nil, err
	}
	d.notify()
	e := d.entries[path]
	if e == nil {
		e = d.add(path, parent)
	}
	e.kind = kind
	return e, nil
}

// WriteMetadata creates or replaces a metadata file, and creates its directory.
func (d *Disk) WriteMetadata(name string, data Metadata) error {
	if err := d.broken[name]; err != nil {
		return err
	}
	e, err := d.create(name, file)
	if err != nil {
		return err
	}
	e.data = &data
	d.notify()
	return nil
}

// Link creates or replaces a symbolic link.
func (d *Disk) Link(name, target string) error {
	if err := d.broken[name]; err != nil {
		return err
	}
	e, err := d.create(name, symlink)
	if err != nil {
		return err
	}
	e.target = &target
	d.notify()
	return nil
}

// Mount mounts m at m.Path, on top of an earlier mount if there is one. A missing mount point is created: a file for a device, otherwise a
// directory.
func (d *Disk) Mount(m Mount) error {
	if err := d.broken[m.Path]; err != nil {
		return err
	}
	e := d.entries[m.Path]
	if e == nil {
		kind := directory
		if m.Block {
			kind = file
		}
		var err error
		if e, err = d.create(m.Path, kind); err != nil {
			return err
		}
	}
	if e.mount == nil {
		e.at = int32(len(d.mounted))
		d.mounted = append(d.mounted, e)
	}
	e.mount = &m
	d.notify()
	return nil
}

// Unmount removes the mount at the path, if there is one. The mount point stays.
func (d *Disk) Unmount(path string) error {
	if err := d.broken[path]; err != nil {
		return err
	}
	if e := d.entries[path]; e != nil && e.mount != nil {
		last := len(d.mounted) - 1
		d.mounted[e.at], d.mounted[last].at = d.mounted[last], e.at
		d.mounted = d.mounted[:last]
		e.mount, e.locked = nil, false
		d.notify()
	}
	return nil
}

// SetGroup changes the group of the files of a volume in all its mounts.
func (d *Disk) SetGroup(plugin, volume string, group int64) {
	for _, e := range d.mounted {
		if e.mount.Plugin == plugin && e.mount.Volume == volume {
			e.mount.Group = group
		}
	}
	d.notify()
}

// Lock attaches (true) or detaches (false) the loop device that holds a mounted device file.
func (d *Disk) Lock(path string, locked bool) {
	if e := d.entries[path]; e != nil && e.mount != nil {
		e.locked = locked
	}
}

// Reboot removes all mounts.
func (d *Disk) Reboot() {
	for _, e := range d.mounted {
		e.mount, e.locked = nil, false
	}
	d.mounted = nil
	d.notify()
}

func (d *Disk) notify() {
	if d.OnChange != nil {
		d.OnChange()
	}
}
