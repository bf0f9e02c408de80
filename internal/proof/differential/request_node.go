package differential

import (
	"fmt"
	"maps"
	"strconv"

	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/storage"
)

// NodeRequest is a request to a driver on a node, with its result.
type NodeRequest struct {
	Op       storage.Op
	ID, Node string
	// Path is the target path, Staging the staging path.
	Path, Staging string
	// Mode is the CSI access mode.
	Mode, FSType    string
	Block, ReadOnly bool
	// Group is the group to mount the volume with, "" for none.
	Group           string
	Options         []string
	Attach, Context map[string]string
	Size            int64
}

// String returns all fields. Nil and empty lists and maps look the same.
func (r NodeRequest) String() string { return fmt.Sprintf("%+v", nodeRequest(r)) }

// nodeRequest is NodeRequest without the String method.
type nodeRequest NodeRequest

// Asked records a request, which Requests formats. It copies the maps: to publish a volume, the real kubelet adds attributes of the pod to
// the map that it has sent to stage the volume. A driver behind a socket gets a copy, too.
func (b *Backend) Asked(r NodeRequest) {
	r.Attach, r.Context = maps.Clone(r.Attach), maps.Clone(r.Context)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.requests = append(b.requests, r)
}

// Requests returns the requests recorded since the last call.
func (b *Backend) Requests() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	var all []string
	for _, r := range b.requests {
		all = append(all, r.String())
	}
	b.requests = nil
	return all
}

// accessMode returns the CSI access mode for a driver without SINGLE_NODE_MULTI_WRITER (MNT-309).
func accessMode(mode corev1.PersistentVolumeAccessMode) string {
	switch mode {
	case corev1.ReadWriteOnce, corev1.ReadWriteOncePod:
		return "SINGLE_NODE_WRITER"
	case corev1.ReadOnlyMany:
		return "MULTI_NODE_READER_ONLY"
	case corev1.ReadWriteMany:
		return "MULTI_NODE_MULTI_WRITER"
	}
	return ""
}

// groupText formats a group as CSI does.
func groupText(group *int64) string {
	if group == nil {
		return ""
	}
	return strconv.FormatInt(*group, 10)
}

func (d *nodeDriver) Stage(r storage.NodeRequest) error {
	d.Asked(NodeRequest{Op: storage.Stage, ID: r.ID, Node: r.Node, Staging: r.StagingPath, Mode: accessMode(r.Mode), FSType: r.FSType,
		Block: r.VolumeMode == corev1.PersistentVolumeBlock, Group: groupText(r.Group),
		Options: r.MountOptions, Attach: r.AttachContext, Context: r.Context})
	return nil
}

func (d *nodeDriver) Unstage(r storage.NodeRequest) error {
	d.Asked(NodeRequest{Op: storage.Unstage, ID: r.ID, Node: r.Node, Staging: r.StagingPath})
	return nil
}

func (d *nodeDriver) Publish(r storage.NodeRequest) error {
	d.Asked(NodeRequest{Op: storage.Publish, ID: r.ID, Node: r.Node, Path: r.TargetPath, Staging: r.StagingPath, Mode: accessMode(r.Mode),
		FSType: r.FSType,
		Block:  r.VolumeMode == corev1.PersistentVolumeBlock, Group: groupText(r.Group), ReadOnly: r.ReadOnly, Options: r.MountOptions,
		Attach: r.AttachContext, Context: r.Context})
	return nil
}

func (d *nodeDriver) Unpublish(r storage.NodeRequest) error {
	d.Asked(NodeRequest{Op: storage.Unpublish, ID: r.ID, Node: r.Node, Path: r.TargetPath})
	return nil
}

func (d *nodeDriver) NodeExpand(r storage.NodeRequest) (int64, error) {
	d.Asked(NodeRequest{Op: storage.NodeExpand, ID: r.ID, Node: r.Node, Path: r.TargetPath, Staging: r.StagingPath,
		Mode: accessMode(r.Mode), FSType: r.FSType, Options: r.MountOptions, Block: r.VolumeMode == corev1.PersistentVolumeBlock, Size: r.Size})
	return r.Size, nil
}
