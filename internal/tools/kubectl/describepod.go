package kubectl

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
)

func (d *description) pod(pod *corev1.Pod) {
	d.field("Priority", "%d", deref(pod.Spec.Priority, 0))
	d.field("Node", "%s", orNone(pod.Spec.NodeName))
	if pod.Status.StartTime != nil {
		d.field("Start Time", "%s", pod.Status.StartTime.UTC().Format(time.RFC1123Z))
	}
	d.meta(pod)
	if at := pod.DeletionTimestamp; at != nil {
		d.terminating(pod, "")
		d.field("Termination Grace Period", "%ds", deref(pod.DeletionGracePeriodSeconds, 0))
	} else {
		d.field("Status", "%s", pod.Status.Phase)
	}
	if pod.Status.Reason != "" {
		d.field("Reason", "%s", pod.Status.Reason)
	}
	if pod.Status.Message != "" {
		d.field("Message", "%s", pod.Status.Message)
	}
	fmt.Fprintln(d, "Containers:")
	for _, c := range pod.Spec.Containers {
		d.container(c, pod.Status.ContainerStatuses)
	}
	if len(pod.Status.Conditions) > 0 {
		fmt.Fprintf(d, "Conditions:\n  Type\tStatus\n")
		for _, c := range pod.Status.Conditions {
			fmt.Fprintf(d, "  %s\t%s\n", c.Type, c.Status)
		}
	}
	d.podVolumes(pod.Spec.Volumes)
}

func (d *description) container(c corev1.Container, statuses []corev1.ContainerStatus) {
	fmt.Fprintf(d, "  %s:\n    Image:\t%s\n", c.Name, c.Image)
	for _, s := range statuses {
		if s.Name != c.Name {
			continue
		}
		fmt.Fprintf(d, "    State:\t%s\n    Ready:\t%s\n    Restart Count:\t%d\n", containerState(s.State), capitalized(s.Ready), s.RestartCount)
	}
	if len(c.VolumeMounts) == 0 && len(c.VolumeDevices) == 0 {
		fmt.Fprintf(d, "    Mounts:\t<none>\n")
		return
	}
	if len(c.VolumeMounts) > 0 {
		fmt.Fprintln(d, "    Mounts:")
	}
	for _, m := range c.VolumeMounts {
		mode := "rw"
		if m.ReadOnly {
			mode = "ro"
		}
		fmt.Fprintf(d, "      %s from %s (%s)\n", m.MountPath, m.Name, mode)
	}
	if len(c.VolumeDevices) > 0 {
		fmt.Fprintln(d, "    Devices:")
	}
	for _, m := range c.VolumeDevices {
		fmt.Fprintf(d, "      %s from %s\n", m.DevicePath, m.Name)
	}
}

func containerState(s corev1.ContainerState) string {
	switch {
	case s.Running != nil:
		return "Running"
	case s.Terminated != nil:
		return fmt.Sprintf("Terminated (%s, exit code %d)", s.Terminated.Reason, s.Terminated.ExitCode)
	case s.Waiting != nil && s.Waiting.Reason != "":
		return "Waiting (" + s.Waiting.Reason + ")"
	}
	return "Waiting"
}

func capitalized(b bool) string {
	if b {
		return "True"
	}
	return "False"
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
		case v.NFS != nil:
			row("Type", "NFS (an NFS mount that lasts the lifetime of a pod)")
			row("Server", v.NFS.Server)
			row("Path", v.NFS.Path)
		case v.HostPath != nil:
			row("Type", "HostPath (bare host directory volume)")
			row("Path", v.HostPath.Path)
		case v.EmptyDir != nil:
			row("Type", "EmptyDir (a temporary directory that shares a pod's lifetime)")
		default:
			row("Type", "<unknown>")
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
