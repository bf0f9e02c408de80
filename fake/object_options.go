package fake

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/volsim/volsim/internal/core/objects"
)

// Labels adds labels to any object, given as pairs of a key and a value.
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

// Annotations adds annotations to any object, given as pairs of a key and a value.
func Annotations(pairs ...string) Option {
	return func(o *object) { o.pairs("Annotations", pairs, o.annotate) }
}

// Selector makes a claim select volumes that have all these labels, given as pairs of a key and a value.
func Selector(pairs ...string) Option {
	return func(o *object) {
		if o.claim == nil {
			o.inapplicable("Selector")
			return
		}
		o.claim.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{}}
		o.pairs("Selector", pairs, func(key, value string) { o.claim.Spec.Selector.MatchLabels[key] = value })
	}
}

// Parameters adds parameters to a class, given as pairs of a key and a value.
func Parameters(pairs ...string) Option {
	return func(o *object) {
		if o.class == nil {
			o.inapplicable("Parameters")
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

// pairs calls set for each pair of a key and a value.
func (o *object) pairs(option string, pairs []string, set func(key, value string)) {
	if len(pairs)%2 != 0 {
		o.mistake("%s takes pairs of a key and a value, and %q has no value", option, pairs[len(pairs)-1])
		return
	}
	for i := 0; i < len(pairs); i += 2 {
		set(pairs[i], pairs[i+1])
	}
}

// UID sets the uid of any object, for tests without a cluster: a cluster assigns uids itself.
func UID(uid types.UID) Option { return func(o *object) { o.meta.UID = uid } }

// Finalizers adds finalizers to any object.
func Finalizers(names ...string) Option {
	return func(o *object) { o.meta.Finalizers = append(o.meta.Finalizers, names...) }
}

// Phase sets the phase of a volume, claim or pod, for tests without a cluster: a cluster resets the phase of new objects.
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
			o.inapplicable("Phase")
		}
	}
}

// Modes sets the access modes of a volume or claim, by their full names or as RWO, ROX, RWX, RWOP.
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
			o.inapplicable("Modes")
		}
	}
}

var shortModes = map[string]corev1.PersistentVolumeAccessMode{
	"RWO": corev1.ReadWriteOnce, "ROX": corev1.ReadOnlyMany, "RWX": corev1.ReadWriteMany, "RWOP": corev1.ReadWriteOncePod,
}

// Block sets the volume mode of a volume or claim to Block.
func Block() Option {
	return func(o *object) {
		switch {
		case o.volume != nil:
			o.volume.Spec.VolumeMode = new(corev1.PersistentVolumeBlock)
		case o.claim != nil:
			o.claim.Spec.VolumeMode = new(corev1.PersistentVolumeBlock)
		default:
			o.inapplicable("Block")
		}
	}
}

// InClass sets the storageClassName of a volume or claim.
func InClass(class string) Option {
	return func(o *object) {
		switch {
		case o.volume != nil:
			o.volume.Spec.StorageClassName = class
		case o.claim != nil:
			o.claim.Spec.StorageClassName = new(class)
		default:
			o.inapplicable("InClass")
		}
	}
}

// NoClass removes the storageClassName of a claim, so that it gets the default class if there is one.
func NoClass() Option {
	return func(o *object) {
		if o.claim == nil {
			o.inapplicable("NoClass")
			return
		}
		o.claim.Spec.StorageClassName = nil
	}
}

// VolumeName makes a claim request the volume with that name.
func VolumeName(volume string) Option {
	return func(o *object) {
		if o.claim == nil {
			o.inapplicable("VolumeName")
			return
		}
		o.claim.Spec.VolumeName = volume
	}
}

// Policy sets the reclaim policy of a volume or class: Retain, Delete or Recycle.
func Policy(policy corev1.PersistentVolumeReclaimPolicy) Option {
	return func(o *object) {
		switch {
		case o.volume != nil:
			o.volume.Spec.PersistentVolumeReclaimPolicy = policy
		case o.class != nil:
			o.class.ReclaimPolicy = new(policy)
		default:
			o.inapplicable("Policy")
		}
	}
}

// MountOptions sets the mount options of a volume or class.
func MountOptions(options ...string) Option {
	return func(o *object) {
		switch {
		case o.volume != nil:
			o.volume.Spec.MountOptions = slices.Clone(options)
		case o.class != nil:
			o.class.MountOptions = slices.Clone(options)
		default:
			o.inapplicable("MountOptions")
		}
	}
}

// WaitForFirstConsumer makes a class bind its claims when the first pod uses them.
func WaitForFirstConsumer() Option {
	return func(o *object) {
		if o.class == nil {
			o.inapplicable("WaitForFirstConsumer")
			return
		}
		o.class.VolumeBindingMode = new(storagev1.VolumeBindingWaitForFirstConsumer)
	}
}

// Expandable makes a class allow the expansion of its volumes.
func Expandable() Option {
	return func(o *object) {
		if o.class == nil {
			o.inapplicable("Expandable")
			return
		}
		o.class.AllowVolumeExpansion = new(true)
	}
}

// Default makes a class the default class.
func Default() Option {
	return func(o *object) {
		if o.class == nil {
			o.inapplicable("Default")
			return
		}
		o.annotate(objects.AnnDefaultClass, "true")
	}
}
