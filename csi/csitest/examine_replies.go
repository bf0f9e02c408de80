package csitest

import (
	"slices"
	"strings"

	spec "github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/protobuf/proto"

	"github.com/volsim/volsim/csi"
	"github.com/volsim/volsim/csi/internal/replies"
	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/storage"
)

// mayAttach returns false, after a flaw, if the driver publishes a volume to a node that is gone, or has as many volumes as it can.
func (e *examiner) mayAttach(c *csi.Call, r *spec.ControllerPublishVolumeRequest) bool {
	node := e.node(r.GetNodeId())
	if e.gone[node] {
		e.flaw(accepts, c, c.Volume, "%s succeeds, and code NotFound is required: node %s does not exist", c.Method, r.GetNodeId())
		e.flaws[len(e.flaws)-1].code = storage.NotFound
		return false
	}
	attached := 0
	for _, v := range e.Volumes() {
		on := !e.tainted[v.ID] && slices.ContainsFunc(v.Attached, func(u fake.Use) bool { return u.Node == node })
		if on && v.ID == e.volume(c.Volume) {
			return true
		}
		if on {
			attached++
		}
	}
	if e.caps.Limit > 0 && attached >= int(e.caps.Limit) {
		e.flaw(accepts, c, c.Volume, "%s succeeds, and code ResourceExhausted is required: node %s has %d volumes, and max_volumes_per_node is %d",
			c.Method, r.GetNodeId(), attached, e.caps.Limit)
		e.flaws[len(e.flaws)-1].code = storage.ResourceExhausted
		return false
	}
	return true
}

// volumeOf returns a copy of the volume in a reply without the fields that may change.
func volumeOf(r *spec.CreateVolumeResponse) *spec.Volume {
	v := proto.Clone(r.GetVolume()).(*spec.Volume)
	v.CapacityBytes = 0 // it may have grown
	return v
}

func attachment(c *csi.Call) string {
	node := ""
	if r, ok := c.Request.(interface{ GetNodeId() string }); ok {
		node = r.GetNodeId()
	}
	return "attach " + c.Volume + " " + node
}

// same compares an answer with the previous one to the same request.
func (e *examiner) same(c *csi.Call, key string, answer proto.Message) {
	was, ok := e.answers[key]
	if ok && !proto.Equal(was, answer) {
		e.flaw(differs, c, c.Volume, "%s answers %s, and before it answered %s", c.Method, compact(answer), compact(was))
		return
	}
	e.answers[key] = answer
}

// created examines the reply to CreateVolume. It returns false after a flaw.
func (e *examiner) created(c *csi.Call, r *spec.CreateVolumeResponse) bool {
	id, req := r.GetVolume().GetVolumeId(), c.Request.(*spec.CreateVolumeRequest)
	if id == "" {
		e.wrongReply(c, c.Volume, "volume_id is REQUIRED: all other calls refer to the volume by it", "the reply to CreateVolume has an empty volume_id")
		return false
	}
	if name, ok := e.ids[id]; ok && name != req.GetName() {
		if _, exists := e.Volume(name); exists {
			e.flaw(duplicate, c, c.Volume, "CreateVolume returns volume_id %s, which volume %s has", id, name)
			e.tainted[name] = true // calls with this volume_id may be about either volume
			return false
		}
	}
	if was, ok := e.answers["create "+req.GetName()].(*spec.Volume); ok && was.GetVolumeId() != id {
		e.flaw(duplicate, c, c.Volume, "CreateVolume returns volume_id %s for the name %s, and before it returned %s", id, req.GetName(), was.GetVolumeId())
		e.ids[id] = req.GetName() // calls with this volume_id are about a volume with a flaw
		return false
	}
	e.ids[id] = req.GetName()
	if was, now := e.sizes[req.GetName()], r.GetVolume().GetCapacityBytes(); now > 0 && now < was && e.answers["create "+req.GetName()] != nil {
		e.flaw(differs, c, c.Volume, "CreateVolume answers capacity_bytes %d, and before it answered %d", now, was)
		return false
	}
	if was, now := e.sizes[req.GetName()], r.GetVolume().GetCapacityBytes(); was > 0 && now > was && e.answers["create "+req.GetName()] != nil && !e.expanded(req.GetName()) {
		e.flaw(differs, c, c.Volume, "CreateVolume answers capacity_bytes %d, and before it answered %d", now, was)
		return false
	}
	e.sizes[req.GetName()] = max(e.sizes[req.GetName()], r.GetVolume().GetCapacityBytes())
	e.reported[req.GetName()] = max(e.reported[req.GetName()], r.GetVolume().GetCapacityBytes())
	if !e.reachable(c, r.GetVolume().GetAccessibleTopology(), req.GetAccessibilityRequirements()) {
		return false
	}
	return e.sized(c, r.GetVolume().GetCapacityBytes(), req.GetCapacityRange()) && e.copied(c, r)
}

// reachable returns false, after a flaw, if a new volume cannot be reached from any of the requisite topologies.
func (e *examiner) reachable(c *csi.Call, have []*spec.Topology, want *spec.TopologyRequirement) bool {
	switch {
	case len(have) == 0:
		return true
	case invalidTopology(have) != nil:
		e.wrongReply(c, c.Volume, invalidTopology(have)[1], "the reply to CreateVolume has %s", invalidTopology(have)[0])
		return false
	case !e.caps.Topology:
		e.wrongReply(c, c.Volume, withTopology, "the reply to CreateVolume has accessible_topology, and the driver lacks VOLUME_ACCESSIBILITY_CONSTRAINTS")
		return false
	case len(want.GetRequisite()) == 0:
		return true
	}
	if e.reaches(have, want.GetRequisite()) {
		return true
	}
	e.wrongReply(c, c.Volume, "if requisite is specified, the volume MUST be accessible from at least one of the requisite topologies",
		"the volume can be reached from %s, which is none of the requisite topologies", compact(have[0]))
	return false
}

// withTopology is the requirement about accessible_topology in a reply.
const withTopology = "a plugin that returns accessible_topology MUST also set the plugin capability VOLUME_ACCESSIBILITY_CONSTRAINTS"

// invalidTopology returns what is wrong with the topologies of a volume, and what is required; nil for nothing.
func invalidTopology(all []*spec.Topology) []string {
	for _, t := range all {
		if text, required := replies.Topology(t); text != "" {
			return []string{text, required}
		}
	}
	return nil
}

// reaches reports whether a volume with this accessible_topology can be reached from one of the topologies.
func (e *examiner) reaches(have, want []*spec.Topology) bool {
	for _, t := range have {
		for _, r := range want {
			if includes(r.GetSegments(), t.GetSegments()) || includes(t.GetSegments(), r.GetSegments()) {
				return true
			}
		}
	}
	return len(have) == 0
}

// sized compares the size in a reply with the request. It returns false after a flaw.
func (e *examiner) sized(c *csi.Call, size int64, r *spec.CapacityRange) bool {
	switch {
	case size == 0: // unknown
	case size < 0:
		e.wrongReply(c, c.Volume, "capacity_bytes MUST NOT be negative", "the reply to %s has capacity_bytes %d", c.Method, size)
		return false
	case size < r.GetRequiredBytes():
		e.wrongReply(c, c.Volume, "the volume MUST be at least as big as required_bytes of capacity_range",
			"the reply to %s has capacity_bytes %d, less than required_bytes %d", c.Method, size, r.GetRequiredBytes())
		return false
	case r.GetLimitBytes() > 0 && size > r.GetLimitBytes():
		e.wrongReply(c, c.Volume, "the volume MUST NOT be bigger than limit_bytes of capacity_range",
			"the reply to %s has capacity_bytes %d, more than limit_bytes %d", c.Method, size, r.GetLimitBytes())
		return false
	}
	return true
}

// info examines the reply to NodeGetInfo.
func (e *examiner) info(c *csi.Call, reply csi.Reply) {
	r, ok := reply.Message.(*spec.NodeGetInfoResponse)
	if !ok {
		return
	}
	if text, required := replies.NodeInfo(r); text != "" {
		driver, _, _ := strings.Cut(e.caps.Driver, " ")
		e.wrongReply(c, "", required, "%s", invalidNode(driver, c.Node, text))
		return
	}
	e.nodeInfo(c, r)
}

// nodeInfo compares a reply to NodeGetInfo with the one before.
func (e *examiner) nodeInfo(c *csi.Call, r *spec.NodeGetInfoResponse) {
	was := e.infos[c.Node]
	e.infos[c.Node] = r
	switch {
	case r.GetMaxVolumesPerNode() < 0:
		e.wrongReply(c, "", "max_volumes_per_node MUST NOT be negative; 0 is no limit", "the reply to NodeGetInfo has max_volumes_per_node %d",
			r.GetMaxVolumesPerNode())
	case len(e.flaws) == 0 && was.GetMaxVolumesPerNode() > 0 && e.attachedTo(c.Node) > 0 && r.GetMaxVolumesPerNode() < int64(e.attachedTo(c.Node)):
		e.wrongReply(c, "", "max_volumes_per_node is how many volumes the node can have, and not how many more; 0 is no limit",
			"the reply to NodeGetInfo has max_volumes_per_node %d, the node has %d volumes, and before the reply had %d",
			r.GetMaxVolumesPerNode(), e.attachedTo(c.Node), was.GetMaxVolumesPerNode())
	case r.GetAccessibleTopology() != nil && !e.caps.Topology:
		e.wrongReply(c, "", withTopology, "the reply to NodeGetInfo has accessible_topology, and the driver lacks VOLUME_ACCESSIBILITY_CONSTRAINTS")
	case was != nil && !proto.Equal(was.GetAccessibleTopology(), r.GetAccessibleTopology()):
		e.flaw(differs, c, "", "NodeGetInfo answers accessible_topology %s on node %s, and before it answered %s", compact(r.GetAccessibleTopology()),
			c.Node, compact(was.GetAccessibleTopology()))
	case was != nil && was.GetNodeId() != r.GetNodeId():
		e.flaw(differs, c, "", "NodeGetInfo answers node_id %q on node %s, and before it answered %q", r.GetNodeId(), c.Node, was.GetNodeId())
	}
}
