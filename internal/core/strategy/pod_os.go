package strategy

import (
	"fmt"
	"regexp"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// setField is a field of an object, and whether it is set.
type setField struct {
	child string
	set   bool
}

// forbidSet forbids each field that is set.
func forbidSet(fields []setField, path *field.Path, why string) field.ErrorList {
	var errs field.ErrorList
	for _, f := range fields {
		if f.set {
			errs = append(errs, field.Forbidden(path.Child(f.child), why))
		}
	}
	return errs
}

// validateOS validates the operating system of a pod, and that the pod has no fields of another (API-372).
func validateOS(spec *corev1.PodSpec) field.ErrorList {
	path := field.NewPath("spec", "os")
	switch spec.OS.Name {
	case corev1.Linux:
		return validateLinux(spec)
	case corev1.Windows:
		return validateWindows(spec)
	case "":
		return field.ErrorList{field.Required(path.Child("name"), "")}
	}
	return field.ErrorList{field.NotSupported(path, spec.OS.Name, []corev1.OSName{corev1.Linux, corev1.Windows})}
}

// validateLinux forbids the options of Windows (API-372).
func validateLinux(spec *corev1.PodSpec) field.ErrorList {
	const child, why = "securityContext.windowsOptions", "windows options cannot be set for a linux pod"
	var errs field.ErrorList
	if c := spec.SecurityContext; c != nil && c.WindowsOptions != nil {
		errs = append(errs, field.Forbidden(field.NewPath("spec", child), why))
	}
	eachContainer(spec, func(c *corev1.Container, at containerPlace) {
		if c.SecurityContext != nil && c.SecurityContext.WindowsOptions != nil {
			errs = append(errs, field.Forbidden(at.path().Child(child), why))
		}
	})
	return errs
}

// validateWindows forbids what Windows does not have (API-372).
func validateWindows(spec *corev1.PodSpec) field.ErrorList {
	const why, context = "cannot be set for a windows pod", "securityContext."
	c := spec.SecurityContext
	if c == nil {
		c = &corev1.PodSecurityContext{}
	}
	errs := forbidSet([]setField{
		{context + "appArmorProfile", c.AppArmorProfile != nil}, {context + "seLinuxOptions", c.SELinuxOptions != nil},
		{"hostUsers", spec.HostUsers != nil}, {"hostPID", spec.HostPID}, {"hostIPC", spec.HostIPC},
		{context + "seccompProfile", c.SeccompProfile != nil}, {context + "fsGroup", c.FSGroup != nil},
		{context + "fsGroupChangePolicy", c.FSGroupChangePolicy != nil}, {context + "sysctls", len(c.Sysctls) > 0},
		{"shareProcessNamespace", spec.ShareProcessNamespace != nil}, {context + "runAsUser", c.RunAsUser != nil},
		{context + "runAsGroup", c.RunAsGroup != nil}, {context + "supplementalGroups", c.SupplementalGroups != nil},
		{context + "supplementalGroupsPolicy", c.SupplementalGroupsPolicy != nil}, {context + "seLinuxChangePolicy", c.SELinuxChangePolicy != nil},
	}, field.NewPath("spec"), why)
	eachContainer(spec, func(container *corev1.Container, at containerPlace) {
		if c := container.SecurityContext; c != nil {
			errs = append(errs, forbidSet([]setField{
				{"appArmorProfile", c.AppArmorProfile != nil}, {"seLinuxOptions", c.SELinuxOptions != nil},
				{"seccompProfile", c.SeccompProfile != nil}, {"capabilities", c.Capabilities != nil},
				{"readOnlyRootFilesystem", c.ReadOnlyRootFilesystem != nil}, {"privileged", c.Privileged != nil},
				{"allowPrivilegeEscalation", c.AllowPrivilegeEscalation != nil}, {"procMount", c.ProcMount != nil},
				{"runAsUser", c.RunAsUser != nil}, {"runAsGroup", c.RunAsGroup != nil},
			}, at.path().Child("securityContext"), why)...)
		}
	})
	return errs
}

// hostProcess returns the field hostProcess of options, nil if it is not set.
func hostProcess(options *corev1.WindowsSecurityContextOptions) *bool {
	if options == nil {
		return nil
	}
	return options.HostProcess
}

// validateHostProcess validates which containers are processes of a Windows node (API-372).
func validateHostProcess(spec *corev1.PodSpec) field.ErrorList {
	var errs field.ErrorList
	var whole *bool
	if spec.SecurityContext != nil {
		whole = hostProcess(spec.SecurityContext.WindowsOptions)
	}
	processes := 0
	eachContainer(spec, func(c *corev1.Container, at containerPlace) {
		var own *bool
		if c.SecurityContext != nil {
			own = hostProcess(c.SecurityContext.WindowsOptions)
		}
		// API-372: the pod and its containers do not contradict each other.
		if whole != nil && own != nil && *whole != *own {
			errs = append(errs, field.Invalid(at.path().Child("securityContext", "windowsOptions", "hostProcess"), *own,
				fmt.Sprintf("pod hostProcess value must be identical if both are specified, was %t", *whole)))
		}
		if own == nil {
			own = whole
		}
		if own != nil && *own {
			processes++
		}
	})
	// API-372: all containers or none, and in the network of the node.
	if processes > 0 && processes != len(spec.InitContainers)+len(spec.Containers) {
		errs = append(errs, field.Invalid(field.NewPath("spec"), "", "If pod contains any hostProcess containers then all containers must be HostProcess containers"))
	}
	if processes > 0 && !spec.HostNetwork {
		errs = append(errs, field.Invalid(field.NewPath("spec", "hostNetwork"), false, "hostNetwork must be true if pod contains any hostProcess containers"))
	}
	return errs
}

const maxCredentialSpecBytes = 64 * 1024

// validateWindowsOptions validates the options of Windows of a pod or a container (API-372).
func validateWindowsOptions(options *corev1.WindowsSecurityContextOptions, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if name := options.GMSACredentialSpecName; name != nil {
		errs = append(errs, Subdomain(*name, path, "gmsaCredentialSpecName")...)
	}
	if spec := options.GMSACredentialSpec; spec != nil {
		at := path.Child("gmsaCredentialSpec")
		switch {
		case *spec == "":
			errs = append(errs, field.Invalid(at, "", "gmsaCredentialSpec cannot be an empty string"))
		case len(*spec) > maxCredentialSpecBytes:
			errs = append(errs, field.Invalid(at, *spec, "gmsaCredentialSpec size must be under 64 KiB"))
		}
	}
	if name := options.RunAsUserName; name != nil {
		errs = AppendInvalid(errs, path.Child("runAsUserName"), *name, windowsUserFaults(*name))
	}
	return errs
}

const (
	maxUserDomainBytes = 255
	maxUserBytes       = 104
)

// windowsDomain matches the names of domains: of NetBIOS, or of DNS.
const windowsDomain = `^(?:[^\\/:*?"<>|.][^\\/:*?"<>|]{0,14}|[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?(?:\.[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?)*)$`

// windowsUserFaults returns what is wrong with the name of a user, which is user or domain\user (API-372).
func windowsUserFaults(name string) []string {
	switch {
	case name == "":
		return []string{"runAsUserName cannot be an empty string"}
	case strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == '\x7f' }):
		return []string{"runAsUserName cannot contain control characters"}
	case strings.Count(name, `\`) > 1:
		return []string{"runAsUserName cannot contain more than one backslash"}
	}
	var faults []string
	domain, user, ok := strings.Cut(name, `\`)
	if !ok {
		domain, user = "", name
	}
	if len(domain) > maxUserDomainBytes {
		faults = append(faults, fmt.Sprintf("runAsUserName's Domain length must be under %d characters", maxUserDomainBytes+1))
	}
	if ok && !regexp.MustCompile(windowsDomain).MatchString(domain) {
		faults = append(faults, "runAsUserName's Domain doesn't match the NetBios nor the DNS format")
	}
	switch {
	case user == "":
		faults = append(faults, "runAsUserName's User cannot be empty")
	case len(user) > maxUserBytes:
		faults = append(faults, fmt.Sprintf("runAsUserName's User length must not be longer than %d characters", maxUserBytes))
	}
	if user != "" && strings.Trim(user, ". ") == "" {
		faults = append(faults, "runAsUserName's User cannot contain only periods or spaces")
	}
	if strings.ContainsAny(user, `"/\:;|=,+*?<>@[]`) {
		faults = append(faults, `runAsUserName's User cannot contain the following characters: "/\:;|=,+*?<>@[]`)
	}
	return faults
}

// validateReadinessGates validates the conditions that a pod waits for (API-373).
func validateReadinessGates(gates []corev1.PodReadinessGate) field.ErrorList {
	var errs field.ErrorList
	for i, gate := range gates {
		errs = AppendInvalid(errs, field.NewPath("spec", "readinessGates").Index(i).Child("conditionType"), string(gate.ConditionType),
			validation.IsQualifiedName(string(gate.ConditionType)))
	}
	return errs
}
