package upstream

import (
	"context"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/volsim/volsim/internal/core/kubeletdefs"
	"github.com/volsim/volsim/internal/core/kubeletstatus"
	"github.com/volsim/volsim/internal/proof/differential"
	"github.com/volsim/volsim/internal/proof/differential/harness"
)

// statusTries is the number of tries per round of node status.
const statusTries = 5

// reportStatus periodically reports the node's status (MNT-008, MNT-172).
func (k *kubelet) reportStatus(ctx context.Context) {
	var sent time.Time
	for wait := kubeletdefs.StatusDelay; sleepUntil(ctx, wait) == nil; wait = kubeletdefs.StatusPeriod {
		k.pass(harness.Report)
		for try := range statusTries {
			if k.tryReport(ctx, &sent, try > 0) == nil {
				break
			}
		}
	}
}

// tryReport reads the Node from the watch, and from the API server after a failed try of the round.
func (k *kubelet) tryReport(ctx context.Context, sent *time.Time, again bool) error {
	if !k.registered {
		k.registered = k.register(ctx) == nil
	}
	nodes := k.client.CoreV1().Nodes()
	node, err := k.nodes.Get(k.name)
	if again {
		node, err = nodes.Get(ctx, k.name, metav1.GetOptions{})
	}
	if err != nil {
		return err
	}
	inUse, now := node.Status.VolumesInUse, time.Now()
	if k.volumes.ReconcilerStatesHasBeenSynced() {
		inUse = k.volumes.GetVolumesInUse()
	}
	if text := kubeletstatus.Rebooted(node, k.bootID()); text != "" {
		recorder{k}.Event(node, corev1.EventTypeWarning, "Rebooted", text)
	}
	if kubeletstatus.Changed(node, inUse, k.bootID()) || now.Sub(*sent) > kubeletdefs.ReportPeriod {
		patch, err := kubeletstatus.Patch(node, inUse, k.bootID(), now)
		if err != nil {
			return err
		}
		if node, err = nodes.Patch(ctx, k.name, types.MergePatchType, patch, metav1.PatchOptions{}, "status"); err != nil {
			return err
		}
		*sent, inUse = now, node.Status.VolumesInUse
	}
	k.volumes.MarkVolumesAsReportedInUse(inUse)
	return nil
}

// register creates the Node, or annotates the existing one as managed by the attach/detach controller.
func (k *kubelet) register(ctx context.Context) error {
	nodes := k.client.CoreV1().Nodes()
	node, err := nodes.Get(ctx, k.name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		_, err = nodes.Create(ctx, kubeletstatus.NewNode(k.name, time.Now()), metav1.CreateOptions{})
	case err == nil && !kubeletstatus.Registered(node):
		var patch []byte
		if patch, err = kubeletstatus.RegisterPatch(node); err == nil {
			_, err = nodes.Patch(ctx, k.name, types.MergePatchType, patch, metav1.PatchOptions{})
		}
	}
	return err
}

// publishDriver adds the driver to the CSINode; then it is registered.
func (k *kubelet) publishDriver(ctx context.Context, limits *limitUpdater) {
	for pause := 500 * time.Millisecond; k.writeCSINode(ctx) != nil; pause = min(2*pause, 2*time.Minute) {
		if sleepUntil(ctx, pause) != nil {
			return
		}
	}
	limits.register()
}

func (k *kubelet) writeCSINode(ctx context.Context) error {
	csiNodes := k.client.StorageV1().CSINodes()
	driver := storagev1.CSINodeDriver{Name: differential.Driver, NodeID: k.name}
	if limit := k.cluster.Backends[differential.Driver].Limit(); limit > 0 {
		driver.Allocatable = &storagev1.VolumeNodeResources{Count: &limit}
	}
	csiNode, err := csiNodes.Get(ctx, k.name, metav1.GetOptions{})
	if err == nil {
		if len(csiNode.OwnerReferences) > 0 {
			k.know(csiNode.OwnerReferences[0].UID)
		}
		if slices.ContainsFunc(csiNode.Spec.Drivers, func(d storagev1.CSINodeDriver) bool { return d.Name == driver.Name }) {
			return nil
		}
		csiNode.Spec.Drivers = append(csiNode.Spec.Drivers, driver)
		_, err = csiNodes.Update(ctx, csiNode, metav1.UpdateOptions{})
		return err
	}
	if !apierrors.IsNotFound(err) {
		return err
	}
	node, err := k.client.CoreV1().Nodes().Get(ctx, k.name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	k.know(node.UID)
	_, err = csiNodes.Create(ctx, &storagev1.CSINode{
		ObjectMeta: metav1.ObjectMeta{Name: k.name,
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "Node", Name: node.Name, UID: node.UID}}},
		Spec: storagev1.CSINodeSpec{Drivers: []storagev1.CSINodeDriver{driver}},
	}, metav1.CreateOptions{})
	return err
}

// know records the uid of the Node.
func (k *kubelet) know(uid types.UID) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.uid = uid
}
