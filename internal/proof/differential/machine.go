package differential

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/kubeletdefs"
	"github.com/volsim/volsim/internal/core/kubeletstatus"
	"github.com/volsim/volsim/mount"
)

// Machine is the observable state of a node.
type Machine interface {
	Name() string
	// Running reports whether the kubelet runs.
	Running() bool
	// Paths lists everything below the kubelet's root directory, like kubeletdefs.Node.Paths. Mounts lists the mount points in the form of
	// DescribeMount.
	Paths() []string
	Mounts() []string
	// Locked lists the device files that a loop device holds.
	Locked() []string
	// Containers lists the pods with running containers, Groups the supplemental groups that volumes give them.
	Containers() []types.UID
	Groups(pod types.UID) []int64
	// MountedVolumes lists the volumes that are mounted for a running pod, according to the kubelet.
	MountedVolumes(pod types.UID) []string
}

// describeMachines describes the state of all nodes, sorted.
func describeMachines(machines []Machine, objects []api.Object) (lines []string) {
	machines = slices.SortedFunc(slices.Values(machines), func(a, b Machine) int { return strings.Compare(a.Name(), b.Name()) })
	for _, m := range machines {
		add := func(format string, args ...any) { lines = append(lines, m.Name()+": "+fmt.Sprintf(format, args...)) }
		add("its kubelet runs: %v", m.Running())
		for _, path := range m.Paths() {
			if strings.HasPrefix(path, kubeletdefs.Root+"/") && path != kubeletdefs.Root+"/" {
				add("%s", path)
			}
		}
		for _, path := range m.Mounts() {
			add("mounted: %s", path)
		}
		for _, path := range m.Locked() {
			add("held: %s", path)
		}
		for _, pod := range slices.Sorted(slices.Values(m.Containers())) {
			add("containers of %s run%s", pod, groupsOf(m, pod))
		}
		for _, obj := range objects {
			// While a volume is being unmounted, the real volume manager no longer lists it for the pod, but ours does.
			pod, ok := obj.(*corev1.Pod)
			if ok && pod.Spec.NodeName == m.Name() && m.Running() && pod.DeletionTimestamp == nil && !kubeletstatus.Terminal(pod.Status.Phase) {
				add("pod %s has %q", api.KeyOf(pod), m.MountedVolumes(pod.UID))
			}
		}
	}
	return lines
}

// groupsOf lists the groups of a pod's containers, in any order.
func groupsOf(m Machine, pod types.UID) string {
	groups := m.Groups(pod)
	if len(groups) == 0 {
		return ""
	}
	return fmt.Sprint(" in groups ", slices.Sorted(slices.Values(groups)))
}

// Phase is the delay of a kubelet's loops after its start on our side. No pass coincides with a step, so the order at one instant does
// not matter.
func Phase(node string) time.Duration {
	if node == "n1" {
		return 61 * time.Millisecond
	}
	return 24 * time.Millisecond
}

// ourMachine is a node of volsim.
type ourMachine struct {
	node *mount.Node
	kubeletdefs.Node
}

func (m ourMachine) Name() string { return m.node.Name() }

func (m ourMachine) Running() bool { return m.node.Running() }

func (m ourMachine) Mounts() (paths []string) {
	for _, mounted := range m.node.Mounts() {
		paths = append(paths, DescribeMount(mounted.Path, m.FileGroup(mounted.Path)))
	}
	return paths
}

// DescribeMount describes a mount, with the group of its files unless that is root.
func DescribeMount(path string, group int64) string {
	if group == 0 {
		return path
	}
	return fmt.Sprintf("%s of group %d", path, group)
}

func (m ourMachine) Locked() (paths []string) {
	for _, mounted := range m.node.Mounts() {
		if m.Node.Locked(mounted.Path) {
			paths = append(paths, mounted.Path)
		}
	}
	return paths
}
