package kubectl

import (
	"cmp"
	"fmt"
	"maps"
	"net"
	"net/url"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// containers describes containers of a pod or, without a pod, of a template.
func (d *description) containers(label string, pod *corev1.Pod, containers []corev1.Container, statuses []corev1.ContainerStatus) {
	space := ""
	if pod == nil {
		space = " "
		label = "  " + label
	}
	d.printf("%s:\n", label)
	for i := range containers {
		c := &containers[i]
		var status *corev1.ContainerStatus
		if s := slices.IndexFunc(statuses, func(s corev1.ContainerStatus) bool { return s.Name == c.Name }); s >= 0 {
			status = &statuses[s]
		}
		d.printf("%s  %s:\n", space, c.Name)
		d.container(pod, c, status)
	}
}

func (d *description) container(pod *corev1.Pod, c *corev1.Container, status *corev1.ContainerStatus) {
	if status != nil {
		d.inner("Container ID", status.ContainerID)
	}
	d.inner("Image", c.Image)
	if status != nil {
		d.inner("Image ID", status.ImageID)
	}
	d.ports("Port", c.Ports, func(p corev1.ContainerPort) int32 { return p.ContainerPort })
	d.ports("Host Port", c.Ports, func(p corev1.ContainerPort) int32 { return p.HostPort })
	if c.SecurityContext != nil {
		d.seccomp("    ", "      ", c.SecurityContext.SeccompProfile)
	}
	d.words("Command", c.Command)
	d.words("Args", c.Args)
	if status != nil {
		d.state("State", status.State)
		if status.LastTerminationState.Terminated != nil {
			d.state("Last State", status.LastTerminationState)
		}
		d.inner("Ready", capitalized(status.Ready))
		d.inner("Restart Count", fmt.Sprint(status.RestartCount))
	}
	d.resources("    ", &c.Resources)
	d.probe("Liveness", c.LivenessProbe)
	d.probe("Readiness", c.ReadinessProbe)
	d.probe("Startup", c.StartupProbe)
	d.environment(pod, c)
	d.mounts(c)
}

// inner writes a field of a container.
func (d *description) inner(name, value string) { d.printf("    %s:\t%s\n", name, value) }

// ports writes the ports of a container, whose name is in the plural if there are several.
func (d *description) ports(name string, ports []corev1.ContainerPort, number func(corev1.ContainerPort) int32) {
	texts := make([]string, len(ports))
	for i, p := range ports {
		texts[i] = fmt.Sprintf("%d/%s", number(p), p.Protocol)
		if p.Name != "" {
			texts[i] += " (" + p.Name + ")"
		}
	}
	if len(ports) > 1 {
		name += "s"
	}
	d.inner(name, orNone(strings.Join(texts, ", ")))
}

// words writes a command with one line for each line of it.
func (d *description) words(name string, words []string) {
	if len(words) == 0 {
		return
	}
	d.printf("    %s:\n", name)
	for _, word := range words {
		for line := range strings.SplitSeq(word, "\n") {
			d.printf("      %s\n", line)
		}
	}
}

func (d *description) state(name string, s corev1.ContainerState) {
	row := func(name, format string, value any) { d.printf("      %s:\t"+format+"\n", name, value) }
	switch {
	case s.Running != nil:
		d.inner(name, "Running")
		row("Started", "%s", timeOf(s.Running.StartedAt))
	case s.Terminated != nil:
		d.inner(name, "Terminated")
		if s.Terminated.Reason != "" {
			row("Reason", "%s", s.Terminated.Reason)
		}
		if s.Terminated.Message != "" {
			row("Message", "%s", s.Terminated.Message)
		}
		row("Exit Code", "%d", s.Terminated.ExitCode)
		if s.Terminated.Signal > 0 {
			row("Signal", "%d", s.Terminated.Signal)
		}
		row("Started", "%s", timeOf(s.Terminated.StartedAt))
		row("Finished", "%s", timeOf(s.Terminated.FinishedAt))
	default:
		d.inner(name, "Waiting")
		if s.Waiting != nil && s.Waiting.Reason != "" {
			row("Reason", "%s", s.Waiting.Reason)
		}
	}
}

// resources writes limits and requests, by name.
func (d *description) resources(indent string, r *corev1.ResourceRequirements) {
	for _, part := range []struct {
		name string
		list corev1.ResourceList
	}{{"Limits", r.Limits}, {"Requests", r.Requests}} {
		if len(part.list) > 0 {
			d.printf("%s%s:\n", indent, part.name)
		}
		for _, name := range slices.Sorted(maps.Keys(part.list)) {
			quantity := part.list[name]
			d.printf("%s  %s:\t%s\n", indent, name, quantity.String())
		}
	}
}

func (d *description) probe(name string, p *corev1.Probe) {
	if p == nil {
		return
	}
	what := "unknown"
	switch {
	case p.Exec != nil:
		what = fmt.Sprintf("exec %v", p.Exec.Command)
	case p.HTTPGet != nil:
		u := url.URL{Scheme: strings.ToLower(string(p.HTTPGet.Scheme)), Host: net.JoinHostPort(p.HTTPGet.Host, p.HTTPGet.Port.String()), Path: p.HTTPGet.Path}
		what = "http-get " + u.String()
	case p.TCPSocket != nil:
		what = fmt.Sprintf("tcp-socket %s:%s", p.TCPSocket.Host, p.TCPSocket.Port.String())
	case p.GRPC != nil:
		what = fmt.Sprintf("grpc <pod>:%d %s", p.GRPC.Port, deref(p.GRPC.Service, ""))
	}
	d.inner(name, fmt.Sprintf("%s delay=%ds timeout=%ds period=%ds #success=%d #failure=%d", what, p.InitialDelaySeconds, p.TimeoutSeconds,
		p.PeriodSeconds, p.SuccessThreshold, p.FailureThreshold))
}

func (d *description) environment(pod *corev1.Pod, c *corev1.Container) {
	if len(c.EnvFrom) > 0 {
		d.printf("    Environment Variables from:\n")
	}
	for _, from := range c.EnvFrom {
		kind, name, optional := "", "", false
		switch {
		case from.ConfigMapRef != nil:
			kind, name, optional = "ConfigMap", from.ConfigMapRef.Name, deref(from.ConfigMapRef.Optional, false)
		case from.SecretRef != nil:
			kind, name, optional = "Secret", from.SecretRef.Name, deref(from.SecretRef.Optional, false)
		}
		if from.Prefix != "" {
			kind += fmt.Sprintf(" with prefix '%s'", from.Prefix)
		}
		d.printf("      %s\t%s\tOptional: %t\n", name, kind, optional)
	}
	if len(c.Env) == 0 {
		d.inner("Environment", "<none>")
		return
	}
	d.printf("    Environment:\n")
	for _, e := range c.Env {
		d.printf("      %s:\t%s\n", e.Name, strings.ReplaceAll(envValue(pod, c, &e), "\n", "\n      \t"))
	}
}

// envValue returns the value of a variable, or where it comes from.
func envValue(pod *corev1.Pod, c *corev1.Container, e *corev1.EnvVar) string {
	switch from := e.ValueFrom; {
	case from == nil:
		return e.Value
	case from.FieldRef != nil:
		return fmt.Sprintf("%s (%s:%s)", podField(pod, from.FieldRef.FieldPath), from.FieldRef.APIVersion, from.FieldRef.FieldPath)
	case from.ResourceFieldRef != nil:
		return fmt.Sprintf("%s (%s)", containerResource(c, from.ResourceFieldRef), from.ResourceFieldRef.Resource)
	case from.SecretKeyRef != nil:
		return fmt.Sprintf("<set to the key '%s' in secret '%s'>\tOptional: %t", from.SecretKeyRef.Key, from.SecretKeyRef.Name,
			deref(from.SecretKeyRef.Optional, false))
	case from.ConfigMapKeyRef != nil:
		return fmt.Sprintf("<set to the key '%s' of config map '%s'>\tOptional: %t", from.ConfigMapKeyRef.Key, from.ConfigMapKeyRef.Name,
			deref(from.ConfigMapKeyRef.Optional, false))
	}
	return ""
}

// podField returns a field that a variable names. kubectl shows no others than these.
func podField(pod *corev1.Pod, path string) string {
	switch {
	case pod == nil:
	case path == "metadata.name":
		return pod.Name
	case path == "metadata.namespace":
		return pod.Namespace
	}
	return ""
}

// containerResource returns a request or a limit in units of the divisor, rounded up.
func containerResource(c *corev1.Container, ref *corev1.ResourceFieldSelector) string {
	list, limit := c.Resources.Requests, false
	part, name, _ := strings.Cut(ref.Resource, ".")
	if part == "limits" {
		list, limit = c.Resources.Limits, true
	}
	quantity, divisor := list[corev1.ResourceName(name)], ref.Divisor
	if divisor.IsZero() {
		divisor = resource.MustParse("1")
	}
	value, by := quantity.Value(), divisor.Value()
	if name == string(corev1.ResourceCPU) {
		value, by = quantity.MilliValue(), divisor.MilliValue()
	}
	if value == 0 && limit && (name == "cpu" || name == "memory") {
		return "node allocatable"
	}
	return fmt.Sprint((value + by - 1) / by)
}

// mounts writes mounts and devices by their paths.
func (d *description) mounts(c *corev1.Container) {
	if len(c.VolumeMounts) == 0 {
		d.inner("Mounts", "<none>")
	} else {
		d.printf("    Mounts:\n")
	}
	for _, m := range slices.SortedFunc(slices.Values(c.VolumeMounts), func(a, b corev1.VolumeMount) int { return cmp.Compare(a.MountPath, b.MountPath) }) {
		flags := "rw"
		if m.ReadOnly {
			flags = "ro"
		}
		if m.SubPath != "" {
			flags += fmt.Sprintf(",path=%q", m.SubPath)
		}
		d.printf("      %s from %s (%s)\n", m.MountPath, m.Name, flags)
	}
	if len(c.VolumeDevices) == 0 {
		return
	}
	none := ""
	if len(c.VolumeMounts) == 0 {
		none = "\t<none>" // as kubectl prints it
	}
	d.printf("    Devices:%s\n", none)
	for _, m := range slices.SortedFunc(slices.Values(c.VolumeDevices), func(a, b corev1.VolumeDevice) int { return cmp.Compare(a.DevicePath, b.DevicePath) }) {
		d.printf("      %s from %s\n", m.DevicePath, m.Name)
	}
}
