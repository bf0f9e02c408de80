package strategy

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// validateSecurity validates the security context of a container (API-356). hostUsers says that the pod is in the user namespace of its node.
// SIM: privileged containers are allowed.
func validateSecurity(c *corev1.SecurityContext, hostUsers bool, at func() *field.Path) field.ErrorList {
	errs := validateSet(c.RunAsUser, at, "runAsUser", userID)
	errs = append(errs, validateSet(c.RunAsGroup, at, "runAsGroup", groupID)...)
	if c.ProcMount != nil {
		errs = append(errs, OneOf(*c.ProcMount, at(), "procMount", []corev1.ProcMountType{corev1.DefaultProcMount, corev1.UnmaskedProcMount})...)
		// API-375: only in its own user namespace may a container see all of /proc.
		if hostUsers && *c.ProcMount == corev1.UnmaskedProcMount {
			errs = append(errs, field.Invalid(at().Child("procMount"), *c.ProcMount, "`hostUsers` must be false to use `Unmasked`"))
		}
	}
	errs = append(errs, validateSet(c.SeccompProfile, at, "seccompProfile", validateSeccomp)...)
	if c.AllowPrivilegeEscalation != nil && !*c.AllowPrivilegeEscalation {
		errs = append(errs, validateNoEscalation(c, at())...)
	}
	errs = append(errs, validateSet(c.WindowsOptions, at, "windowsOptions", validateWindowsOptions)...)
	return append(errs, validateSet(c.AppArmorProfile, at, "appArmorProfile", validateAppArmor)...)
}

// validateNoEscalation validates a container whose privileges do not escalate (API-375).
func validateNoEscalation(c *corev1.SecurityContext, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	const why = "cannot set `allowPrivilegeEscalation` to false and "
	// API-375: it is neither privileged nor an administrator.
	if c.Privileged != nil && *c.Privileged {
		errs = append(errs, field.Invalid(path, internalForm{c}, why+"`privileged` to true"))
	}
	if c.Capabilities != nil {
		for _, name := range c.Capabilities.Add {
			if name == "CAP_SYS_ADMIN" {
				errs = append(errs, field.Invalid(path, internalForm{c}, why+"`capabilities.Add` CAP_SYS_ADMIN"))
			}
		}
	}
	return errs
}

// validatePodSecurity validates the security context of a pod (API-356).
func validatePodSecurity(spec *corev1.PodSpec, old *corePod, at func() *field.Path) field.ErrorList {
	c := spec.SecurityContext
	errs := validateSet(c.FSGroup, at, "fsGroup", groupID)
	errs = append(errs, validateSet(c.RunAsUser, at, "runAsUser", userID)...)
	errs = append(errs, validateSet(c.RunAsGroup, at, "runAsGroup", groupID)...)
	for i := range c.SupplementalGroups {
		errs = append(errs, groupID(&c.SupplementalGroups[i], at().Child("supplementalGroups").Index(i))...)
	}
	// API-371: containers share the processes of the pod, or those of the node.
	if share := spec.ShareProcessNamespace; share != nil && *share && spec.HostPID {
		errs = append(errs, field.Invalid(at().Child("shareProcessNamespace"), true, "ShareProcessNamespace and HostPID cannot both be enabled"))
	}
	if len(c.Sysctls) > 0 {
		errs = append(errs, validateSysctls(spec, at().Child("sysctls"))...)
	}
	if policy := c.FSGroupChangePolicy; policy != nil {
		errs = append(errs, OneOf(*policy, at(), "fsGroupChangePolicy", []corev1.PodFSGroupChangePolicy{corev1.FSGroupChangeAlways, corev1.FSGroupChangeOnRootMismatch})...)
	}
	errs = append(errs, validateSet(c.SeccompProfile, at, "seccompProfile", validateSeccomp)...)
	errs = append(errs, validateSet(c.WindowsOptions, at, "windowsOptions", validateWindowsOptions)...)
	errs = append(errs, validateSet(c.AppArmorProfile, at, "appArmorProfile", validateAppArmor)...)
	if policy := c.SupplementalGroupsPolicy; policy != nil {
		errs = append(errs, OneOf(*policy, at(), "supplementalGroupsPolicy", []corev1.SupplementalGroupsPolicy{corev1.SupplementalGroupsPolicyMerge,
			corev1.SupplementalGroupsPolicyStrict})...)
	}
	if policy := c.SELinuxChangePolicy; policy != nil {
		// API-375: the gate SELinuxMount is off, so volumes are relabelled file by file. A pod that was stored with a policy may get another one.
		known := []corev1.PodSELinuxChangePolicy{corev1.SELinuxChangePolicyRecursive}
		if old != nil && old.Spec.SecurityContext != nil && old.Spec.SecurityContext.SELinuxChangePolicy != nil {
			known = []corev1.PodSELinuxChangePolicy{corev1.SELinuxChangePolicyMountOption, corev1.SELinuxChangePolicyRecursive}
		}
		errs = append(errs, OneOf(*policy, at(), "seLinuxChangePolicy", known)...)
	}
	return errs
}

// validateSet validates the value of a field, if it is set. Most contexts are empty, and need no paths.
func validateSet[T any](value *T, at func() *field.Path, child string, validate func(*T, *field.Path) field.ErrorList) field.ErrorList {
	if value == nil {
		return nil
	}
	return validate(value, at().Child(child))
}

func userID(id *int64, path *field.Path) field.ErrorList {
	return AppendInvalid(nil, path, *id, validation.IsValidUserID(*id))
}

func groupID(id *int64, path *field.Path) field.ErrorList {
	return AppendInvalid(nil, path, *id, validation.IsValidGroupID(*id))
}

func validateSeccomp(p *corev1.SeccompProfile, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if p.Type == "" {
		errs = append(errs, field.Required(path.Child("type"), "type is required when seccompProfile is set"))
	} else {
		errs = OneOf(p.Type, path, "type", []corev1.SeccompProfileType{corev1.SeccompProfileTypeLocalhost, corev1.SeccompProfileTypeRuntimeDefault,
			corev1.SeccompProfileTypeUnconfined})
	}
	switch file := p.LocalhostProfile; {
	case p.Type != corev1.SeccompProfileTypeLocalhost && file != nil:
		// API-356: the server shows the profile with the names of the fields in Go.
		shown := struct {
			Type             corev1.SeccompProfileType
			LocalhostProfile *string
		}{p.Type, file}
		errs = append(errs, field.Invalid(path.Child("localhostProfile"), shown, "can only be set when seccomp type is Localhost"))
	case p.Type == corev1.SeccompProfileTypeLocalhost && file == nil:
		errs = append(errs, field.Required(path.Child("localhostProfile"), "must be set when seccomp type is Localhost"))
	case p.Type == corev1.SeccompProfileTypeLocalhost:
		errs = append(errs, validateRelativePath(*file, path, "localhostProfile")...)
	}
	return errs
}

// maxPath is the longest path of a file on Linux.
const maxPath = 4095

func validateAppArmor(p *corev1.AppArmorProfile, path *field.Path) field.ErrorList {
	file := path.Child("localhostProfile")
	const missing = "must be set when AppArmor type is Localhost"
	switch p.Type {
	case "":
		return field.ErrorList{field.Required(path.Child("type"), "type is required when appArmorProfile is set")}
	case corev1.AppArmorProfileTypeRuntimeDefault, corev1.AppArmorProfileTypeUnconfined:
		if p.LocalhostProfile != nil {
			return field.ErrorList{field.Invalid(file, *p.LocalhostProfile, "can only be set when AppArmor type is Localhost")}
		}
		return nil
	case corev1.AppArmorProfileTypeLocalhost:
		switch {
		case p.LocalhostProfile == nil || *p.LocalhostProfile == "":
			return field.ErrorList{field.Required(file, missing)}
		case strings.TrimSpace(*p.LocalhostProfile) != *p.LocalhostProfile:
			return field.ErrorList{field.Invalid(file, *p.LocalhostProfile, "must not be padded with whitespace")}
		case len(*p.LocalhostProfile) > maxPath:
			return field.ErrorList{field.TooLong(file, "", maxPath)}
		}
		return nil
	}
	return OneOf(p.Type, path, "type", []corev1.AppArmorProfileType{corev1.AppArmorProfileTypeLocalhost, corev1.AppArmorProfileTypeRuntimeDefault,
		corev1.AppArmorProfileTypeUnconfined})
}
