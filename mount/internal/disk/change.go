package disk

import (
	"errors"
	"fmt"
	"io/fs"
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
	e, ok := d.entries.Get(path)
	switch {
	case !ok:
		return &fs.PathError{Op: "remove", Path: path, Err: fs.ErrNotExist}
	case e.mount != nil:
		return &fs.PathError{Op: "remove", Path: path, Err: ErrBusy}
	case e.kind == directory && !d.empty(path):
		return &fs.PathError{Op: "remove", Path: path, Err: ErrNotEmpty}
	}
	d.entries.Delete(path)
	d.notify()
	return nil
}

// RemoveIfExists is like Remove, but a path that does not exist is no error.
func (d *Disk) RemoveIfExists(path string) error {
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
	var room [fewNames]string
	gone := room[:0]
	d.walk(path, func(p string, _ *entry) bool {
		gone = append(gone, p)
		return true
	})
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
	for ; dir != "/" && dir != "."; dir = Parent(dir) {
		if d.Exists(dir) {
			break
		}
		d.entries.Set(dir, plainDirectory)
	}
	d.notify()
	return nil
}

// WriteMetadata creates or replaces a metadata file, and creates its directory.
func (d *Disk) WriteMetadata(name string, data Metadata) error {
	if err := d.broken[name]; err != nil {
		return err
	}
	if err := d.Mkdir(Parent(name)); err != nil {
		return err
	}
	written := &struct {
		entry
		data Metadata
	}{entry{kind: file}, data}
	written.entry.data = &written.data
	d.entries.Set(name, &written.entry)
	d.notify()
	return nil
}

// Link creates or replaces a symbolic link.
func (d *Disk) Link(name, target string) error {
	if err := d.broken[name]; err != nil {
		return err
	}
	if err := d.Mkdir(Parent(name)); err != nil {
		return err
	}
	d.entries.Set(name, &entry{kind: symlink, target: target})
	d.notify()
	return nil
}

// Mount mounts m at m.Path, on top of an earlier mount if there is one. A missing mount point is created: a file for a device, otherwise a
// directory.
func (d *Disk) Mount(m Mount) error {
	if err := d.broken[m.Path]; err != nil {
		return err
	}
	e, ok := d.entries.Get(m.Path)
	if !ok {
		if err := d.Mkdir(Parent(m.Path)); err != nil {
			return err
		}
	}
	if e == nil || e == plainDirectory {
		// The entry and its first mount are made together.
		point := &struct {
			entry
			mount Mount
		}{mount: m}
		if e == nil && m.Block {
			point.kind = file
		}
		e, point.entry.mount = &point.entry, &point.mount
		d.entries.Set(m.Path, e)
		d.mounts++
	} else {
		if e.mount == nil {
			d.mounts++
		}
		e.mount = new(m)
	}
	d.notify()
	return nil
}

// Unmount removes the mount at the path, if there is one. The mount point stays.
func (d *Disk) Unmount(path string) error {
	if err := d.broken[path]; err != nil {
		return err
	}
	if e, ok := d.entries.Get(path); ok && e.mount != nil {
		e.mount, e.locked = nil, false
		d.mounts--
		d.notify()
	}
	return nil
}

// SetGroup changes the group of the files of a volume in all its mounts.
func (d *Disk) SetGroup(plugin, volume string, group int64) {
	d.EachMount(func(m *Mount) {
		if m.Plugin == plugin && m.Volume == volume {
			m.Group = group
		}
	})
	d.notify()
}

// EachMount visits all mounts, ordered by path. Only this package may change them.
func (d *Disk) EachMount(visit func(*Mount)) {
	left := d.mounts
	if left == 0 {
		return
	}
	d.entries.Scan(func(_ string, e *entry) bool {
		if e.mount != nil {
			visit(e.mount)
			left--
		}
		return left > 0
	})
}

// Lock attaches (true) or detaches (false) the loop device that holds a mounted device file.
func (d *Disk) Lock(path string, locked bool) {
	if e, ok := d.entries.Get(path); ok && e.mount != nil {
		e.locked = locked
	}
}

// Reboot removes all mounts.
func (d *Disk) Reboot() {
	d.entries.Scan(func(_ string, e *entry) bool {
		if e.mount != nil {
			e.mount, e.locked = nil, false
		}
		return true
	})
	d.mounts = 0
	d.notify()
}

func (d *Disk) notify() {
	if d.OnChange != nil {
		d.OnChange()
	}
}
