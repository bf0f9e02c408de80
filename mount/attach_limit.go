package mount

import (
	corev1 "k8s.io/api/core/v1"
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
	if err := dr.repeat(p, func() error { return dr.writeEntry(p, entry) }); err != nil {
		// MNT-361: the failure is only logged.
		p.Decide(rule, dr.k.nodeRef(), "the limit of driver %s stays as it was: %v", driver, err)
	}
}
