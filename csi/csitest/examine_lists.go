package csitest

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/grpc/codes"

	"github.com/volsim/volsim/csi"
	"github.com/volsim/volsim/fake"
)

// list compares what the driver has with the reference.
func (e *examiner) list(in *inventory) {
	if in.Listed {
		e.listVolumes(in)
	}
	if in.Failed != "" {
		e.flaw(inventories, nil, "", "ListVolumes fails: %s", in.Failed)
		e.flaws[len(e.flaws)-1].method = "ListVolumes"
	}
	if in.Endless != "" {
		e.snapshotFlaw(inventories, nil, "ListSnapshots", "", "ListSnapshots fails: %s", in.Endless)
	}
	if in.Mounted {
		e.listMounts(in)
	}
	if in.Counted {
		e.listSnapshots(in.Snapshots)
	}
}

func (e *examiner) listVolumes(in *inventory) {
	listed := map[string]bool{}
	for _, entry := range in.Volumes {
		id := entry.GetVolume().GetVolumeId()
		name, known := e.ids[id]
		v, exists := e.Volume(name)
		if e.tainted[name] {
			continue
		}
		listed[name] = true
		switch {
		case e.before[id]:
		case !known && e.leaksInline():
			e.flaw(inventories, nil, id, "ListVolumes has volume %s, and the volumes in pods were unpublished", id)
			f := &e.flaws[len(e.flaws)-1]
			f.method, f.section = "NodeUnpublishVolume", "NodeUnpublishVolume"
			f.required = "the operation undoes NodePublishVolume: a volume that was made for a pod ends with it, because no DeleteVolume follows"
		case !known && e.leaks():
			e.flaw(inventories, nil, id, "ListVolumes has volume %s, which no reply to CreateVolume named", id)
			f := &e.flaws[len(e.flaws)-1]
			f.method, f.section, f.required = "CreateVolume", "CreateVolume", "the operation MUST be idempotent: a repeated request has the volume that an "+
				"earlier one created, also if that timed out; a volume that no reply named is never deleted"
			if e.refuses() {
				f.section, f.required = "CreateVolume Errors", "a request that cannot be fulfilled creates nothing: the caller gets no volume_id, so nobody deletes "+
					"what it leaves"
			}
		case !known:
		case !exists:
			e.flaw(inventories, nil, id, "ListVolumes has volume %s, which DeleteVolume deleted", id)
		default:
			e.described(nil, id, entry.GetVolume(), max(v.Size, e.sizes[name]))
			switch {
			case e.tainted[name]:
			case e.caps.Condition && lacksCondition(entry.GetStatus()):
				e.flaw(invalid, nil, id, "the entry of volume %s in ListVolumes has no volume_condition, and the driver has VOLUME_CONDITION", id)
				f := &e.flaws[len(e.flaws)-1]
				f.method, f.section, f.required = "ListVolumes", "ListVolumes", withCondition
			case in.Published:
				e.listAttached(id, entry.GetStatus().GetPublishedNodeIds())
			}
		}
	}
	for _, v := range e.Volumes() {
		if !listed[v.ID] && !e.tainted[v.ID] {
			e.flaw(inventories, nil, v.ID, "ListVolumes lacks volume %s, which CreateVolume created", v.ID)
		}
	}
}

// definite are codes of CreateVolume that say that the request cannot be fulfilled. The external-provisioner does not delete a volume after them.
var definite = []codes.Code{codes.InvalidArgument, codes.NotFound, codes.AlreadyExists, codes.OutOfRange, codes.Unauthenticated,
	codes.PermissionDenied}

// refuses reports whether some CreateVolume got one of these codes.
func (e *examiner) refuses() bool {
	return slices.ContainsFunc(e.steps[:e.at], func(s step) bool {
		return s.Call != nil && s.Call.Method == "CreateVolume" && slices.ContainsFunc(s.Call.Replies, func(r csi.Reply) bool {
			return slices.Contains(definite, r.Status.Code())
		})
	})
}

// leaks reports whether each CreateVolume got a definite answer, so that an unknown volume is a leak.
func (e *examiner) leaks() bool {
	creates := false
	for _, s := range e.steps[:e.at] {
		if s.Call == nil || s.Call.Method != "CreateVolume" {
			continue
		}
		creates = true
		for _, reply := range s.Call.Replies {
			if reply.Broken || reply.Status != nil && !slices.Contains(definite, reply.Status.Code()) && !e.tainted[s.Call.Volume] && reply.Met == 0 {
				return false
			}
		}
	}
	return creates
}

func (e *examiner) listAttached(id string, published []string) {
	if slices.Contains(published, "") {
		e.flaw(invalid, nil, id, "ListVolumes says that volume %s is published to a node with an empty ID", id)
		f := &e.flaws[len(e.flaws)-1]
		f.method, f.section, f.required = "ListVolumes", "ListVolumes", nodeIDsListed
		return
	}
	v, _ := e.Volume(e.ids[id])
	var want, have []string
	for _, use := range v.Attached {
		want = append(want, use.Node)
	}
	for _, node := range published {
		have = append(have, e.listedNode(node))
	}
	slices.Sort(have)
	lacks := slices.ContainsFunc(want, func(node string) bool { return !slices.Contains(have, node) })
	if unknown := e.unknownNode(published); lacks && unknown != "" {
		e.flaw(invalid, nil, id, "ListVolumes says that volume %s is published to %q, and no reply to NodeGetInfo has that node_id; it is published to %s", id,
			unknown, list(e.nodeIDs(want)))
		f := &e.flaws[len(e.flaws)-1]
		f.method, f.section, f.required = "ListVolumes", "ListVolumes", nodeIDsListed
		return
	}
	extra := slices.ContainsFunc(have, func(node string) bool { return !slices.Contains(want, node) })
	// The list may have nodes to which the volume is not published. So more nodes are a flaw only if the list was exact before, without some
	// node of the cluster: a driver that lists all nodes seems to be exact while the volume is attached to all of them.
	if lacks || extra && e.exact[v.ID] {
		e.flaw(inventories, nil, id, "ListVolumes says that volume %s is published to %s, and the replies say %s", id, list(have), list(want))
	}
	e.exact[v.ID] = !extra && len(have) < len(e.nodes)
}

// publishedTo compares the nodes in a reply of ControllerGetVolume with the reference.
func (e *examiner) publishedTo(c *csi.Call, v fake.VolumeState, published []string) {
	for _, use := range v.Attached {
		if !slices.ContainsFunc(published, func(node string) bool { return e.listedNode(node) == use.Node }) {
			e.flaw(differs, c, c.Volume, "%s says that volume %s is published to %s, and the replies say %s", c.Method, c.Volume, list(published),
				list(e.nodeIDs([]string{use.Node})))
			return
		}
	}
}

// nodeIDsListed is the requirement about the nodes in lists of volumes.
const nodeIDsListed = "published_node_ids are the node_id of the nodes at which the volume is published"

// listedNode returns the name of a node in a list. An ID that no reply to NodeGetInfo had is no name of a node, so it is returned in quotes.
func (e *examiner) listedNode(id string) string {
	if name, ok := e.nodes[id]; ok {
		return name
	}
	return strconv.Quote(id)
}

// unknownNode returns the first ID that no reply to NodeGetInfo had, "" for none.
func (e *examiner) unknownNode(ids []string) string {
	for _, id := range ids {
		if _, ok := e.nodes[id]; !ok {
			return id
		}
	}
	return ""
}

// nodeIDs returns the IDs of nodes.
func (e *examiner) nodeIDs(names []string) []string {
	var ids []string
	for _, id := range slices.Sorted(maps.Keys(e.nodes)) {
		if slices.Contains(names, e.nodes[id]) {
			ids = append(ids, id)
		}
	}
	return ids
}

func list(words []string) string {
	if len(words) == 0 {
		return "no node"
	}
	return strings.Join(words, ", ")
}
