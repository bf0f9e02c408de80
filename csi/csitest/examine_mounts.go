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
	seen, options := map[Mount]int{}, map[Mount]string{}
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
		options[at] = m.Options
		w, ok := want[at]
		volume := orElse(owner[at], user)
		switch {
		case e.tainted[e.volume(volume)]:
		case !ok && e.before[mountKey(m)]:
		case !ok:
			e.mountFlaw(volume, orElse(asked, m.Path), "%s on node %s is still mounted, and the replies say that it is not", m.Path, m.Node)
		case seen[exact] == 2:
			e.mountFlaw(volume, m.Path, "%s on node %s "+mountedTwice, m.Path, m.Node)
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
		if seen[at] > 0 && !want[at].optional && !e.tainted[owner[at]] {
			e.mountOptions(at, owner[at], options)
		}
	}
}

// mountOptions compares the options of a published volume with the request. A driver may use them for the mount at staging_target_path.
func (e *examiner) mountOptions(at Mount, volume string, options map[Mount]string) {
	r := e.used[at]
	have := append(strings.Split(options[at], ","), strings.Split(options[Mount{Node: at.Node, Path: r.GetStagingTargetPath()}], ",")...)
	known := slices.ContainsFunc(have, func(option string) bool { return option != "" })
	if r == nil || r.GetVolumeCapability().GetMount() == nil || !known {
		return
	}
	method := "NodePublishVolume"
	wrong := func(required, format string, args ...any) {
		e.mountFlaw(volume, at.Path, format, args...)
		f := &e.flaws[len(e.flaws)-1]
		f.method, f.section, f.required = method, method, required
	}
	group := r.GetVolumeCapability().GetMount().GetVolumeMountGroup()
	if e.caps.MountGroup && group != "" && !slices.ContainsFunc(have, func(option string) bool { return strings.HasSuffix(option, "="+group) }) {
		wrong("a plugin with VOLUME_MOUNT_GROUP MUST pass volume_mount_group as the group to the system call that mounts",
			"%s on node %s has no option with group %s, and volume_mount_group is %s", at.Path, at.Node, group, group)
		return
	}
	if e.caps.Stage {
		method = "NodeStageVolume"
	}
	for _, flag := range r.GetVolumeCapability().GetMount().GetMountFlags() {
		if !slices.Contains(have, flag) {
			wrong("the plugin MUST ensure that the volume can be used as volume_capability describes it: its mount_flags are the options of the mount",
				"%s on node %s is mounted without the option %s of mount_flags", at.Path, at.Node, flag)
			return
		}
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
