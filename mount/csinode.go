package mount

import (
	"slices"
	"time"

	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/backends"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/storage"
)

// The pauses between two tries to write a CSINode; each is twice the one before.
const (
	firstCSINodePause = 500 * time.Millisecond
	lastCSINodePause  = 2 * time.Minute
)

// publishDrivers lists the CSI drivers of the node in its CSINode, as the kubelet does when the node part of a driver registers:
// attachers and the scheduler look there. It tries until it succeeds.
func (k *kubelet) publishDrivers(p *engine.Proc) {
	for pause := firstCSINodePause; ; pause = min(2*pause, lastCSINodePause) {
		if k.writeCSINode(p) == nil {
			k.watchLimits()
			return
		}
		p.Sleep(pause)
	}
}

func (k *kubelet) writeCSINode(p *engine.Proc) error {
	drivers := k.csiDrivers()
	if len(drivers) == 0 {
		return nil
	}
	old, err := reach(k, func() (*storagev1.CSINode, error) { return p.API().CSINodes.Get(p, k.node.name) })
	if apierrors.IsNotFound(err) {
		_, err = k.createCSINode(p, drivers)
		return err
	}
	if err != nil {
		return err
	}
	for _, owner := range old.OwnerReferences {
		if owner.Kind == string(api.Node) {
			k.uid = owner.UID
		}
	}
	// What others have said about a driver of the node stays; drivers that are missing are added.
	updated := old.DeepCopy()
	for _, d := range drivers {
		if !slices.ContainsFunc(old.Spec.Drivers, func(other storagev1.CSINodeDriver) bool { return other.Name == d.Name }) {
			updated.Spec.Drivers = append(updated.Spec.Drivers, d)
		}
	}
	if len(updated.Spec.Drivers) == len(old.Spec.Drivers) {
		return nil
	}
	_, err = reach(k, func() (*storagev1.CSINode, error) { return p.API().CSINodes.Update(p, updated) })
	return err
}

// createCSINode creates the CSINode. Once the kubelet knows the uid of its Node, it does not ask again.
func (k *kubelet) createCSINode(p *engine.Proc, drivers []storagev1.CSINodeDriver) (*storagev1.CSINode, error) {
	if k.uid == "" {
		node, err := k.getNode(p)
		if err != nil {
			return nil, err
		}
		k.uid = node.UID
	}
	csiNode := &storagev1.CSINode{
		ObjectMeta: metav1.ObjectMeta{
			Name:            k.node.name,
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: string(api.Node), Name: k.node.name, UID: k.uid}},
		},
		Spec: storagev1.CSINodeSpec{Drivers: drivers},
	}
	return reach(k, func() (*storagev1.CSINode, error) { return p.API().CSINodes.Create(p, csiNode) })
}

// csiDrivers is what a CSINode says about the drivers of the node, by name.
func (k *kubelet) csiDrivers() []storagev1.CSINodeDriver {
	var drivers []storagev1.CSINodeDriver
	for name, b := range k.cfg.Backends.All() {
		if !storage.IsInTree(b) && !k.node.unregistered[name] {
			drivers = append(drivers, k.csiDriver(name, b))
		}
	}
	return drivers
}

// csiDriver is what it says about one. The node's ID is its name.
func (k *kubelet) csiDriver(name string, b storage.Backend) storagev1.CSINodeDriver {
	return storagev1.CSINodeDriver{Name: name, NodeID: k.node.name, TopologyKeys: backends.TopologyKeys(b), Allocatable: k.allocatable(b)}
}

// allocatable is how many volumes of the driver the node can have; nil is any number.
func (k *kubelet) allocatable(b storage.Backend) *storagev1.VolumeNodeResources {
	limit, limited := backends.AttachLimit(b, k.node.name)
	if !limited {
		return nil
	}
	return &storagev1.VolumeNodeResources{Count: &limit}
}
