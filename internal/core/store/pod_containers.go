package store

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// validateContainers validates the main containers of a pod. At least one is required.
func validateContainers(spec *corev1.PodSpec, volumes podVolumes) field.ErrorList {
	at := specField("containers")
	if len(spec.Containers) == 0 {
		return field.ErrorList{field.Required(at(), "")}
	}
	var errs field.ErrorList
	for i := range spec.Containers {
		errs = append(errs, validateContainer(&spec.Containers[i], volumes, func() *field.Path { return at().Index(i) })...)
		if hasContainer(spec.Containers[:i], spec.Containers[i].Name) {
			errs = append(errs, field.Duplicate(at().Index(i).Child("name"), spec.Containers[i].Name))
		}
		errs = append(errs, validateHooks(&spec.Containers[i], spec.TerminationGracePeriodSeconds, func() *field.Path { return at().Index(i) })...)
	}
	return append(errs, validateHostPorts(spec.Containers, at)...)
}

// validateInitContainers validates the init containers of a pod.
func validateInitContainers(spec *corev1.PodSpec, volumes podVolumes) field.ErrorList {
	at := specField("initContainers")
	var errs field.ErrorList
	for i := range spec.InitContainers {
		c := &spec.InitContainers[i]
		errs = append(errs, validateContainer(c, volumes, func() *field.Path { return at().Index(i) })...)
		if hasContainer(spec.Containers, c.Name) || c.Name != "" && hasContainer(spec.InitContainers[:i], c.Name) {
			errs = append(errs, field.Duplicate(at().Index(i).Child("name"), c.Name))
		}
		// Init containers run one after another, so each is validated alone, and errors name it as the first.
		errs = append(errs, validateHostPorts(spec.InitContainers[i:i+1], at)...)
		if c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways {
			errs = append(errs, validateHooks(c, spec.TerminationGracePeriodSeconds, func() *field.Path { return at().Index(i) })...)
			continue
		}
		for _, f := range [...]struct {
			child string
			set   bool
		}{
			{"lifecycle", c.Lifecycle != nil}, {"livenessProbe", c.LivenessProbe != nil},
			{"readinessProbe", c.ReadinessProbe != nil}, {"startupProbe", c.StartupProbe != nil},
		} {
			if f.set {
				errs = append(errs, field.Forbidden(at().Index(i).Child(f.child), "may not be set for init containers without restartPolicy=Always"))
			}
		}
	}
	return errs
}

func hasContainer(containers []corev1.Container, name string) bool {
	return slices.ContainsFunc(containers, func(c corev1.Container) bool { return c.Name == name })
}

var (
	messagePolicies   = []corev1.TerminationMessagePolicy{corev1.TerminationMessageFallbackToLogsOnError, corev1.TerminationMessageReadFile}
	containerPolicies = []corev1.ContainerRestartPolicy{
		corev1.ContainerRestartPolicyAlways, corev1.ContainerRestartPolicyNever, corev1.ContainerRestartPolicyOnFailure}
	protocols = []corev1.Protocol{corev1.ProtocolSCTP, corev1.ProtocolTCP, corev1.ProtocolUDP}
)

// validateContainer validates what main and init containers have in common.
func validateContainer(c *corev1.Container, volumes podVolumes, at func() *field.Path) field.ErrorList {
	var errs field.ErrorList
	if c.Name == "" {
		errs = append(errs, field.Required(at().Child("name"), ""))
	} else if !isDNSLabel(c.Name) {
		errs = append(errs, dnsLabel(c.Name, at(), "name")...)
	}
	if c.Image == "" {
		errs = append(errs, field.Required(at().Child("image"), ""))
	} else if strings.TrimSpace(c.Image) != c.Image {
		errs = append(errs, field.Invalid(at().Child("image"), c.Image, "must not have leading or trailing whitespace"))
	}
	if c.TerminationMessagePolicy == "" {
		errs = append(errs, field.Required(at().Child("terminationMessagePolicy"), ""))
	} else if !slices.Contains(messagePolicies, c.TerminationMessagePolicy) {
		errs = append(errs, oneOf(c.TerminationMessagePolicy, at(), "terminationMessagePolicy", messagePolicies)...)
	}
	if !slices.Contains(pullPolicies, c.ImagePullPolicy) {
		errs = append(errs, validatePullPolicy(c.ImagePullPolicy, at(), "imagePullPolicy")...)
	}
	if c.RestartPolicy != nil && !slices.Contains(containerPolicies, *c.RestartPolicy) {
		errs = append(errs, oneOf(*c.RestartPolicy, at(), "restartPolicy", containerPolicies)...)
	}
	if len(c.Ports) > 0 {
		errs = append(errs, validatePorts(c.Ports, at().Child("ports"))...)
	}
	if len(c.Env) > 0 || len(c.EnvFrom) > 0 {
		errs = append(errs, validateEnv(c, at)...)
	}
	if len(c.Resources.Limits) > 0 || len(c.Resources.Requests) > 0 {
		errs = append(errs, validateRequirements(&c.Resources, at().Child("resources"))...)
	}
	if len(c.VolumeMounts) > 0 {
		errs = append(errs, validateMounts(c, volumes, func() *field.Path { return at().Child("volumeMounts") })...)
	}
	if len(c.VolumeDevices) > 0 {
		errs = append(errs, validateDevices(c, volumes, func() *field.Path { return at().Child("volumeDevices") })...)
	}
	if c.SecurityContext != nil {
		errs = append(errs, validateSecurity(c.SecurityContext, func() *field.Path { return at().Child("securityContext") })...)
	}
	return errs
}

func validatePorts(ports []corev1.ContainerPort, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	names := map[string]bool{}
	for i, port := range ports {
		at := path.Index(i)
		if port.Name != "" {
			messages := validation.IsValidPortName(port.Name)
			errs = appendInvalid(errs, at.Child("name"), port.Name, messages)
			if len(messages) == 0 && names[port.Name] {
				errs = append(errs, field.Duplicate(at.Child("name"), port.Name))
			}
			names[port.Name] = true
		}
		if port.ContainerPort == 0 {
			errs = append(errs, field.Required(at.Child("containerPort"), ""))
		} else {
			errs = appendInvalid(errs, at.Child("containerPort"), port.ContainerPort, validation.IsValidPortNum(int(port.ContainerPort)))
		}
		if port.HostPort != 0 {
			errs = appendInvalid(errs, at.Child("hostPort"), port.HostPort, validation.IsValidPortNum(int(port.HostPort)))
		}
		if port.Protocol == "" {
			errs = append(errs, field.Required(at.Child("protocol"), ""))
		} else {
			errs = append(errs, oneOf(port.Protocol, at, "protocol", protocols)...)
		}
	}
	return errs
}

// validateHostPorts requires that no two containers use the same port of the node.
func validateHostPorts(containers []corev1.Container, at func() *field.Path) field.ErrorList {
	type hostPort struct {
		protocol corev1.Protocol
		ip       string
		port     int32
	}
	var errs field.ErrorList
	var taken []hostPort
	for i := range containers {
		for j, port := range containers[i].Ports {
			if port.HostPort == 0 {
				continue
			}
			want := hostPort{port.Protocol, port.HostIP, port.HostPort}
			if slices.Contains(taken, want) {
				errs = append(errs, field.Duplicate(at().Index(i).Child("ports").Index(j).Child("hostPort"), port.HostPort))
			}
			taken = append(taken, want)
		}
	}
	return errs
}
