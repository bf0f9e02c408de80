package strategy

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Pod is the strategy for pods.
var Pod = Of[*corePod]{
	Shallow: func(pod *corePod) *corePod {
		c := *pod
		return &c
	},
	Defaults:      defaultPod,
	Sync:          syncAppArmor,
	PrepareCreate: preparePod,
	PrepareUpdate: func(pod, old *corePod) {
		keepPriority(pod, old)
		// An update of the main resource keeps the status.
		pod.Status = old.Status
		dropDisabledFields(&pod.Spec, &old.Spec)
	},
	PrepareStatus:  preparePodStatus,
	ValidateCreate: validatePodCreate,
	ValidateUpdate: validatePodUpdate,
	ValidateStatus: validatePodStatus,
	Parts:          podParts,
	Equal: func(a, b *corePod) bool {
		return a.Status.Phase == b.Status.Phase && slices.EqualFunc(a.Status.Conditions, b.Status.Conditions, samePodCondition) &&
			(sharesAll(&a.Status, &b.Status) || storedEqual(&a.Status, &b.Status)) &&
			(sharesAll(&a.Spec, &b.Spec) || storedEqual(&a.Spec, &b.Spec))
	},
	// API-237, API-030: any change of the spec raises generation.
	SpecChanged: func(pod, old *corePod) bool { return !equalPodSpecs(&pod.Spec, &old.Spec) },
}

// samePodCondition is equality as stored of conditions, in which most versions of a status differ. Reflection finds that out later.
func samePodCondition(a, b corev1.PodCondition) bool {
	return a.Type == b.Type && a.Status == b.Status && a.Reason == b.Reason && a.Message == b.Message &&
		a.ObservedGeneration == b.ObservedGeneration &&
		sameSecond(&a.LastProbeTime, &b.LastProbeTime) && sameSecond(&a.LastTransitionTime, &b.LastTransitionTime)
}

// equalPodSpecs is semantic equality of two specs.
func equalPodSpecs(a, b *corev1.PodSpec) bool { return sharesAll(a, b) || SemanticEqual(a, b) }

// keepPriority restores the priority that an update of a pod omits (API-258).
func keepPriority(pod, old *corePod) {
	if pod.Spec.Priority == nil {
		pod.Spec.Priority = old.Spec.Priority
	}
	if pod.Spec.PreemptionPolicy == nil {
		pod.Spec.PreemptionPolicy = old.Spec.PreemptionPolicy
	}
}

// preparePod resets the status of a new pod: Pending, and not scheduled if it has scheduling gates (API-108).
func preparePod(pod *corePod, now metav1.Time) {
	pod.Generation = 1
	pod.Status = corev1.PodStatus{Phase: corev1.PodPending, QOSClass: podQOS(pod)}
	dropDisabledFields(&pod.Spec, nil)
	storeNoSources(&pod.Spec)
	mergeLabelKeys(pod)
	// API-108: the scheduler ignores gated pods, so the server sets their condition.
	if len(pod.Spec.SchedulingGates) > 0 {
		pod.Status.Conditions = []corev1.PodCondition{{
			Type:               corev1.PodScheduled,
			Status:             corev1.ConditionFalse,
			Reason:             corev1.PodReasonSchedulingGated,
			Message:            "Scheduling is blocked due to non-empty scheduling gates",
			LastTransitionTime: now,
		}}
	}
}

// preparePodStatus restores what an update of the status must not change (API-244).
func preparePodStatus(pod, old *corePod, _ metav1.Time) {
	// API-244: an update of the status keeps the spec, the owners and the deletion timestamp.
	pod.Spec = old.Spec
	pod.OwnerReferences = old.OwnerReferences
	pod.DeletionTimestamp = old.DeletionTimestamp
	if pod.Status.QOSClass == "" {
		pod.Status.QOSClass = old.Status.QOSClass
	}
	keepObservedGenerations(&pod.Status, &old.Status)
	alignPodIPs(&pod.Status)
}

// keepObservedGenerations restores observed generations that a status omits (API-244). If a type occurs more than once among the
// conditions, its conditions are matched in order.
func keepObservedGenerations(status, old *corev1.PodStatus) {
	if status.ObservedGeneration == 0 {
		status.ObservedGeneration = old.ObservedGeneration
	}
	conditions := lazyCopy[corev1.PodCondition]{items: status.Conditions}
	for i := range conditions.items {
		condition := &conditions.items[i]
		if condition.ObservedGeneration != 0 {
			continue
		}
		nth := 0
		for j := range conditions.items[:i] {
			if conditions.items[j].Type == condition.Type {
				nth++
			}
		}
		if kept := observedGeneration(old.Conditions, condition.Type, nth); kept != 0 {
			conditions.at(i).ObservedGeneration = kept
		}
	}
	status.Conditions = conditions.items
}

// observedGeneration returns the generation of the nth condition of a type, or zero if there are fewer.
func observedGeneration(conditions []corev1.PodCondition, kind corev1.PodConditionType, nth int) int64 {
	for i := range conditions {
		if conditions[i].Type != kind {
			continue
		}
		if nth == 0 {
			return conditions[i].ObservedGeneration
		}
		nth--
	}
	return 0
}

// dropDisabledFields removes the fields of features that are off by default, unless the stored pod has them: trust bundles and
// certificates in projected volumes, scheduling groups, and stop signals (API-375).
func dropDisabledFields(spec, old *corev1.PodSpec) {
	if old == nil || !slices.ContainsFunc(old.Containers, hasStopSignal) && !slices.ContainsFunc(old.InitContainers, hasStopSignal) {
		spec.Containers, spec.InitContainers = withoutStopSignals(spec.Containers), withoutStopSignals(spec.InitContainers)
	}
	if old == nil || old.SchedulingGroup == nil {
		spec.SchedulingGroup = nil
	}
	bundles := old == nil || !projects(old, func(p *corev1.VolumeProjection) bool { return p.ClusterTrustBundle != nil })
	certificates := old == nil || !projects(old, func(p *corev1.VolumeProjection) bool { return p.PodCertificate != nil })
	drop := func(p *corev1.VolumeProjection) bool {
		return bundles && p.ClusterTrustBundle != nil || certificates && p.PodCertificate != nil
	}
	if !projects(spec, drop) {
		return
	}
	spec.Volumes = slices.Clone(spec.Volumes)
	for i := range spec.Volumes {
		projected := spec.Volumes[i].Projected
		if projected == nil || !slices.ContainsFunc(projected.Sources, func(p corev1.VolumeProjection) bool { return drop(&p) }) {
			continue
		}
		c := *projected
		c.Sources = slices.Clone(c.Sources)
		for j := range c.Sources {
			if bundles {
				c.Sources[j].ClusterTrustBundle = nil
			}
			if certificates {
				c.Sources[j].PodCertificate = nil
			}
		}
		spec.Volumes[i].Projected = &c
	}
}

// storeNoSources stores an empty list of the sources of a projected volume as null (API-547).
func storeNoSources(spec *corev1.PodSpec) {
	for i := range spec.Volumes {
		if projected := spec.Volumes[i].Projected; projected != nil && projected.Sources != nil && len(projected.Sources) == 0 {
			spec.Volumes = slices.Clone(spec.Volumes)
			spec.Volumes[i].Projected = &corev1.ProjectedVolumeSource{DefaultMode: projected.DefaultMode}
		}
	}
}

func hasStopSignal(c corev1.Container) bool {
	return c.Lifecycle != nil && c.Lifecycle.StopSignal != nil
}

// withoutStopSignals removes the signals that stop containers, and hooks that have nothing else (API-375).
func withoutStopSignals(containers []corev1.Container) []corev1.Container {
	l := lazyCopy[corev1.Container]{items: containers}
	for i := range containers {
		if old := l.items[i].Lifecycle; old == nil || old.StopSignal == nil {
			continue
		} else if old.PostStart == nil && old.PreStop == nil {
			l.at(i).Lifecycle = nil
		} else {
			l.at(i).Lifecycle = &corev1.Lifecycle{PostStart: old.PostStart, PreStop: old.PreStop}
		}
	}
	return l.items
}

// projects reports whether a projected volume of the pod has a source that matches.
func projects(spec *corev1.PodSpec, is func(*corev1.VolumeProjection) bool) bool {
	for i := range spec.Volumes {
		if projected := spec.Volumes[i].Projected; projected != nil {
			for j := range projected.Sources {
				if is(&projected.Sources[j]) {
					return true
				}
			}
		}
	}
	return false
}

var podConditionsPath = field.NewPath("status", "conditions")

// validatePodStatus validates an update of the status (API-244).
func validatePodStatus(pod, old *corePod) field.ErrorList {
	var errs field.ErrorList
	status, was := &pod.Status, &old.Status
	errs = append(errs, validatePodConditions(status.Conditions, podConditionsPath)...)
	if status.NominatedNodeName != was.NominatedNodeName && status.NominatedNodeName != "" {
		errs = append(errs, Subdomain(status.NominatedNodeName, statusPath, "nominatedNodeName")...)
		if old.Spec.NodeName != "" {
			errs = append(errs, field.Forbidden(statusPath.Child("nominatedNodeName"), "may not be set on pods that are already bound to a node"))
		}
	}
	if status.ObservedGeneration < 0 {
		errs = append(errs, field.Invalid(statusPath.Child("observedGeneration"), status.ObservedGeneration, "must be a non-negative integer"))
	}
	// API-244: the quality-of-service class is immutable.
	if status.QOSClass != was.QOSClass {
		errs = append(errs, field.Invalid(statusPath.Child("qosClass"), status.QOSClass, Immutable))
	}
	errs = append(errs, validatePodAddresses(status, was)...)
	for _, list := range []struct {
		name     string
		statuses []corev1.ContainerStatus
	}{
		{"containerStatuses", status.ContainerStatuses}, {"initContainerStatuses", status.InitContainerStatuses}, {"ephemeralContainerStatuses", status.EphemeralContainerStatuses},
	} {
		for i := range list.statuses {
			if user := list.statuses[i].User; user != nil && user.Linux != nil && (pod.Spec.OS == nil || pod.Spec.OS.Name == corev1.Linux) {
				errs = append(errs, validateContainerUser(user.Linux, statusPath.Child(list.name).Index(i).Child("user", "linux"))...)
			}
		}
	}
	return errs
}

// validateContainerUser validates the IDs with which a container runs (API-550).
func validateContainerUser(user *corev1.LinuxContainerUser, path *field.Path) field.ErrorList {
	errs := append(userID(&user.UID, path.Child("uid")), groupID(&user.GID, path.Child("gid"))...)
	for i := range user.SupplementalGroups {
		errs = append(errs, groupID(&user.SupplementalGroups[i], path.Child("supplementalGroups").Index(i))...)
	}
	return errs
}

func validatePodConditions(conditions []corev1.PodCondition, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for i := range conditions {
		condition := &conditions[i]
		if condition.ObservedGeneration < 0 {
			errs = append(errs, field.Invalid(path.Index(i).Child("observedGeneration"), condition.ObservedGeneration,
				"must be a non-negative integer"))
		}
		if !IsQualifiedName(string(condition.Type)) {
			errs = append(errs, LabelKey(string(condition.Type), path.Index(i), "Type")...)
		}
	}
	return errs
}
