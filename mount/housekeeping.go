package mount

import (
	"k8s.io/apimachinery/pkg/types"

	"github.com/volsim/volsim/internal/core/engine"
)

// keepHouse looks after what pods left behind (MNT-480), and ends containers that no pod stands for any more.
func (k *kubelet) keepHouse(p *engine.Proc) {
	// MNT-010: a pod that is not known yet is no orphan.
	if !k.sourcesReady || !k.hasAddedPods {
		k.housekeeping.Rest()
		return
	}
	for _, c := range k.node.runtime.list() {
		if _, known := k.workers[c.pod.UID]; !known {
			k.stopOrphan(c)
		}
	}
	for _, pod := range k.node.disk.children(k.layout.pods()) {
		uid := types.UID(pod)
		_, managed := k.pods[uid]
		_, known := k.workers[uid]
		_, runs := k.node.runtime.running[uid]
		if managed || known || runs {
			continue
		}
		if why := k.removePodDir(uid); why != "" {
			p.Decide("MNT-480", k.podRef(uid), "the directory of pod %s stays: %s", pod, why)
		}
	}
}

// stopOrphan ends the containers of a pod that the API does not have.
func (k *kubelet) stopOrphan(c *container) {
	uid := c.pod.UID
	if c.stopping {
		return
	}
	c.stopping = true
	k.actor.After(k.cfg.StopTime, "end of orphan "+c.pod.Name, func(*engine.Proc) {
		k.node.runtime.remove(uid)
		k.housekeeping.Rest()
	})
}

// removePodDir removes the directory of an orphaned pod as far as that is safe, and says what it stopped at.
func (k *kubelet) removePodDir(uid types.UID) (why string) {
	disk := k.node.disk
	// MNT-480: nothing is removed that may be mounted. MNT-482: of block volumes only memory knows.
	if len(k.actual.mountedOf(uid, true)) > 0 {
		return "volumes may be mounted"
	}
	if mounts := disk.mountsUnder(k.layout.volumes(uid)); len(mounts) > 0 {
		return mounts[0].Path + " is mounted"
	}
	for _, plugin := range disk.children(k.layout.volumes(uid)) {
		dir := k.layout.volumes(uid) + "/" + plugin
		for _, name := range disk.children(dir) {
			// MNT-480, MNT-481: a file in it may be the last trace of a volume.
			disk.removeIfThere(dir + "/" + name + "/mount")
			if err := disk.removeIfThere(dir + "/" + name); err != nil {
				return err.Error()
			}
		}
	}
	if err := disk.removeAll(k.layout.subpaths(uid)); err != nil {
		return err.Error()
	}
	// MNT-480: by now there are only directories.
	if err := disk.removeAll(k.layout.volumes(uid)); err != nil {
		return err.Error()
	}
	for _, name := range disk.children(k.layout.pod(uid)) {
		if err := disk.removeAll(k.layout.pod(uid) + "/" + name); err != nil {
			return err.Error()
		}
	}
	if err := disk.removeIfThere(k.layout.pod(uid)); err != nil {
		return err.Error()
	}
	return ""
}
