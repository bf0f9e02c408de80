package mount

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/volsim/volsim/internal/core/backends"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/objects"
	"github.com/volsim/volsim/mount/internal/volumes"
	"github.com/volsim/volsim/storage"
)

// limitReached returns the driver of a volume that could not be attached because the node has as many volumes as it can have (MNT-353),
// or "".
func (dr *driverRegistrar) limitReached(p *engine.Process, unattached []*volumes.DesiredVolume) (driver string) {
	for _, v := range unattached {
		var source *corev1.CSIPersistentVolumeSource
		v.Pods.Scan(func(_ types.UID, dp *volumes.DesiredPod) bool { source = dp.Spec.CSI(); return false })
		// MNT-353: only drivers whose CSIDriver requests updates of the limit count.
		if source == nil || !dr.watchesLimit(source.Driver) || !dr.k.plugins.AttachRequired(source.Driver) {
			continue
		}
		va, err := dr.k.GetAttachment(p, objects.AttachmentName(source.VolumeHandle, source.Driver, dr.k.node.name))
		if err != nil || va.Status.AttachError == nil || va.Status.AttachError.ErrorCode == nil {
			continue
		}
		if *va.Status.AttachError.ErrorCode == int32(backends.CodeNumber(storage.ResourceExhausted)) {
			return source.Driver
		}
	}
	return ""
}

// watchesLimit reports whether the CSIDriver requests updates of the limit.
func (dr *driverRegistrar) watchesLimit(driver string) bool {
	return limitPeriod(dr.k.CSIDriver(driver)) != 0
}

// limitTries is the number of attempts to write a limit, firstLimitPause the time between the first two. Each further pause is five times
// as long as the one before (MNT-353, MNT-361).
const (
	limitTries      = 4
	firstLimitPause = 10 * time.Millisecond
)

// refreshLimit asks the driver how many volumes the node can have, and writes the answer to the CSINode. rule is the reason. If all
// attempts fail, the CSINode keeps the old limit.
func (dr *driverRegistrar) refreshLimit(p *engine.Process, driver, rule string) {
	b, ok := dr.k.node.nodes.backends.Driver(driver)
	// MNT-361: a driver that is not registered is not asked.
	if !ok || dr.k.node.unregistered[driver] {
		return
	}
	info, _, err := backends.NodeInfo(b, dr.k.node.name)
	if err != nil {
		// MNT-361: a failed NodeGetInfo is only logged.
		p.Decide(rule, dr.k.nodeRef(), "the limit of driver %s stays as it was: %v", driver, err)
		return
	}
	entry := dr.csiDriver(driver, b, info)
	err = dr.writeLimit(p, entry)
	for try, pause := 1, firstLimitPause; err != nil && try < limitTries; try, pause = try+1, 5*pause {
		p.Sleep(pause)
		err = dr.writeLimit(p, entry)
	}
	if err != nil {
		// MNT-361: the failure is only logged.
		p.Decide(rule, dr.k.nodeRef(), "the limit of driver %s stays as it was: %v", driver, err)
	}
}

// writeLimit writes the driver's current limit to the CSINode (MNT-361). The driver's other fields there stay as they are.
func (dr *driverRegistrar) writeLimit(p *engine.Process, entry storagev1.CSINodeDriver) error {
	node, err := reach(dr.k, func() (*storagev1.CSINode, error) { return p.API().CSINodes.Get(p, dr.k.node.name) })
	if apierrors.IsNotFound(err) {
		// MNT-361: a missing CSINode is created again, first without drivers.
		node, err = dr.createCSINode(p, []storagev1.CSINodeDriver{})
	}
	if err != nil {
		return err
	}
	updated := node.DeepCopy()
	at := slices.IndexFunc(updated.Spec.Drivers, func(d storagev1.CSINodeDriver) bool { return d.Name == entry.Name })
	if at >= 0 {
		old := updated.Spec.Drivers[at]
		// MNT-361: an unchanged limit is not written.
		if !dr.describes(entry.Name) {
			entry.NodeID, entry.TopologyKeys = old.NodeID, old.TopologyKeys
		}
		if equality.Semantic.DeepEqual(old, entry) {
			return nil
		}
		updated.Spec.Drivers = slices.Delete(updated.Spec.Drivers, at, at+1)
	}
	// MNT-353, MNT-361: the changed entry moves to the end.
	updated.Spec.Drivers = append(updated.Spec.Drivers, entry)
	_, err = reach(dr.k, func() (*storagev1.CSINode, error) { return p.API().CSINodes.Update(p, updated) })
	return err
}
