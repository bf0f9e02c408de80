package disk

import "strings"

// entry is a directory, a file or a link. What is in a directory has no order; lists are sorted.
type entry struct {
	path   string
	parent *entry
	// first is the newest entry of a directory. prev and next are other entries of the same parent.
	first, prev, next *entry
	data              *Metadata // of a file, unless it is a device
	target            *string   // of a link
	mount             *Mount
	at                int32 // position in Disk.mounted, if it is mounted
	kind              entryKind
	locked            bool // only a mounted device
	clean             bool // the path is clean, see path.Clean
}

type entryKind uint8

const (
	directory entryKind = iota
	file
	symlink
)

// add adds an entry.
func (d *Disk) add(path string, parent *entry) *entry {
	e := d.removed
	if e != nil {
		d.removed, e.next = e.next, nil
	} else {
		if len(d.unused) == 0 {
			d.unused = make([]entry, 16)
		}
		e, d.unused = &d.unused[0], d.unused[1:]
	}
	e.path, e.parent, e.next = path, parent, parent.first
	if e.next != nil {
		e.next.prev = e
	}
	parent.first = e
	last, below := strings.CutPrefix(path, parent.path)
	e.clean = parent.clean && below && isElement(last)
	d.entries[path] = e
	return e
}

// isElement reports whether the end of a path is a slash and one name, which path.Clean keeps.
func isElement(end string) bool {
	return len(end) > 1 && end[0] == '/' && end != "/." && end != "/.." && strings.IndexByte(end[1:], '/') < 0
}

// drop removes an entry with nothing in it.
func (d *Disk) drop(e *entry) {
	delete(d.entries, e.path)
	if e.prev != nil {
		e.prev.next = e.next
	} else {
		e.parent.first = e.next
	}
	if e.next != nil {
		e.next.prev = e.prev
	}
	*e = entry{next: d.removed}
	d.removed = e
}

// find returns the entry at a path, nil for none; "" is the whole disk.
func (d *Disk) find(path string) *entry {
	if path == "" {
		return &d.root
	}
	return d.entries[path]
}

// walk visits an entry and everything below it, in no order.
func (e *entry) walk(visit func(e *entry)) {
	if e == nil {
		return
	}
	visit(e)
	for below := e.first; below != nil; below = below.next {
		below.walk(visit)
	}
}
