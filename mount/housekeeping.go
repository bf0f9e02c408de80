package mount

import (
	"k8s.io/apimachinery/pkg/types"

	"github.com/volsim/volsim/internal/core/engine"
)

// housekeeper removes what pods that no longer exist left on the node.
type housekeeper struct {
	k      *kubelet
	ticker *grid
}

// keepHouse looks after what pods left behind (MNT-480), and ends containers that no pod stands for any more.
func (hk *housekeeper) pass(p *engine.Process) {
	// MNT-010: a pod that is not known yet is no orphan.
	if !hk.k.sourcesReady || !hk.k.populator.hasAddedPods {
		hk.ticker.Rest()
		return
	}
	for _, c := range hk.k.node.runtime.list() {
		if _, known := hk.k.workers[c.pod.UID]; !known {
			hk.stopOrphan(c)
		}
	}
	for _, pod := range hk.k.node.disk.Children(hk.k.layout.Pods()) {
		uid := types.UID(pod)
		_, managed := hk.k.pods[uid]
		_, known := hk.k.workers[uid]
		_, runs := hk.k.node.runtime.running[uid]
		if managed || known || runs {
			continue
		}
		if why := hk.removePodDir(uid); why != "" {
			p.Decide("MNT-480", hk.k.podRef(uid), "the directory of pod %s stays: %s", pod, why)
		}
	}
}

// stopOrphan ends the containers of a pod that the API does not have.
func (hk *housekeeper) stopOrphan(c *container) {
	uid := c.pod.UID
	if c.stopping {
		return
	}
	c.stopping = true
	hk.k.actor.After(hk.k.cfg.StopTime, "end of orphan "+c.pod.Name, func(*engine.Process) {
		hk.k.node.runtime.remove(uid)
		hk.ticker.Rest()
	})
}

// removePodDir removes the directory of an orphaned pod as far as that is safe, and says what it stopped at.
func (hk *housekeeper) removePodDir(uid types.UID) (why string) {
	fs := hk.k.node.disk
	// MNT-480: nothing is removed that may be mounted. MNT-482: of block volumes only memory knows.
	if len(hk.k.actual.PodMounts(uid, true)) > 0 {
		return "volumes may be mounted"
	}
	if mounts := fs.MountsUnder(hk.k.layout.PodVolumes(uid)); len(mounts) > 0 {
		return mounts[0].Path + " is mounted"
	}
	for _, plugin := range fs.Children(hk.k.layout.PodVolumes(uid)) {
		dir := hk.k.layout.PodVolumes(uid) + "/" + plugin
		for _, name := range fs.Children(dir) {
			// MNT-480, MNT-481: a file in it may be the last trace of a volume.
			fs.RemoveIfExists(dir + "/" + name + "/mount")
			if err := fs.RemoveIfExists(dir + "/" + name); err != nil {
				return err.Error()
			}
		}
	}
	if err := fs.RemoveAll(hk.k.layout.Subpaths(uid)); err != nil {
		return err.Error()
	}
	// MNT-480: by now there are only directories.
	if err := fs.RemoveAll(hk.k.layout.PodVolumes(uid)); err != nil {
		return err.Error()
	}
	for _, name := range fs.Children(hk.k.layout.Pod(uid)) {
		if err := fs.RemoveAll(hk.k.layout.Pod(uid) + "/" + name); err != nil {
			return err.Error()
		}
	}
	if err := fs.RemoveIfExists(hk.k.layout.Pod(uid)); err != nil {
		return err.Error()
	}
	return ""
}
