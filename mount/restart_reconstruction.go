package mount

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/mount/internal/disk"
	"github.com/volsim/volsim/mount/internal/plugin"
	"github.com/volsim/volsim/mount/internal/volumes"
)

// reconstruct reads from the disk which volumes an earlier kubelet mounted (MNT-450).
func (rc *reconciler) reconstruct(p *engine.Process) {
	fs := rc.k.node.disk
	for _, pod := range fs.Children(rc.k.layout.Pods()) {
		uid := types.UID(pod)
		if rc.k.adoption.pods[uid] {
			continue
		}
		for _, dir := range fs.Children(rc.k.layout.PodVolumes(uid)) {
			for _, name := range fs.Children(rc.k.layout.PodVolumes(uid) + "/" + dir) {
				rc.reconstructVolume(p, plugin.VolumeDir{Pod: uid, Plugin: disk.UnescapePlugin(dir), Name: name}, false)
			}
		}
		for _, dir := range fs.Children(rc.k.layout.PodDevices(uid)) {
			for _, name := range fs.Children(rc.k.layout.PodDevices(uid) + "/" + dir) {
				rc.reconstructVolume(p, plugin.VolumeDir{Pod: uid, Plugin: disk.UnescapePlugin(dir), Name: name}, true)
			}
		}
	}
}

// reconstructVolume adds uncertain records for one directory.
func (rc *reconciler) reconstructVolume(p *engine.Process, l plugin.VolumeDir, block bool) {
	spec, err := rc.k.plugins.Reconstruct(l, block)
	if err != nil {
		// MNT-451: a directory that cannot be reconstructed is cleaned up later.
		p.Decide("MNT-451", rc.k.podRef(l.Pod), "cannot reconstruct volume %s of %s: %v", l.Name, l.Plugin, err)
		rc.unreconstructed = append(rc.unreconstructed, l)
		return
	}
	// MNT-451: the plugin decides whether the volume has a device; the API is not read.
	id := volumes.Identify(spec, l.Pod, nil)
	if _, known := rc.k.actual.Volume(id.Name); !known {
		// MNT-452: whether the volume is attached is uncertain.
		rc.k.actual.MarkAttached(id.Name, spec, volumes.AttachableUncertain, "")
		rc.k.actual.Reconstructed[id.Name] = map[types.UID]bool{}
		// MNT-454: nothing is unmounted until the node's status has been read.
		rc.unverified = append(rc.unverified, id.Name)
	}
	v, _ := rc.k.actual.Volume(id.Name)
	// MNT-452: the mounts for the pod and on the node are uncertain, too.
	rc.k.actual.SetPodState(id.Name, l.Pod, spec, volumes.MountUncertain)
	rc.k.actual.Reconstructed[id.Name][l.Pod] = true
	volumePlugin := rc.k.plugins.For(l.Plugin)
	switch {
	case block:
		v.SetDevice(volumes.DeviceUncertain, "", volumePlugin.GlobalMapPath(spec))
	case id.DeviceMountable:
		if path, err := volumePlugin.DeviceMountPath(spec); err == nil {
			v.SetDevice(volumes.DeviceUncertain, "", path)
		}
	}
	p.Decide("MNT-452", rc.k.podRef(l.Pod), "volume %s may be mounted", id.Name)
}

// correctReconstructed compares the reconstructed volumes with the status of the node (MNT-457).
func (rc *reconciler) correctReconstructed(p *engine.Process) {
	node, err := rc.k.getNode(p)
	if err != nil {
		// MNT-457: the next pass tries again.
		rc.ticker.ArmBackground()
		return
	}
	for _, name := range rc.unverified {
		v, ok := rc.k.actual.Volume(name)
		if !ok {
			continue
		}
		at := slices.IndexFunc(node.Status.VolumesAttached, func(a corev1.AttachedVolume) bool { return a.Name == name })
		switch {
		case at >= 0:
			// MNT-457: a path that an operation has found out meanwhile stays.
			if v.Device == volumes.DeviceUncertain {
				v.DevicePath = node.Status.VolumesAttached[at].DevicePath
			}
			v.Attachable = volumes.Attachable
		case v.Attachable == volumes.AttachableUncertain:
			// MNT-457, MNT-928: a volume that the status does not list is not reported in use.
			v.Attachable = volumes.NotAttachable
		}
		p.Decide("MNT-457", node, "volume %s is attached: %v", name, at >= 0)
	}
	rc.unverified = nil
	rc.ticker.Arm()
}

// cleanUpUnreconstructed tries once to unmount what could not be reconstructed (MNT-461).
func (rc *reconciler) cleanUpUnreconstructed(p *engine.Process) {
	failed := rc.unreconstructed
	// MNT-461: there is no second attempt.
	rc.unreconstructed = nil
	for _, l := range failed {
		if rc.isDesired(l) {
			// MNT-461: mounting the volume again replaces the state.
			continue
		}
		tearDown, err := rc.k.plugins.For(l.Plugin).NewUnmounter(l.Pod, l.Name)
		if err != nil {
			p.Decide("MNT-461", rc.k.podRef(l.Pod), "volume %s of %s is left as it is: %v", l.Name, l.Plugin, err)
			continue
		}
		name := corev1.UniqueVolumeName(l.Plugin + "/" + string(l.Pod) + "-" + l.Name)
		rc.k.operations.start(podKey(name, l.Pod), opUnmount, rc.k.podRef(l.Pod), func(p *engine.Process) error {
			if err := rc.k.operations.removeSubpaths(l.Pod, l.Name); err != nil {
				return err
			}
			return p.Then(tearDown(p), func(_ *engine.Process, err error) error {
				if err == nil {
					// MNT-387, MNT-461: a pod that ends waits for mounts on the disk, too.
					rc.k.podVolumesChanged(l.Pod)
				}
				return err
			})
		})
	}
}

// isDesired reports whether the pod wants a volume of that name.
func (rc *reconciler) isDesired(l plugin.VolumeDir) bool {
	return slices.ContainsFunc(rc.k.desired.PodVolumes(), func(pr volumes.DesiredPair) bool {
		return pr.Pod.Pod.UID == l.Pod && pr.Pod.Spec.Name() == l.Name
	})
}
