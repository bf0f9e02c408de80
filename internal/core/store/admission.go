package store

import (
	"errors"
	"slices"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/objects"
	"github.com/volsim/volsim/internal/core/strategy"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
)

// admission completes objects of one kind, or rejects them, before they are validated. In Kubernetes these are admission plugins. It may read
// the rest of the cluster. A nil function does nothing.
type admission[T api.Object] struct {
	// create and update may complete obj, or reject the write with an error of k8s.io/apimachinery/pkg/api/errors (API-250 and following;
	// API-224).
	create func(s *Store, obj T) error
	update func(s *Store, obj, old T) error
	// allocate refuses what the server allocates before it validates the object: addresses and ports (API-350). Of a new object old is nil.
	allocate func(s *Store, obj, old T) error
	// complete completes updates of the main resource (NODE-080).
	complete func(obj T)
}

var (
	volumeAdmission          = admission[*corev1.PersistentVolume]{create: admitVolume}
	claimAdmission           = admission[*corev1.PersistentVolumeClaim]{create: admitClaim, update: admitResize}
	attributesClassAdmission = admission[*storagev1.VolumeAttributesClass]{create: admitAttributesClass}
	podAdmission             = admission[*corev1.Pod]{create: admitPod, complete: defaultTolerations}
)

func admitVolume(_ *Store, volume *corev1.PersistentVolume) error {
	protect(&volume.ObjectMeta, &volumeProtection)
	return nil
}

func admitAttributesClass(_ *Store, class *storagev1.VolumeAttributesClass) error {
	protect(&class.ObjectMeta, &attributesClassProtection)
	return nil
}

// admitClaim sets the default class of a claim, then its protection finalizer (API-250, BIND-017).
func admitClaim(s *Store, claim *corev1.PersistentVolumeClaim) error {
	// API-251: a claim that names a class, even "", gets no default.
	if _, annotated := claim.Annotations[corev1.BetaStorageClassAnnotation]; !annotated && claim.Spec.StorageClassName == nil {
		// API-253: without a default class the claim gets none.
		if class := s.defaultClass(); class != nil {
			claim.Spec.StorageClassName = new(class.Name)
		}
	}
	protect(&claim.ObjectMeta, &claimProtection)
	return nil
}

// defaultClass returns the class for claims that name none, or nil if there is no default.
func (s *Store) defaultClass() *storagev1.StorageClass {
	var newest *storagev1.StorageClass
	for _, class := range s.Classes.List() {
		// API-252: either annotation marks a default class, if its value is exactly "true".
		if class.Annotations[objects.AnnDefaultClass] != "true" && class.Annotations[objects.AnnBetaDefaultClass] != "true" {
			continue
		}
		// API-253: the newest class wins; among classes of the same second, the first by name.
		if newest == nil || class.CreationTimestamp.Unix() > newest.CreationTimestamp.Unix() {
			newest = class
		}
	}
	return newest
}

var (
	errNotBound      = errors.New("Only bound persistent volume claims can be expanded")
	errNotExpandable = errors.New("only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must support resize")
)

// admitResize rejects an expansion of a claim that is not bound or whose class does not allow expansion (API-224, EXP-001). It checks
// neither the volume nor its driver.
func admitResize(s *Store, claim, old *corev1.PersistentVolumeClaim) error {
	size := strategy.StorageOf(claim.Spec.Resources.Requests)
	if size.Cmp(strategy.StorageOf(old.Spec.Resources.Requests)) <= 0 {
		return nil
	}
	// API-224: the phase of the stored claim counts. Validation has already rejected other changes to a claim that is not bound (API-221).
	if old.Status.Phase != corev1.ClaimBound {
		return forbidden(resourceOf(api.PersistentVolumeClaim), claim.Name, errNotBound)
	}
	name := objects.ClassOf(claim)
	if name == "" || name != objects.ClassOf(old) {
		return forbidden(resourceOf(api.PersistentVolumeClaim), claim.Name, errNotExpandable)
	}
	class, ok := s.Classes.Lookup(name)
	if !ok || class.AllowVolumeExpansion == nil || !*class.AllowVolumeExpansion {
		return forbidden(resourceOf(api.PersistentVolumeClaim), claim.Name, errNotExpandable)
	}
	return nil
}

// admitPod adds the topology labels of its node to a new pod that names one (API-256).
func admitPod(s *Store, pod *corev1.Pod) error {
	defaultTolerations(pod)
	if pod.Spec.NodeName == "" {
		return nil
	}
	if node, ok := s.Nodes.Lookup(pod.Spec.NodeName); ok {
		pod.Labels = merged(pod.Labels, topologyLabels(node.Labels))
	}
	return nil
}

// defaultTolerations adds the tolerations for nodes that fail to a pod that has none (NODE-080).
func defaultTolerations(pod *corev1.Pod) {
	tolerations := pod.Spec.Tolerations
	if len(tolerations) == 0 {
		pod.Spec.Tolerations = failureTolerations
		return
	}
	for _, toleration := range failureTolerations {
		if slices.ContainsFunc(pod.Spec.Tolerations, func(t corev1.Toleration) bool {
			// NODE-080: only key and effect count. An empty one matches all.
			return (t.Key == "" || t.Key == toleration.Key) && (t.Effect == "" || t.Effect == toleration.Effect)
		}) {
			continue
		}
		pod.Spec.Tolerations = append(slices.Clip(pod.Spec.Tolerations), toleration)
	}
}

// failureTolerations are the tolerations of pods for nodes that fail (NODE-010). Stored pods share them.
var failureTolerations = []corev1.Toleration{
	{Key: corev1.TaintNodeNotReady, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute,
		TolerationSeconds: new(int64(300))},
	{Key: corev1.TaintNodeUnreachable, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute,
		TolerationSeconds: new(int64(300))},
}
