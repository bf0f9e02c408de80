package strategy

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/volsim/volsim/api"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// StatefulSet are the rules of StatefulSets.
var StatefulSet = typedRules[*appsv1.StatefulSet]{
	defaults: func(set *appsv1.StatefulSet) {
		spec := &set.Spec
		// STS-060: one replica, OrderedReady, a rolling update without a partition, ten revisions, and claims that are retained.
		spec.PodManagementPolicy = cmp.Or(spec.PodManagementPolicy, appsv1.OrderedReadyPodManagement)
		if spec.UpdateStrategy.Type == "" {
			spec.UpdateStrategy.Type = appsv1.RollingUpdateStatefulSetStrategyType
			orDefault(&spec.UpdateStrategy.RollingUpdate, &appsv1.RollingUpdateStatefulSetStrategy{})
		}
		// STS-060: a set that names its strategy need not have a partition.
		if spec.UpdateStrategy.Type == appsv1.RollingUpdateStatefulSetStrategyType && spec.UpdateStrategy.RollingUpdate != nil {
			orDefault(&spec.UpdateStrategy.RollingUpdate.Partition, new(int32))
		}
		if spec.PersistentVolumeClaimRetentionPolicy == nil {
			spec.PersistentVolumeClaimRetentionPolicy = &appsv1.StatefulSetPersistentVolumeClaimRetentionPolicy{}
		}
		policy := spec.PersistentVolumeClaimRetentionPolicy
		policy.WhenDeleted = cmp.Or(policy.WhenDeleted, appsv1.RetainPersistentVolumeClaimRetentionPolicyType)
		policy.WhenScaled = cmp.Or(policy.WhenScaled, appsv1.RetainPersistentVolumeClaimRetentionPolicyType)
		orDefault(&spec.Replicas, new(int32(1)))
		orDefault(&spec.RevisionHistoryLimit, new(int32(10)))
		defaultTemplate(&spec.Template)
		for i := range spec.VolumeClaimTemplates {
			claim := &spec.VolumeClaimTemplates[i]
			defaultClaim(claim)
			claim.APIVersion, claim.Kind = cmp.Or(claim.APIVersion, "v1"), cmp.Or(claim.Kind, string(api.PersistentVolumeClaim))
			claim.Status.Phase = cmp.Or(claim.Status.Phase, corev1.ClaimPending)
		}
	},
	drop: func(set *appsv1.StatefulSet) {
		// STS-046: the gate of maxUnavailable is off.
		if rolling := set.Spec.UpdateStrategy.RollingUpdate; rolling != nil {
			rolling.MaxUnavailable = nil
		}
		dropDisabledFields(&set.Spec.Template.Spec, nil) // API-375
	},
	validate:    func(set *appsv1.StatefulSet) field.ErrorList { return validateStatefulSet(set, nil) },
	wholeUpdate: true,
	validateUpdate: func(set, old *appsv1.StatefulSet) field.ErrorList {
		errs := validateStatefulSet(set, old)
		rest, was := set.Spec.DeepCopy(), &old.Spec
		rest.Replicas, rest.Template, rest.UpdateStrategy, rest.MinReadySeconds = was.Replicas, was.Template, was.UpdateStrategy, was.MinReadySeconds
		rest.Ordinals, rest.RevisionHistoryLimit = was.Ordinals, was.RevisionHistoryLimit
		rest.PersistentVolumeClaimRetentionPolicy = was.PersistentVolumeClaimRetentionPolicy
		// STS-062: the rest of the spec is immutable.
		if !SemanticEqual(rest, was) {
			errs = append(errs, field.Forbidden(field.NewPath("spec"), "updates to statefulset spec for fields other than 'replicas', "+
				"'ordinals', 'template', 'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden"))
		}
		return errs
	},
}

// validateStatefulSet validates a set (STS-061). old is nil for a new one.
func validateStatefulSet(set, old *appsv1.StatefulSet) field.ErrorList {
	var errs field.ErrorList
	spec, path := &set.Spec, field.NewPath("spec")
	// STS-061: policies have one of two values, numbers are not negative, and the selector matches the template.
	if p := spec.PodManagementPolicy; p != appsv1.OrderedReadyPodManagement && p != appsv1.ParallelPodManagement {
		errs = append(errs, field.Invalid(path.Child("podManagementPolicy"), p,
			fmt.Sprintf("must be '%s' or '%s'", appsv1.OrderedReadyPodManagement, appsv1.ParallelPodManagement)))
	}
	strategy := path.Child("updateStrategy")
	shown := *spec.UpdateStrategy.DeepCopy()
	if shown.RollingUpdate != nil {
		orDefault(&shown.RollingUpdate.Partition, new(int32)) // in memory it is a number
	}
	switch spec.UpdateStrategy.Type {
	case appsv1.OnDeleteStatefulSetStrategyType:
		if spec.UpdateStrategy.RollingUpdate != nil {
			errs = append(errs, field.Invalid(strategy.Child("rollingUpdate"), internalForm{shown.RollingUpdate},
				fmt.Sprintf("only allowed for updateStrategy '%s'", appsv1.RollingUpdateStatefulSetStrategyType)))
		}
	case appsv1.RollingUpdateStatefulSetStrategyType:
		if r := spec.UpdateStrategy.RollingUpdate; r != nil && r.Partition != nil {
			errs = append(errs, notBelowZero(int64(*r.Partition), strategy.Child("rollingUpdate", "partition"))...)
		}
	default:
		errs = append(errs, field.Invalid(strategy, internalForm{shown},
			fmt.Sprintf("must be '%s' or '%s'", appsv1.RollingUpdateStatefulSetStrategyType, appsv1.OnDeleteStatefulSetStrategyType)))
	}
	if policy := spec.PersistentVolumeClaimRetentionPolicy; policy != nil {
		for _, p := range []struct {
			name  string
			value appsv1.PersistentVolumeClaimRetentionPolicyType
		}{{"whenDeleted", policy.WhenDeleted}, {"whenScaled", policy.WhenScaled}} {
			if p.value != appsv1.RetainPersistentVolumeClaimRetentionPolicyType && p.value != appsv1.DeletePersistentVolumeClaimRetentionPolicyType {
				errs = append(errs, field.NotSupported(path.Child("persistentVolumeClaimRetentionPolicy", p.name), string(p.value), []string{"Retain", "Delete"}))
			}
		}
	}
	// STS-061: claims and serviceName cannot change, so only those of a new set are validated.
	for i := range spec.VolumeClaimTemplates {
		if old == nil {
			errs = append(errs, validateClaimSpec(&spec.VolumeClaimTemplates[i].Spec, path.Child("volumeClaimTemplates").Index(i).Child("spec"))...)
		}
	}
	errs = append(errs, notBelowZero(int64(*spec.Replicas), path.Child("replicas"))...)
	errs = append(errs, notBelowZero(int64(spec.MinReadySeconds), path.Child("minReadySeconds"))...)
	if spec.Ordinals != nil {
		errs = append(errs, notBelowZero(int64(spec.Ordinals.Start), path.Child("ordinals.start"))...)
	}
	if old == nil && spec.ServiceName != "" {
		errs = append(errs, DNSLabel(spec.ServiceName, path, "serviceName")...)
	}
	selects, known := validateSelector(spec.Selector, &spec.Template, "statefulset", path)
	errs = append(errs, selects...)
	if known {
		// STS-061: the metadata of the template is validated twice.
		errs = append(errs, validateTemplate(templateWithClaims(spec), path)...)
		errs = append(errs, validatePodTemplateMeta(&spec.Template, path.Child("template"))...)
	}
	return append(errs, validateAlwaysRunning(&spec.Template, "StatefulSet", path)...)
}

// templateWithClaims returns the pod template of a set with a volume for each of its claims.
func templateWithClaims(spec *appsv1.StatefulSetSpec) *corev1.PodTemplateSpec {
	template := spec.Template
	template.Spec.Volumes = nil
	for i := range spec.VolumeClaimTemplates {
		volume := corev1.Volume{Name: spec.VolumeClaimTemplates[i].Name}
		volume.PersistentVolumeClaim = &corev1.PersistentVolumeClaimVolumeSource{ClaimName: volume.Name}
		// Two claims of one name are one volume.
		if !slices.ContainsFunc(template.Spec.Volumes, func(v corev1.Volume) bool { return v.Name == volume.Name }) {
			template.Spec.Volumes = append(template.Spec.Volumes, volume)
		}
	}
	// The claim takes the place of a volume of the same name.
	for _, v := range spec.Template.Spec.Volumes {
		if !slices.ContainsFunc(spec.VolumeClaimTemplates, func(c corev1.PersistentVolumeClaim) bool { return c.Name == v.Name }) {
			template.Spec.Volumes = append(template.Spec.Volumes, v)
		}
	}
	return &template
}
