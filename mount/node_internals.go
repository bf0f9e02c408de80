package mount

import (
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/volsim/volsim/internal/core/internals"
	"github.com/volsim/volsim/internal/core/kubeletdefs"
	"github.com/volsim/volsim/mount/internal/volumes"
)

func init() {
	internals.Node = func(node any) kubeletdefs.Node { return nodeInternals{node.(*Node)} }
}

// nodeInternals implements kubeletdefs.Node, which documents its methods.
type nodeInternals struct{ *Node }

func (n nodeInternals) Paths() []string { return n.disk.Paths() }

func (n nodeInternals) Locked(path string) bool { return n.disk.Locked(path) }

func (n nodeInternals) FileGroup(path string) int64 {
	for _, m := range n.disk.Mounts() {
		if m.Path == path {
			return m.Group
		}
	}
	return 0
}

func (n nodeInternals) Containers() []types.UID {
	var uids []types.UID
	for _, c := range n.runtime.list() {
		if c.exit == "" {
			uids = append(uids, c.pod.UID)
		}
	}
	return uids
}

func (n nodeInternals) Groups(pod types.UID) []int64 {
	if c, ok := n.runtime.running[pod]; ok {
		return c.groups
	}
	return nil
}

func (n nodeInternals) MountedVolumes(pod types.UID) []string {
	if n.kubelet == nil {
		return nil
	}
	var names []string
	for _, pr := range n.kubelet.actual.PodVolumes() {
		if pr.Pod.UID != pod || pr.Pod.State != volumes.Mounted {
			continue
		}
		if v, ok := n.kubelet.desired.Volume(pr.Volume.Name); ok && n.kubelet.desired.HasPodVolume(pr.Volume.Name, pod) {
			dp, _ := v.Pods.Get(pod)
			names = append(names, dp.PodNames...)
		} else {
			names = append(names, pr.Pod.Spec.PodName)
		}
	}
	slices.Sort(names)
	return names
}
