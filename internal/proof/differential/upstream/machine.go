package upstream

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	volumetypes "k8s.io/kubernetes/pkg/volume/util/types"

	"github.com/volsim/volsim/internal/core/kubeletdefs"
	"github.com/volsim/volsim/internal/proof/differential"
)

// startMachine starts a machine for a new Node.
func (c *Cluster) startMachine(node *corev1.Node) error {
	if c.machines[node.Name] != nil {
		return nil
	}
	m, err := c.newMachine(node.Name)
	if err != nil {
		return err
	}
	c.machines[node.Name] = m
	return m.start()
}

// phase returns the delay of a kubelet's loops after its start.
func (c *Cluster) phase(node string) time.Duration {
	if c.cfg.Phase <= 0 {
		return differential.Phase(node)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Duration(c.random.Int64N(int64(c.cfg.Phase)))
}

// Machine stops or starts a node or its kubelet.
func (c *Cluster) Machine(node string, what differential.MachineOp) error {
	if c.cfg.Nodes {
		if err := c.renew(node, what); err != nil || !c.cfg.Kubelets {
			return err
		}
	}
	m := c.machines[node]
	if m == nil {
		return fmt.Errorf("node %q: there is no such node", node)
	}
	switch what {
	case differential.Start:
		return m.start()
	case differential.StopKubelet:
		m.stopKubelet()
		return nil
	case differential.PowerOff:
		m.powerOff()
		return nil
	case differential.Reboot:
		m.powerOff()
		return m.start()
	}
	return fmt.Errorf("a machine cannot %q", what)
}

func (m *machine) stopKubelet() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.kubelet != nil {
		m.kubelet.stop()
		m.kubelet = nil
	}
}

// powerOff removes mounts and containers.
func (m *machine) powerOff() {
	m.stopKubelet()
	m.mu.Lock()
	defer m.mu.Unlock()
	// Errors show up in Paths.
	points, _ := m.mounter.List()
	for _, p := range points {
		_ = release(p.Path)
	}
	m.mounter = newMounter(m)
	m.containers = map[types.UID]*containers{}
	m.loops = map[string]bool{}
	m.boots++
}

// Name returns the name of its node.
func (m *machine) Name() string { return m.name }

// Running reports whether the kubelet runs.
func (m *machine) Running() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.kubelet != nil
}

// relative returns a path relative to the usual root.
func (m *machine) relative(path string) string {
	return kubeletdefs.Root + strings.TrimPrefix(path, m.root)
}

// Paths lists everything below the root.
func (m *machine) Paths() (paths []string) {
	err := filepath.WalkDir(m.root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || path == m.root {
			return err
		}
		line := m.relative(path)
		switch {
		case entry.IsDir():
			line += "/"
		case entry.Type()&fs.ModeSymlink != 0:
			target, err := os.Readlink(path)
			if err != nil {
				return err
			}
			line += " -> " + m.relative(target)
		}
		paths = append(paths, line)
		if entry.IsDir() && m.holdsFiles(path) {
			return fs.SkipDir
		}
		return nil
	})
	if err != nil {
		paths = append(paths, err.Error())
	}
	slices.Sort(paths)
	return paths
}

// holdsFiles reports whether a directory contains files of a volume.
func (m *machine) holdsFiles(dir string) bool {
	if mounted, err := m.mounter.IsMountPoint(dir); mounted || err != nil {
		return true
	}
	parts := strings.Split(strings.TrimPrefix(dir, m.podsDir()+"/"), "/")
	return len(parts) == 4 && parts[1] == "volumes" && parts[2] != "kubernetes.io~csi"
}

// Mounts lists the mount points.
func (m *machine) Mounts() (paths []string) {
	points, err := m.mounter.List()
	if err != nil {
		return []string{err.Error()}
	}
	for _, p := range points {
		group, _ := m.cluster.groupOf(m.files(p))
		paths = append(paths, differential.DescribeMount(m.relative(p.Path), group))
	}
	slices.Sort(paths)
	return paths
}

// Containers lists the pods with running containers.
func (m *machine) Containers() (pods []types.UID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for pod, c := range m.containers {
		if c.exit == "" {
			pods = append(pods, pod)
		}
	}
	return pods
}

// Groups lists the groups that volumes give to the containers of a pod.
func (m *machine) Groups(pod types.UID) []int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	if c := m.containers[pod]; c != nil {
		return c.groups
	}
	return nil
}

// MountedVolumes lists the pod's volumes that are mounted for it.
func (m *machine) MountedVolumes(pod types.UID) (names []string) {
	m.mu.Lock()
	k := m.kubelet
	m.mu.Unlock()
	if k == nil || k.volumes == nil {
		return nil
	}
	for name := range k.volumes.GetMountedVolumesForPod(volumetypes.UniquePodName(pod)) {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
