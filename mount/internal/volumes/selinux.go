package volumes

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/internal/core/objects"
)

// Labeling decides whether the kubelet mounts a volume with the SELinux label of a pod (MNT-335).
type Labeling struct {
	// Host says that the node runs SELinux.
	Host bool
	// Plugin says that the plugin of the volume can mount with a label.
	Plugin bool
	// Level returns the level of a label whose options name none.
	Level func() string
}

// LabelFor returns the label of the files that the containers of the pod expect in the volume, "" for none. Different labels in one pod
// are an error for a volume that is mounted with its label.
func LabelFor(pod *corev1.Pod, spec *Spec, how Labeling) (string, error) {
	if !how.Host {
		return "", nil
	}
	var labels []string
	for _, options := range labelOptions(pod, spec.PodName) {
		labels = append(labels, fileLabel(options, how.Level))
	}
	slices.Sort(labels)
	labels = slices.Compact(labels)
	switch {
	case len(labels) > 1 && spec.SinglePod():
		// MNT-337: one mount has one label.
		return "", fmt.Errorf("multiple SELinux labels found: %s", strings.Join(labels, ","))
	case len(labels) != 1, !how.Plugin, recursive(pod):
		// MNT-335: the container runtime changes the labels of the files, one by one.
		return "", nil
	}
	return labels[0], nil
}

// labelOptions returns the options of all containers that mount the volume: their own, or those of the pod.
func labelOptions(pod *corev1.Pod, volume string) (all []*corev1.SELinuxOptions) {
	add := func(mounts []corev1.VolumeMount, context *corev1.SecurityContext) {
		var options *corev1.SELinuxOptions
		if pod.Spec.SecurityContext != nil {
			options = pod.Spec.SecurityContext.SELinuxOptions
		}
		if context != nil && context.SELinuxOptions != nil {
			options = context.SELinuxOptions
		}
		for i := range mounts {
			if mounts[i].Name == volume && options != nil {
				all = append(all, options)
			}
		}
	}
	for i := range pod.Spec.InitContainers {
		add(pod.Spec.InitContainers[i].VolumeMounts, pod.Spec.InitContainers[i].SecurityContext)
	}
	for i := range pod.Spec.Containers {
		add(pod.Spec.Containers[i].VolumeMounts, pod.Spec.Containers[i].SecurityContext)
	}
	for i := range pod.Spec.EphemeralContainers {
		add(pod.Spec.EphemeralContainers[i].VolumeMounts, pod.Spec.EphemeralContainers[i].SecurityContext)
	}
	return all
}

// fileLabel returns the label of the files of a container with these options.
func fileLabel(options *corev1.SELinuxOptions, level func() string) string {
	if *options == (corev1.SELinuxOptions{}) {
		return ""
	}
	// MNT-338: role and type are those of files; options name those of the process.
	user, at := options.User, options.Level
	if user == "" {
		user = "system_u"
	}
	if at == "" {
		at = level()
	}
	return user + ":object_r:container_file_t:" + at
}

// recursive reports whether the pod wants the labels of files changed one by one.
func recursive(pod *corev1.Pod) bool {
	context := pod.Spec.SecurityContext
	return context != nil && context.SELinuxChangePolicy != nil && *context.SELinuxChangePolicy == corev1.SELinuxChangePolicyRecursive
}

// TakeLabel settles with which label the volume is mounted for the pod, before AddPodVolume. Another label than that of the pods that want
// the volume already is an error if the volume is mounted with its label.
func (d *Desired) TakeLabel(id Identity, pod *corev1.Pod, spec *Spec, how Labeling) error {
	label, err := LabelFor(pod, spec, how)
	if err != nil {
		return err
	}
	v, known := d.volumes.Get(id.Name)
	if known {
		_, wanted := v.Pods.Get(pod.UID)
		if how.Host && how.Plugin && !wanted && label != v.PodLabel && spec.SinglePod() {
			// MNT-339: the pod waits until the others are gone.
			return fmt.Errorf("conflicting SELinux labels of volume %s: %q and %q", spec.Name(), v.PodLabel, label)
		}
		spec.PodLabel, spec.Label = v.PodLabel, v.Label
		return nil
	}
	spec.PodLabel = label
	if spec.SinglePod() {
		// MNT-335: without the gate SELinuxMount, only ReadWriteOncePod volumes are mounted with a label.
		spec.Label = label
	}
	return nil
}

// LabelPlugin reports whether an in-tree plugin can mount with a label. For CSI the CSIDriver says so.
func LabelPlugin(plugin objects.Plugin) bool {
	// MNT-335: of the in-tree plugins, those of iSCSI and Fibre Channel.
	return plugin.Name == "kubernetes.io/iscsi" || plugin.Name == "kubernetes.io/fc"
}

// LabelOption returns the mount options with the one for the label; the options given stay as they are.
func LabelOption(options []string, label string) []string {
	if label == "" {
		return options
	}
	// MNT-340: quoted, because a level contains commas.
	return append(slices.Clone(options), fmt.Sprintf("context=%q", label))
}
