package fake

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/volsim/volsim/internal/core/objects"
)

// Labels sets labels: pairs of a key and a value.
func Labels(pairs ...string) Option {
	return func(o *object) {
		o.pairs("Labels", pairs, func(key, value string) {
			if o.meta.Labels == nil {
				o.meta.Labels = map[string]string{}
			}
			o.meta.Labels[key] = value
		})
	}
}

// Annotations sets annotations: pairs of a key and a value.
func Annotations(pairs ...string) Option {
	return func(o *object) { o.pairs("Annotations", pairs, o.annotate) }
}

// Selector makes a claim want volumes with all of these labels: pairs of a key and a value.
func Selector(pairs ...string) Option {
	return func(o *object) {
		if o.claim == nil {
			o.unfit("Selector")
			return
		}
		o.claim.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{}}
		o.pairs("Selector", pairs, func(key, value string) { o.claim.Spec.Selector.MatchLabels[key] = value })
	}
}

// Parameters sets the parameters of a class: pairs of a key and a value.
func Parameters(pairs ...string) Option {
	return func(o *object) {
		if o.class == nil {
			o.unfit("Parameters")
			return
		}
		o.pairs("Parameters", pairs, func(key, value string) {
			if o.class.Parameters == nil {
				o.class.Parameters = map[string]string{}
			}
			o.class.Parameters[key] = value
		})
	}
}

func (o *object) pairs(option string, pairs []string, set func(key, value string)) {
	if len(pairs)%2 != 0 {
		o.mistake("%s takes pairs of a key and a value, and %q has no value", option, pairs[len(pairs)-1])
		return
	}
	for i := 0; i < len(pairs); i += 2 {
		set(pairs[i], pairs[i+1])
	}
}

// UID sets the uid, which a cluster gives by itself; for tests without a cluster.
func UID(uid types.UID) Option { return func(o *object) { o.meta.UID = uid } }

// Finalizers adds finalizers.
func Finalizers(names ...string) Option {
	return func(o *object) { o.meta.Finalizers = append(o.meta.Finalizers, names...) }
}

// Phase sets the phase of a volume, a claim or a pod, which a cluster resets; for tests without a cluster.
func Phase(phase string) Option {
	return func(o *object) {
		switch {
		case o.volume != nil:
			o.volume.Status.Phase = corev1.PersistentVolumePhase(phase)
		case o.claim != nil:
			o.claim.Status.Phase = corev1.PersistentVolumeClaimPhase(phase)
		case o.pod != nil:
			o.pod.Status.Phase = corev1.PodPhase(phase)
		default:
			o.unfit("Phase")
		}
	}
}

// Modes sets the access modes of a volume or a claim, by name or as RWO, ROX, RWX, RWOP.
func Modes(modes ...string) Option {
	return func(o *object) {
		set := make([]corev1.PersistentVolumeAccessMode, len(modes))
		for i, mode := range modes {
			set[i] = corev1.PersistentVolumeAccessMode(mode)
			if long, ok := shortModes[mode]; ok {
				set[i] = long
			}
		}
		switch {
		case o.volume != nil:
			o.volume.Spec.AccessModes = set
		case o.claim != nil:
			o.claim.Spec.AccessModes = set
		default:
			o.unfit("Modes")
		}
	}
}

var shortModes = map[string]corev1.PersistentVolumeAccessMode{
	"RWO": corev1.ReadWriteOnce, "ROX": corev1.ReadOnlyMany, "RWX": corev1.ReadWriteMany, "RWOP": corev1.ReadWriteOncePod,
}

// Block gives a volume or a claim the volume mode Block.
func Block() Option {
	return func(o *object) {
		switch {
		case o.volume != nil:
			o.volume.Spec.VolumeMode = new(corev1.PersistentVolumeBlock)
		case o.claim != nil:
			o.claim.Spec.VolumeMode = new(corev1.PersistentVolumeBlock)
		default:
			o.unfit("Block")
		}
	}
}

// InClass sets the storageClassName of a volume or a claim.
func InClass(class string) Option {
	return func(o *object) {
		switch {
		case o.volume != nil:
			o.volume.Spec.StorageClassName = class
		case o.claim != nil:
			o.claim.Spec.StorageClassName = new(class)
		default:
			o.unfit("InClass")
		}
	}
}

// NoClass leaves the storageClassName of a claim out, so that it gets the default class if there is one.
func NoClass() Option {
	return func(o *object) {
		if o.claim == nil {
			o.unfit("NoClass")
			return
		}
		o.claim.Spec.StorageClassName = nil
	}
}

// VolumeName makes a claim ask for this volume.
func VolumeName(volume string) Option {
	return func(o *object) {
		if o.claim == nil {
			o.unfit("VolumeName")
			return
		}
		o.claim.Spec.VolumeName = volume
	}
}

// Policy sets the reclaim policy of a volume or a class: Retain, Delete or Recycle.
func Policy(policy corev1.PersistentVolumeReclaimPolicy) Option {
	return func(o *object) {
		switch {
		case o.volume != nil:
			o.volume.Spec.PersistentVolumeReclaimPolicy = policy
		case o.class != nil:
			o.class.ReclaimPolicy = new(policy)
		default:
			o.unfit("Policy")
		}
	}
}

// MountOptions sets the mount options of a volume or a class.
func MountOptions(options ...string) Option {
	return func(o *object) {
		switch {
		case o.volume != nil:
			o.volume.Spec.MountOptions = slices.Clone(options)
		case o.class != nil:
			o.class.MountOptions = slices.Clone(options)
		default:
			o.unfit("MountOptions")
		}
	}
}

// WaitForFirstConsumer makes a class bind its claims when a pod wants them.
func WaitForFirstConsumer() Option {
	return func(o *object) {
		if o.class == nil {
			o.unfit("WaitForFirstConsumer")
			return
		}
		o.class.VolumeBindingMode = new(storagev1.VolumeBindingWaitForFirstConsumer)
	}
}

// Expandable lets the volumes of a class be expanded.
func Expandable() Option {
	return func(o *object) {
		if o.class == nil {
			o.unfit("Expandable")
			return
		}
		o.class.AllowVolumeExpansion = new(true)
	}
}

// Default marks a class as the default.
func Default() Option {
	return func(o *object) {
		if o.class == nil {
			o.unfit("Default")
			return
		}
		o.annotate(objects.AnnDefaultClass, "true")
	}
}
