package kubectl

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
		d.field("Start Time", "%s", pod.Status.StartTime.UTC().Format(time.RFC1123Z))
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
	d.addresses(pod)
	if owner := metav1.GetControllerOfNoCopy(pod); owner != nil {
		d.field("Controlled By", "%s/%s", owner.Kind, owner.Name)
	}
	d.unlessEmpty("NominatedNodeName", pod.Status.NominatedNodeName)
	if pod.Spec.Resources != nil {
		fmt.Fprintln(d, "Resources:")
		d.resources("  ", pod.Spec.Resources)
	}
	if len(pod.Spec.InitContainers) > 0 {
		d.containers("Init Containers", pod, pod.Spec.InitContainers, pod.Status.InitContainerStatuses)
	}
	d.containers("Containers", pod, pod.Spec.Containers, pod.Status.ContainerStatuses)
	d.conditions(pod)
	d.podVolumes(pod.Spec.Volumes)
	d.field("QoS Class", "%s", pod.Status.QOSClass)
	d.lines("Node-Selectors", pairs(pod.Spec.NodeSelector, "="))
	d.lines("Tolerations", tolerationTexts(pod.Spec.Tolerations))
	if len(pod.Spec.TopologySpreadConstraints) > 0 {
		d.lines("Topology Spread Constraints", spreadTexts(pod.Spec.TopologySpreadConstraints))
	}
}

// unlessEmpty writes a field that has a value.
func (d *description) unlessEmpty(name, value string) {
	if value != "" {
		d.field(name, "%s", value)
	}
}

func (d *description) addresses(pod *corev1.Pod) {
	d.field("IP", "%s", pod.Status.PodIP)
	if len(pod.Status.PodIPs) == 0 {
		d.field("IPs", "<none>")
		return
	}
	fmt.Fprintln(d, "IPs:")
	for _, ip := range pod.Status.PodIPs {
		fmt.Fprintf(d, "  IP:\t%s\n", ip.IP)
	}
}

// conditions writes readiness gates and conditions.
func (d *description) conditions(pod *corev1.Pod) {
	if len(pod.Spec.ReadinessGates) > 0 {
		fmt.Fprintf(d, "Readiness Gates:\n  Type\tStatus\n")
	}
	for _, g := range pod.Spec.ReadinessGates {
		status := "<none>"
		if i := slices.IndexFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool { return c.Type == g.ConditionType }); i >= 0 {
			status = string(pod.Status.Conditions[i].Status)
		}
		fmt.Fprintf(d, "  %s \t%s \n", g.ConditionType, status)
	}
	if len(pod.Status.Conditions) > 0 {
		fmt.Fprintf(d, "Conditions:\n  Type\tStatus\n")
	}
	for _, c := range pod.Status.Conditions {
		fmt.Fprintf(d, "  %s \t%s \n", c.Type, c.Status)
	}
}

// tolerationTexts returns the tolerations by key.
func tolerationTexts(tolerations []corev1.Toleration) []string {
	var texts []string
	for _, t := range slices.SortedStableFunc(slices.Values(tolerations), func(a, b corev1.Toleration) int { return cmp.Compare(a.Key, b.Key) }) {
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
	for _, c := range slices.SortedStableFunc(slices.Values(constraints), func(a, b corev1.TopologySpreadConstraint) int {
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

func (d *description) podVolumes(volumes []corev1.Volume) {
	if len(volumes) == 0 {
		d.field("Volumes", "<none>")
		return
	}
	fmt.Fprintln(d, "Volumes:")
	for _, v := range volumes {
		row := func(name, value string) { fmt.Fprintf(d, "    %s:\t%s\n", name, value) }
		fmt.Fprintf(d, "  %s:\n", v.Name)
		switch {
		case v.PersistentVolumeClaim != nil:
			row("Type", "PersistentVolumeClaim (a reference to a PersistentVolumeClaim in the same namespace)")
			row("ClaimName", v.PersistentVolumeClaim.ClaimName)
			row("ReadOnly", fmt.Sprint(v.PersistentVolumeClaim.ReadOnly))
		case v.Ephemeral != nil:
			row("Type", "EphemeralVolume (an inline specification for a volume that gets created and deleted with the pod)")
		case v.CSI != nil:
			row("Type", "CSI (a Container Storage Interface (CSI) volume source)")
			row("Driver", v.CSI.Driver)
			row("FSType", deref(v.CSI.FSType, ""))
			row("ReadOnly", fmt.Sprint(deref(v.CSI.ReadOnly, false)))
			row("VolumeAttributes", attributes(v.CSI.VolumeAttributes))
		case v.NFS != nil:
			row("Type", "NFS (an NFS mount that lasts the lifetime of a pod)")
			row("Server", v.NFS.Server)
			row("Path", v.NFS.Path)
			row("ReadOnly", fmt.Sprint(v.NFS.ReadOnly))
		case v.HostPath != nil:
			row("Type", "HostPath (bare host directory volume)")
			row("Path", v.HostPath.Path)
			hostPathType := "<none>"
			if v.HostPath.Type != nil {
				hostPathType = string(*v.HostPath.Type)
			}
			row("HostPathType", hostPathType)
		case v.EmptyDir != nil:
			row("Type", "EmptyDir (a temporary directory that shares a pod's lifetime)")
			row("Medium", string(v.EmptyDir.Medium))
			limit := "<unset>"
			if v.EmptyDir.SizeLimit != nil && !v.EmptyDir.SizeLimit.IsZero() {
				limit = v.EmptyDir.SizeLimit.String()
			}
			row("SizeLimit", limit)
		case v.Secret != nil:
			row("Type", "Secret (a volume populated by a Secret)")
			row("SecretName", v.Secret.SecretName)
			row("Optional", fmt.Sprint(deref(v.Secret.Optional, false)))
		case v.ConfigMap != nil:
			row("Type", "ConfigMap (a volume populated by a ConfigMap)")
			row("Name", v.ConfigMap.Name)
			row("Optional", fmt.Sprint(deref(v.ConfigMap.Optional, false)))
		case v.Projected != nil:
			row("Type", "Projected (a volume that contains injected data from multiple sources)")
			d.projected(v.Projected.Sources, row)
		default:
			row("Type", "<unknown>")
		}
	}
}

// projected writes the sources of a projected volume.
func (d *description) projected(sources []corev1.VolumeProjection, row func(name, value string)) {
	for _, source := range sources {
		switch {
		case source.Secret != nil:
			row("SecretName", source.Secret.Name)
			row("Optional", fmt.Sprint(deref(source.Secret.Optional, false)))
		case source.DownwardAPI != nil:
			row("DownwardAPI", "true")
		case source.ConfigMap != nil:
			row("ConfigMapName", source.ConfigMap.Name)
			row("Optional", fmt.Sprint(deref(source.ConfigMap.Optional, false)))
		case source.ServiceAccountToken != nil:
			row("TokenExpirationSeconds", fmt.Sprint(deref(source.ServiceAccountToken.ExpirationSeconds, 0)))
		}
	}
}

func (d *description) node(n *corev1.Node) {
	d.field("Roles", "%s", nodeRoles(n))
	d.meta(n)
	var taints []string
	for _, t := range n.Spec.Taints {
		text := t.Key
		if t.Value != "" {
			text += "=" + t.Value
		}
		taints = append(taints, text+":"+string(t.Effect))
	}
	d.lines("Taints", taints)
	d.field("Unschedulable", "%t", n.Spec.Unschedulable)
	if len(n.Status.Conditions) > 0 {
		fmt.Fprintf(d, "Conditions:\n  Type\tStatus\tReason\tMessage\n  ----\t------\t------\t-------\n")
		for _, c := range n.Status.Conditions {
			fmt.Fprintf(d, "  %s\t%s\t%s\t%s\n", c.Type, c.Status, c.Reason, c.Message)
		}
	}
	var attached, inUse []string
	for _, v := range n.Status.VolumesAttached {
		attached = append(attached, string(v.Name))
	}
	for _, v := range n.Status.VolumesInUse {
		inUse = append(inUse, string(v))
	}
	d.lines("Volumes Attached", attached)
	d.lines("Volumes In Use", inUse)
	var pods []string
	for _, pod := range d.around.Pods {
		if pod.Spec.NodeName == n.Name {
			pods = append(pods, pod.Namespace+"/"+pod.Name)
		}
	}
	d.lines("Pods", pods)
}
