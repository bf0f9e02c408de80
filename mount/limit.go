package mount

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/equality"
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
		if source == nil || !k.watchesLimit(source.Driver) || !(csiPlugin{k}).attachRequired(source.Driver) {
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

// limitTries is how often the kubelet tries to write a limit down, firstLimitPause how long after the first try it tries again. Each pause is
// five times as long as the one before (MNT-353).
const (
	limitTries      = 4
	firstLimitPause = 10 * time.Millisecond
)

// refreshLimit asks the driver how many volumes the node can have, and says so in the CSINode (MNT-353). If that fails, it stays as
// it is.
func (k *kubelet) refreshLimit(p *engine.Proc, driver string) {
	b, ok := k.cfg.Backends.Driver(driver)
	if !ok || k.node.unregistered[driver] {
		return
	}
	var allocatable *storagev1.VolumeNodeResources
	if limit, limited := fake.AttachLimitOf(b, k.node.name); limited {
		allocatable = &storagev1.VolumeNodeResources{Count: &limit}
	}
	err := k.writeLimit(p, driver, allocatable)
	for try, pause := 1, firstLimitPause; err != nil && try < limitTries; try, pause = try+1, 5*pause {
		p.Sleep(pause)
		err = k.writeLimit(p, driver, allocatable)
	}
	if err != nil {
		p.Decide("MNT-353", k.object, "the limit of driver %s stays as it was: %v", driver, err)
	}
}

// writeLimit has the CSINode say how many volumes of the driver the node can have; nil is any number.
func (k *kubelet) writeLimit(p *engine.Proc, driver string, allocatable *storagev1.VolumeNodeResources) error {
	node, err := reach(k, func() (*storagev1.CSINode, error) { return p.API().CSINodes.Get(p, k.node.name) })
	if err != nil {
		return err
	}
	at := slices.IndexFunc(node.Spec.Drivers, func(d storagev1.CSINodeDriver) bool { return d.Name == driver })
	// A driver that the CSINode does not have registers anew, and says so then.
	if at < 0 || equality.Semantic.DeepEqual(node.Spec.Drivers[at].Allocatable, allocatable) {
		return nil
	}
	updated := node.DeepCopy()
	entry := updated.Spec.Drivers[at]
	// MNT-353: what has changed comes last.
	entry.Allocatable = allocatable
	updated.Spec.Drivers = append(slices.Delete(updated.Spec.Drivers, at, at+1), entry)
	_, err = reach(k, func() (*storagev1.CSINode, error) { return p.API().CSINodes.Update(p, updated) })
	return err
}
