package differential

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/kubeletstatus"
	"github.com/volsim/volsim/mount"
)

// Machine is what can be seen of a node itself.
type Machine interface {
	Name() string
	// Running reports whether the kubelet runs.
	Running() bool
	// Paths is what there is below the directory of the kubelet, as mount.Disk.Paths has it, Mounts where something is mounted,
	// as DescribeMount has it.
	Paths() []string
	Mounts() []string
	// Locked are the device files that a loop device holds.
	Locked() []string
	// Containers are the pods whose containers run, Groups those that volumes give to them.
	Containers() []types.UID
	Groups(pod types.UID) []int64
	// MountedVolumes are the names of the volumes of a pod that goes on that are mounted for it, as the kubelet sees it.
	MountedVolumes(pod types.UID) []string
}

// describeMachines tells what there is to see, in order.
func describeMachines(machines []Machine, objects []api.Object) (lines []string) {
	machines = slices.SortedFunc(slices.Values(machines), func(a, b Machine) int { return strings.Compare(a.Name(), b.Name()) })
	for _, m := range machines {
		add := func(format string, args ...any) { lines = append(lines, m.Name()+": "+fmt.Sprintf(format, args...)) }
		add("its kubelet runs: %v", m.Running())
		for _, path := range m.Paths() {
			if strings.HasPrefix(path, mount.DefaultRoot+"/") && path != mount.DefaultRoot+"/" {
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
			// A volume that is being taken from a pod is nobody's as the real volume manager tells it, and still the pod's as ours does.
			pod, ok := obj.(*corev1.Pod)
			if ok && pod.Spec.NodeName == m.Name() && m.Running() && pod.DeletionTimestamp == nil && !kubeletstatus.Terminal(pod.Status.Phase) {
				add("pod %s has %q", api.KeyOf(pod), m.MountedVolumes(pod.UID))
			}
		}
	}
	return lines
}

// groupsOf tells in which groups the containers of a pod are. They come in any order.
func groupsOf(m Machine, pod types.UID) string {
	groups := m.Groups(pod)
	if len(groups) == 0 {
		return ""
	}
	return fmt.Sprint(" in groups ", slices.Sorted(slices.Values(groups)))
}

// Phase is how long after its start the kubelet of a node begins to work here. The passes of its loops do not fall on the instants of steps, so that
// nothing depends on which of two things comes first that are due at the same instant.
func Phase(node string) time.Duration {
	if node == "n1" {
		return 61 * time.Millisecond
	}
	return 24 * time.Millisecond
}

// ourMachine is a node of volsim.
type ourMachine struct{ *mount.Node }

func (m ourMachine) Paths() []string { return m.Disk().Paths() }

func (m ourMachine) Mounts() (paths []string) {
	for _, mounted := range m.Disk().Mounts() {
		paths = append(paths, DescribeMount(mounted.Path, mounted.Group))
	}
	return paths
}

// DescribeMount tells what is mounted where, with the group of its files if it is not root's.
func DescribeMount(path string, group int64) string {
	if group == 0 {
		return path
	}
	return fmt.Sprintf("%s of group %d", path, group)
}

func (m ourMachine) Locked() (paths []string) {
	for _, mounted := range m.Disk().Mounts() {
		if m.Disk().Locked(mounted.Path) {
			paths = append(paths, mounted.Path)
		}
	}
	return paths
}
