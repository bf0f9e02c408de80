package strategy

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/volsim/volsim/internal/core/objects"
)

// validateContainers validates the main containers of a pod. At least one is required.
func validateContainers(spec *corev1.PodSpec, volumes podVolumes) field.ErrorList {
	at := specField("containers")
	if len(spec.Containers) == 0 {
		return field.ErrorList{field.Required(at(), "")}
	}
	var errs field.ErrorList
	for i := range spec.Containers {
		c := &spec.Containers[i]
		errs = append(errs, validateContainer(spec, c, volumes, func() *field.Path { return at().Index(i) })...)
		if hasContainer(spec.Containers[:i], c.Name) {
			errs = append(errs, field.Duplicate(at().Index(i).Child("name"), c.Name))
		}
		errs = append(errs, validateHooks(c, spec.TerminationGracePeriodSeconds, func() *field.Path { return at().Index(i) })...)
		if hasRestarts(c) {
			errs = append(errs, validateRestarts(c, at().Index(i))...)
		}
	}
	return append(errs, validateHostPorts(spec.Containers, at)...)
}

// validateInitContainers validates the init containers of a pod.
func validateInitContainers(spec *corev1.PodSpec, volumes podVolumes) field.ErrorList {
	at := specField("initContainers")
	var errs field.ErrorList
	for i := range spec.InitContainers {
		c := &spec.InitContainers[i]
		errs = append(errs, validateContainer(spec, c, volumes, func() *field.Path { return at().Index(i) })...)
		if hasRestarts(c) {
			errs = append(errs, validateInitRestarts(c, at().Index(i))...)
		}
		if hasContainer(spec.Containers, c.Name) || c.Name != "" && hasContainer(spec.InitContainers[:i], c.Name) {
			errs = append(errs, field.Duplicate(at().Index(i).Child("name"), c.Name))
		}
		// Init containers run one after another, so each is validated alone, and errors name it as the first.
		errs = append(errs, validateHostPorts(spec.InitContainers[i:i+1], at)...)
		if objects.IsSidecar(c) {
			errs = append(errs, validateHooks(c, spec.TerminationGracePeriodSeconds, func() *field.Path { return at().Index(i) })...)
			continue
		}
		if c.Lifecycle != nil || c.LivenessProbe != nil || c.ReadinessProbe != nil || c.StartupProbe != nil || len(c.ResizePolicy) > 0 {
			errs = append(errs, forbidSet([]setField{
				{"lifecycle", c.Lifecycle != nil}, {"livenessProbe", c.LivenessProbe != nil},
				{"readinessProbe", c.ReadinessProbe != nil}, {"startupProbe", c.StartupProbe != nil},
			}, at().Index(i), "may not be set for init containers without restartPolicy=Always")...)
			errs = append(errs, validateInitResizes(c, at().Index(i))...)
		}
	}
	return errs
}

func hasContainer(containers []corev1.Container, name string) bool {
	return slices.ContainsFunc(containers, func(c corev1.Container) bool { return c.Name == name })
}

var (
	messagePolicies = []corev1.TerminationMessagePolicy{corev1.TerminationMessageReadFile, corev1.TerminationMessageFallbackToLogsOnError}
	Protocols       = []corev1.Protocol{corev1.ProtocolSCTP, corev1.ProtocolTCP, corev1.ProtocolUDP}
)

// validateContainer validates what main and init containers have in common, in the order of the server.
func validateContainer(spec *corev1.PodSpec, c *corev1.Container, volumes podVolumes, at func() *field.Path) field.ErrorList {
	var errs field.ErrorList
	if c.Name == "" {
		errs = append(errs, field.Required(at().Child("name"), ""))
	} else if !IsDNSLabel(c.Name) {
		errs = append(errs, DNSLabel(c.Name, at(), "name")...)
	}
	if c.Image == "" {
		errs = append(errs, field.Required(at().Child("image"), ""))
	}
	if !slices.Contains(messagePolicies, c.TerminationMessagePolicy) {
		errs = append(errs, RequiredAt(c.TerminationMessagePolicy, at().Child("terminationMessagePolicy"), messagePolicies)...)
	}
	if len(c.Ports) > 0 {
		errs = append(errs, validatePorts(c.Ports, at().Child("ports"))...)
	}
	if len(c.Env) > 0 || len(c.EnvFrom) > 0 {
		errs = append(errs, validateEnv(c, at)...)
	}
	if len(c.VolumeMounts) > 0 {
		errs = append(errs, validateMounts(c, volumes, func() *field.Path { return at().Child("volumeMounts") })...)
	}
	if len(c.VolumeDevices) > 0 {
		errs = append(errs, validateDevices(c, volumes, func() *field.Path { return at().Child("volumeDevices") })...)
	}
	if !slices.Contains(pullPolicies, c.ImagePullPolicy) {
		errs = append(errs, validatePullPolicy(c.ImagePullPolicy, at(), "imagePullPolicy")...)
	}
	if len(c.Resources.Limits) > 0 || len(c.Resources.Requests) > 0 {
		errs = append(errs, validateRequirements(&c.Resources, at().Child("resources"))...)
	}
	if len(c.Resources.Claims) > 0 {
		errs = append(errs, validateClaimNames(c.Resources.Claims, spec.ResourceClaims, at().Child("resources", "claims"))...)
	}
	if len(c.ResizePolicy) > 0 {
		errs = append(errs, validateResizePolicy(c.ResizePolicy, spec.RestartPolicy, at().Child("resizePolicy"))...)
	}
	if c.SecurityContext != nil {
		errs = append(errs, validateSecurity(c.SecurityContext, hasHostUsers(spec), func() *field.Path { return at().Child("securityContext") })...)
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
			errs = AppendInvalid(errs, at.Child("name"), port.Name, messages)
			if len(messages) == 0 && names[port.Name] {
				errs = append(errs, field.Duplicate(at.Child("name"), port.Name))
			}
			names[port.Name] = true
		}
		if port.ContainerPort == 0 {
			errs = append(errs, field.Required(at.Child("containerPort"), ""))
		} else {
			errs = AppendInvalid(errs, at.Child("containerPort"), port.ContainerPort, validation.IsValidPortNum(int(port.ContainerPort)))
		}
		if port.HostPort != 0 {
			errs = AppendInvalid(errs, at.Child("hostPort"), port.HostPort, validation.IsValidPortNum(int(port.HostPort)))
		}
		if port.Protocol == "" {
			errs = append(errs, field.Required(at.Child("protocol"), ""))
		} else {
			errs = append(errs, OneOf(port.Protocol, at, "protocol", Protocols)...)
		}
	}
	return errs
}

// validateHostPorts requires that no two containers use the same port of the node.
func validateHostPorts(containers []corev1.Container, at func() *field.Path) field.ErrorList {
	var errs field.ErrorList
	var taken []string
	for i := range containers {
		for j, port := range containers[i].Ports {
			if port.HostPort == 0 {
				continue
			}
			want := fmt.Sprintf("%s/%s/%d", port.Protocol, port.HostIP, port.HostPort)
			if slices.Contains(taken, want) {
				errs = append(errs, field.Duplicate(at().Index(i).Child("ports").Index(j).Child("hostPort"), want))
			}
			taken = append(taken, want)
		}
	}
	return errs
}
