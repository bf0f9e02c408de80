package store

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// validateSecurity validates the security context of a container (API-356). SIM: privileged containers are allowed.
func validateSecurity(c *corev1.SecurityContext, at func() *field.Path) field.ErrorList {
	errs := validateSet(c.RunAsUser, at, "runAsUser", userID)
	errs = append(errs, validateSet(c.RunAsGroup, at, "runAsGroup", groupID)...)
	if c.ProcMount != nil {
		errs = append(errs, oneOf(*c.ProcMount, at(), "procMount", []corev1.ProcMountType{corev1.DefaultProcMount, corev1.UnmaskedProcMount})...)
	}
	errs = append(errs, validateSet(c.SeccompProfile, at, "seccompProfile", validateSeccomp)...)
	return append(errs, validateSet(c.AppArmorProfile, at, "appArmorProfile", validateAppArmor)...)
}

// validatePodSecurity validates the security context of a pod (API-356).
func validatePodSecurity(c *corev1.PodSecurityContext, at func() *field.Path) field.ErrorList {
	errs := validateSet(c.FSGroup, at, "fsGroup", groupID)
	errs = append(errs, validateSet(c.RunAsUser, at, "runAsUser", userID)...)
	errs = append(errs, validateSet(c.RunAsGroup, at, "runAsGroup", groupID)...)
	for i := range c.SupplementalGroups {
		errs = append(errs, groupID(&c.SupplementalGroups[i], at().Child("supplementalGroups").Index(i))...)
	}
	if policy := c.FSGroupChangePolicy; policy != nil {
		errs = append(errs, oneOf(*policy, at(), "fsGroupChangePolicy", []corev1.PodFSGroupChangePolicy{corev1.FSGroupChangeAlways, corev1.FSGroupChangeOnRootMismatch})...)
	}
	errs = append(errs, validateSet(c.SeccompProfile, at, "seccompProfile", validateSeccomp)...)
	errs = append(errs, validateSet(c.AppArmorProfile, at, "appArmorProfile", validateAppArmor)...)
	if policy := c.SupplementalGroupsPolicy; policy != nil {
		errs = append(errs, oneOf(*policy, at(), "supplementalGroupsPolicy", []corev1.SupplementalGroupsPolicy{corev1.SupplementalGroupsPolicyMerge,
			corev1.SupplementalGroupsPolicyStrict})...)
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
	return appendInvalid(nil, path, *id, validation.IsValidUserID(*id))
}

func groupID(id *int64, path *field.Path) field.ErrorList {
	return appendInvalid(nil, path, *id, validation.IsValidGroupID(*id))
}

func validateSeccomp(p *corev1.SeccompProfile, path *field.Path) field.ErrorList {
	errs := oneOf(p.Type, path, "type", []corev1.SeccompProfileType{corev1.SeccompProfileTypeLocalhost, corev1.SeccompProfileTypeRuntimeDefault,
		corev1.SeccompProfileTypeUnconfined})
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
		}
		return nil
	}
	return oneOf(p.Type, path, "type", []corev1.AppArmorProfileType{corev1.AppArmorProfileTypeLocalhost, corev1.AppArmorProfileTypeRuntimeDefault,
		corev1.AppArmorProfileTypeUnconfined})
}
