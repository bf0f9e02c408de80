package backends

import (
	"maps"
	"slices"

	"github.com/volsim/volsim/storage"
)

// The functions Own return requests that share nothing with stored objects: a backend may keep what it gets, and write to it.

// OwnCreate returns a copy of a request.
func OwnCreate(req storage.CreateRequest) storage.CreateRequest {
	req.Modes, req.MountOptions = slices.Clone(req.Modes), slices.Clone(req.MountOptions)
	req.Parameters, req.Mutable, req.Secrets = maps.Clone(req.Parameters), maps.Clone(req.Mutable), maps.Clone(req.Secrets)
	req.Requisite, req.Preferred = segments(req.Requisite), segments(req.Preferred)
	req.Content = req.Content.DeepCopy()
	return req
}

// OwnDelete returns a copy of a request.
func OwnDelete(req storage.DeleteRequest) storage.DeleteRequest {
	req.Secrets, req.Source = maps.Clone(req.Secrets), req.Source.DeepCopy()
	return req
}

// OwnExpand returns a copy of a request.
func OwnExpand(req storage.ExpandRequest) storage.ExpandRequest {
	req.MountOptions, req.Secrets = slices.Clone(req.MountOptions), maps.Clone(req.Secrets)
	return req
}

// OwnModify returns a copy of a request.
func OwnModify(req storage.ModifyRequest) storage.ModifyRequest {
	req.Parameters, req.Secrets = maps.Clone(req.Parameters), maps.Clone(req.Secrets)
	return req
}

// OwnCapacity returns a copy of a request.
func OwnCapacity(req storage.CapacityRequest) storage.CapacityRequest {
	req.Parameters, req.Segment = maps.Clone(req.Parameters), maps.Clone(req.Segment)
	return req
}

// OwnNode returns a copy of a request.
func OwnNode(req storage.NodeRequest) storage.NodeRequest {
	req.MountOptions = slices.Clone(req.MountOptions)
	req.Context, req.AttachContext, req.Secrets = maps.Clone(req.Context), maps.Clone(req.AttachContext), maps.Clone(req.Secrets)
	if req.Group != nil {
		req.Group = new(*req.Group)
	}
	req.Source = req.Source.DeepCopy()
	return req
}

// OwnSnapshot returns a copy of a request.
func OwnSnapshot(req storage.SnapshotRequest) storage.SnapshotRequest {
	req.Parameters, req.Secrets = maps.Clone(req.Parameters), maps.Clone(req.Secrets)
	return req
}

// OwnGroupSnapshot returns a copy of a request.
func OwnGroupSnapshot(req storage.GroupSnapshotRequest) storage.GroupSnapshotRequest {
	req.VolumeIDs, req.Parameters, req.Secrets = slices.Clone(req.VolumeIDs), maps.Clone(req.Parameters), maps.Clone(req.Secrets)
	return req
}

func segments(list []storage.Segment) []storage.Segment {
	list = slices.Clone(list)
	for i, segment := range list {
		list[i] = maps.Clone(segment)
	}
	return list
}
