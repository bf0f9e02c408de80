package store

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/plain"
)

// workloadRules are the rules of a kind whose objects are stored as data and have a Go type of k8s.io/api.
type workloadRules[T api.Object] struct {
	defaults       func(obj T)
	validate       func(obj T) field.ErrorList
	validateUpdate func(obj, old T) field.ErrorList
	// updateFirst puts the errors of validateUpdate before those of validate. wholeUpdate says that validateUpdate does not need validate.
	updateFirst, wholeUpdate bool
}

// add adds the rules to a strategy. Objects are converted for them, and normalized to the fields of T.
func (r workloadRules[T]) add(s strategy[*plain.Object]) strategy[*plain.Object] {
	complete := func(obj *plain.Object) {
		typed, err := plain.As[T](obj)
		if err != nil {
			return // validation reports it
		}
		r.defaults(typed)
		if data, err := plain.From(typed); err == nil {
			obj.SetContent(data.Content())
			obj.Labels = typed.GetLabels()
		}
	}
	s.defaults = complete
	if prepare := s.prepareCreate; prepare != nil {
		s.prepareCreate = func(obj *plain.Object, now metav1.Time) {
			prepare(obj, now)
			complete(obj)
		}
	}
	s.validateCreate = func(obj *plain.Object) field.ErrorList {
		typed, err := plain.As[T](obj)
		if err != nil {
			return field.ErrorList{field.Invalid(field.NewPath("spec"), obj.Content()["spec"], err.Error())}
		}
		return r.validate(typed)
	}
	s.validateUpdate = func(obj, old *plain.Object) field.ErrorList {
		errs := s.validateCreate(obj)
		typed, err := plain.As[T](obj)
		if err != nil {
			return errs
		}
		before, err := plain.As[T](old)
		if err != nil {
			return errs
		}
		if r.wholeUpdate {
			return r.validateUpdate(typed, before)
		}
		if r.updateFirst {
			return append(r.validateUpdate(typed, before), errs...)
		}
		return append(errs, r.validateUpdate(typed, before)...)
	}
	return s
}

// defaultTemplate sets the defaults of a pod template, and removes disabled fields (WORK-020). Defaults that only pods have are not set: requests
// that follow from limits, service links, ports of nodes, and a grace period in place of a negative one.
func defaultTemplate(template *corev1.PodTemplateSpec) {
	pod := &corev1.Pod{Spec: *template.Spec.DeepCopy()}
	pod.Spec.HostNetwork = false
	defaultPod(pod)
	// WORK-020: requests, service links and host ports are completed in pods, not in templates.
	pod.Spec.HostNetwork = template.Spec.HostNetwork
	pod.Spec.EnableServiceLinks = template.Spec.EnableServiceLinks
	if grace := template.Spec.TerminationGracePeriodSeconds; grace != nil {
		pod.Spec.TerminationGracePeriodSeconds = grace
	}
	if whole := template.Spec.Resources; whole != nil {
		pod.Spec.Resources = roundRequirements(whole)
	}
	restore := func(containers, given []corev1.Container) {
		for i := range containers {
			containers[i].Resources.Requests = given[i].Resources.Requests
		}
	}
	pod.Spec.Containers, pod.Spec.InitContainers = slices.Clone(pod.Spec.Containers), slices.Clone(pod.Spec.InitContainers)
	restore(pod.Spec.Containers, template.Spec.Containers)
	restore(pod.Spec.InitContainers, template.Spec.InitContainers)
	// API-375. SIM: the server removes these fields after it has noted who manages them, so there they remain in managedFields.
	dropDisabledFields(&pod.Spec, nil)
	template.Spec = pod.Spec
}

var statefulSetRules = workloadRules[*appsv1.StatefulSet]{
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
		// STS-046: the gate of maxUnavailable is off.
		if rolling := spec.UpdateStrategy.RollingUpdate; rolling != nil {
			rolling.MaxUnavailable = nil
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
	validate:    func(set *appsv1.StatefulSet) field.ErrorList { return validateStatefulSet(set, nil) },
	wholeUpdate: true,
	validateUpdate: func(set, old *appsv1.StatefulSet) field.ErrorList {
		errs := validateStatefulSet(set, old)
		rest, was := set.Spec.DeepCopy(), &old.Spec
		rest.Replicas, rest.Template, rest.UpdateStrategy, rest.MinReadySeconds = was.Replicas, was.Template, was.UpdateStrategy, was.MinReadySeconds
		rest.Ordinals, rest.RevisionHistoryLimit = was.Ordinals, was.RevisionHistoryLimit
		rest.PersistentVolumeClaimRetentionPolicy = was.PersistentVolumeClaimRetentionPolicy
		// STS-062: the rest of the spec is immutable.
		if !semanticEqual(rest, was) {
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
		errs = append(errs, dnsLabel(spec.ServiceName, path, "serviceName")...)
	}
	errs = append(errs, validateSelector(spec.Selector, &spec.Template, "statefulset", path)...)
	errs = append(errs, validateTemplate(templateWithClaims(spec), path)...)
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

// validateTemplate validates the pod template of a workload whose path is given, as far as pods are validated (WORK-022).
func validateTemplate(template *corev1.PodTemplateSpec, path *field.Path) field.ErrorList {
	at := path.Child("template")
	errs := validateLabels(template.Labels, at.Child("labels"))
	// WORK-022: the errors are those of a pod, at the path of the template.
	for _, err := range validatePodSpec(&corePod{Spec: template.Spec}, nil, true) {
		err.Field = at.String() + "." + err.Field
		errs = append(errs, err)
	}
	if len(template.Spec.EphemeralContainers) > 0 {
		errs = append(errs, field.Forbidden(at.Child("spec", "ephemeralContainers"), "ephemeral containers not allowed in pod template"))
	}
	return errs
}

// validateSelector validates the selector of a workload: it must select something, and match the labels of the template (WORK-021).
func validateSelector(selector *metav1.LabelSelector, template *corev1.PodTemplateSpec, kind string, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if selector == nil && kind != "daemonset" {
		errs = append(errs, field.Required(path.Child("selector"), ""))
	} else if selector != nil && len(selector.MatchLabels)+len(selector.MatchExpressions) == 0 {
		return field.ErrorList{field.Invalid(path.Child("selector"), selector, "empty selector is invalid for "+kind)}
	}
	parsed, err := metav1.LabelSelectorAsSelector(selector)
	if err != nil {
		detail := ""
		if kind == "deployment" {
			detail = "invalid label selector"
		}
		return append(errs, field.Invalid(path.Child("selector"), selector, detail))
	}
	// WORK-021: a workload must find the pods that it makes. A missing selector matches none.
	if !parsed.Matches(labels.Set(template.Labels)) {
		errs = append(errs, field.Invalid(path.Child("template", "metadata", "labels"), maps.Clone(template.Labels),
			"`selector` does not match template `labels`"))
	}
	return errs
}

func notBelowZero(n int64, path *field.Path) field.ErrorList {
	if n >= 0 {
		return nil
	}
	return field.ErrorList{field.Invalid(path, n, "must be greater than or equal to 0").WithOrigin("minimum")}
}
