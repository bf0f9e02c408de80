package fake

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// ForClaim reserves a volume for a claim, "name" or "namespace/name"; with a UID, for that very claim.
func ForClaim(claim string, uid ...types.UID) Option {
	return func(o *object) {
		switch {
		case o.volume == nil:
			o.unfit("ForClaim")
			return
		case len(uid) > 1:
			o.mistake("ForClaim takes one uid, not %d", len(uid))
			return
		}
		key := split(claim)
		ref := &corev1.ObjectReference{APIVersion: "v1", Kind: "PersistentVolumeClaim", Namespace: key.Namespace, Name: key.Name}
		if len(uid) == 1 {
			ref.UID = uid[0]
		}
		o.volume.Spec.ClaimRef = ref
	}
}

// CSISource makes a volume one of a CSI driver.
func CSISource(driver, handle string) Option {
	return source("CSISource", corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{Driver: driver, VolumeHandle: handle}})
}

// NFSSource makes a volume an NFS share.
func NFSSource(server, path string) Option {
	return source("NFSSource", corev1.PersistentVolumeSource{NFS: &corev1.NFSVolumeSource{Server: server, Path: path}})
}

// HostPathSource makes a volume a path on whichever node it is used.
func HostPathSource(path string) Option {
	return source("HostPathSource", corev1.PersistentVolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: path}})
}

// FlexSource makes a volume one of a FlexVolume driver.
func FlexSource(driver string) Option {
	return source("FlexSource", corev1.PersistentVolumeSource{FlexVolume: &corev1.FlexPersistentVolumeSource{Driver: driver}})
}

// LocalSource makes a volume a path on one node, and lets it be used only there.
func LocalSource(path, node string) Option {
	local := source("LocalSource", corev1.PersistentVolumeSource{Local: &corev1.LocalVolumeSource{Path: path}})
	return func(o *object) {
		local(o)
		if o.volume != nil {
			FromNodes(node)(o)
		}
	}
}

func source(option string, source corev1.PersistentVolumeSource) Option {
	return func(o *object) {
		if o.volume == nil {
			o.unfit(option)
			return
		}
		o.volume.Spec.PersistentVolumeSource = *source.DeepCopy()
	}
}

// FromNodes lets a volume be used only from these nodes, by their label kubernetes.io/hostname.
func FromNodes(nodes ...string) Option {
	return func(o *object) {
		if o.volume == nil {
			o.unfit("FromNodes")
			return
		}
		hostname := corev1.NodeSelectorRequirement{Key: corev1.LabelHostname, Operator: corev1.NodeSelectorOpIn, Values: slices.Clone(nodes)}
		o.volume.Spec.NodeAffinity = &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{
			NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchExpressions: []corev1.NodeSelectorRequirement{hostname}}},
		}}
	}
}

// OnNode assigns a pod to a node, past the scheduler.
func OnNode(node string) Option {
	return func(o *object) {
		if o.pod == nil {
			o.unfit("OnNode")
			return
		}
		o.pod.Spec.NodeName = node
	}
}

// NotReady makes a node that is not ready.
func NotReady() Option {
	return func(o *object) {
		if o.node == nil {
			o.unfit("NotReady")
			return
		}
		o.node.Status.Conditions[0].Status = corev1.ConditionFalse
	}
}

// Claims gives a pod volumes with these claims of its namespace, mounted in its container at /<claim>.
func Claims(claims ...string) Option {
	return func(o *object) {
		if o.pod == nil {
			o.unfit("Claims")
			return
		}
		for _, claim := range claims {
			o.mount("Claims", claim, corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim}})
		}
	}
}

// BlockClaims gives a pod volumes with these claims of its namespace, as the devices /dev/<claim> of its container.
func BlockClaims(claims ...string) Option {
	return func(o *object) {
		if o.pod == nil {
			o.unfit("BlockClaims")
			return
		}
		for _, claim := range claims {
			name, ok := o.podVolume("BlockClaims", claim, corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim}})
			if ok {
				main := &o.pod.Spec.Containers[0]
				main.VolumeDevices = append(main.VolumeDevices, corev1.VolumeDevice{Name: name, DevicePath: "/dev/" + claim})
			}
		}
	}
}

// Ephemeral gives a pod a volume of that name with a claim of its own, <pod>-<name>, which lives as long as the pod. The class
// is "" for none, as with [Claim]. The volume is mounted at /<name>.
func Ephemeral(name, request, class string) Option {
	return func(o *object) {
		if o.pod == nil {
			o.unfit("Ephemeral")
			return
		}
		spec := o.claimSpec(request)
		spec.StorageClassName = new(class)
		o.mount("Ephemeral", name, corev1.VolumeSource{Ephemeral: &corev1.EphemeralVolumeSource{
			VolumeClaimTemplate: &corev1.PersistentVolumeClaimTemplate{Spec: spec},
		}})
	}
}

func (o *object) mount(option, name string, source corev1.VolumeSource) {
	if volume, ok := o.podVolume(option, name, source); ok {
		main := &o.pod.Spec.Containers[0]
		main.VolumeMounts = append(main.VolumeMounts, corev1.VolumeMount{Name: volume, MountPath: "/" + name})
	}
}

// podVolume adds a volume to the pod. It is named like its claim, with dashes for dots, which the name of a volume cannot have.
func (o *object) podVolume(option, name string, source corev1.VolumeSource) (string, bool) {
	volume := strings.ReplaceAll(name, ".", "-")
	for _, other := range o.pod.Spec.Volumes {
		if other.Name == volume {
			o.mistake("%s: the pod has a volume %s already", option, volume)
			return "", false
		}
	}
	o.pod.Spec.Volumes = append(o.pod.Spec.Volumes, corev1.Volume{Name: volume, VolumeSource: source})
	return volume, true
}
