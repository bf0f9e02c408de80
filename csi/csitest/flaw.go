package csitest

import (
	"fmt"
	"slices"

	spec "github.com/container-storage-interface/spec/lib/go/csi"

	"github.com/volsim/volsim/csi"
	"github.com/volsim/volsim/storage"
)

// flaw is one thing that the driver did wrong in one run.
type flaw struct {
	kind     flawKind
	method   string
	volume   string       // volume_id or name
	snapshot string       // in the reference; "" if it is not about a snapshot
	detail   string       // what the driver did
	code     storage.Code // that is required; "" if another one is meant
	steps    []step       // up to the step that shows it
	path     string       // the mount that is wrong, "" if it is not about a mount
	overlap  bool         // the call ran at the same time as another one of its volume
	about    string       // what tells it from other flaws of its kind and method, "" for nothing
	section  string       // of the specification, for stuck; "" if only the error is known
	required string       // what the section requires
	excused  bool         // the driver may do that
	crowded  string       // with excused: the volumes of earlier runs that make it so, "" for none
	known    string       // with excused: the fault of Kubernetes that it is, "" for none
}

// flawKind says which requirement was broken.
type flawKind string

// The kinds of flaws.
const (
	again          flawKind = "repeat-fails"      // the repetition of a successful call fails
	undone         flawKind = "undo-fails"        // undoing what is not there fails
	accepts        flawKind = "accepts"           // a call succeeds that must fail
	differs        flawKind = "reply-differs"     // the repetition of a call gets another answer
	duplicate      flawKind = "second-volume"     // one name has two volumes
	secondSnapshot flawKind = "second-snapshot"   // one name has two snapshots, or two group snapshots
	invalid        flawKind = "invalid-reply"     // a reply lacks a required field, or has a wrong value
	inventories    flawKind = "inventory-differs" // the driver has something else than its replies say
	mounts         flawKind = "mounts-differ"     // the nodes have other mounts than the replies say
	data           flawKind = "data-lost"         // what was written cannot be read
	size           flawKind = "size-differs"      // the volume or its file system does not have the reported size
	stuck          flawKind = "stuck"             // an error that does not go away keeps the story from its end
	broken         flawKind = "no-reply"          // the driver panics, hangs, or answers garbage
	wrongCode      flawKind = "wrong-code"        // an error has another code than the specification requires
	secret         flawKind = "secret-shown"      // a reply or an error contains a secret
)

// same reports whether two flaws are one mistake, and so one finding.
func (f flaw) same(g flaw) bool {
	return f.kind == g.kind && f.method == g.method && f.about == g.about
}

// withoutExcused returns the flaws that are mistakes of the driver. Those of Kubernetes go to the recording.
func withoutExcused(rec *recording, flaws []flaw) []flaw {
	return slices.DeleteFunc(flaws, func(f flaw) bool {
		if f.known != "" && !slices.Contains(rec.known, f.known) {
			rec.known = append(rec.known, f.known)
		}
		rec.excused, rec.crowded = rec.excused || f.excused, orElse(rec.crowded, f.crowded)
		return f.excused
	})
}

// flaw records a flaw of the step that is being examined.
func (e *examiner) flaw(kind flawKind, c *csi.Call, volume string, format string, args ...any) {
	f := flaw{kind: kind, volume: volume, detail: fmt.Sprintf(format, args...), steps: e.steps[:e.at+1]}
	if c != nil {
		f.method = c.Method
		f.overlap = slices.ContainsFunc(c.Replies, func(r csi.Reply) bool { return r.Met != 0 })
	}
	if c == nil {
		f.method, f.overlap = culprit(f)
	}
	e.tainted[e.volume(volume)] = true
	e.flaws = append(e.flaws, f)
}

// answersWrong records that an error has another code than the table of errors requires.
func (e *examiner) answersWrong(c *csi.Call, want storage.Code, format string, args ...any) {
	e.flaw(wrongCode, c, c.Volume, format, args...)
	f := &e.flaws[len(e.flaws)-1]
	f.code, f.about = want, string(want)
}

// wrongReply records that a reply has a wrong field. required is what the section about the RPC says about that field.
func (e *examiner) wrongReply(c *csi.Call, volume, required, format string, args ...any) {
	e.flaw(invalid, c, volume, format, args...)
	f := &e.flaws[len(e.flaws)-1]
	f.section, f.required, f.about = c.Method, required, required
}

// mountFlaw records that a mount is wrong.
func (e *examiner) mountFlaw(volume, path, format string, args ...any) {
	before := len(e.flaws)
	e.flaw(mounts, nil, volume, format, args...)
	f := &e.flaws[before]
	f.path = path
	f.method, f.overlap = culprit(*f)
}

// fromFlawed reports whether a CreateVolume has a source with a flaw, which the reference may lack. Then nothing is said about the new volume.
func (e *examiner) fromFlawed(c *csi.Call, reply csi.Reply) bool {
	r, ok := c.Request.(*spec.CreateVolumeRequest)
	snapshot, volume := r.GetVolumeContentSource().GetSnapshot().GetSnapshotId(), r.GetVolumeContentSource().GetVolume().GetVolumeId()
	if !ok || (snapshot == "" || !e.tainted[snapshotKey(e.snapshot(snapshot))]) && (volume == "" || !e.tainted[e.volume(volume)]) {
		return false
	}
	e.tainted[c.Volume] = true
	if created, ok := reply.Message.(*spec.CreateVolumeResponse); ok {
		e.ids[created.GetVolume().GetVolumeId()] = c.Volume
	}
	return true
}
