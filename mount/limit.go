package mount

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/volsim/volsim/engine"
	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/internal/objects"
)

// limitReached is the driver of one of the volumes that could not be attached for want of room on the node (MNT-353), "" if there
// is none.
func (k *kubelet) limitReached(p *engine.Proc, volumes []*desiredVolume) (driver string) {
	for _, v := range volumes {
		var source *corev1.CSIPersistentVolumeSource
		v.pods.Scan(func(_ types.UID, dp *desiredPod) bool { source = dp.spec.CSI(); return false })
		// MNT-353: only for drivers that ask for it.
		if source == nil || !k.watchesLimit(source.Driver) {
			continue
		}
		va, err := k.getAttachment(p, objects.AttachmentName(source.VolumeHandle, source.Driver, k.node.name))
		if err != nil || va.Status.AttachError == nil || va.Status.AttachError.ErrorCode == nil {
			continue
		}
		if *va.Status.AttachError.ErrorCode == int32(fake.ResourceExhausted.Number()) {
			return source.Driver
		}
	}
	return ""
}

// watchesLimit reports whether the driver wants its limit to be kept up to date.
func (k *kubelet) watchesLimit(driver string) bool {
	object := k.driver(driver)
	return object != nil && object.Spec.NodeAllocatableUpdatePeriodSeconds != nil && *object.Spec.NodeAllocatableUpdatePeriodSeconds != 0
}

// refreshLimit asks the driver how many volumes the node can have, and says so in the CSINode (MNT-353). If that fails, it stays as
// it is.
func (k *kubelet) refreshLimit(p *engine.Proc, driver string) {
	b, ok := k.cfg.Backends.Driver(driver)
	if !ok {
		return
	}
	limit, ok := fake.AttachLimitOf(b, k.node.name)
	if !ok {
		return
	}
	node, err := reach(k, func() (*storagev1.CSINode, error) { return p.API().CSINodes.Get(p, k.node.name) })
	if err != nil {
		return
	}
	at := slices.IndexFunc(node.Spec.Drivers, func(d storagev1.CSINodeDriver) bool { return d.Name == driver })
	if at < 0 {
		return
	}
	if old := node.Spec.Drivers[at].Allocatable; old != nil && old.Count != nil && *old.Count == limit {
		return
	}
	updated := node.DeepCopy()
	// MNT-353
	updated.Spec.Drivers[at].Allocatable = &storagev1.VolumeNodeResources{Count: &limit}
	_, err = reach(k, func() (*storagev1.CSINode, error) { return p.API().CSINodes.Update(p, updated) })
	if err != nil {
		p.Decide("MNT-353", node, "the limit of driver %s stays as it was: %v", driver, err)
	}
}
