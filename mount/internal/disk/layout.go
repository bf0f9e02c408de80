package disk

import (
	"crypto/sha256"
	"encoding/hex"
	"path"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"github.com/volsim/volsim/internal/core/objects"
)

// Layout computes the paths below the root directory of a kubelet (MNT-030 to MNT-037: the directory layout of upstream).
type Layout struct{ Root string }

// EscapePlugin returns the name of a plugin as one path element.
func EscapePlugin(plugin string) string {
	// MNT-026: a slash in the name becomes "~".
	return strings.ReplaceAll(plugin, "/", "~")
}

// csiDir is the escaped name of the CSI plugin.
var csiDir = EscapePlugin(objects.CSIPluginName)

// UnescapePlugin reverses EscapePlugin.
func UnescapePlugin(name string) string { return strings.ReplaceAll(name, "~", "/") }

// MetadataFile is the name of the file in which the CSI plugin records the driver and the handle of a volume.
const MetadataFile = "vol_data.json"

// Parent is path.Dir. Most paths are clean, so that it only cuts the last element off.
func Parent(name string) string {
	at := strings.LastIndexByte(name, '/')
	if at <= 0 || at == len(name)-1 || strings.Contains(name, "//") || strings.Contains(name, "/.") {
		return path.Dir(name)
	}
	return name[:at]
}

// Pods is the parent of the directories of all pods.
func (l Layout) Pods() string { return l.Root + "/pods" }

// Pod is the directory of a pod.
func (l Layout) Pod(uid types.UID) string { return l.Root + "/pods/" + string(uid) }

// PodVolumes is the parent of the mounted file systems of a pod, grouped by plugin.
func (l Layout) PodVolumes(uid types.UID) string { return l.Root + "/pods/" + string(uid) + "/volumes" }

// PodPlugins is the parent of what plugins keep for a pod.
func (l Layout) PodPlugins(uid types.UID) string { return l.Root + "/pods/" + string(uid) + "/plugins" }

// PodDevices is the parent of the block devices of a pod, grouped by plugin.
func (l Layout) PodDevices(uid types.UID) string { return l.Pod(uid) + "/volumeDevices" }

// Subpaths is the parent of the subPath mounts of a pod.
func (l Layout) Subpaths(uid types.UID) string { return l.Root + "/pods/" + string(uid) + subpaths }

// SubpathsOf is the parent of the subPath mounts of one volume of a pod.
func (l Layout) SubpathsOf(uid types.UID, spec string) string {
	return l.Root + "/pods/" + string(uid) + subpaths + "/" + spec
}

const subpaths = "/volume-subpaths"

// Plugin is the directory of a plugin.
func (l Layout) Plugin(plugin string) string { return l.Root + "/plugins/" + plugin }

// PodVolume is where an in-tree plugin mounts a volume for a pod (MNT-032, MNT-034). For CSI it is the parent of CSIMount (MNT-030).
func (l Layout) PodVolume(uid types.UID, plugin, spec string) string {
	return l.Root + "/pods/" + string(uid) + "/volumes/" + EscapePlugin(plugin) + "/" + spec
}

// CSIMount is where a CSI driver publishes a volume for a pod. The metadata file is beside it.
func (l Layout) CSIMount(uid types.UID, spec string) string {
	// MNT-030: the target is a subdirectory, because the kubelet owns the directory of the volume.
	return l.Root + "/pods/" + string(uid) + "/volumes/" + csiDir + "/" + spec + "/mount"
}

// CSIGlobalMount is where a CSI driver stages a volume. The metadata file is beside it.
func (l Layout) CSIGlobalMount(driver, handle string) string {
	// MNT-030: a hash names the directory, because a handle may contain any character.
	sum := sha256.Sum256([]byte(handle))
	var name [2 * sha256.Size]byte
	hex.Encode(name[:], sum[:])
	return l.Root + "/plugins/" + objects.CSIPluginName + "/" + driver + "/" + string(name[:]) + "/globalmount"
}

// CSIDevices is the directory of all CSI block volumes (MNT-031).
func (l Layout) CSIDevices() string { return l.Plugin(objects.CSIPluginName) + "/volumeDevices" }

// CSIMap is the directory with one bind file per pod of a block volume (MNT-031).
func (l Layout) CSIMap(spec string) string { return l.CSIDevices() + "/" + spec + "/dev" }

// CSIDeviceData is the directory with the metadata file of a block volume (MNT-031).
func (l Layout) CSIDeviceData(spec string) string { return l.CSIDevices() + "/" + spec + "/data" }

// CSIStaging is where a driver stages a block volume (MNT-031).
func (l Layout) CSIStaging(spec string) string { return l.CSIDevices() + "/staging/" + spec }

// CSIPublish is where a driver publishes a block volume for a pod (MNT-031).
func (l Layout) CSIPublish(spec string, uid types.UID) string {
	return l.CSIDevices() + "/publish/" + spec + "/" + string(uid)
}

// PodDevice is the link to a block volume in the directory of a pod (MNT-031: CSI, MNT-033: in-tree plugins).
func (l Layout) PodDevice(uid types.UID, plugin, spec string) string {
	return l.PodDevices(uid) + "/" + EscapePlugin(plugin) + "/" + spec
}

// GlobalMount is where an in-tree plugin mounts a device (MNT-032), and the local plugin a block device (MNT-034).
func (l Layout) GlobalMount(plugin, device string) string {
	return l.Plugin(plugin) + "/mounts/" + device
}

// GlobalMap is the directory with one bind file per pod of an in-tree block volume (MNT-033).
func (l Layout) GlobalMap(plugin, device string) string {
	return l.Plugin(plugin) + "/volumeDevices/" + device
}

// Subpath is where a subPath of a volume is mounted for a container.
func (l Layout) Subpath(uid types.UID, spec, container string, index int) string {
	// MNT-037: each volumeMount of the container has its own, named by its index.
	return l.SubpathsOf(uid, spec) + "/" + container + "/" + strconv.Itoa(index)
}
