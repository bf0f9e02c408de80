package kubectl

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volsim/volsim/api"
)

func (d *description) pod(pod *corev1.Pod) {
	d.field("Priority", "%d", deref(pod.Spec.Priority, 0)) // API-258: one without is 0
	d.unlessEmpty("Priority Class Name", pod.Spec.PriorityClassName)
	d.unlessEmpty("Runtime Class Name", deref(pod.Spec.RuntimeClassName, ""))
	d.unlessEmpty("Service Account", pod.Spec.ServiceAccountName)
	node := "<none>"
	if pod.Spec.NodeName != "" {
		node = pod.Spec.NodeName + "/" + pod.Status.HostIP
	}
	d.field("Node", "%s", node)
	if pod.Status.StartTime != nil {
		d.field("Start Time", "%s", timeOf(*pod.Status.StartTime))
	}
	d.meta(pod)
	if pod.DeletionTimestamp != nil && pod.Status.Phase != corev1.PodFailed && pod.Status.Phase != corev1.PodSucceeded {
		d.terminating(pod, "")
		d.field("Termination Grace Period", "%ds", deref(pod.DeletionGracePeriodSeconds, 0))
	} else {
		d.field("Status", "%s", pod.Status.Phase)
	}
	d.unlessEmpty("Reason", pod.Status.Reason)
	d.unlessEmpty("Message", pod.Status.Message)
	if pod.Spec.SecurityContext != nil {
		d.seccomp("", "", pod.Spec.SecurityContext.SeccompProfile)
	}
	d.addresses(pod)
	d.owner(pod)
	d.unlessEmpty("NominatedNodeName", pod.Status.NominatedNodeName)
	if pod.Spec.Resources != nil {
		d.printf("Resources:\n")
		d.resources("  ", pod.Spec.Resources)
	}
	if len(pod.Spec.InitContainers) > 0 {
		d.containers("Init Containers", pod, pod.Spec.InitContainers, pod.Status.InitContainerStatuses)
	}
	d.containers("Containers", pod, pod.Spec.Containers, pod.Status.ContainerStatuses)
	if len(pod.Spec.EphemeralContainers) > 0 {
		containers := make([]corev1.Container, len(pod.Spec.EphemeralContainers))
		for i, c := range pod.Spec.EphemeralContainers {
			containers[i] = corev1.Container(c.EphemeralContainerCommon)
		}
		d.containers("Ephemeral Containers", pod, containers, pod.Status.EphemeralContainerStatuses)
	}
	d.conditions(pod)
	d.podVolumes("", pod.Spec.Volumes)
	d.field("QoS Class", "%s", pod.Status.QOSClass)
	d.lines("Node-Selectors", pairs(pod.Spec.NodeSelector, "="))
	d.lines("Tolerations", tolerationTexts(pod.Spec.Tolerations))
	if len(pod.Spec.TopologySpreadConstraints) > 0 {
		d.lines("Topology Spread Constraints", spreadTexts(pod.Spec.TopologySpreadConstraints))
	}
}

// owner writes the controller of an object.
func (d *description) owner(obj api.Object) {
	if owner := metav1.GetControllerOfNoCopy(obj); owner != nil {
		d.field("Controlled By", "%s/%s", owner.Kind, owner.Name)
	}
}

// seccomp writes the profile of a pod or a container. inner is the indentation of its file.
func (d *description) seccomp(indent, inner string, profile *corev1.SeccompProfile) {
	if profile == nil {
		return
	}
	d.printf("%sSeccompProfile:\t%s\n", indent, profile.Type)
	if profile.Type == corev1.SeccompProfileTypeLocalhost {
		d.printf("%sLocalhostProfile:\t%s\n", inner, deref(profile.LocalhostProfile, ""))
	}
}

func (d *description) addresses(pod *corev1.Pod) {
	d.field("IP", "%s", pod.Status.PodIP)
	if len(pod.Status.PodIPs) == 0 {
		d.field("IPs", "<none>")
		return
	}
	d.printf("IPs:\n")
	for _, ip := range pod.Status.PodIPs {
		d.printf("  IP:\t%s\n", ip.IP)
	}
}

// conditions writes readiness gates and conditions.
func (d *description) conditions(pod *corev1.Pod) {
	if len(pod.Spec.ReadinessGates) > 0 {
		d.printf("Readiness Gates:\n  Type\tStatus\n")
	}
	for _, g := range pod.Spec.ReadinessGates {
		status := "<none>"
		if i := slices.IndexFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool { return c.Type == g.ConditionType }); i >= 0 {
			status = string(pod.Status.Conditions[i].Status)
		}
		d.printf("  %s \t%s \n", g.ConditionType, status)
	}
	if len(pod.Status.Conditions) > 0 {
		d.printf("Conditions:\n  Type\tStatus\n")
	}
	for _, c := range pod.Status.Conditions {
		d.printf("  %s \t%s \n", c.Type, c.Status)
	}
}

// tolerationTexts returns the tolerations by key.
func tolerationTexts(tolerations []corev1.Toleration) []string {
	var texts []string
	for _, t := range slices.SortedFunc(slices.Values(tolerations), func(a, b corev1.Toleration) int { return cmp.Compare(a.Key, b.Key) }) {
		text := t.Key
		if t.Value != "" {
			text += "=" + t.Value
		}
		if t.Effect != "" {
			text += ":" + string(t.Effect)
		}
		if t.Operator == corev1.TolerationOpExists && t.Value == "" {
			text = strings.TrimPrefix(text+" op=Exists", " ")
		}
		if t.TolerationSeconds != nil {
			text += fmt.Sprintf(" for %ds", *t.TolerationSeconds)
		}
		texts = append(texts, text)
	}
	return texts
}

// spreadTexts returns the constraints by topology key.
func spreadTexts(constraints []corev1.TopologySpreadConstraint) []string {
	var texts []string
	for _, c := range slices.SortedFunc(slices.Values(constraints), func(a, b corev1.TopologySpreadConstraint) int {
		return cmp.Compare(a.TopologyKey, b.TopologyKey)
	}) {
		text := fmt.Sprintf("%s:%s when max skew %d is exceeded", c.TopologyKey, c.WhenUnsatisfiable, c.MaxSkew)
		if c.LabelSelector != nil {
			text += " for selector " + metav1.FormatLabelSelector(c.LabelSelector)
		}
		texts = append(texts, text)
	}
	return texts
}

// podVolumes writes the volumes of a pod, or of a template, which has a space.
func (d *description) podVolumes(space string, volumes []corev1.Volume) {
	if len(volumes) == 0 {
		d.printf("%sVolumes:\t<none>\n", space)
		return
	}
	d.printf("%sVolumes:\n", space)
	for i := range volumes {
		d.printf("  %s%s:\n", space[:min(1, len(space))], volumes[i].Name)
		d.source(podSource(&volumes[i].VolumeSource))
	}
}
