package fake

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// ForClaim reserves a volume for a claim, "name" or "namespace/name". With a uid it is reserved for the claim with that uid only.
func ForClaim(claim string, uid ...types.UID) Option {
	return func(o *object) {
		switch {
		case o.volume == nil:
			o.inapplicable("ForClaim")
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

// CSISource sets the source of a volume: a volume of a CSI driver.
func CSISource(driver, handle string) Option {
	return source("CSISource", corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{Driver: driver, VolumeHandle: handle}})
}

// NFSSource sets the source of a volume: an NFS share.
func NFSSource(server, path string) Option {
	return source("NFSSource", corev1.PersistentVolumeSource{NFS: &corev1.NFSVolumeSource{Server: server, Path: path}})
}

// HostPathSource sets the source of a volume: a path on the node that uses it.
func HostPathSource(path string) Option {
	return source("HostPathSource", corev1.PersistentVolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: path}})
}

// FlexSource sets the source of a volume: a volume of a FlexVolume driver.
func FlexSource(driver string) Option {
	return source("FlexSource", corev1.PersistentVolumeSource{FlexVolume: &corev1.FlexPersistentVolumeSource{Driver: driver}})
}

// LocalSource sets the source of a volume: a path on one node. Only that node can use the volume.
func LocalSource(path, node string) Option {
	local := source("LocalSource", corev1.PersistentVolumeSource{Local: &corev1.LocalVolumeSource{Path: path}})
	return func(o *object) {
		local(o)
		if o.volume == nil {
			return
		}
		if node == "" {
			o.mistake("LocalSource of no node")
		}
		FromNodes(node)(o)
	}
}

func source(option string, source corev1.PersistentVolumeSource) Option {
	return func(o *object) {
		if o.volume == nil {
			o.inapplicable(option)
			return
		}
		o.volume.Spec.PersistentVolumeSource = *source.DeepCopy()
	}
}

// FromNodes sets the node affinity of a volume: only these nodes can use it. They are selected by the label kubernetes.io/hostname.
func FromNodes(nodes ...string) Option {
	return func(o *object) {
		if o.volume == nil {
			o.inapplicable("FromNodes")
			return
		}
		hostname := corev1.NodeSelectorRequirement{Key: corev1.LabelHostname, Operator: corev1.NodeSelectorOpIn, Values: slices.Clone(nodes)}
		o.volume.Spec.NodeAffinity = &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{
			NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchExpressions: []corev1.NodeSelectorRequirement{hostname}}},
		}}
	}
}

// OnNode assigns a pod to a node, without the scheduler.
func OnNode(node string) Option {
	return func(o *object) {
		if o.pod == nil {
			o.inapplicable("OnNode")
			return
		}
		o.pod.Spec.NodeName = node
	}
}

// NotReady makes a node not ready.
func NotReady() Option {
	return func(o *object) {
		if o.node == nil {
			o.inapplicable("NotReady")
			return
		}
		o.node.Status.Conditions[0].Status = corev1.ConditionFalse
	}
}

// Claims adds volumes with these claims of the pod's namespace to a pod. Its container mounts them at /<claim>.
func Claims(claims ...string) Option {
	return func(o *object) {
		if o.pod == nil {
			o.inapplicable("Claims")
			return
		}
		for _, claim := range claims {
			o.mount("Claims", claim, corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim}})
		}
	}
}

// BlockClaims adds volumes with these claims of the pod's namespace to a pod. Its container has them as devices /dev/<claim>.
func BlockClaims(claims ...string) Option {
	return func(o *object) {
		if o.pod == nil {
			o.inapplicable("BlockClaims")
			return
		}
		for _, claim := range claims {
			source := corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim}}
			name, ok := o.podVolume("BlockClaims", claim, source)
			if ok {
				main := &o.pod.Spec.Containers[0]
				main.VolumeDevices = append(main.VolumeDevices, corev1.VolumeDevice{Name: name, DevicePath: "/dev/" + claim})
			}
		}
	}
}

// Ephemeral adds a generic ephemeral volume with that name to a pod. Its claim, <pod>-<name>, exists as long as the pod. The class "" is
// none, as with [Claim]. The container mounts the volume at /<name>.
func Ephemeral(name, request, class string) Option {
	return func(o *object) {
		if o.pod == nil {
			o.inapplicable("Ephemeral")
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

// podVolume adds a volume to the pod, unless there is one with that name, and returns its name: that of the claim, with dashes for dots,
// which are invalid there.
func (o *object) podVolume(option, name string, source corev1.VolumeSource) (string, bool) {
	volume := strings.ReplaceAll(name, ".", "-")
	for _, other := range o.pod.Spec.Volumes {
		if other.Name == volume {
			o.mistake("%s: the pod already has a volume %s", option, volume)
			return "", false
		}
	}
	o.pod.Spec.Volumes = append(o.pod.Spec.Volumes, corev1.Volume{Name: volume, VolumeSource: source})
	return volume, true
}
