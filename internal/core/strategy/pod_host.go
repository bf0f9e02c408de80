package strategy

import (
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// containerPlace is the place of a container in a pod. Its path is made only where there is an error.
type containerPlace struct {
	list string
	i    int
}

func (p containerPlace) path() *field.Path { return field.NewPath("spec", p.list).Index(p.i) }

// ephemeralList is the name of the list of ephemeral containers.
const ephemeralList = "ephemeralContainers"

// eachContainer calls fn with the init containers of a pod, then with the main ones, and then with the ephemeral ones.
func eachContainer(spec *corev1.PodSpec, fn func(c *corev1.Container, at containerPlace)) {
	for i := range spec.InitContainers {
		fn(&spec.InitContainers[i], containerPlace{"initContainers", i})
	}
	for i := range spec.Containers {
		fn(&spec.Containers[i], containerPlace{"containers", i})
	}
	for i := range spec.EphemeralContainers {
		fn((*corev1.Container)(&spec.EphemeralContainers[i].EphemeralContainerCommon), containerPlace{ephemeralList, i})
	}
}

// validateHostNetwork requires that ports of containers in the network of the node are those of the node (API-371).
func validateHostNetwork(spec *corev1.PodSpec, template bool) field.ErrorList {
	var errs field.ErrorList
	for i := range spec.Containers {
		for j, port := range spec.Containers[i].Ports {
			// API-371: a template may omit hostPort, which the pods get.
			if port.HostPort != port.ContainerPort && !(template && port.HostPort == 0) {
				errs = append(errs, field.Invalid(containerPlace{"containers", i}.path().Child("ports").Index(j).Child("hostPort"), port.HostPort,
					"must match `containerPort` when `hostNetwork` is true"))
			}
		}
	}
	return errs
}

// hasHostUsers reports whether a pod is in the user namespace of the node, as it is by default.
func hasHostUsers(spec *corev1.PodSpec) bool { return spec.HostUsers == nil || *spec.HostUsers }

// validateOwnUsers validates a pod with its own user namespace (API-371).
func validateOwnUsers(spec *corev1.PodSpec) field.ErrorList {
	var errs field.ErrorList
	const why = "when `hostUsers` is false"
	// API-371: it shares no other namespace with the node, and has no block volumes.
	for _, f := range [...]struct {
		child string
		set   bool
	}{{"hostNetwork", spec.HostNetwork}, {"HostPID", spec.HostPID}, {"HostIPC", spec.HostIPC}} {
		if f.set {
			errs = append(errs, field.Forbidden(field.NewPath("spec", f.child), why))
		}
	}
	eachContainer(spec, func(c *corev1.Container, at containerPlace) {
		if len(c.VolumeDevices) > 0 {
			errs = append(errs, field.Forbidden(at.path().Child("volumeDevices"), why))
		}
	})
	return errs
}

const (
	sysctlPattern  = `^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$`
	maxSysctlBytes = "253"
)

// validateSysctls validates the kernel parameters of a pod (API-371).
func validateSysctls(spec *corev1.PodSpec, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	valid := regexp.MustCompile(sysctlPattern)
	for i, s := range spec.SecurityContext.Sysctls {
		at := path.Index(i).Child("name")
		switch {
		case s.Name == "":
			errs = append(errs, field.Required(at, ""))
		case len(s.Name) > maxSubdomainBytes || !valid.MatchString(s.Name):
			errs = append(errs, field.Invalid(at, s.Name, "must have at most "+maxSysctlBytes+" characters and match regex "+sysctlPattern))
		case slices.ContainsFunc(spec.SecurityContext.Sysctls[:i], func(o corev1.Sysctl) bool { return o.Name == s.Name }):
			errs = append(errs, field.Duplicate(at, s.Name))
		}
		// API-371: the parameters of a namespace of the node are not the pod's.
		switch namespace := sysctlNamespace(s.Name); {
		case namespace == netNamespace && spec.HostNetwork:
			errs = append(errs, field.Invalid(at, s.Name, "may not be specified when 'hostNetwork' is true"))
		case namespace == ipcNamespace && spec.HostIPC:
			errs = append(errs, field.Invalid(at, s.Name, "may not be specified when 'hostIPC' is true"))
		}
	}
	return errs
}

type kernelNamespace int

const (
	noNamespace kernelNamespace = iota
	netNamespace
	ipcNamespace
)

// sysctlNamespace returns the namespace of a parameter of the kernel. With "*", the name is the prefix of several.
func sysctlNamespace(name string) kernelNamespace {
	if i := strings.IndexAny(name, "./"); i >= 0 && name[i] == '/' {
		name = strings.NewReplacer(".", "/", "/", ".").Replace(name)
	}
	name, _, _ = strings.Cut(name, "*")
	switch name {
	case "kernel.sem", "kernel.shm", "kernel.shmall", "kernel.shmmax", "kernel.shmmni", "kernel.shm_rmid_forced",
		"kernel.msg", "kernel.msgmax", "kernel.msgmnb", "kernel.msgmni":
		return ipcNamespace
	}
	switch {
	case strings.HasPrefix(name, "net."):
		return netNamespace
	case strings.HasPrefix(name, "fs.mqueue."):
		return ipcNamespace
	}
	return noNamespace
}
