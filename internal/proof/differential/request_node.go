package differential

import (
	"fmt"
	"strconv"

	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/storage"
)

// NodeRequest is what a driver was asked to do on a node, and did.
type NodeRequest struct {
	Op       storage.Op
	ID, Node string
	// Path is where the volume is to be, Staging where it is staged.
	Path, Staging string
	// Mode is the access mode as CSI has it.
	Mode, FSType    string
	Block, ReadOnly bool
	// Group is what the volume is to be mounted with, "" for none.
	Group           string
	Options         []string
	Attach, Context map[string]string
	Size            int64
}

// String is all of it. Of lists and maps nothing at all and none in them are the same.
func (r NodeRequest) String() string { return fmt.Sprintf("%+v", nodeRequest(r)) }

// nodeRequest is without String.
type nodeRequest NodeRequest

// Asked notes a request.
func (b *Backend) Asked(r NodeRequest) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.requests = append(b.requests, r.String())
}

// Requests are those noted since it was asked last.
func (b *Backend) Requests() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	all := b.requests
	b.requests = nil
	return all
}

// accessMode is an access mode as CSI has it for a driver that knows no more than one writer on a node (MNT-309).
func accessMode(mode corev1.PersistentVolumeAccessMode) string {
	return map[corev1.PersistentVolumeAccessMode]string{
		corev1.ReadWriteOnce: "SINGLE_NODE_WRITER", corev1.ReadWriteOncePod: "SINGLE_NODE_WRITER",
		corev1.ReadOnlyMany: "MULTI_NODE_READER_ONLY", corev1.ReadWriteMany: "MULTI_NODE_MULTI_WRITER",
	}[mode]
}

// groupText is a group as CSI has it.
func groupText(group *int64) string {
	if group == nil {
		return ""
	}
	return strconv.FormatInt(*group, 10)
}

func (d *nodeDriver) Stage(r storage.StageRequest) error {
	d.Asked(NodeRequest{Op: storage.Stage, ID: r.ID, Node: r.Node, Staging: r.Path, Mode: accessMode(r.Mode), FSType: r.FSType, Block: r.VolumeMode == corev1.PersistentVolumeBlock, Group: groupText(r.Group),
		Options: r.MountOptions, Attach: r.AttachContext, Context: r.Context})
	return nil
}

func (d *nodeDriver) Unstage(r storage.UnstageRequest) error {
	d.Asked(NodeRequest{Op: storage.Unstage, ID: r.ID, Node: r.Node, Staging: r.Path})
	return nil
}

func (d *nodeDriver) Publish(r storage.PublishRequest) error {
	d.Asked(NodeRequest{Op: storage.Publish, ID: r.ID, Node: r.Node, Path: r.Target, Staging: r.StagingPath, Mode: accessMode(r.Mode), FSType: r.FSType,
		Block: r.VolumeMode == corev1.PersistentVolumeBlock, Group: groupText(r.Group), ReadOnly: r.ReadOnly, Options: r.MountOptions, Attach: r.AttachContext, Context: r.Context})
	return nil
}

func (d *nodeDriver) Unpublish(r storage.UnpublishRequest) error {
	d.Asked(NodeRequest{Op: storage.Unpublish, ID: r.ID, Node: r.Node, Path: r.Target})
	return nil
}

func (d *nodeDriver) NodeExpand(r storage.NodeExpandRequest) (storage.NodeExpandResponse, error) {
	d.Asked(NodeRequest{Op: storage.NodeExpand, ID: r.ID, Node: r.Node, Path: r.Path, Staging: r.StagingPath, Block: r.VolumeMode == corev1.PersistentVolumeBlock, Size: r.Size})
	return storage.NodeExpandResponse{Size: r.Size}, nil
}
