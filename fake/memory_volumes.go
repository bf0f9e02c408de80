package fake

import (
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/internal/core/backends"
	"github.com/volsim/volsim/storage"
)

// Create creates a volume, or returns the one that the same request created before.
func (m *model) Create(req storage.CreateRequest) (storage.Volume, error) {
	if err := m.check(storage.Create, "name", req.Name); err != nil {
		return storage.Volume{}, err
	}
	if req.Size < 0 || req.Limit < 0 || req.Limit > 0 && req.Limit < req.Size {
		return storage.Volume{}, m.fail(storage.InvalidArgument, "volume %s of %d bytes, at most %d, is impossible",
			req.Name, req.Size, req.Limit)
	}
	if v, ok := m.volumes[req.Name]; ok {
		if v.request == nil {
			return storage.Volume{}, m.fail(storage.AlreadyExists, "volume %s exists and was not created here", req.Name)
		}
		if differs := v.differs(req); differs != "" {
			m.problem(doubleCreate, req.Name, "created again with another %s", differs)
			return storage.Volume{}, m.fail(storage.AlreadyExists, "volume %s exists with another %s", req.Name, differs)
		}
		return v.describe(), nil
	}
	content, err := m.copied(req)
	if err != nil {
		return storage.Volume{}, err
	}
	size := max(req.Size, m.minSize)
	if req.Limit > 0 && size > req.Limit || m.maxSize > 0 && size > m.maxSize {
		return storage.Volume{}, m.fail(storage.OutOfRange, "volume %s of %d bytes is out of range", req.Name, size)
	}
	if m.quota > 0 && size > m.quota-m.total() {
		return storage.Volume{}, m.fail(storage.ResourceExhausted, "no room for %d bytes", size)
	}
	v := &volume{id: req.Name, request: essence(req), size: size, usable: size, block: req.VolumeMode == corev1.PersistentVolumeBlock}
	if req.Content != nil {
		v.content, v.origin = content, req.ContentID
	}
	v.response = storage.Volume{ID: v.id, Content: req.Content != nil}
	if len(m.segments) > 0 {
		segment, ok := m.segmentFor(req)
		if !ok {
			return storage.Volume{}, m.fail(storage.ResourceExhausted, "no segment of the request is available for volume %s", req.Name)
		}
		v.response.Topology = []storage.Segment{segment}
	}
	m.store(v)
	return v.describe(), nil
}

// essence returns the fields of a request that identify a volume; a repeated request must have the same.
func essence(req storage.CreateRequest) *storage.CreateRequest {
	return &storage.CreateRequest{Name: req.Name, Size: req.Size, Limit: req.Limit, Modes: slices.Clone(req.Modes), VolumeMode: req.VolumeMode,
		Parameters: maps.Clone(req.Parameters), Content: req.Content, ContentID: req.ContentID}
}

// describe returns the result of Create.
func (v *volume) describe() storage.Volume {
	resp := v.response
	resp.Size = v.size
	resp.Topology = make([]storage.Segment, len(v.response.Topology))
	for i, s := range v.response.Topology {
		resp.Topology[i] = maps.Clone(s)
	}
	if len(resp.Topology) == 0 {
		resp.Topology = nil
	}
	return resp
}

// differs names the first property in which the volume differs from the request; "" for none.
func (v *volume) differs(req storage.CreateRequest) string {
	was := v.request
	topology := v.response.Topology
	switch {
	case v.size < req.Size || req.Limit > 0 && v.size > req.Limit:
		return "size"
	case !slices.Equal(was.Modes, req.Modes):
		return "set of access modes"
	case volumeMode(was.VolumeMode) != volumeMode(req.VolumeMode):
		return "volume mode"
	case !maps.Equal(was.Parameters, req.Parameters):
		return "set of parameters"
	case req.Content != nil && was.ContentID != req.ContentID || (req.Content != nil) != (was.Content != nil):
		return "content source"
	case len(topology) > 0 && len(req.Requisite) > 0 && !slices.ContainsFunc(req.Requisite, func(s storage.Segment) bool { return within(s, topology[0]) }):
		return "topology"
	}
	return ""
}

// segmentFor chooses the segment of a new volume. One that the request names may lack labels of the driver, as those of a storage class may.
func (m *model) segmentFor(req storage.CreateRequest) (storage.Segment, bool) {
	for _, segments := range [][]storage.Segment{req.Preferred, req.Requisite} {
		for _, s := range segments {
			if i := slices.IndexFunc(m.segments, func(own storage.Segment) bool { return within(s, own) }); i >= 0 {
				return maps.Clone(m.segments[i]), true
			}
		}
	}
	if len(req.Requisite) > 0 {
		return nil, false
	}
	return m.segments[0], true
}

// within reports whether nodes with the labels of a node are in the segment.
func within(segment, labels storage.Segment) bool {
	for key, value := range segment {
		if labels[key] != value {
			return false
		}
	}
	return true
}

func (m *model) total() int64 {
	var sum int64
	for _, v := range m.volumes {
		sum += v.size
	}
	return sum
}

// Capacity returns what is left of the option Quota, and the option MaxSize. There is none in a segment that Topology does not have.
func (m *model) Capacity(req storage.CapacityRequest) (storage.Capacity, error) {
	if err := m.check(storage.GetCapacity); err != nil {
		return storage.Capacity{}, err
	}
	if len(m.segments) > 0 && !slices.ContainsFunc(m.segments, func(s storage.Segment) bool { return within(s, req.Segment) }) {
		return storage.Capacity{}, nil
	}
	return storage.Capacity{Available: max(0, m.quota-m.total()), Largest: m.maxSize}, nil
}

// Delete destroys the volume. [Memory.Deleted] lists it from then on.
func (m *model) Delete(req storage.DeleteRequest) error {
	if err := m.check(storage.Delete, "ID", req.ID); err != nil {
		return err
	}
	v, err := m.find(req.ID)
	if err != nil {
		return nil // already deleted, or never created
	}
	if users := v.users(); len(users) > 0 {
		uses := strings.Join(users, ", ")
		if !m.lenient {
			if m.inTree {
				// RECL-027: the PersistentVolume stays Released, and the deletion is retried.
				return backends.VolumeInUse("volume " + req.ID + " is in use: " + uses)
			}
			return m.fail(storage.FailedPrecondition, "volume %s is in use: %s", req.ID, uses)
		}
		m.problem(deletedInUse, req.ID, "deleted while %s", uses)
	}
	delete(m.volumes, req.ID)
	v.deletedPV = req.UID
	m.deleted = append(m.deleted, v)
	return nil
}

// users describes the uses of the volume: "attached to n1", "staged on n1", "published to default/p on n1".
func (v *volume) users() []string {
	var users []string
	for _, a := range v.attached {
		users = append(users, "attached to "+a.Node)
	}
	for _, s := range v.staged {
		users = append(users, "staged on "+s.Node)
	}
	for _, p := range v.published {
		users = append(users, "published to "+p.Pod.String()+" on "+p.Node)
	}
	return users
}

// Recycle removes the data. It succeeds even while pods use the volume: preventing that is the job of the controller.
func (m *model) Recycle(id string, _ *corev1.PersistentVolumeSource) error {
	if err := m.check(storage.Recycle, "ID", id); err != nil {
		return err
	}
	v, err := m.find(id)
	if err != nil {
		return err
	}
	if len(v.published) > 0 {
		m.problem(recycledInUse, id, "recycled while %s", strings.Join(v.users(), ", "))
	}
	v.content = storage.Write{}
	m.store(v)
	return nil
}

// Expand grows the volume; it never shrinks it. The file system needs NodeExpand afterwards, if the driver has it.
func (m *model) Expand(req storage.ExpandRequest) (size int64, onNode bool, err error) {
	if err := m.check(storage.Expand, "ID", req.ID); err != nil {
		return 0, false, err
	}
	if req.Size <= 0 || req.Limit < 0 || req.Limit > 0 && req.Limit < req.Size {
		return 0, false, m.fail(storage.InvalidArgument, "volume %s to %d bytes, at most %d, is impossible", req.ID, req.Size, req.Limit)
	}
	v, err := m.find(req.ID)
	if err != nil {
		return 0, false, err
	}
	if v.size < req.Size {
		if m.offline && len(v.attached) > 0 && !m.tooLarge(req.Size) {
			return 0, false, m.fail(storage.FailedPrecondition, "volume %s must not be expanded while %s", req.ID, strings.Join(v.users(), ", "))
		}
		if err := m.grow(v, req.Size); err != nil {
			return 0, false, err
		}
	} else if req.Limit > 0 && v.size > req.Limit {
		return 0, false, m.fail(storage.OutOfRange, "volume %s already has %d bytes", req.ID, v.size)
	}
	if v.request == nil {
		v.block = req.VolumeMode == corev1.PersistentVolumeBlock
	}
	m.store(v)
	return v.size, m.able[storage.NodeExpand] && !v.block && v.usable < v.size, nil
}

// grow sets the size of the volume, within the maximum and the quota.
func (m *model) grow(v *volume, size int64) error {
	switch {
	case m.tooLarge(size):
		return m.fail(storage.OutOfRange, "volume %s cannot have %d bytes, only %d", v.id, size, m.maxSize)
	case m.quota > 0 && size-v.size > m.quota-m.total():
		return m.fail(storage.ResourceExhausted, "no room for %d bytes", size-v.size)
	}
	v.size = size
	return nil
}

func (m *model) tooLarge(size int64) bool { return m.maxSize > 0 && size > m.maxSize }

// NodeExpand grows the file system to the size of the volume, which must be staged or published on the node. A driver without Expand grows
// the volume here.
func (m *model) NodeExpand(req storage.NodeRequest) (int64, error) {
	if err := m.check(storage.NodeExpand, "ID", req.ID, "node", req.Node); err != nil {
		return 0, err
	}
	v, err := m.find(req.ID)
	if err != nil {
		return 0, err
	}
	onNode := slices.ContainsFunc(v.staged, func(u Use) bool { return u.Node == req.Node }) ||
		slices.ContainsFunc(v.published, func(u Use) bool { return u.Node == req.Node })
	switch {
	case !onNode && !m.lenient:
		return 0, m.fail(storage.NotFound, "volume %s is not mounted on node %s", req.ID, req.Node)
	case m.able[storage.Expand] && v.size > 0 && req.Size > v.size:
		return 0, m.fail(storage.OutOfRange, "volume %s has %d bytes, not %d", req.ID, v.size, req.Size)
	}
	if !m.able[storage.Expand] && v.size < req.Size {
		if err := m.grow(v, req.Size); err != nil {
			return 0, err
		}
	}
	v.usable = max(v.usable, v.size)
	m.store(v)
	return v.size, nil
}
