package csitest

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	spec "github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc/codes"

	"github.com/volsim/volsim/csi"
	"github.com/volsim/volsim/fake"
)

// unmet returns the section of the CSI specification that an error violates that does not go away, and what it requires. The reference says
// that the call can succeed. The section is "" if nothing more is known.
func (e *examiner) unmet(r rejection) (section, text string) {
	c := r.call
	v, exists := e.Volume(e.volume(c.Volume))
	attached := func(node string) bool {
		return slices.ContainsFunc(v.Attached, func(u fake.Use) bool { return u.Node == node })
	}
	switch request := c.Request.(type) {
	case *spec.ControllerPublishVolumeRequest:
		if r.code == codes.ResourceExhausted && exists && !attached(e.node(request.GetNodeId())) {
			return c.Method + " Errors", fmt.Sprintf("RESOURCE_EXHAUSTED means that the node has max_volumes_per_node volumes; it has %s",
				e.volumesOf(request.GetNodeId()))
		}
		if r.code == codes.FailedPrecondition && exists && len(v.Attached) == 0 && e.overlapped(c) {
			return "Concurrency", "a call that its caller gave up must not undo a later one: the volume is not published anywhere any more"
		}
		if text := e.promised(v.ID, e.node(request.GetNodeId())); exists && len(v.Attached) == 0 && text != "" {
			return "CreateVolume", text
		}
	case *spec.GetCapacityRequest:
		return c.Method, "the capacity is that for the parameters and the accessible_topology of the request, if they are given"
	case *spec.ControllerUnpublishVolumeRequest:
		if slices.ContainsFunc(v.Staged, func(u fake.Use) bool { return u.Node == e.node(request.GetNodeId()) }) || e.off(request) {
			return c.Method, "the reply is OK once the volume can be published to another node; nothing unstages it on a node that is dead, and then " +
				"Kubernetes makes the call without NodeUnstageVolume"
		}
	case *spec.ControllerExpandVolumeRequest:
		if exists && len(v.Attached) > 0 && e.caps.Online {
			return c.Method, "a driver with the capability VolumeExpansion ONLINE expands volumes that are published to a node"
		}
	case *spec.NodeExpandVolumeRequest:
		if request.GetVolumePath() != request.GetStagingTargetPath() && r.code != codes.Aborted {
			return c.Method, "volume_path is where the volume is published, or where it is staged; staging_target_path is set as well"
		}
	case *spec.NodeUnpublishVolumeRequest, *spec.NodeUnstageVolumeRequest:
		if r.code != codes.Aborted && r.code != codes.InvalidArgument {
			return c.Method, "the call MUST undo the corresponding one, also if the volume has been detached or deleted meanwhile: nothing else removes the mount"
		}
	case *spec.NodePublishVolumeRequest:
		if section, text := e.unpublished(r, request, v); section != "" {
			return section, text
		}
	}
	switch r.code {
	case codes.Unauthenticated:
		return "Error Scheme", "UNAUTHENTICATED means that the secrets of the request are wrong; once they are corrected, the call can succeed"
	case codes.Aborted:
		return "Concurrency", "ABORTED means that another call of the volume is in progress; when that has ended, also by an error or a timeout, the call is executed"
	case codes.InvalidArgument:
		return c.Method + " Errors", "INVALID_ARGUMENT means that a required field is missing or that a field is invalid; the request has all required " +
			"fields, and secrets are optional" + parametersFor(c)
	}
	return "", ""
}

// promised says what the accessible_topology of a volume promises about a node, if there are nodes with another topology; "" for nothing.
func (e *examiner) promised(volume, node string) string {
	created, ok := e.answers["create "+volume].(*spec.Volume)
	segments, reach := e.infos[node].GetAccessibleTopology().GetSegments(), created.GetAccessibleTopology()
	differ := false
	for _, info := range e.infos {
		differ = differ || !maps.Equal(info.GetAccessibleTopology().GetSegments(), segments)
	}
	switch {
	case !ok || !e.caps.Topology || !differ:
	case len(reach) == 0:
		return "a volume without accessible_topology in the reply is equally accessible from all nodes, and Kubernetes runs its pods on each of them"
	case len(reach) > 1 && slices.ContainsFunc(reach, func(t *spec.Topology) bool { return includes(segments, t.GetSegments()) }):
		return "the volume is accessible from each topology in accessible_topology of the reply, and Kubernetes runs its pods on nodes of each of them"
	}
	return ""
}

// parametersFor says how to set the parameters of a request, if it has none and the driver may need some, or which it has; for NodePublishVolume, how to
// set what a CSIDriver object asks for; "" for others.
func parametersFor(c *csi.Call) string {
	const hint = "; if the driver needs parameters of the %s, set them with Config.%s (--%s NAME=VALUE)"
	const given = "; if the driver does not know the parameters %s, correct Config.%s (--%s NAME=VALUE)"
	switch r := c.Request.(type) {
	case *spec.CreateVolumeRequest:
		if len(r.GetParameters()) == 0 {
			return fmt.Sprintf(hint, "StorageClass", "Parameters", "parameter")
		}
		return fmt.Sprintf(given, listed(r.GetParameters()), "Parameters", "parameter")
	case *spec.CreateSnapshotRequest:
		if len(r.GetParameters()) == 0 {
			return fmt.Sprintf(hint, "VolumeSnapshotClass", "SnapshotParameters", "snapshot-parameter")
		}
		return fmt.Sprintf(given, listed(r.GetParameters()), "SnapshotParameters", "snapshot-parameter")
	case *spec.NodePublishVolumeRequest:
		if r.GetVolumeContext()["csi.storage.k8s.io/ephemeral"] == "true" {
			return "; if the driver needs attributes, tokens or read-only volumes, set Config.Inline (--inline NAME=VALUE), Config.CSIDriver (--csidriver FILE) or " +
				"Config.InlineReadOnly (--inline-read-only)"
		}
		return "; if the driver needs information about the pod or tokens, set Config.CSIDriver (--csidriver FILE)"
	}
	return ""
}

// excuses reports whether the specification allows an error that never goes away, and the fault of Kubernetes that leads to it, "" for none.
func (e *examiner) excuses(r rejection) (excused bool, known string) {
	if e.full(r) {
		return true, ""
	}
	request, ok := r.call.Request.(*spec.NodePublishVolumeRequest)
	if !ok || r.code != codes.FailedPrecondition || request.GetVolumeCapability().GetAccessMode().GetMode() != spec.VolumeCapability_AccessMode_SINGLE_NODE_WRITER {
		return false, ""
	}
	v, _ := e.Volume(e.volume(r.call.Volume))
	if !slices.ContainsFunc(v.Published, func(u fake.Use) bool { return u.Node == r.call.Node && u.Path != request.GetTargetPath() }) {
		return false, ""
	}
	return true, "the kubelet publishes a SINGLE_NODE_WRITER volume for a second pod of the node (MNT-201), which the driver may refuse with FAILED_PRECONDITION: " +
		"such pods do not start"
}

// unpublished is unmet for NodePublishVolume of a volume that the reference has staged.
func (e *examiner) unpublished(r rejection, request *spec.NodePublishVolumeRequest, v fake.VolumeState) (section, text string) {
	node, staging := r.call.Node, request.GetStagingTargetPath()
	staged := slices.ContainsFunc(v.Staged, func(u fake.Use) bool { return u.Node == node && u.Path == staging })
	other := slices.ContainsFunc(v.Published, func(u fake.Use) bool { return u.Node == node && u.Path != request.GetTargetPath() })
	switch mode := request.GetVolumeCapability().GetAccessMode().GetMode(); {
	case other && mode != spec.VolumeCapability_AccessMode_SINGLE_NODE_WRITER:
		return r.call.Method, "a volume can be published at several target paths of a node, except with SINGLE_NODE_SINGLE_WRITER"
	case other:
		return r.call.Method, "a driver that refuses a second target_path of a SINGLE_NODE_WRITER volume does it with FAILED_PRECONDITION"
	case !e.caps.Stage && r.code == codes.FailedPrecondition:
		return r.call.Method + " Errors", "the driver lacks STAGE_UNSTAGE_VOLUME, so nobody calls NodeStageVolume, and staging_target_path is not required; " +
			"FAILED_PRECONDITION is the code for a missing one of a driver that has the capability"
	case !staged || r.code == codes.InvalidArgument || r.code == codes.Aborted:
		return "", ""
	case e.unpublishedSince(node, r):
		return "NodeUnpublishVolume", "the operation undoes NodePublishVolume at its target_path and nothing else: the volume stays staged until " +
			"NodeUnstageVolume"
	}
	if e.killedSince(node, r) {
		return r.call.Method, "a staged volume can be published: it stays staged when the plugin restarts, which may happen at any time"
	}
	return "NodeStageVolume", "the reply is OK once the volume is staged at staging_target_path; a node that has rebooted has no mounts, so the volume is " +
		"staged again"
}

// unpublishedSince reports whether the volume was unpublished on the node since it was staged there.
func (e *examiner) unpublishedSince(node string, r rejection) bool {
	for _, s := range slices.Backward(e.steps[:r.at]) {
		if s.Call == nil || s.Call.Node != node || e.volume(s.Call.Volume) != e.volume(r.call.Volume) || s.Call.Err != nil {
			continue
		}
		switch s.Call.Method {
		case "NodeUnpublishVolume":
			return true
		case "NodeStageVolume":
			return false
		}
	}
	return false
}

// killedSince reports whether the driver was killed on the node after it had staged the volume, or in the call that did.
func (e *examiner) killedSince(node string, r rejection) bool {
	for _, s := range slices.Backward(e.steps[:r.at]) {
		switch {
		case s.Event != nil && s.Event.Node == node:
			return false
		case s.Call == nil || s.Call.Node != node:
		case s.Call.Fault.Kind == csi.KilledAfter || s.Call.Fault.Kind == csi.KilledDuring || s.Call.Fault.Kind == csi.KilledBefore:
			return true
		case s.Call.Method == "NodeUnstageVolume" && e.volume(s.Call.Volume) == e.volume(r.call.Volume):
			return false
		}
	}
	return false
}

// overlapped reports whether an earlier call of the volume ran at the same time as another one.
func (e *examiner) overlapped(c *csi.Call) bool {
	return slices.ContainsFunc(e.held, func(held *csi.Call) bool {
		return e.volume(held.Volume) == e.volume(c.Volume) && slices.ContainsFunc(held.Replies, func(r csi.Reply) bool { return r.Met != 0 })
	})
}

// off reports whether the node of the request lost its mounts, as a dead one does.
func (e *examiner) off(r *spec.ControllerUnpublishVolumeRequest) bool {
	return slices.ContainsFunc(e.steps, func(s step) bool { return s.Event != nil && s.Event.Node == e.node(r.GetNodeId()) })
}

// full reports whether a volume is rejected because its node has as many volumes as it can have.
func (e *examiner) full(r rejection) bool {
	request, ok := r.call.Request.(*spec.ControllerPublishVolumeRequest)
	return ok && r.code == codes.ResourceExhausted && e.caps.Limit > 0 && e.attachedTo(e.node(request.GetNodeId()))+e.left[request.GetNodeId()] >= int(e.caps.Limit)
}

// crowded says which volumes of earlier runs leave no room for a volume on its node, "" for none.
func (e *examiner) crowded(r rejection) string {
	request, ok := r.call.Request.(*spec.ControllerPublishVolumeRequest)
	if !ok || !e.full(r) || e.attachedTo(e.node(request.GetNodeId())) >= int(e.caps.Limit) {
		return ""
	}
	return fmt.Sprintf("room on node %s, which has %s volumes: earlier runs left %d attached; remove them before each run with Config.Reset (--reset)",
		e.node(request.GetNodeId()), e.volumesOf(request.GetNodeId()), e.left[request.GetNodeId()])
}

// attachedTo returns how many volumes are attached to a node.
func (e *examiner) attachedTo(node string) (n int) {
	for _, v := range e.Volumes() {
		if slices.ContainsFunc(v.Attached, func(u fake.Use) bool { return u.Node == node }) {
			n++
		}
	}
	return n
}

// volumesOf returns how many volumes are attached to the node with an ID, also by earlier runs, and how many there can be.
func (e *examiner) volumesOf(id string) string {
	n := e.attachedTo(e.node(id)) + e.left[id]
	if e.caps.Limit <= 0 {
		return fmt.Sprintf("%d, and there is no limit", n)
	}
	return fmt.Sprintf("%d of %d", n, e.caps.Limit)
}

// listed lists parameters in the order of their names, as NAME=VALUE.
func listed(parameters map[string]string) string {
	var list []string
	for _, name := range slices.Sorted(maps.Keys(parameters)) {
		list = append(list, name+"="+parameters[name])
	}
	return strings.Join(list, ", ")
}
