package upstream

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"k8s.io/kubernetes/pkg/volume/util/hostutil"
	mountutils "k8s.io/mount-utils"

	"github.com/volsim/volsim/internal/proof/differential"
)

// mounter only records mounts. The files of a volume keep their group.
type mounter struct {
	*mountutils.FakeMounter
	machine *machine
}

func newMounter(m *machine) *mounter { return &mounter{mountutils.NewFakeMounter(nil), m} }

// Mount and its variants mount something at a directory or file.
func (m *mounter) Mount(source, target, fstype string, options []string) error {
	return m.MountSensitive(source, target, fstype, options, nil)
}

func (m *mounter) MountSensitiveWithoutSystemd(source, target, fstype string, options, sensitive []string) error {
	return m.MountSensitive(source, target, fstype, options, sensitive)
}

func (m *mounter) MountSensitive(source, target, fstype string, options, sensitive []string) error {
	if err := m.FakeMounter.MountSensitive(source, target, fstype, options, sensitive); err != nil {
		return err
	}
	if group, known := m.machine.cluster.groupOf(m.machine.filesAt(target)); known {
		own(target, group)
	}
	return nil
}

// kept is a file in a directory at which something is mounted.
const kept = "kept"

// keep prevents the removal of a mount point, like a real mount does. The kubelet checks for mounts before it removes most directories;
// staging directories of block volumes it tries to remove.
func (m *mounter) keep(dir string) error { return touch(filepath.Join(dir, kept)) }

// Unmount and release undo that.
func (m *mounter) Unmount(target string) error {
	if err := m.FakeMounter.Unmount(target); err != nil {
		return err
	}
	return release(target)
}

func release(dir string) error {
	if err := os.Remove(filepath.Join(dir, kept)); err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR) {
		return err
	}
	return nil
}

// GetMountRefs lists other mount points of the same source. A directory of the machine itself is not mounted, but has mount points
// elsewhere.
func (m *mounter) GetMountRefs(at string) ([]string, error) {
	if !isLocal(at) {
		return m.FakeMounter.GetMountRefs(at)
	}
	points, err := m.List()
	var refs []string
	for _, p := range points {
		if p.Device == at {
			refs = append(refs, p.Path)
		}
	}
	return refs, err
}

// isLocal reports whether a path is a directory of a local volume.
func isLocal(at string) bool { return path.Dir(at) == differential.LocalDir }

// files identifies what is mounted. Every machine has directories of its own.
func (m *machine) files(p mountutils.MountPoint) string {
	if isLocal(p.Device) {
		return m.name + ":" + p.Device
	}
	return p.Device
}

// filesAt returns what is mounted at a path, "" for nothing.
func (m *machine) filesAt(path string) string {
	points, err := m.mounter.List()
	at := slices.IndexFunc(points, func(p mountutils.MountPoint) bool { return p.Path == path && p.Type == "" })
	if err != nil || at < 0 {
		return ""
	}
	return m.files(points[at])
}

// hostUtils describes the host to the kubelet. Directories of local volumes exist.
type hostUtils struct {
	hostutil.HostUtils
	machine *machine
}

func (h hostUtils) GetFileType(at string) (hostutil.FileType, error) {
	switch {
	case isLocal(at):
		return hostutil.FileTypeDirectory, nil
	case strings.HasPrefix(at, h.machine.root), at == "":
		return h.HostUtils.GetFileType(at)
	}
	return hostutil.FileTypeUnknown, &fs.PathError{Op: "stat", Path: at, Err: fs.ErrNotExist}
}

func (h hostUtils) GetOwner(at string) (int64, int64, error) {
	if !isLocal(at) {
		return 0, 0, errors.New("the owner of nothing else is simulated")
	}
	group, _ := h.machine.cluster.groupOf(h.machine.name + ":" + at)
	return 0, group, nil
}
