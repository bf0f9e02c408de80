package mount

import (
	"k8s.io/apimachinery/pkg/types"

	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/mount/internal/disk"
)

// housekeeper removes what pods that no longer exist left on the node.
type housekeeper struct {
	k      *kubelet
	ticker *engine.Ticker
}

// pass removes the directories of pods that are gone (MNT-480), and stops containers without a pod.
func (hk *housekeeper) pass(p *engine.Process) {
	// MNT-010: until all pods are known, an unknown pod is not an orphan.
	if !hk.k.sourcesReady || !hk.k.populator.hasAddedPods {
		hk.ticker.ArmBackground()
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

// stopOrphan stops the containers of a pod that the API does not have.
func (hk *housekeeper) stopOrphan(c *container) {
	uid := c.pod.UID
	if c.stopping {
		return
	}
	c.stopping = true
	hk.k.actor.After(hk.k.cfg.StopTime, "end of orphan "+c.pod.Name, func(*engine.Process) {
		hk.k.node.runtime.remove(uid)
		hk.ticker.ArmBackground()
	})
}

// removePodDir removes the directory of an orphaned pod. It returns why it stopped early, "" if the directory is gone.
func (hk *housekeeper) removePodDir(uid types.UID) (why string) {
	fs := hk.k.node.disk
	// MNT-480: nothing that may be mounted is removed. MNT-482: block volumes are known from memory only.
	if hk.k.actual.HasMounts(uid, true) {
		return "volumes may be mounted"
	}
	volumes := hk.k.layout.PodVolumes(uid)
	pod := disk.Parent(volumes)
	if m := fs.FirstUnder(volumes); m != nil {
		return m.Path + " is mounted"
	}
	for _, plugin := range fs.Children(volumes) {
		dir := volumes + "/" + plugin
		for _, name := range fs.Children(dir) {
			// MNT-480, MNT-481: the directory of a volume is not removed while it contains a file.
			fs.RemoveIfExists(dir + "/" + name + "/mount")
			if err := fs.RemoveIfExists(dir + "/" + name); err != nil {
				return err.Error()
			}
		}
	}
	if err := fs.RemoveAll(hk.k.layout.Subpaths(uid)); err != nil {
		return err.Error()
	}
	// MNT-480: only directories are left.
	if err := fs.RemoveAll(volumes); err != nil {
		return err.Error()
	}
	for _, name := range fs.Children(pod) {
		if err := fs.RemoveAll(pod + "/" + name); err != nil {
			return err.Error()
		}
	}
	if err := fs.RemoveIfExists(pod); err != nil {
		return err.Error()
	}
	return ""
}
