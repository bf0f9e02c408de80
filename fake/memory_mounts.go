package fake

import (
	"cmp"
	"path"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/internal/core/objects"
	"github.com/volsim/volsim/storage"
)

// Attach attaches the volume to the node.
func (m *model) Attach(req storage.NodeRequest) (map[string]string, error) {
	if err := m.check(storage.Attach, "ID", req.ID, "node", req.Node); err != nil {
		return nil, err
	}
	v, err := m.find(req.ID)
	if err != nil {
		return nil, err
	}
	a := Use{Node: req.Node, Mode: mode(req.Mode), ReadOnly: req.ReadOnly}
	at, found := slices.BinarySearchFunc(v.attached, a, byNodeAndPath)
	if found {
		if v.attached[at] != a && !m.lenient {
			return nil, m.fail(storage.AlreadyExists, "volume %s is attached to node %s with other properties", req.ID, req.Node)
		}
		v.attached[at] = a
		return nil, nil
	}
	for _, other := range v.attached {
		if !m.lenient && !(manyNodes(a.Mode) && manyNodes(other.Mode)) {
			return nil, m.fail(storage.FailedPrecondition, "volume %s is attached to node %s", req.ID, other.Node)
		}
	}
	v.attached = slices.Insert(v.attached, at, a)
	m.store(v)
	m.watchWriters(v)
	return nil, nil
}

// Detach detaches the volume from the node, or from all nodes if the request names none.
func (m *model) Detach(req storage.NodeRequest) error {
	if err := m.check(storage.Detach, "ID", req.ID); err != nil {
		return err
	}
	v, ok := m.volumes[req.ID]
	if !ok {
		return nil
	}
	v.attached = slices.DeleteFunc(v.attached, func(a Use) bool {
		if req.Node != "" && a.Node != req.Node {
			return false
		}
		for _, p := range v.published {
			if p.Node == a.Node {
				m.problem(detachedInUse, v.id, "detached from %s while published to %s", a.Node, p.Pod)
			}
		}
		return true
	})
	return nil
}

// Stage stages the volume on the node.
func (m *model) Stage(req storage.NodeRequest) error {
	if err := m.check(storage.Stage, "ID", req.ID, "node", req.Node, "staging path", req.StagingPath); err != nil {
		return err
	}
	v, err := m.find(req.ID)
	if err != nil {
		return err
	}
	if !m.lenient && m.able[storage.Attach] && !v.isAttached(req.Node) {
		return m.fail(storage.FailedPrecondition, "volume %s is not attached to node %s", req.ID, req.Node)
	}
	s := Use{Node: req.Node, Path: req.StagingPath, Mode: mode(req.Mode), VolumeMode: volumeMode(req.VolumeMode)}
	at, found := slices.BinarySearchFunc(v.staged, s.Node, func(u Use, node string) int { return strings.Compare(u.Node, node) })
	if found {
		if v.staged[at] != s && !m.lenient {
			return m.fail(storage.AlreadyExists, "volume %s is staged on node %s with other properties", req.ID, req.Node)
		}
		v.staged[at] = s
		return nil
	}
	v.staged = slices.Insert(v.staged, at, s)
	m.store(v)
	return nil
}

// Unstage removes the staging of the volume from the node.
func (m *model) Unstage(req storage.NodeRequest) error {
	if err := m.check(storage.Unstage, "ID", req.ID, "node", req.Node, "staging path", req.StagingPath); err != nil {
		return err
	}
	v, ok := m.volumes[req.ID]
	if !ok {
		return nil
	}
	at := slices.IndexFunc(v.staged, func(u Use) bool { return u.Node == req.Node && u.Path == req.StagingPath })
	if at < 0 {
		return nil
	}
	for _, p := range v.published {
		if p.Node == req.Node && !m.lenient {
			return m.fail(storage.FailedPrecondition, "volume %s is published to %s on node %s", req.ID, p.Pod, req.Node)
		}
	}
	v.staged = slices.Delete(v.staged, at, at+1)
	return nil
}

// Publish publishes the volume to the pod.
func (m *model) Publish(req storage.NodeRequest) error {
	if err := m.check(storage.Publish, "ID", req.ID, "node", req.Node, "target path", req.TargetPath); err != nil {
		return err
	}
	v, err := m.find(req.ID)
	if err != nil {
		return err
	}
	if !m.lenient {
		if err := m.ready(v, req); err != nil {
			return err
		}
	}
	p := Use{Node: req.Node, Path: req.TargetPath, Pod: req.Pod, Mode: mode(req.Mode), VolumeMode: volumeMode(req.VolumeMode),
		ReadOnly: req.ReadOnly}
	at, found := slices.BinarySearchFunc(v.published, p, byNodeAndPath)
	if found {
		if v.published[at] != p && !m.lenient {
			return m.fail(storage.AlreadyExists, "volume %s is published at %s with other properties", req.ID, req.TargetPath)
		}
		v.published[at] = p
		return nil
	}
	if !m.lenient && len(v.published) > 0 && (p.Mode == corev1.ReadWriteOncePod || v.published[0].Mode == corev1.ReadWriteOncePod) {
		return m.fail(storage.FailedPrecondition, "volume %s allows one pod only and is published to %s", req.ID, v.published[0].Pod)
	}
	v.published = slices.Insert(v.published, at, p)
	m.store(v)
	m.watchWriters(v)
	return nil
}

func byNodeAndPath(a, b Use) int {
	return cmp.Or(strings.Compare(a.Node, b.Node), strings.Compare(a.Path, b.Path))
}

// ready returns an error if the volume must be attached or staged before it can be published.
func (m *model) ready(v *volume, req storage.NodeRequest) error {
	switch {
	case req.ID == objects.InlineHandle(req.Pod.UID, path.Base(path.Dir(req.TargetPath))):
		// MNT-303: a volume in the pod itself is neither attached nor staged.
		return nil
	case m.able[storage.Attach] && !v.isAttached(req.Node):
		return m.fail(storage.FailedPrecondition, "volume %s is not attached to node %s", req.ID, req.Node)
	case m.able[storage.Stage]:
		staged := slices.ContainsFunc(v.staged, func(u Use) bool { return u.Node == req.Node && u.Path == req.StagingPath })
		if !staged {
			return m.fail(storage.FailedPrecondition, "volume %s is not staged on node %s at %q", req.ID, req.Node, req.StagingPath)
		}
	}
	return nil
}

// Unpublish removes the publication of the volume at the path.
func (m *model) Unpublish(req storage.NodeRequest) error {
	if err := m.check(storage.Unpublish, "ID", req.ID, "node", req.Node, "target path", req.TargetPath); err != nil {
		return err
	}
	if v, ok := m.volumes[req.ID]; ok {
		v.published = slices.DeleteFunc(v.published, func(u Use) bool { return u.Node == req.Node && u.Path == req.TargetPath })
	}
	return nil
}

func (v *volume) isAttached(node string) bool {
	return slices.ContainsFunc(v.attached, func(a Use) bool { return a.Node == node })
}
