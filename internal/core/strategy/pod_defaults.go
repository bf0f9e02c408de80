package strategy

import (
	"cmp"
	"maps"

	corev1 "k8s.io/api/core/v1"
)

// defaultPod sets the defaults of a pod (API-096, API-097, API-098). It allocates nothing if no default is missing.
func defaultPod(pod *corePod) {
	spec := &pod.Spec
	// API-098: restart policy, DNS policy, scheduler, grace period, security context, service links.
	spec.RestartPolicy = cmp.Or(spec.RestartPolicy, corev1.RestartPolicyAlways)
	spec.DNSPolicy = cmp.Or(spec.DNSPolicy, corev1.DNSClusterFirst)
	spec.SchedulerName = cmp.Or(spec.SchedulerName, corev1.DefaultSchedulerName)
	if spec.TerminationGracePeriodSeconds == nil {
		spec.TerminationGracePeriodSeconds = new(int64(corev1.DefaultTerminationGracePeriodSeconds))
	}
	// API-375: a negative grace period is one second.
	if *spec.TerminationGracePeriodSeconds < 0 {
		spec.TerminationGracePeriodSeconds = new(int64(1))
	}
	if spec.SecurityContext == nil {
		spec.SecurityContext = &corev1.PodSecurityContext{}
	}
	orDefault(&spec.EnableServiceLinks, &yes)
	// API-098: the service account is stored under the deprecated name of the field, too, which is used if the new one is empty.
	spec.ServiceAccountName = cmp.Or(spec.ServiceAccountName, spec.DeprecatedServiceAccount)
	spec.DeprecatedServiceAccount = spec.ServiceAccountName
	spec.Containers = defaultContainers(spec.Containers, spec.HostNetwork)
	spec.InitContainers = defaultContainers(spec.InitContainers, spec.HostNetwork)
	if len(spec.EphemeralContainers) > 0 {
		spec.EphemeralContainers = defaultEphemeralContainers(spec.EphemeralContainers, spec.HostNetwork)
	}
	spec.Volumes = defaultPodVolumes(spec.Volumes)
	spec.Overhead = roundToMilli(spec.Overhead)
	if spec.Resources != nil {
		spec.Resources = roundRequirements(spec.Resources)
		defaultPodResources(spec)
	}
	defaultPodStatus(&pod.Status)
}

// defaultPodStatus truncates times to whole seconds (API-006).
func defaultPodStatus(status *corev1.PodStatus) {
	status.StartTime = WholeSecond(status.StartTime)
	conditions := lazyCopy[corev1.PodCondition]{items: status.Conditions}
	for i := range conditions.items {
		if c := &conditions.items[i]; c.LastProbeTime.Nanosecond() != 0 || c.LastTransitionTime.Nanosecond() != 0 {
			c = conditions.at(i)
			c.LastProbeTime, c.LastTransitionTime = *WholeSecond(&c.LastProbeTime), *WholeSecond(&c.LastTransitionTime)
		}
	}
	status.Conditions = conditions.items
}

func defaultContainers(containers []corev1.Container, hostNetwork bool) []corev1.Container {
	l := lazyCopy[corev1.Container]{items: containers}
	for i := range containers {
		c := &l.items[i]
		if c.ImagePullPolicy == "" {
			c = l.at(i)
			c.ImagePullPolicy = pullPolicy(c.Image)
		}
		if c.TerminationMessagePath == "" || c.TerminationMessagePolicy == "" {
			c = l.at(i)
			c.TerminationMessagePath = cmp.Or(c.TerminationMessagePath, corev1.TerminationMessagePathDefault)
			c.TerminationMessagePolicy = cmp.Or(c.TerminationMessagePolicy, corev1.TerminationMessageReadFile)
		}
		if ports := defaultPorts(c.Ports, hostNetwork); !SameSlice(ports, c.Ports) {
			c = l.at(i)
			c.Ports = ports
		}
		if env := defaultEnv(c.Env); !SameSlice(env, c.Env) {
			c = l.at(i)
			c.Env = env
		}
		if limits, requests := defaultResources(&c.Resources); !SameMap(limits, c.Resources.Limits) || !SameMap(requests, c.Resources.Requests) {
			c = l.at(i)
			c.Resources.Limits, c.Resources.Requests = limits, requests
		}
		liveness, readiness, startup := defaultProbe(c.LivenessProbe), defaultProbe(c.ReadinessProbe), defaultProbe(c.StartupProbe)
		lifecycle := defaultLifecycle(c.Lifecycle)
		if liveness != c.LivenessProbe || readiness != c.ReadinessProbe || startup != c.StartupProbe || lifecycle != c.Lifecycle {
			c = l.at(i)
			c.LivenessProbe, c.ReadinessProbe, c.StartupProbe, c.Lifecycle = liveness, readiness, startup, lifecycle
		}
	}
	return l.items
}

func defaultPorts(ports []corev1.ContainerPort, hostNetwork bool) []corev1.ContainerPort {
	l := lazyCopy[corev1.ContainerPort]{items: ports}
	for i := range ports {
		if l.items[i].Protocol == "" {
			l.at(i).Protocol = corev1.ProtocolTCP
		}
		// API-371: in the network of the node, the port of the container is one of the node.
		if hostNetwork && l.items[i].HostPort == 0 && l.items[i].ContainerPort != 0 {
			p := l.at(i)
			p.HostPort = p.ContainerPort
		}
	}
	return l.items
}

func defaultEnv(env []corev1.EnvVar) []corev1.EnvVar {
	l := lazyCopy[corev1.EnvVar]{items: env}
	for i := range env {
		from := l.items[i].ValueFrom
		if from == nil {
			continue
		}
		c := *from
		c.FieldRef = defaultFieldRef(from.FieldRef)
		if from.FileKeyRef != nil && from.FileKeyRef.Optional == nil {
			file := *from.FileKeyRef
			file.Optional = &no
			c.FileKeyRef = &file
		}
		if c != *from {
			l.at(i).ValueFrom = new(c)
		}
	}
	return l.items
}

func defaultFieldRef(ref *corev1.ObjectFieldSelector) *corev1.ObjectFieldSelector {
	if ref == nil || ref.APIVersion != "" {
		return ref
	}
	return &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: ref.FieldPath}
}

// defaultResources rounds quantities (API-082), and sets missing requests to the limits.
func defaultResources(r *corev1.ResourceRequirements) (limits, requests corev1.ResourceList) {
	limits, requests = roundToMilli(r.Limits), roundToMilli(r.Requests)
	own := !SameMap(requests, r.Requests)
	for name, limit := range limits {
		if _, ok := requests[name]; ok {
			continue
		}
		if !own {
			requests, own = maps.Clone(requests), true
		}
		if requests == nil {
			requests = corev1.ResourceList{}
		}
		requests[name] = limit
	}
	return limits, requests
}

// roundRequirements rounds the requests and limits of a pod as a whole (API-082).
func roundRequirements(r *corev1.ResourceRequirements) *corev1.ResourceRequirements {
	limits, requests := roundToMilli(r.Limits), roundToMilli(r.Requests)
	if SameMap(limits, r.Limits) && SameMap(requests, r.Requests) {
		return r
	}
	return &corev1.ResourceRequirements{Limits: limits, Requests: requests, Claims: r.Claims}
}

func defaultProbe(p *corev1.Probe) *corev1.Probe {
	if p == nil {
		return nil
	}
	get := defaultHTTPGet(p.HTTPGet)
	grpc := p.GRPC != nil && p.GRPC.Service == nil
	if p.TimeoutSeconds != 0 && p.PeriodSeconds != 0 && p.SuccessThreshold != 0 && p.FailureThreshold != 0 && get == p.HTTPGet && !grpc {
		return p
	}
	c := *p
	c.TimeoutSeconds = cmp.Or(c.TimeoutSeconds, 1)
	c.PeriodSeconds = cmp.Or(c.PeriodSeconds, 10)
	c.SuccessThreshold = cmp.Or(c.SuccessThreshold, 1)
	c.FailureThreshold = cmp.Or(c.FailureThreshold, 3)
	c.HTTPGet = get
	if grpc {
		c.GRPC = &corev1.GRPCAction{Port: p.GRPC.Port, Service: new("")}
	}
	return &c
}

func defaultLifecycle(l *corev1.Lifecycle) *corev1.Lifecycle {
	if l == nil {
		return nil
	}
	start, stop := defaultHandler(l.PostStart), defaultHandler(l.PreStop)
	if start == l.PostStart && stop == l.PreStop {
		return l
	}
	c := *l
	c.PostStart, c.PreStop = start, stop
	return &c
}

func defaultHandler(h *corev1.LifecycleHandler) *corev1.LifecycleHandler {
	if h == nil {
		return nil
	}
	get := defaultHTTPGet(h.HTTPGet)
	if get == h.HTTPGet {
		return h
	}
	c := *h
	c.HTTPGet = get
	return &c
}

func defaultHTTPGet(g *corev1.HTTPGetAction) *corev1.HTTPGetAction {
	if g == nil || g.Path != "" && g.Scheme != "" {
		return g
	}
	c := *g
	c.Path = cmp.Or(c.Path, "/")
	c.Scheme = cmp.Or(c.Scheme, corev1.URISchemeHTTP)
	return &c
}
