package fake

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/storage"
)

// Attachment is a volume attached to a node.
type Attachment struct {
	Node     string                            // name of the node
	Mode     corev1.PersistentVolumeAccessMode // as requested; ReadWriteOnce by default
	ReadOnly bool                              // attached for reading only
}

// Staging is a volume mounted on a node for all pods there.
type Staging struct {
	Node, Path string                            // name of the node; where it is mounted
	Mode       corev1.PersistentVolumeAccessMode // as requested; ReadWriteOnce by default
	VolumeMode corev1.PersistentVolumeMode       // as requested; Filesystem by default
}

// Publication is a volume mounted for a pod.
type Publication struct {
	Node, Target string                            // name of the node; where it is mounted
	Pod          storage.PodRef                    // the pod
	Mode         corev1.PersistentVolumeAccessMode // as requested; ReadWriteOnce by default
	VolumeMode   corev1.PersistentVolumeMode       // as requested; Filesystem by default
	ReadOnly     bool                              // mounted for reading only
}

// Attach makes the volume available at the node.
func (m *model) Attach(req storage.NodeRequest) (map[string]string, error) {
	if err := m.check(storage.Attach, "ID", req.ID, "node", req.Node); err != nil {
		return nil, err
	}
	v, err := m.use(req.ID)
	if err != nil {
		return nil, err
	}
	a := Attachment{Node: req.Node, Mode: mode(req.Mode), ReadOnly: req.ReadOnly}
	at, found := slices.BinarySearchFunc(v.attached, a.Node, func(a Attachment, node string) int { return strings.Compare(a.Node, node) })
	if found {
		if v.attached[at] != a && !m.lenient {
			return nil, m.refuse(storage.AlreadyExists, "volume %s is attached to node %s in another way", req.ID, req.Node)
		}
		v.attached[at] = a
		return nil, nil
	}
	for _, other := range v.attached {
		if !m.lenient && !(manyNodes(a.Mode) && manyNodes(other.Mode)) {
			return nil, m.refuse(storage.FailedPrecondition, "volume %s is attached to node %s", req.ID, other.Node)
		}
	}
	v.attached = slices.Insert(v.attached, at, a)
	m.keep(v)
	m.watchWriters(v)
	return nil, nil
}

// Detach takes the volume from the node, or from every node when none is named.
func (m *model) Detach(req storage.NodeRequest) error {
	if err := m.check(storage.Detach, "ID", req.ID); err != nil {
		return err
	}
	v, ok := m.volumes[req.ID]
	if !ok {
		return nil
	}
	v.attached = slices.DeleteFunc(v.attached, func(a Attachment) bool {
		if req.Node != "" && a.Node != req.Node {
			return false
		}
		for _, p := range v.published {
			if p.Node == a.Node {
				m.problem(DetachedInUse, v.id, "detached from %s while published to %s", a.Node, p.Pod)
			}
		}
		return true
	})
	return nil
}

// Stage mounts the volume on the node.
func (m *model) Stage(req storage.NodeRequest) error {
	if err := m.check(storage.Stage, "ID", req.ID, "node", req.Node, "staging path", req.StagingPath); err != nil {
		return err
	}
	v, err := m.use(req.ID)
	if err != nil {
		return err
	}
	if !m.lenient && m.able[storage.Attach] && !v.isAttached(req.Node) {
		return m.refuse(storage.FailedPrecondition, "volume %s is not attached to node %s", req.ID, req.Node)
	}
	s := Staging{Node: req.Node, Path: req.StagingPath, Mode: mode(req.Mode), VolumeMode: volumeMode(req.VolumeMode)}
	at, found := slices.BinarySearchFunc(v.staged, s.Node, func(s Staging, node string) int { return strings.Compare(s.Node, node) })
	if found {
		if v.staged[at] != s && !m.lenient {
			return m.refuse(storage.AlreadyExists, "volume %s is staged on node %s in another way", req.ID, req.Node)
		}
		v.staged[at] = s
		return nil
	}
	v.staged = slices.Insert(v.staged, at, s)
	m.keep(v)
	return nil
}

// Unstage takes the volume's mount off the node.
func (m *model) Unstage(req storage.NodeRequest) error {
	if err := m.check(storage.Unstage, "ID", req.ID, "node", req.Node, "staging path", req.StagingPath); err != nil {
		return err
	}
	v, ok := m.volumes[req.ID]
	if !ok {
		return nil
	}
	at := slices.IndexFunc(v.staged, func(s Staging) bool { return s.Node == req.Node && s.Path == req.StagingPath })
	if at < 0 {
		return nil
	}
	for _, p := range v.published {
		if p.Node == req.Node && !m.lenient {
			return m.refuse(storage.FailedPrecondition, "volume %s is published to %s on node %s", req.ID, p.Pod, req.Node)
		}
	}
	v.staged = slices.Delete(v.staged, at, at+1)
	return nil
}

// Publish gives the volume to the pod.
func (m *model) Publish(req storage.NodeRequest) error {
	if err := m.check(storage.Publish, "ID", req.ID, "node", req.Node, "target path", req.TargetPath); err != nil {
		return err
	}
	v, err := m.use(req.ID)
	if err != nil {
		return err
	}
	if !m.lenient {
		if err := m.ready(v, req); err != nil {
			return err
		}
	}
	p := Publication{Node: req.Node, Target: req.TargetPath, Pod: req.Pod, Mode: mode(req.Mode), VolumeMode: volumeMode(req.VolumeMode),
		ReadOnly: req.ReadOnly}
	at, found := slices.BinarySearchFunc(v.published, p, byNodeAndTarget)
	if found {
		if v.published[at] != p && !m.lenient {
			return m.refuse(storage.AlreadyExists, "volume %s is published at %s in another way", req.ID, req.TargetPath)
		}
		v.published[at] = p
		return nil
	}
	if !m.lenient && len(v.published) > 0 && (p.Mode == corev1.ReadWriteOncePod || v.published[0].Mode == corev1.ReadWriteOncePod) {
		return m.refuse(storage.FailedPrecondition, "volume %s is for one pod, and published to %s", req.ID, v.published[0].Pod)
	}
	v.published = slices.Insert(v.published, at, p)
	m.keep(v)
	m.watchWriters(v)
	return nil
}

func byNodeAndTarget(a, b Publication) int {
	if order := strings.Compare(a.Node, b.Node); order != 0 {
		return order
	}
	return strings.Compare(a.Target, b.Target)
}

// ready reports what must come before the volume can be published, if anything.
func (m *model) ready(v *volume, req storage.NodeRequest) error {
	switch {
	case m.able[storage.Attach] && !v.isAttached(req.Node):
		return m.refuse(storage.FailedPrecondition, "volume %s is not attached to node %s", req.ID, req.Node)
	case m.able[storage.Stage]:
		staged := slices.ContainsFunc(v.staged, func(s Staging) bool { return s.Node == req.Node && s.Path == req.StagingPath })
		if !staged {
			return m.refuse(storage.FailedPrecondition, "volume %s is not staged on node %s at %q", req.ID, req.Node, req.StagingPath)
		}
	}
	return nil
}

// Unpublish takes the volume from the pod.
func (m *model) Unpublish(req storage.NodeRequest) error {
	if err := m.check(storage.Unpublish, "ID", req.ID, "node", req.Node, "target path", req.TargetPath); err != nil {
		return err
	}
	if v, ok := m.volumes[req.ID]; ok {
		v.published = slices.DeleteFunc(v.published, func(p Publication) bool { return p.Node == req.Node && p.Target == req.TargetPath })
	}
	return nil
}

func (v *volume) isAttached(node string) bool {
	return slices.ContainsFunc(v.attached, func(a Attachment) bool { return a.Node == node })
}
