package warnings

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// containerPort prints as the server's internal type does.
type containerPort struct {
	Name                    string
	HostPort, ContainerPort int32
	Protocol                corev1.Protocol
	HostIP                  string
}

// ports warns of ports of a pod's containers that hide each other (API-323).
func (l *list) ports(containers []podContainer) {
	type use struct {
		path *field.Path
		port corev1.ContainerPort
	}
	used := map[string][]use{}
	for _, c := range containers {
		for i, port := range c.container.Ports {
			path := c.path.Child("ports").Index(i)
			if port.HostIP != "" && port.HostPort == 0 {
				l.addf(path, "hostIP set without hostPort: %+v", containerPort(port))
			}
			key := fmt.Sprintf("%d/%s", port.ContainerPort, port.Protocol)
			for _, other := range used[key] {
				a, b := port.HostIP == "", other.port.HostIP == ""
				switch {
				case port.HostIP == other.port.HostIP && port.HostPort == other.port.HostPort:
					l.addf(path, "duplicate port definition with %s", other.path)
				case port.HostPort == 0 || other.port.HostPort == 0:
					l.addf(path, "overlapping port definition with %s", other.path)
				case port.HostPort == other.port.HostPort && a != b:
					l.addf(path, "dangerously ambiguous port definition with %s", other.path)
				}
			}
			used[key] = append(used[key], use{path, port})
		}
	}
	named := map[string]*field.Path{}
	for _, c := range containers {
		for i, port := range c.container.Ports {
			path := c.path.Child("ports").Index(i)
			if other := named[port.Name]; port.Name != "" && other != nil {
				l.addf(path, "duplicate port name %q with %s, services and probes that select ports by name will use %s", port.Name, other, other)
			} else {
				named[port.Name] = path
			}
		}
	}
}
