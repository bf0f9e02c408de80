package upstream

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"k8s.io/kubernetes/pkg/volume/util/volumepathhandler"
)

// blockHandler manages files, links and loop devices of block volumes. Links are real. Mounts go to the machine's mounter: a device is a
// file with something mounted at it, and no real loop device is used.
type blockHandler struct {
	volumepathhandler.BlockVolumePathHandler
	machine *machine
}

// newBlockHandler returns the handler of a kubelet.
func newBlockHandler(m *machine) *blockHandler {
	return &blockHandler{volumepathhandler.NewBlockVolumePathHandler(), m}
}

// isDevice reports whether the path is a device.
func (h *blockHandler) isDevice(path string) (bool, error) {
	points, err := h.machine.mounter.List()
	if err != nil {
		return false, err
	}
	for _, p := range points {
		if p.Path == path {
			return true, nil
		}
	}
	return false, nil
}

// MapDevice maps a device below a directory, by a bind mount or a link.
func (h *blockHandler) MapDevice(device, dir, name string, bind bool) error {
	if !bind || device == "" || !filepath.IsAbs(dir) {
		return h.BlockVolumePathHandler.MapDevice(device, dir, name, bind)
	}
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return err
	}
	path := filepath.Join(dir, name)
	if there, err := h.isDevice(path); there || err != nil {
		return err
	}
	if err := touch(path); err != nil {
		return err
	}
	return h.machine.mounter.Mount(device, path, "", []string{"bind"})
}

// touch creates a file if it does not exist.
func touch(path string) error {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	return file.Close()
}

// UnmapDevice undoes MapDevice. A missing device is no error.
func (h *blockHandler) UnmapDevice(dir, name string, bind bool) error {
	if !bind || dir == "" {
		return h.BlockVolumePathHandler.UnmapDevice(dir, name, bind)
	}
	path := filepath.Join(dir, name)
	there, err := h.isDevice(path)
	if err != nil {
		return err
	}
	if there {
		if err := h.machine.mounter.Unmount(path); err != nil {
			return err
		}
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

// IsDeviceBindMountExist reports whether the path is a device.
func (h *blockHandler) IsDeviceBindMountExist(path string) (bool, error) { return h.isDevice(path) }

// GetDeviceBindMountRefs lists the devices in a directory.
func (h *blockHandler) GetDeviceBindMountRefs(_, dir string) (refs []string, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	for _, entry := range entries {
		path := filepath.Join(dir, entry.Name())
		there, err := h.isDevice(path)
		if err != nil {
			return nil, err
		}
		if there {
			refs = append(refs, path)
		}
	}
	return refs, nil
}

// RemoveMapPath removes a directory without mounts.
func (h *blockHandler) RemoveMapPath(dir string) error {
	if dir != "" && h.machine.mountsBelow(dir) {
		return fmt.Errorf("failed to remove directory %s: device or resource busy", dir)
	}
	return h.BlockVolumePathHandler.RemoveMapPath(dir)
}

// AttachFileDevice attaches the file to a loop device.
func (h *blockHandler) AttachFileDevice(path string) (string, error) {
	if _, err := os.Stat(path); err != nil {
		return "", fmt.Errorf("GetLoopDevice failed for path %s: %w", path, err)
	}
	h.machine.mu.Lock()
	defer h.machine.mu.Unlock()
	h.machine.loops[path] = true
	return "/dev/loop0", nil
}

// DetachFileDevice detaches it.
func (h *blockHandler) DetachFileDevice(path string) error {
	h.machine.mu.Lock()
	defer h.machine.mu.Unlock()
	delete(h.machine.loops, path)
	return nil
}

// GetLoopDevice returns the loop device of a file.
func (h *blockHandler) GetLoopDevice(path string) (string, error) {
	h.machine.mu.Lock()
	defer h.machine.mu.Unlock()
	if !h.machine.loops[path] {
		return "", errors.New(volumepathhandler.ErrDeviceNotFound)
	}
	return "/dev/loop0", nil
}

// Locked lists the files attached to a loop device.
func (m *machine) Locked() (paths []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for path := range m.loops {
		paths = append(paths, m.relative(path))
	}
	slices.Sort(paths)
	return paths
}
