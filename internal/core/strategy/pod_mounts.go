package strategy

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

var (
	propagations = []corev1.MountPropagationMode{
		corev1.MountPropagationBidirectional, corev1.MountPropagationHostToContainer, corev1.MountPropagationNone}
	recursions = []corev1.RecursiveReadOnlyMode{
		corev1.RecursiveReadOnlyDisabled, corev1.RecursiveReadOnlyEnabled, corev1.RecursiveReadOnlyIfPossible}
)

// validateMounts validates the mounts of a container (API-203). The volume mode is not compared here, but by the kubelet (API-205). Errors
// about the options of a mount have the path of the list, not of the mount.
func validateMounts(c *corev1.Container, volumes podVolumes, at func() *field.Path) field.ErrorList {
	var errs field.ErrorList
	for i := range c.VolumeMounts {
		m := &c.VolumeMounts[i]
		item := func(child string) *field.Path { return at().Index(i).Child(child) }
		// API-203, API-206: the volume must exist and be valid.
		if m.Name == "" {
			errs = append(errs, field.Required(item("name"), ""))
		}
		if volumes.find(m.Name) == nil {
			errs = append(errs, field.NotFound(item("name"), m.Name))
		}
		// API-203: mount paths are unique.
		if m.MountPath == "" {
			errs = append(errs, field.Required(item("mountPath"), ""))
		}
		for j := range c.VolumeMounts[:i] {
			if c.VolumeMounts[j].MountPath == m.MountPath {
				errs = append(errs, field.Invalid(item("mountPath"), m.MountPath, "must be unique"))
				break
			}
		}
		// API-203: a volume is mounted or a device, not both. Of two devices of one volume the last is reported.
		if _, ok := devicePath(c.VolumeDevices, m.Name); ok {
			errs = append(errs, field.Invalid(item("name"), m.Name, "must not already exist in volumeDevices"))
		}
		for j := range c.VolumeDevices {
			d := &c.VolumeDevices[j]
			if path, _ := devicePath(c.VolumeDevices, d.Name); path == m.MountPath {
				errs = append(errs, field.Invalid(item("mountPath"), m.MountPath, "must not already exist as a path in volumeDevices"))
				break
			}
		}
		errs = append(errs, validateSubPath(m, at, item)...)
		errs = append(errs, validatePropagation(m, c, at)...)
	}
	return errs
}

// validateSubPath requires that a sub-path stays within its volume (API-203).
func validateSubPath(m *corev1.VolumeMount, at func() *field.Path, item func(string) *field.Path) field.ErrorList {
	if m.SubPath == "" && m.SubPathExpr == "" {
		return nil
	}
	errs := validateRelativePath(m.SubPath, at(), "subPath")
	if m.SubPath != "" && m.SubPathExpr != "" {
		errs = append(errs, field.Invalid(item("subPathExpr"), m.SubPathExpr, "subPathExpr and subPath are mutually exclusive"))
	}
	return append(errs, validateRelativePath(m.SubPathExpr, at(), "subPathExpr")...)
}

// validatePropagation validates mount propagation (API-203): bidirectional mounts need a privileged container, recursively read-only mounts
// do not propagate.
func validatePropagation(m *corev1.VolumeMount, c *corev1.Container, at func() *field.Path) field.ErrorList {
	var errs field.ErrorList
	if m.MountPropagation != nil {
		errs = append(errs, OneOf(*m.MountPropagation, at(), "mountPropagation", propagations)...)
		privileged := c.SecurityContext != nil && c.SecurityContext.Privileged != nil && *c.SecurityContext.Privileged
		if *m.MountPropagation == corev1.MountPropagationBidirectional && !privileged {
			errs = append(errs, field.Forbidden(at().Child("mountPropagation"),
				"Bidirectional mount propagation is available only to privileged containers"))
		}
	}
	if m.RecursiveReadOnly == nil || *m.RecursiveReadOnly == corev1.RecursiveReadOnlyDisabled {
		return errs
	}
	if bad := OneOf(*m.RecursiveReadOnly, at(), "recursiveReadOnly", recursions); len(bad) > 0 {
		return append(errs, bad...)
	}
	if !m.ReadOnly {
		errs = append(errs, field.Forbidden(at().Child("recursiveReadOnly"), "may only be specified when readOnly is true"))
	}
	if m.MountPropagation != nil && *m.MountPropagation != corev1.MountPropagationNone {
		errs = append(errs, field.Forbidden(at().Child("recursiveReadOnly"),
			"may only be specified when mountPropagation is None or not specified"))
	}
	return errs
}

// validateDevices validates the block devices of a container (API-204).
func validateDevices(c *corev1.Container, volumes podVolumes, at func() *field.Path) field.ErrorList {
	var errs field.ErrorList
	for i := range c.VolumeDevices {
		d := &c.VolumeDevices[i]
		item := func(child string) *field.Path { return at().Index(i).Child(child) }
		earlier := c.VolumeDevices[:i]
		if d.Name == "" {
			errs = append(errs, field.Required(item("name"), ""))
		} else if _, ok := devicePath(earlier, d.Name); ok {
			errs = append(errs, field.Invalid(item("name"), d.Name, "must be unique"))
		}
		// API-204: only a volume with a claim can be a device.
		if volume := volumes.find(d.Name); volume == nil {
			errs = append(errs, field.NotFound(item("name"), d.Name))
		} else if volume.PersistentVolumeClaim == nil && volume.Ephemeral == nil {
			errs = append(errs, field.Invalid(item("name"), d.Name,
				"can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode"))
		}
		if d.DevicePath == "" {
			errs = append(errs, field.Required(item("devicePath"), ""))
		}
		// API-204: a path with ".." is an error, and does not count for duplicates.
		for j := range earlier {
			if earlier[j].DevicePath == d.DevicePath && !climbs(d.DevicePath) {
				errs = append(errs, field.Invalid(item("devicePath"), d.DevicePath, "must be unique"))
				break
			}
		}
		if climbs(d.DevicePath) {
			errs = append(errs, field.Invalid(item("devicePath"), d.DevicePath, "can not contain backsteps ('..')"))
		}
		// API-204: a volume is a device or mounted, not both. Of two mounts of one volume the last is reported.
		if _, ok := mountPath(c.VolumeMounts, d.Name); ok {
			errs = append(errs, field.Invalid(item("name"), d.Name, "must not already exist in volumeMounts"))
		}
		for j := range c.VolumeMounts {
			if path, _ := mountPath(c.VolumeMounts, c.VolumeMounts[j].Name); path == d.DevicePath {
				errs = append(errs, field.Invalid(item("devicePath"), d.DevicePath, "must not already exist as a path in volumeMounts"))
				break
			}
		}
	}
	return errs
}

// devicePath returns the path of the last device of that volume.
func devicePath(devices []corev1.VolumeDevice, volume string) (path string, ok bool) {
	for i := len(devices) - 1; i >= 0; i-- {
		if devices[i].Name == volume {
			return devices[i].DevicePath, true
		}
	}
	return "", false
}

// mountPath returns the path of the last mount of that volume.
func mountPath(mounts []corev1.VolumeMount, volume string) (path string, ok bool) {
	for i := len(mounts) - 1; i >= 0; i-- {
		if mounts[i].Name == volume {
			return mounts[i].MountPath, true
		}
	}
	return "", false
}
