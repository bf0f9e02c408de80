package objects

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/volsim/volsim/internal/core/backends"
	"github.com/volsim/volsim/internal/core/intree"
	"github.com/volsim/volsim/storage"
)

// CSIPluginName is the name of the plugin for all CSI drivers.
const CSIPluginName = "kubernetes.io/csi"

// Names of the plugins whose volumes need no storage backend.
const (
	emptyDirPlugin    = "kubernetes.io/empty-dir"
	configMapPlugin   = "kubernetes.io/configmap"
	secretPlugin      = "kubernetes.io/secret"
	projectedPlugin   = "kubernetes.io/projected"
	downwardAPIPlugin = "kubernetes.io/downward-api"
	imagePlugin       = "kubernetes.io/image"
	gitRepoPlugin     = "kubernetes.io/git-repo"
	localPlugin       = "kubernetes.io/local-volume"
	hostPathPlugin    = "kubernetes.io/host-path"
	nfsPlugin         = "kubernetes.io/nfs"
)

// VolumeSpec is a resolved volume of a pod: the PersistentVolume of its claim, or a source in the pod itself. The zero value stands for a
// volume of which only the unique name is known.
type VolumeSpec struct {
	// PV is the PersistentVolume, nil for a source in the pod.
	PV *corev1.PersistentVolume
	// Inline is the pod's own volume, nil for a PersistentVolume.
	Inline *corev1.Volume
	// ReadOnly is the field readOnly of the claim reference in the pod (MNT-073); false for a source in the pod.
	ReadOnly bool
	// InPod says that PV stands for a source in the pod, translated for the CSI driver that replaced its plugin (MIG-002).
	InPod bool
}

// SpecOfVolume returns the spec of a pod volume whose claim is bound to that PersistentVolume.
func SpecOfVolume(volume *corev1.Volume, pv *corev1.PersistentVolume) VolumeSpec {
	claim := volume.PersistentVolumeClaim
	return VolumeSpec{PV: pv, ReadOnly: claim != nil && claim.ReadOnly}
}

// SpecOfInline returns the spec of a pod volume with a source in the pod.
func SpecOfInline(volume *corev1.Volume) VolumeSpec { return VolumeSpec{Inline: volume} }

// SpecOf returns the spec of a PersistentVolume, as Translated does if that is possible.
func SpecOf(pv *corev1.PersistentVolume) VolumeSpec {
	spec := VolumeSpec{PV: pv}
	if translated, err := spec.Translated(""); err == nil {
		return translated
	}
	return spec
}

// CSIOf returns the source of a PersistentVolume for a CSI driver, also for the driver that replaced an in-tree plugin. It is nil for
// other volumes.
func CSIOf(pv *corev1.PersistentVolume) *corev1.CSIPersistentVolumeSource { return SpecOf(pv).CSI() }

// Translated returns the spec as the CSI driver that replaced the in-tree plugin of the volume sees it. Any other spec is returned as it
// is. namespace is that of the pod.
func (s VolumeSpec) Translated(namespace string) (_ VolumeSpec, err error) {
	var pv *corev1.PersistentVolume
	switch {
	case s.PV != nil:
		// MIG-001: the object in the API stays as it is.
		pv, err = intree.Volume(s.PV)
	case s.Inline != nil:
		// MIG-002: the driver knows it as a PersistentVolume that is not in the API.
		pv, err = intree.InPod(s.Inline, namespace)
	}
	switch {
	case err != nil:
		return s, fmt.Errorf("failed to translate in-tree pv to CSI: %w", err)
	case pv == nil || pv == s.PV:
		return s, nil
	}
	return VolumeSpec{PV: pv, ReadOnly: s.ReadOnly, InPod: s.PV == nil}, nil
}

// Known reports whether more than the name of the volume is known.
func (s VolumeSpec) Known() bool { return s.PV != nil || s.Inline != nil }

// Name returns the name of the PersistentVolume, or of the volume in the pod (MNT-023). If neither is known it returns "nil", as in
// messages of Kubernetes.
func (s VolumeSpec) Name() string {
	switch {
	case s.PV != nil:
		return s.PV.Name
	case s.Inline != nil:
		return s.Inline.Name
	}
	return "nil"
}

// CSI returns the source of a PersistentVolume of a CSI driver, or nil for other volumes.
func (s VolumeSpec) CSI() *corev1.CSIPersistentVolumeSource {
	if s.PV == nil {
		return nil
	}
	return s.PV.Spec.CSI
}

// Source returns the source for backends.InTreePlugin, or nil for sources that only a pod can have, such as an emptyDir.
func (s VolumeSpec) Source() *corev1.PersistentVolumeSource {
	if s.PV != nil {
		return &s.PV.Spec.PersistentVolumeSource
	}
	if s.Inline == nil {
		return nil
	}
	in := &s.Inline.VolumeSource
	switch {
	case in.HostPath != nil:
		return &corev1.PersistentVolumeSource{HostPath: in.HostPath}
	case in.NFS != nil:
		return &corev1.PersistentVolumeSource{NFS: in.NFS}
	case in.FC != nil:
		return &corev1.PersistentVolumeSource{FC: in.FC}
	}
	return nil
}

// ID returns the name of the volume within its plugin: backends.Handle of a PersistentVolume, or the name in the pod.
func (s VolumeSpec) ID() string {
	if s.PV != nil {
		return backends.Handle(s.PV)
	}
	return s.Name()
}

// Plugin is the volume plugin that the kubelet and the attach/detach controller use for a volume.
type Plugin struct {
	// Name is the name of the plugin: kubernetes.io/csi for all CSI drivers.
	Name string
	// Driver is the name of the CSI driver, "" for an in-tree plugin.
	Driver string
	// Backend is the CSI driver or in-tree plugin. It is nil if the volume needs no storage, such as an emptyDir, or if the CSI driver
	// does not run.
	Backend storage.Backend
}

// PluginOf returns the plugin for the volume: that of a CSI driver by name, an in-tree plugin by the source that it supports, one without
// storage by the kind of source (MNT-020). A CSI volume always has a plugin, even if its driver does not run. A source that no plugin or
// several plugins support is an error.
func PluginOf(set *backends.Set, spec VolumeSpec) (Plugin, error) {
	if driver := driverOf(spec); driver != "" {
		backend, _ := set.Driver(driver)
		return Plugin{Name: CSIPluginName, Driver: driver, Backend: backend}, nil
	}
	if name := storageless(spec); name != "" {
		return Plugin{Name: name}, nil
	}
	// MNT-020: exactly one plugin must support the source.
	backend, err := set.BySource(spec.Source())
	if err == nil {
		return Plugin{Name: backend.Name(), Backend: backend}, nil
	}
	// A node needs no backend to bind-mount a directory or to mount a share.
	if name := directory(spec.Source()); name != "" && err == backends.ErrNoPluginMatched {
		return Plugin{Name: name}, nil
	}
	return Plugin{}, err
}

// driverOf returns the CSI driver of a volume, or "" for that of an in-tree plugin.
func driverOf(spec VolumeSpec) string {
	switch {
	case spec.CSI() != nil:
		return spec.CSI().Driver
	case spec.Inline != nil && spec.Inline.CSI != nil:
		return spec.Inline.CSI.Driver
	}
	return ""
}

// storageless returns the plugin for a source that only a pod can have, or "" for other volumes.
func storageless(spec VolumeSpec) string {
	if spec.Inline == nil {
		return ""
	}
	in := &spec.Inline.VolumeSource
	switch {
	case in.EmptyDir != nil:
		return emptyDirPlugin
	case in.ConfigMap != nil:
		return configMapPlugin
	case in.Secret != nil:
		return secretPlugin
	case in.Projected != nil:
		return projectedPlugin
	case in.DownwardAPI != nil:
		return downwardAPIPlugin
	case in.Image != nil:
		return imagePlugin
	case in.GitRepo != nil:
		return gitRepoPlugin
	}
	return ""
}

// directory returns the plugin for a source that every node can mount without a backend, or "".
func directory(source *corev1.PersistentVolumeSource) string {
	switch {
	case source == nil:
		return ""
	case source.HostPath != nil:
		return hostPathPlugin
	case source.Local != nil:
		return localPlugin
	case source.NFS != nil:
		return nfsPlugin
	}
	return ""
}

// Attachable reports whether the volume has to be attached before a node can use it (ATT-010, MNT-024). driver is the CSIDriver
// object of a CSI volume's driver, nil if there is none.
func (p Plugin) Attachable(spec VolumeSpec, driver *storagev1.CSIDriver) bool {
	if p.Name != CSIPluginName {
		// ATT-010, MNT-024: an in-tree plugin supports attaching or does not.
		return p.Backend != nil && spec.PV != nil && backends.Can(p.Backend, storage.Attach)
	}
	// ATT-010: an inline volume is not attached.
	if spec.PV == nil {
		return false
	}
	// ATT-010, MNT-024: without the object or the field, attaching is required.
	return driver == nil || driver.Spec.AttachRequired == nil || *driver.Spec.AttachRequired
}

// DeviceMountable reports whether a node mounts the volume once for all pods, before it mounts it for each (MNT-020, MNT-024, MNT-025).
func (p Plugin) DeviceMountable(spec VolumeSpec) bool {
	switch {
	case spec.PV == nil:
		return false
	case p.Name == CSIPluginName:
		// MNT-024: always; whether the driver stages volumes is checked when mounting.
		return true
	case spec.PV.Spec.Local != nil:
		// MNT-025: local volumes are.
		return true
	}
	return p.Backend != nil && backends.Can(p.Backend, storage.Stage)
}

// UniqueVolumeName returns the name of a volume in controllers, kubelets and the status of nodes: the plugin, and the name of the volume
// there (ATT-001, MNT-021). For CSI the latter is driver^handle. Pods that use the volume share the name.
func UniqueVolumeName(p Plugin, spec VolumeSpec) corev1.UniqueVolumeName {
	if p.Name == CSIPluginName {
		// ATT-001: two PersistentVolumes with the same handle are the same volume.
		return CSIVolumeName(p.Driver, spec.ID())
	}
	return corev1.UniqueVolumeName(p.Name + "/" + spec.ID())
}

// AppendVolumeName is UniqueVolumeName; it appends to name.
func AppendVolumeName(name []byte, p Plugin, spec VolumeSpec) []byte {
	name = append(append(name, p.Name...), '/')
	if p.Name == CSIPluginName {
		name = append(append(name, p.Driver...), csiSeparator...)
	}
	return append(name, spec.ID()...)
}

// UniquePodVolumeName returns the name of a volume that belongs to one pod (MNT-022).
func UniquePodVolumeName(p Plugin, pod types.UID, spec VolumeSpec) corev1.UniqueVolumeName {
	return corev1.UniqueVolumeName(p.Name + "/" + string(pod) + "-" + spec.Name())
}

// CSIVolumeName returns the unique name of a volume of a CSI driver (ATT-001, MNT-024).
func CSIVolumeName(driver, handle string) corev1.UniqueVolumeName {
	return corev1.UniqueVolumeName(CSIPluginName + "/" + driver + csiSeparator + handle)
}

const csiSeparator = "^"

// SplitVolumeName splits a unique name at its second slash into the name of the plugin and the name of the volume there (ATT-107). A name
// without two slashes is an error.
func SplitVolumeName(name corev1.UniqueVolumeName) (plugin, volume string, err error) {
	// ATT-107: names of plugins contain one slash.
	first := strings.IndexByte(string(name), '/')
	second := strings.IndexByte(string(name[first+1:]), '/')
	if first < 0 || second < 0 {
		return "", "", fmt.Errorf("cannot split volume unique name %s", name)
	}
	at := first + 1 + second
	return string(name[:at]), string(name[at+1:]), nil
}

// SplitCSIName splits the name of a volume within the CSI plugin into driver and handle. It must contain exactly one separator (ATT-143).
func SplitCSIName(name string) (driver, handle string, ok bool) {
	// ATT-143: as a consequence, a volume whose handle contains the separator cannot be detached.
	driver, handle, ok = strings.Cut(name, csiSeparator)
	if !ok || strings.Contains(handle, csiSeparator) {
		return "", "", false
	}
	return driver, handle, true
}

// InlineHandle returns the handle that the kubelet generates for a CSI volume in the pod itself (MNT-038).
func InlineHandle(pod types.UID, name string) string {
	// MNT-038: a hash of the pod's uid and the volume's name.
	return fmt.Sprintf("csi-%x", sha256.Sum256([]byte(string(pod)+name)))
}

// AttachmentName returns the name of the VolumeAttachment for a CSI volume and a node (ATT-003, MNT-038).
func AttachmentName(handle, driver, node string) string {
	// ATT-003, MNT-038: the name is the same each time the volume is attached.
	var text [256]byte
	sum := sha256.Sum256(append(append(append(text[:0], handle...), driver...), node...))
	const prefix = "csi-"
	var name [len(prefix) + 2*sha256.Size]byte
	hex.Encode(name[copy(name[:], prefix):], sum[:])
	return string(name[:])
}

// MultiAttachAllowed reports whether the volume may be attached to several nodes at a time (ATT-069).
func MultiAttachAllowed(spec VolumeSpec) bool {
	if spec.Inline != nil {
		// ATT-069: these two kinds of disk are for one node.
		return spec.Inline.AzureDisk == nil && spec.Inline.Cinder == nil
	}
	// ATT-069: without a spec or access modes, it is allowed.
	if spec.PV == nil || len(spec.PV.Spec.AccessModes) == 0 {
		return true
	}
	for _, mode := range spec.PV.Spec.AccessModes {
		if mode == corev1.ReadWriteMany || mode == corev1.ReadOnlyMany {
			return true
		}
	}
	return false
}
