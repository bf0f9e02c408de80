package csitest

import (
	"slices"

	"github.com/volsim/volsim/csi"
	"github.com/volsim/volsim/fake"
)

// access compares data.
func (e *examiner) access(a *access) {
	volume := e.volume(a.Volume)
	v, _ := e.Volume(volume)
	published := slices.ContainsFunc(v.Published, func(u fake.Use) bool { return u.Node == a.Node && u.Path == a.Path })
	if e.tainted[volume] || !published {
		return // without its volume no container runs
	}
	want, written := e.data[volume]
	switch {
	case !a.Write && a.Err == nil && written && a.Data != want && e.copies[volume]:
		e.flaw(data, nil, a.Volume, "a container reads %q at %s on node %s, and the volume should have %q", a.Data, a.Path, a.Node, want)
		e.flaws[len(e.flaws)-1].method = "CreateVolume"
	case a.Err != nil:
		e.flaw(data, nil, a.Volume, "a container cannot use %s on node %s: %v", a.Path, a.Node, a.Err)
	case a.Write:
		e.data[volume] = a.Data
	case written && a.Data != want:
		e.flaw(data, nil, a.Volume, "a container reads %q at %s on node %s, and %q was written", a.Data, a.Path, a.Node, want)
		if f := &e.flaws[len(e.flaws)-1]; e.writtenElsewhere(volume, a.Data) {
			f.method = "NodePublishVolume"
			if e.caps.Stage {
				f.method = "NodeStageVolume"
			}
			f.section, f.required = f.method, "the volume with the volume_id of the request is mounted, and no other one: publish_context says which device it is"
		}
	}
}

// writtenElsewhere reports whether the data was written to another volume, and never to this one.
func (e *examiner) writtenElsewhere(volume, text string) bool {
	other := false
	for _, s := range e.steps[:e.at] {
		if s.Access == nil || !s.Access.Write || s.Access.Data != text {
			continue
		}
		if e.volume(s.Access.Volume) == volume {
			return false
		}
		other = true
	}
	return other
}

// measure compares the size of a file system with what it was before the volume grew.
func (e *examiner) measure(s *stats) {
	v, exists := e.Volume(e.volume(s.Volume))
	if !exists || e.tainted[v.ID] {
		return
	}
	was, ok := e.measured[v.ID]
	e.measured[v.ID] = measured{total: s.Total, volume: v.Size}
	// Directories of one file system have its size, whatever the volumes have. A file system is some percent smaller than its device.
	if ok && v.Size >= 2*was.volume && s.Total < was.total+was.total/2 && s.Total < v.Size/4*3 {
		e.flaw(size, nil, s.Volume, "the file system of volume %s has %d bytes after the volume grew to %d, and had %d before", s.Volume, s.Total,
			v.Size, was.total)
		if f := &e.flaws[len(e.flaws)-1]; f.method == "CreateVolume" && e.interruptedStage(v.ID) {
			f.method, f.section = "NodeStageVolume", "NodeStageVolume"
			f.required = "a repetition continues where the interrupted call left off: the file system of a copy grows to the size of the volume"
		} else if f.method == "CreateVolume" {
			f.method, f.section = "NodePublishVolume", "CreateVolume"
			if e.caps.Stage {
				f.method = "NodeStageVolume"
			}
			f.required = "a plugin that makes a volume larger than its source resizes the file system of the new volume at or before NodePublishVolume"
		}
	}
}

// interruptedStage reports whether a NodeStageVolume of a volume was interrupted.
func (e *examiner) interruptedStage(volume string) bool {
	return slices.ContainsFunc(e.steps[:e.at], func(s step) bool {
		return s.Call != nil && s.Call.Method == "NodeStageVolume" && e.volume(s.Call.Volume) == volume &&
			slices.ContainsFunc(s.Call.Replies, func(r csi.Reply) bool { return interrupted(s.Call, r) })
	})
}

// measured is the size of a file system and of its volume in the reference at some time, in bytes.
type measured struct{ total, volume int64 }
