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
	for _, pod := range k.node.disk.Children(k.layout.Pods()) {
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
	fs := k.node.disk
	// MNT-480: nothing is removed that may be mounted. MNT-482: of block volumes only memory knows.
	if len(k.actual.PodMounts(uid, true)) > 0 {
		return "volumes may be mounted"
	}
	if mounts := fs.MountsUnder(k.layout.PodVolumes(uid)); len(mounts) > 0 {
		return mounts[0].Path + " is mounted"
	}
	for _, plugin := range fs.Children(k.layout.PodVolumes(uid)) {
		dir := k.layout.PodVolumes(uid) + "/" + plugin
		for _, name := range fs.Children(dir) {
			// MNT-480, MNT-481: a file in it may be the last trace of a volume.
			fs.RemoveIfExists(dir + "/" + name + "/mount")
			if err := fs.RemoveIfExists(dir + "/" + name); err != nil {
				return err.Error()
			}
		}
	}
	if err := fs.RemoveAll(k.layout.Subpaths(uid)); err != nil {
		return err.Error()
	}
	// MNT-480: by now there are only directories.
	if err := fs.RemoveAll(k.layout.PodVolumes(uid)); err != nil {
		return err.Error()
	}
	for _, name := range fs.Children(k.layout.Pod(uid)) {
		if err := fs.RemoveAll(k.layout.Pod(uid) + "/" + name); err != nil {
			return err.Error()
		}
	}
	if err := fs.RemoveIfExists(k.layout.Pod(uid)); err != nil {
		return err.Error()
	}
	return ""
}
