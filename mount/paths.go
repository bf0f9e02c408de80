package mount

import (
	"crypto/sha256"
	"fmt"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"github.com/volsim/volsim/internal/core/objects"
)

// layout knows where a kubelet keeps what (MNT-030 to MNT-037).
type layout struct{ root string }

// escaped is the name of a plugin as part of a path (MNT-026).
func escaped(plugin string) string {
	// MNT-026: a path has slashes of its own.
	return strings.ReplaceAll(plugin, "/", "~")
}

func unescaped(name string) string { return strings.ReplaceAll(name, "~", "/") }

const metadataFile = "vol_data.json"

func (l layout) pods() string                  { return l.root + "/pods" }
func (l layout) pod(uid types.UID) string      { return l.pods() + "/" + string(uid) }
func (l layout) volumes(uid types.UID) string  { return l.pod(uid) + "/volumes" }
func (l layout) devices(uid types.UID) string  { return l.pod(uid) + "/volumeDevices" }
func (l layout) subpaths(uid types.UID) string { return l.pod(uid) + "/volume-subpaths" }
func (l layout) plugin(plugin string) string   { return l.root + "/plugins/" + plugin }

// podVolume is where a volume is mounted for a pod, for CSI the directory around that place (MNT-030, MNT-032, MNT-034).
func (l layout) podVolume(uid types.UID, plugin, spec string) string {
	return l.volumes(uid) + "/" + escaped(plugin) + "/" + spec
}

// csiMount is where a CSI driver mounts a volume for a pod (MNT-030). The metadata is beside it.
func (l layout) csiMount(uid types.UID, spec string) string {
	// MNT-030: below the directory of the volume, which the kubelet itself owns.
	return l.podVolume(uid, objects.CSIPluginName, spec) + "/mount"
}

// csiGlobal is where a CSI driver stages a volume (MNT-030). The metadata is one level above.
func (l layout) csiGlobal(driver, handle string) string {
	// MNT-030: a handle may be anything, so its sum stands for it.
	return fmt.Sprintf("%s/%s/%x/globalmount", l.plugin(objects.CSIPluginName), driver, sha256.Sum256([]byte(handle)))
}

// The places of a CSI block volume (MNT-031).
func (l layout) csiDevices() string { return l.plugin(objects.CSIPluginName) + "/volumeDevices" }

// csiMap is the directory that holds a bind file for each pod (MNT-031).
func (l layout) csiMap(spec string) string { return l.csiDevices() + "/" + spec + "/dev" }

// csiDeviceData is the directory of a block volume's metadata (MNT-031).
func (l layout) csiDeviceData(spec string) string { return l.csiDevices() + "/" + spec + "/data" }

// csiStaging and csiPublish are where a driver puts a block volume (MNT-031).
func (l layout) csiStaging(spec string) string { return l.csiDevices() + "/staging/" + spec }

func (l layout) csiPublish(spec string, uid types.UID) string {
	return l.csiDevices() + "/publish/" + spec + "/" + string(uid)
}

// podDevice is the link to a block volume in the directory of a pod (MNT-031, MNT-033).
func (l layout) podDevice(uid types.UID, plugin, spec string) string {
	// MNT-031, MNT-033
	return l.devices(uid) + "/" + escaped(plugin) + "/" + spec
}

// global is where an in-tree plugin mounts a device (MNT-032), the local plugin a block device (MNT-034).
func (l layout) global(plugin, device string) string {
	// MNT-032, MNT-034
	return l.plugin(plugin) + "/mounts/" + device
}

// globalMap is the directory of the bind files of an in-tree block volume (MNT-033).
func (l layout) globalMap(plugin, device string) string {
	// MNT-033
	return l.plugin(plugin) + "/volumeDevices/" + device
}

// subpath is where a part of a volume is mounted for a container (MNT-037).
func (l layout) subpath(uid types.UID, spec, container string, index int) string {
	// MNT-037: one for each of the container's mounts, by its number.
	return l.subpaths(uid) + "/" + spec + "/" + container + "/" + strconv.Itoa(index)
}
