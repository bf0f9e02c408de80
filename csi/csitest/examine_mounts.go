package csitest

import (
	"maps"
	"slices"
	"strings"

	spec "github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/protobuf/proto"
)

// listMounts compares the mounts of the nodes with the reference.
func (e *examiner) listMounts(in *inventory) {
	type expected struct{ readOnly, optional bool }
	want, owner := map[Mount]expected{}, map[Mount]string{}
	for _, v := range e.Volumes() {
		for _, use := range v.Staged {
			at := Mount{Node: use.Node, Path: use.Path}
			want[at], owner[at] = expected{optional: true}, v.ID
		}
		for _, use := range v.Published {
			at := Mount{Node: use.Node, Path: use.Path}
			want[at], owner[at] = expected{readOnly: use.ReadOnly}, v.ID
		}
	}
	for at, volume := range e.inline {
		want[at], owner[at] = expected{}, volume
	}
	maps.DeleteFunc(e.mounted, func(m Mount, _ bool) bool { _, ok := want[m]; return !ok })
	seen := map[Mount]int{}
	for _, m := range in.Mounts {
		asked, user := e.pathOwner(m)
		at := Mount{Node: m.Node, Path: m.Path}
		if below := (Mount{Node: m.Node, Path: asked}); want[below].optional {
			at = below // a driver may mount at a directory below staging_target_path
		}
		exact := Mount{Node: m.Node, Path: m.Path}
		if seen[exact]++; exact != at {
			seen[at] = max(seen[at], 1)
		}
		w, ok := want[at]
		volume := orElse(owner[at], user)
		switch {
		case e.tainted[e.volume(volume)]:
		case !ok && e.before[mountKey(m)]:
		case !ok:
			e.mountFlaw(volume, orElse(asked, m.Path), "%s on node %s is still mounted, and the replies say that it is not", m.Path, m.Node)
		case seen[exact] == 2:
			e.mountFlaw(volume, m.Path, "%s on node %s is mounted twice", m.Path, m.Node)
		case w.readOnly && !m.ReadOnly:
			e.mountFlaw(volume, m.Path, "%s on node %s can be written, and NodePublishVolume had readonly", m.Path, m.Node)
		}
	}
	for _, at := range slices.SortedFunc(maps.Keys(want), func(a, b Mount) int { return strings.Compare(a.Node+" "+a.Path, b.Node+" "+b.Path) }) {
		if seen[at] == 0 && !want[at].optional && !e.tainted[owner[at]] {
			e.mountFlaw(owner[at], "", "%s on node %s is not mounted, and NodePublishVolume succeeded", at.Path, at.Node)
		}
		if seen[at] == 0 && e.mounted[at] && !e.tainted[owner[at]] {
			e.mountFlaw(owner[at], "", "%s on node %s is not mounted any more, and NodeUnstageVolume was not called", at.Path, at.Node)
		}
		e.mounted[at] = want[at].optional && seen[at] > 0
	}
}

// mountKey is the key of a mount in maps that have volumes too.
func mountKey(m Mount) string { return "mount " + m.Node + " " + m.Path }

// pathOwner returns the last path of a request that is the path of a mount or a directory above it, and the volume of that request.
func (e *examiner) pathOwner(m Mount) (asked, volume string) {
	for _, s := range e.steps[:e.at] {
		if s.Call == nil || s.Call.Node != m.Node {
			continue
		}
		if p := path(s.Call.Request); p == m.Path || p != "" && strings.HasPrefix(m.Path, p+"/") {
			asked, volume = p, s.Call.Volume
		}
	}
	return asked, volume
}

// path returns the path that a request to a node mounts or unmounts, "" if it does neither.
func path(request proto.Message) string {
	switch r := request.(type) {
	case *spec.NodeStageVolumeRequest:
		return r.GetStagingTargetPath()
	case *spec.NodeUnstageVolumeRequest:
		return r.GetStagingTargetPath()
	case *spec.NodePublishVolumeRequest:
		return r.GetTargetPath()
	case *spec.NodeUnpublishVolumeRequest:
		return r.GetTargetPath()
	}
	return ""
}
