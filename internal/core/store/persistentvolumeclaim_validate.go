package store

import (
	"maps"
	"slices"
	"strings"

	"github.com/volsim/volsim/api"
	corev1 "k8s.io/api/core/v1"
	apiresource "k8s.io/apimachinery/pkg/api/resource"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// validateClaimSpec validates the spec of a claim, or of the template in a pod from which a claim is made: there it comes as the
// author wrote it, since API-110, API-111 and API-112 touch the claim only (API-113). API-158: volumeName may be anything.
func validateClaimSpec(spec *corev1.PersistentVolumeClaimSpec, path *field.Path) field.ErrorList {
	return validateClaimSpecWith(spec, nil, path)
}

// validateClaimSpecWith forgives what old already has wrong (API-227); old is nil for a new claim.
func validateClaimSpecWith(spec, old *corev1.PersistentVolumeClaimSpec, path *field.Path) field.ErrorList {
	errs := validateAccessModes(spec.AccessModes, path)
	if spec.Selector != nil {
		errs = append(errs, validateClaimSelector(spec, old, path)...)
	}
	// API-152: the path leaves out "requests".
	if size, ok := spec.Resources.Requests[corev1.ResourceStorage]; !ok {
		errs = append(errs, field.Required(path.Child("resources").Key(string(corev1.ResourceStorage)), ""))
	} else if value, fault := positive(size); fault != "" {
		errs = append(errs, field.Invalid(path.Child("resources").Key(string(corev1.ResourceStorage)), value, fault))
	}
	// API-153: "" is a claim without a class.
	if spec.StorageClassName != nil && *spec.StorageClassName != "" {
		errs = append(errs, subdomain(*spec.StorageClassName, path, "storageClassName")...)
	}
	// API-154: there are two modes.
	if spec.VolumeMode != nil {
		errs = append(errs, oneOf(*spec.VolumeMode, path, "volumeMode", volumeModes)...)
	}
	errs = append(errs, validateDataSources(spec, old, path)...)
	// API-157: unlike that of a volume, the name may be empty.
	if name := spec.VolumeAttributesClassName; name != nil && *name != "" {
		errs = append(errs, subdomain(*name, path, "volumeAttributesClassName")...)
	}
	return errs
}

// validateClaimSelector is API-151.
func validateClaimSelector(spec, old *corev1.PersistentVolumeClaimSpec, path *field.Path) field.ErrorList {
	strict := metav1validation.LabelSelectorValidationOptions{}
	errs := metav1validation.ValidateLabelSelector(spec.Selector, strict, path.Child("selector"))
	// API-227: a selector that was stored with a fault may keep values that are no label values.
	if len(errs) > 0 && old != nil && len(metav1validation.ValidateLabelSelector(old.Selector, strict, nil)) > 0 {
		lenient := metav1validation.LabelSelectorValidationOptions{AllowInvalidLabelValueInSelector: true}
		errs = metav1validation.ValidateLabelSelector(spec.Selector, lenient, path.Child("selector"))
	}
	// Labels are checked in the order of a map.
	slices.SortStableFunc(errs, func(a, b *field.Error) int { return strings.Compare(a.Error(), b.Error()) })
	return errs
}

// validateDataSources is API-155 and API-156.
func validateDataSources(spec, old *corev1.PersistentVolumeClaimSpec, path *field.Path) field.ErrorList {
	source, ref := spec.DataSource, spec.DataSourceRef
	if source == nil && ref == nil {
		return nil
	}
	// API-227: where a group was stored, any group will do.
	anyGroup := old != nil && (old.DataSource != nil && old.DataSource.APIGroup != nil || old.DataSourceRef != nil && old.DataSourceRef.APIGroup != nil)
	var errs field.ErrorList
	if source != nil {
		errs = append(errs, validateReference(source.APIGroup, source.Kind, source.Name, anyGroup, path.Child("dataSource"))...)
	}
	if ref != nil {
		errs = append(errs, validateReference(ref.APIGroup, ref.Kind, ref.Name, anyGroup, path.Child("dataSourceRef"))...)
		if inNamespace(ref) {
			errs = append(errs, dnsLabel(*ref.Namespace, path.Child("dataSourceRef"), "namespace")...)
		}
	}
	// API-156: the two are one source, said in two ways.
	switch {
	case source == nil || ref == nil:
	case inNamespace(ref):
		errs = append(errs, field.Invalid(path, path.Child("dataSource"), "may not be specified when dataSourceRef.namespace is specified"))
	case !equalPointers(source.APIGroup, ref.APIGroup) || source.Kind != ref.Kind || source.Name != ref.Name:
		errs = append(errs, field.Invalid(path, path.Child("dataSource"), "must match dataSourceRef"))
	}
	return errs
}

// validateReference is API-155.
func validateReference(apiGroup *string, kind, name string, anyGroup bool, path *field.Path) field.ErrorList {
	errs := required(path, "name", name, "kind", kind)
	switch group := groupOf(apiGroup); {
	case group == "" && kind != string(api.PersistentVolumeClaim):
		errs = append(errs, field.Invalid(path, kind, "must be 'PersistentVolumeClaim' when referencing the default apiGroup"))
	case group != "" && !anyGroup:
		errs = append(errs, subdomain(group, path, "apiGroup")...)
	}
	return errs
}

// validateClaimUpdate repeats the validation of a new claim in full: parts shared with old are not taken on trust, since old may
// have been stored unvalidated.
func validateClaimUpdate(claim, old *corePVC) field.ErrorList {
	errs := append(validateGenerateName(&claim.ObjectMeta), validateClaimSpecWith(&claim.Spec, &old.Spec, specRoot)...)
	moved, classErrs := classMoved(claim, old)
	errs = append(errs, classErrs...)
	// API-217: whatever else differs is one error.
	if !specKept(claim, old, moved) {
		errs = append(errs, field.Forbidden(specRoot,
			"spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims"))
	}
	// API-222, EXP-002: a claim shrinks only to take back an expansion, so it stays larger than its volume.
	size, was, actual := storageOf(claim.Spec.Resources.Requests), storageOf(old.Spec.Resources.Requests), storageOf(old.Status.Capacity)
	if size.Cmp(was) < 0 && size.Cmp(actual) <= 0 {
		errs = append(errs, field.Forbidden(specRoot.Child("resources", "requests", "storage"), "field can not be less than status.capacity"))
	}
	// API-225: said once more, at a path of its own.
	if !equalPointers(claim.Spec.VolumeMode, old.Spec.VolumeMode) {
		errs = append(errs, field.Invalid(field.NewPath("volumeMode"), claim.Spec.VolumeMode, immutable))
	}
	return append(errs, validateAttributesKept(claim, old)...)
}

// classMoved reports whether the update is one of those that may set the class (API-219), and what is wrong with its annotation.
func classMoved(claim, old *corePVC) (bool, field.ErrorList) {
	annotation, annotated := claim.Annotations[corev1.BetaStorageClassAnnotation]
	was, wasAnnotated := old.Annotations[corev1.BetaStorageClassAnnotation]
	// API-219, BIND-014: a class is chosen once, and the annotation counts as a choice.
	set := old.Spec.StorageClassName == nil && claim.Spec.StorageClassName != nil &&
		(!wasAnnotated || *claim.Spec.StorageClassName == was)
	// API-220: the annotation may go when the field takes its place.
	replaced := set && wasAnnotated && !annotated
	if annotation == was || replaced {
		return set, nil
	}
	return set, field.ErrorList{field.Invalid(metaPath("annotations").Child(corev1.BetaStorageClassAnnotation), annotation, immutable)}
}

// specKept reports whether the spec is the old one, apart from what may change.
func specKept(claim, old *corePVC, classMoved bool) bool {
	spec, was := claim.Spec, old.Spec
	// API-112: old may come from a time before the two fields were one.
	normalizeDataSources(&was)
	// API-218, BIND-014: a claim is bound once, in any phase.
	if was.VolumeName == "" {
		was.VolumeName = spec.VolumeName
	}
	if classMoved {
		was.StorageClassName = spec.StorageClassName
	}
	// API-216: the phase is that of the stored claim. API-221, API-223: an unbound claim changes neither size nor attributes.
	if old.Status.Phase == corev1.ClaimBound {
		was.VolumeAttributesClassName = spec.VolumeAttributesClassName
		spec.Resources.Requests = withStorage(spec.Resources.Requests, storageOf(was.Resources.Requests))
	}
	// API-226: the rest is fixed in all phases.
	return equalClaimSpecs(&spec, &was, equalQuantity)
}

// withStorage is the list with the given storage in it, list itself if it has that or is nil.
func withStorage(list corev1.ResourceList, storage apiresource.Quantity) corev1.ResourceList {
	if list == nil {
		return nil
	}
	if size, ok := list[corev1.ResourceStorage]; ok && equalQuantity(size, storage) {
		return list
	}
	list = maps.Clone(list)
	list[corev1.ResourceStorage] = storage
	return list
}

// storageOf is the storage in a list, zero if there is none.
func storageOf(list corev1.ResourceList) apiresource.Quantity { return list[corev1.ResourceStorage] }

// validateAttributesKept is API-223: attributes that a volume has are exchanged for others, not given up.
func validateAttributesKept(claim, old *corePVC) field.ErrorList {
	name, current := claim.Spec.VolumeAttributesClassName, old.Status.CurrentVolumeAttributesClassName
	if current == nil || equalPointers(name, old.Spec.VolumeAttributesClassName) {
		return nil
	}
	// API-223: neither way of saying "none" is possible.
	if name == nil {
		return field.ErrorList{field.Forbidden(specRoot.Child("volumeAttributesClassName"),
			"update to nil is forbidden when status.currentVolumeAttributesClassName is not nil")}
	}
	if *name == "" {
		return field.ErrorList{field.Forbidden(specRoot.Child("volumeAttributesClassName"),
			"update to empty string is forbidden when status.currentVolumeAttributesClassName is not nil")}
	}
	return nil
}

// The resize states in ascending order.
var resizeStates = []corev1.ClaimResourceStatus{
	corev1.PersistentVolumeClaimControllerResizeInProgress, corev1.PersistentVolumeClaimControllerResizeInfeasible,
	corev1.PersistentVolumeClaimNodeResizeInProgress, corev1.PersistentVolumeClaimNodeResizeInfeasible,
	corev1.PersistentVolumeClaimNodeResizePending,
}

// validateClaimStatus is API-242. Phase, conditions and modes may be anything.
func validateClaimStatus(claim, _ *corePVC) field.ErrorList {
	var errs field.ErrorList
	// API-242: a claim that was stored unvalidated and has no access mode gets no new status; the path is upstream's.
	if len(claim.Spec.AccessModes) == 0 {
		errs = append(errs, field.Required(field.NewPath("Spec", "accessModes"), ""))
	}
	status := &claim.Status
	errs = append(errs, eachQuantity(status.Capacity, capacityStatusPath, notNegative)...)
	for _, name := range sortedKeys(status.AllocatedResourceStatuses) {
		errs = append(errs, validateClaimResource(name, resizeStatusPath)...)
		// API-242: the value at fault is the path of the whole map.
		if state := status.AllocatedResourceStatuses[name]; !slices.Contains(resizeStates, state) {
			errs = append(errs, field.NotSupported(resizeStatusPath, state, resizeStates))
		}
	}
	for _, name := range sortedKeys(status.AllocatedResources) {
		if own := validateClaimResource(name, allocatedPath); len(own) > 0 {
			errs = append(errs, own...)
			continue
		}
		if quantity := status.AllocatedResources[name]; isNegative(quantity) || quantity.Value() < 0 {
			errs = append(errs, field.Invalid(allocatedPath.Key(string(name)), quantity.String(), "must be greater than or equal to 0"))
		}
	}
	return errs
}

var (
	statusPath         = field.NewPath("status")
	capacityStatusPath = statusPath.Child("capacity")
	resizeStatusPath   = statusPath.Child("allocatedResourceStatuses")
	allocatedPath      = statusPath.Child("allocatedResources")
)

// validateClaimResource wants storage or a resource of somebody else's domain (API-242).
func validateClaimResource(name corev1.ResourceName, path *field.Path) field.ErrorList {
	if name == corev1.ResourceStorage {
		return nil
	}
	if !isQualifiedName(string(name)) {
		return appendInvalid(nil, path, string(name), validation.IsQualifiedName(string(name)))
	}
	if isNativeResource(name) {
		return field.ErrorList{field.NotSupported(path, name, []corev1.ResourceName{corev1.ResourceStorage})}
	}
	return nil
}
