package mount

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
)

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

// setGroup has the files of a volume belong to a group, wherever it is mounted.
func (d *Disk) setGroup(plugin, volume string, group int64) {
	d.walkMounts(func(m *Mount) {
		if m.Plugin == plugin && m.Volume == volume {
			m.Group = group
		}
	})
	d.touch()
}

// walkMounts visits what is mounted, in the order of paths.
func (d *Disk) walkMounts(visit func(*Mount)) {
	if d.mounts == 0 {
		return
	}
	d.entries.Scan(func(_ string, e *diskEntry) bool {
		if e.mount != nil {
			visit(e.mount)
		}
		return true
	})
}

// lock takes or releases the loop device on a mounted device file.
func (d *Disk) lock(path string, locked bool) {
	if e, ok := d.entries.Get(path); ok {
		e.locked = locked && e.mount != nil
	}
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

func (d *Disk) touch() {
	if d.changed != nil {
		d.changed()
	}
}
