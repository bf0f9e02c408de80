package csitest

import (
	"fmt"
	"slices"

	spec "github.com/container-storage-interface/spec/lib/go/csi"

	"github.com/volsim/volsim/csi"
	"github.com/volsim/volsim/storage"
)

// requirement returns the section of the CSI specification that a flaw violates, and what it requires.
func requirement(f flaw) (section, text string) {
	section = f.method
	if f.section != "" {
		return f.section, f.required
	}
	if section, text := snapshotRequirement(f); text != "" {
		return section, text
	}
	switch {
	case f.overlap && (f.kind == mounts || f.kind == inventories):
		return "Concurrency", "while one call of a volume continues, another one must not end as if nothing ran: it waits, or fails with ABORTED; " +
			"a call that the caller gave up must not take effect after a later one"
	case f.overlap && (f.kind == again || f.kind == undone):
		return "Concurrency", "a call that is rejected because another one of the volume continues gives ABORTED, so that the caller tries again"
	case f.kind == again && f.method == "CreateVolume":
		text = "the operation MUST be idempotent: if a volume of that name exists and is compatible with the request, the reply is OK with that volume"
	case f.kind == again && f.method == "ControllerPublishVolume":
		text = "the operation MUST be idempotent: if the volume is published at the node in a compatible way, the reply is OK"
	case f.kind == again && f.method == "ControllerExpandVolume":
		text = "the operation MUST be idempotent: if the volume already has the requested size, the reply is OK"
	case f.kind == again && f.method == "NodeStageVolume":
		text = "the operation MUST be idempotent: if the volume is staged at that path in a compatible way, the reply is OK"
	case f.kind == again && f.method == "NodePublishVolume":
		text = "the operation MUST be idempotent: if the volume is published at that path in a compatible way, the reply is OK"
	case f.kind == again:
		text = "the operation MUST be idempotent: its repetition is OK"
	case f.kind == undone && f.method == "DeleteVolume":
		text = "the operation MUST be idempotent: if the volume does not exist, the reply is OK"
	case f.kind == undone && f.method == "ControllerUnpublishVolume":
		text = "the operation MUST be idempotent: if the volume is not published at the node, or one of them does not exist and so cannot be in use, " +
			"the reply is OK"
	case f.kind == undone:
		text = "the operation MUST be idempotent: if there is no mount at that path, the reply is OK"
	case f.kind == accepts && f.code == storage.AlreadyExists && f.method != "CreateVolume":
		section, text = f.method+" Errors", tabled(f)
	case f.kind == accepts && f.method == "DeleteVolume":
		section, text = "DeleteVolume Errors", "a volume in use MUST NOT be deleted: the code is FAILED_PRECONDITION"
	case f.kind == accepts && f.method == "ControllerPublishVolume" && f.code == storage.ResourceExhausted:
		section, text = "ControllerPublishVolume Errors", "a node that has max_volumes_per_node volumes MUST give RESOURCE_EXHAUSTED"
	case f.kind == accepts && f.method == "ControllerPublishVolume" && f.code == storage.NotFound:
		section, text = "ControllerPublishVolume Errors", "a volume or node that does not exist MUST give NOT_FOUND"
	case f.kind == accepts && f.method == "ControllerPublishVolume":
		section, text = "ControllerPublishVolume Errors",
			"a volume without a MULTI_NODE capability that is published to another node MUST give FAILED_PRECONDITION"
	case f.kind == accepts && f.method == "NodePublishVolume":
		section, text = "RPC Interactions and Reference Counting",
			"NodeStageVolume succeeds before NodePublishVolume; without a staged volume there is nothing to publish, and the code is FAILED_PRECONDITION"
	case f.kind == accepts && f.method == "CreateVolume" && f.code != storage.NotFound && f.code != storage.OutOfRange:
		section, text = "CreateVolume Errors", "a volume of that name that is incompatible with the request MUST give ALREADY_EXISTS"
	case f.kind == accepts:
		section, text = f.method+" Errors", tabled(f)
	case f.kind == differs && (f.method == "" || f.method == "ControllerGetVolume"):
		section, text = orElse(f.method, "ListVolumes"), "the volume has the volume_context of CreateVolume, and is published where the replies said"
	case f.kind == differs && f.method == "NodeGetInfo":
		text = "node_id and accessible_topology say which node it is and where; they stay the same while the node exists"
	case f.kind == differs:
		text = "the operation MUST be idempotent: its repetition has the same effect, so callers may use either reply"
	case f.kind == duplicate:
		section, text = "CreateVolume", "the name identifies the volume: a repeated request MUST NOT create a second volume"
	case f.kind == inventories:
		section, text = "ListVolumes", "the pages have each volume once, and at most max_entries each; the list has every volume that exists, with the nodes at which it is published"
	case f.kind == mounts && f.method == "NodePublishVolume":
		text = "the operation MUST be idempotent: one mount at target_path, which is read-only if readonly is true"
	case f.kind == mounts && f.method == "NodeStageVolume":
		text = "the operation MUST be idempotent: one mount at staging_target_path, however often it is called"
	case f.kind == mounts:
		text = "the reverse operation MUST undo exactly the corresponding call: no mount is left, and no other one is removed"
	case f.kind == data:
		section, text = orElse(f.method, "NodeStageVolume"), "a volume keeps its data, and other pods keep their use of it; a volume that has a file "+
			"system is not formatted again"
	case f.kind == size:
		section, text = orElse(f.method, "ControllerExpandVolume"),
			"capacity_bytes is the size that the volume has; node_expansion_required is true if its file system must still grow"
	case f.kind == stuck:
		section, text = "Timeouts", "an operation may be repeated until it succeeds; an error that never ends leaves the volume unusable"
	case f.kind == wrongCode && f.method == "ValidateVolumeCapabilities":
		text = "capabilities that the volume has MUST be confirmed; a volume that does not exist gives NOT_FOUND"
	case f.kind == wrongCode:
		section, text = f.method+" Errors", tabled(f)
	case f.kind == secret:
		section, text = "Secrets Requirements", "secrets are sensitive: they MUST NOT be part of replies, errors and logs"
	case f.kind == broken:
		section, text = "RPC Interface", "every call gets a reply or an error with a gRPC code"
	}
	return section, text
}

func orElse(a, b string) string {
	if a == "" {
		return b
	}
	return a
}

// culprit names the method that most likely caused a flaw that only a comparison shows: a call that overlapped another one, else the last
// one of those that can cause it.
func culprit(f flaw) (method string, overlap bool) { return culpritOf(f, true) }

// culpritOf is culprit. If overlaps is false, calls that overlap are like all others.
func culpritOf(f flaw, overlaps bool) (method string, overlap bool) {
	var methods, overlapping []string // overlapping have an effect on this only if they overlap another call
	switch f.kind {
	case mounts:
		methods = []string{"NodeStageVolume", "NodePublishVolume", "NodeUnstageVolume", "NodeUnpublishVolume"}
	case inventories:
		methods = []string{"ControllerPublishVolume", "ControllerUnpublishVolume", "CreateVolume", "DeleteVolume"}
		overlapping = []string{"ControllerExpandVolume", "ControllerModifyVolume"}
	case size:
		methods = []string{"ControllerExpandVolume", "NodeExpandVolume"}
	case data:
		methods = []string{"NodeStageVolume"}
	default:
		return f.method, f.overlap
	}
	for i, s := range slices.Backward(f.steps) {
		if f.kind == data && s.Access != nil && s.Access != f.steps[len(f.steps)-1].Access && s.Access.Volume == f.volume && (s.Access.Write || s.Access.Err == nil) {
			return orElse(method, orElse(lastOn(f, i+1), "NodePublishVolume")), false
		}
		if s.Call == nil || !concerns(f, s.Call) {
			continue
		}
		direct := slices.Contains(methods, s.Call.Method)
		if overlaps && (direct || slices.Contains(overlapping, s.Call.Method)) && s.Call.Fault.Kind == csi.Overlap && len(s.Call.Replies) > 0 && s.Call.Replies[0].Met != 0 {
			return s.Call.Method, true
		}
		if method == "" && direct {
			method = s.Call.Method
		}
	}
	if f.kind == size && method == "" {
		method = "CreateVolume" // no call after it changed the size
	}
	if f.kind == mounts && method == "" {
		method = "NodeStageVolume" // no request has the path
	}
	return method, false
}

// lastOn returns the method of the last call to a node about the volume from a step on, "" for none.
func lastOn(f flaw, from int) string {
	for _, s := range slices.Backward(f.steps[from:]) {
		if s.Call != nil && (s.Call.Method == "NodePublishVolume" || s.Call.Method == "NodeUnpublishVolume") && concerns(f, s.Call) {
			return s.Call.Method
		}
	}
	return ""
}

// concerns reports whether a call is about the volume of a flaw, and about its path if it has one.
func concerns(f flaw, c *csi.Call) bool {
	if f.path != "" && path(c.Request) != f.path {
		return false
	}
	return f.volume == "" || nameOf(f, c.Volume) == nameOf(f, f.volume)
}

// nameOf returns the name under which the steps created a volume.
func nameOf(f flaw, volume string) string {
	for _, s := range f.steps {
		if s.Call == nil {
			continue
		}
		for _, reply := range s.Call.Replies {
			if r, ok := reply.Message.(*spec.CreateVolumeResponse); ok && r.GetVolume().GetVolumeId() == volume {
				return s.Call.Volume
			}
		}
	}
	return volume
}

// why says why Kubernetes makes the call that shows a flaw: that of its method, the one that met an open call, or the last one. A
// driver without NodeStageVolume has staged nothing.
func why(caps capabilities, f flaw, steps []step) []Reason {
	reasons := whyCalled(f, steps)
	for i, r := range reasons {
		if !caps.Stage && slices.Contains(firstCall["NodePublishVolume"], r) {
			reasons = slices.Clone(reasons)
			reasons[i].Text = "a pod of the node needs the volume"
		}
	}
	return reasons
}

// whyCalled is why for a driver with all capabilities.
func whyCalled(f flaw, steps []step) []Reason {
	at := -1
	for i, s := range steps {
		switch {
		case s.Call == nil:
		case at < 0, !f.overlap && s.Call.Method == f.method, !f.overlap && steps[at].Call.Method != f.method:
			at = i
		case f.overlap && slices.ContainsFunc(s.Call.Replies, func(r csi.Reply) bool { return r.Met != 0 && s.Call.Fault.Kind != csi.Overlap }):
			at = i
		}
	}
	if f.method == "ListVolumes" && (at < 0 || f.kind == inventories && steps[len(steps)-1].Listed != nil && steps[len(steps)-1].Listed.Failed != "") {
		return listing
	}
	if at < 0 && f.method == "ListSnapshots" {
		return comparing
	}
	if at < 0 {
		return nil
	}
	last := steps[at]
	if last.Audit != nil {
		return []Reason{{"", "volsim makes this call itself: sidecars that watch volumes or capacity make it, and the specification allows it at any time"}}
	}
	var reasons []Reason
	if f.overlap {
		reasons = append(reasons, Reason{"", "the caller gave up after its timeout and does not know that the call before continues"})
	}
	before, crashed := previous(steps[:at], last.Call), slices.ContainsFunc(steps[:at], func(s step) bool { return s.Crash })
	switch {
	case last.Call.Fault.Kind == csi.Twice:
		return []Reason{{"", "two instances of the caller can be active for a moment while one takes over from the other"}}
	case before != nil && before.Err == nil && !crashed && last.Call.Method == "NodePublishVolume" && path(before.Request) == path(last.Call.Request):
		reasons = append(reasons, Reason{"MNT-070", "the CSIDriver has requiresRepublish, so the kubelet publishes the volume again and again, with new tokens"})
	case before == nil || before.Err == nil && !crashed:
		reasons = append(reasons, firstCall[last.Call.Method]...)
	case before.Err == nil:
		reasons = append(reasons, Reason{"", fmt.Sprintf("%s restarts and does not know that it has made this call already", last.Actor)})
		reasons = append(reasons, restarted[last.Call.Method]...)
	default:
		reasons = append(reasons, Reason{"", fmt.Sprintf("the caller got %s and does not know whether the call took effect", storage.CodeOf(before.Err))})
		reasons = append(reasons, retried[last.Call.Method]...)
	}
	return reasons
}

// listing says why ListVolumes is called when no other call is to blame.
var listing = []Reason{{"ATT-181", "external-attacher lists the volumes of a driver with LIST_VOLUMES_PUBLISHED_NODES every minute; volsim does it to compare them"}}

// comparing says why volsim calls ListSnapshots itself.
var comparing = []Reason{{"", "volsim lists the snapshots of a driver with LIST_SNAPSHOTS to compare them"}}

// previous returns the last earlier call of the same method to the same volume and node, nil if there is none.
func previous(steps []step, c *csi.Call) *csi.Call {
	for _, s := range slices.Backward(steps) {
		if s.Call != nil && s.Call.Method == c.Method && s.Call.Volume == c.Volume && s.Call.Snapshot == c.Snapshot && s.Call.Node == c.Node {
			return s.Call
		}
	}
	return nil
}

// retried says why a call is made again after an error, by method.
var retried = map[string][]Reason{
	"CreateVolume":              {{"XPROV-032", "external-provisioner repeats CreateVolume with the same name until the answer is definite"}},
	"DeleteVolume":              {{"XPROV-053", "external-provisioner repeats DeleteVolume until it succeeds"}},
	"ControllerPublishVolume":   {{"ATT-171", "external-attacher repeats a failed call after 1 s, 2 s, 4 s, … up to 5 minutes"}},
	"ControllerUnpublishVolume": {{"ATT-171", "external-attacher repeats a failed call after 1 s, 2 s, 4 s, … up to 5 minutes"}},
	"ControllerExpandVolume":    {{"EXP-025", "external-resizer repeats the call after an error"}},
	"CreateSnapshot":            {{"SNAP-022", "csi-snapshotter repeats CreateSnapshot with the same name until the snapshot is ready"}},
	"DeleteSnapshot":            {{"SNAP-020", "csi-snapshotter repeats a failed call after 1 s, 2 s, 4 s, … up to 5 minutes"}},
	"ListSnapshots":             {{"SNAP-020", "csi-snapshotter repeats a failed call after 1 s, 2 s, 4 s, … up to 5 minutes"}},
	"NodeStageVolume":           {{"MNT-249", "the kubelet does not know whether the volume is staged, and stages it again while a pod needs it"}},
	"NodePublishVolume":         {{"MNT-249", "the kubelet does not know whether the volume is published, and publishes it again while a pod needs it"}},
	"NodeUnstageVolume":         {{"MNT-282", "until it succeeds, the kubelet considers the volume as perhaps staged, and unstages it again"}},
	"NodeUnpublishVolume":       {{"MNT-262", "until it succeeds, the kubelet considers the volume as perhaps published, and unpublishes it again"}},
	"CreateVolumeGroupSnapshot": {{"", "csi-snapshotter repeats CreateVolumeGroupSnapshot with the same name until the group is ready"}},
	"DeleteVolumeGroupSnapshot": {{"", "csi-snapshotter repeats a failed call after 1 s, 2 s, 4 s, … up to 5 minutes"}},
	"NodeExpandVolume":          {{"MNT-418", "the kubelet repeats the expansion on the node after an error"}},
}

// restarted says why a call is made again after its caller restarted, by method.
var restarted = map[string][]Reason{
	"CreateVolume":              {{"XPROV-020", "there is no PersistentVolume for the claim yet, so external-provisioner creates the volume"}},
	"DeleteVolume":              {{"XPROV-055", "the PersistentVolume still exists, so external-provisioner deletes the volume"}},
	"ControllerPublishVolume":   {{"ATT-172", "the VolumeAttachment is not attached yet, so external-attacher publishes the volume"}},
	"ControllerUnpublishVolume": {{"ATT-175", "the VolumeAttachment still exists, so external-attacher unpublishes the volume"}},
	"ControllerExpandVolume":    {{"EXP-021", "the claim requests more than it has, so external-resizer expands the volume"}},
	"CreateSnapshot":            {{"SNAP-022", "the content of the snapshot has no handle yet, or is not ready, so csi-snapshotter takes the snapshot"}},
	"DeleteSnapshot":            {{"SNAP-025", "the content of the snapshot still exists, so csi-snapshotter deletes the snapshot"}},
	"ListSnapshots":             {{"SNAP-024", "the content is not ready yet, so csi-snapshotter asks for the snapshot"}},
	"NodeStageVolume":           {{"MNT-455", "a kubelet that restarts stages and publishes every volume of every pod again"}},
	"NodePublishVolume":         {{"MNT-455", "a kubelet that restarts stages and publishes every volume of every pod again"}},
	"NodeUnstageVolume":         {{"MNT-459", "a kubelet that restarts unmounts what it finds and no pod needs"}},
	"NodeUnpublishVolume":       {{"MNT-459", "a kubelet that restarts unmounts what it finds and no pod needs"}},
	"CreateVolumeGroupSnapshot": {{"", "the content of the group has no handle yet, or is not ready, so csi-snapshotter takes the group snapshot"}},
	"DeleteVolumeGroupSnapshot": {{"", "the content of the group still exists, so csi-snapshotter deletes the group snapshot"}},
	"NodeExpandVolume":          {{"EXP-040", "the PersistentVolume is larger than the kubelet knows, so it expands the file system"}},
}

// firstCall says why a call is made that was not made before, by method.
var firstCall = map[string][]Reason{
	"CreateVolume":              {{"XPROV-013f", "a claim of the driver's StorageClass has no volume"}},
	"DeleteVolume":              {{"XPROV-052", "the PersistentVolume is Released, and its policy is Delete"}},
	"ControllerPublishVolume":   {{"ATT-172", "a pod on the node needs the volume, so there is a VolumeAttachment"}},
	"ControllerUnpublishVolume": {{"ATT-175", "the VolumeAttachment is being deleted, because no pod on the node needs the volume"}},
	"ControllerExpandVolume":    {{"EXP-021", "the claim requests more than it has"}},
	"CreateSnapshot":            {{"SNAP-021", "a VolumeSnapshot of the volume has no content in the storage system"}},
	"DeleteSnapshot":            {{"SNAP-025", "the VolumeSnapshot was deleted, and the policy of its content is Delete"}},
	"ListSnapshots":             {{"SNAP-024", "a VolumeSnapshotContent with a snapshotHandle is not ready"}},
	"NodeStageVolume":           {{"MNT-196", "a pod of the node needs the volume, and it is not staged"}},
	"NodePublishVolume":         {{"MNT-197", "a pod of the node needs the volume, which the kubelet has staged"}},
	"NodeUnstageVolume":         {{"MNT-135", "no pod on the node needs the volume any more"}},
	"NodeUnpublishVolume":       {{"MNT-262", "the pod has ended"}},
	"NodeExpandVolume":          {{"EXP-040", "the volume is larger than its file system"}},
	"CreateVolumeGroupSnapshot": {{"", "a VolumeGroupSnapshot of the volumes has no content in the storage system"}},
	"DeleteVolumeGroupSnapshot": {{"", "the VolumeGroupSnapshot was deleted, and the policy of its content is Delete"}},
	"GetCapacity":               {{"XPROV-065", "external-provisioner asks every minute for each class and segment, and no pod is scheduled without an answer"}},
	"GetPluginInfo":             {{"", "node-driver-registrar asks for the name when the driver starts, and each sidecar when it does"}},
	"NodeGetInfo":               {{"MNT-362", "a kubelet asks when the driver registers, and after each restart"}},
}
