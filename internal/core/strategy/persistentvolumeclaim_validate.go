package strategy

import (
	"maps"
	"slices"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/objects"
	corev1 "k8s.io/api/core/v1"
	apiresource "k8s.io/apimachinery/pkg/api/resource"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/diff"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// validateClaimSpec validates the spec of a claim or of a claim template in a pod. Data sources in a template are validated as written,
// because only those of claims are dropped and completed (API-113). volumeName may be anything (API-158).
func validateClaimSpec(spec *corev1.PersistentVolumeClaimSpec, path *field.Path) field.ErrorList {
	return validateClaimSpecWith(spec, nil, path)
}

// validateClaimSpecWith is validateClaimSpec, but accepts invalid values that old has too (API-227). old is nil for a new claim.
func validateClaimSpecWith(spec, old *corev1.PersistentVolumeClaimSpec, path *field.Path) field.ErrorList {
	errs := validateAccessModes(spec.AccessModes, path, "at least 1 access mode is required")
	if spec.Selector != nil {
		errs = append(errs, validateClaimSelector(spec, old, path)...)
	}
	// API-152: storage is required; the path of the error omits "requests".
	if size, ok := spec.Resources.Requests[corev1.ResourceStorage]; !ok {
		errs = append(errs, field.Required(path.Child("resources").Key(string(corev1.ResourceStorage)), ""))
	} else if value, fault := positive(size); fault != "" {
		errs = append(errs, field.Invalid(path.Child("resources").Key(string(corev1.ResourceStorage)), value, fault))
	}
	// API-153: the name of the class must be valid; "" means no class.
	if spec.StorageClassName != nil && *spec.StorageClassName != "" {
		errs = append(errs, Subdomain(*spec.StorageClassName, path, "storageClassName")...)
	}
	// API-154: the mode is Block or Filesystem.
	if spec.VolumeMode != nil {
		errs = append(errs, OneOf(*spec.VolumeMode, path, "volumeMode", volumeModes)...)
	}
	errs = append(errs, validateDataSources(spec, old, path)...)
	// API-157: unlike in a volume, the name of the attributes class may be empty.
	if name := spec.VolumeAttributesClassName; name != nil && *name != "" {
		errs = append(errs, Subdomain(*name, path, "volumeAttributesClassName")...)
	}
	return errs
}

// validateClaimSelector validates the selector of a claim (API-151).
func validateClaimSelector(spec, old *corev1.PersistentVolumeClaimSpec, path *field.Path) field.ErrorList {
	strict := metav1validation.LabelSelectorValidationOptions{}
	errs := validateLabelSelector(spec.Selector, strict, path.Child("selector"))
	// API-227: a selector that was stored with an invalid value may have any values.
	if len(errs) > 0 && old != nil && len(metav1validation.ValidateLabelSelector(old.Selector, strict, nil)) > 0 {
		errs = validateLabelSelector(spec.Selector, metav1validation.LabelSelectorValidationOptions{AllowInvalidLabelValueInSelector: true},
			path.Child("selector"))
	}
	return errs
}

// validateDataSources validates dataSource and dataSourceRef (API-155, API-156).
func validateDataSources(spec, old *corev1.PersistentVolumeClaimSpec, path *field.Path) field.ErrorList {
	source, ref := spec.DataSource, spec.DataSourceRef
	if source == nil && ref == nil {
		return nil
	}
	// API-227: if a group was stored, any group is valid.
	anyGroup := old != nil &&
		(old.DataSource != nil && old.DataSource.APIGroup != nil || old.DataSourceRef != nil && old.DataSourceRef.APIGroup != nil)
	var errs field.ErrorList
	if source != nil {
		errs = append(errs, validateReference(source.APIGroup, source.Kind, source.Name, anyGroup, path.Child("dataSource"))...)
	}
	if ref != nil {
		errs = append(errs, validateReference(ref.APIGroup, ref.Kind, ref.Name, anyGroup, path.Child("dataSourceRef"))...)
		if inNamespace(ref) {
			errs = append(errs, DNSLabel(*ref.Namespace, path.Child("dataSourceRef"), "namespace")...)
		}
	}
	// API-156: the two fields must name the same source.
	switch {
	case source == nil || ref == nil:
	case inNamespace(ref):
		errs = append(errs, field.Invalid(path, path.Child("dataSource"), "may not be specified when dataSourceRef.namespace is specified"))
	case !EqualPointers(source.APIGroup, ref.APIGroup) || source.Kind != ref.Kind || source.Name != ref.Name:
		errs = append(errs, field.Invalid(path, path.Child("dataSource"), "must match dataSourceRef"))
	}
	return errs
}

// validateReference validates the reference to a data source (API-155).
func validateReference(apiGroup *string, kind, name string, anyGroup bool, path *field.Path) field.ErrorList {
	errs := Required(path, "name", name, "kind", kind)
	switch group := groupOf(apiGroup); {
	case group == "" && kind != string(api.PersistentVolumeClaim):
		errs = append(errs, field.Invalid(path, kind, "must be 'PersistentVolumeClaim' when referencing the default apiGroup"))
	case group != "" && !anyGroup:
		errs = append(errs, Subdomain(group, path, "apiGroup")...)
	}
	return errs
}

// claimSpecShared is Of.SpecShared. It accepts the changes that binding a claim makes: a first volume name, which may be any
// (API-158, API-218), and annotations other than that of the class (API-219, API-220).
func claimSpecShared(claim, old *corePVC) bool {
	a, b := &claim.Spec, &old.Spec
	return (a.VolumeName == b.VolumeName || b.VolumeName == "") && claim.GenerateName == "" &&
		SameSlice(a.AccessModes, b.AccessModes) && a.Selector == b.Selector && SameMap(a.Resources.Limits, b.Resources.Limits) &&
		equalLists(a.Resources.Requests, b.Resources.Requests, func(a, b apiresource.Quantity) bool { return a == b }) &&
		a.StorageClassName == b.StorageClassName &&
		a.VolumeMode == b.VolumeMode && a.DataSource == b.DataSource && a.DataSourceRef == b.DataSourceRef &&
		a.VolumeAttributesClassName == b.VolumeAttributesClassName &&
		(SameMap(claim.Annotations, old.Annotations) ||
			claim.Annotations[corev1.BetaStorageClassAnnotation] == old.Annotations[corev1.BetaStorageClassAnnotation])
}

// validateClaimUpdate repeats the validation of a new claim in full, because old may have been stored unvalidated.
func validateClaimUpdate(claim, old *corePVC) field.ErrorList {
	errs := append(ValidateGenerateName(&claim.ObjectMeta), validateClaimSpecWith(&claim.Spec, &old.Spec, specRoot)...)
	moved, classErrs := classMoved(claim, old)
	errs = append(errs, classErrs...)
	// API-217: all other changes together cause one error.
	if spec, was := immutableSpecs(claim, old, moved); !equalClaimSpecs(&spec, &was, equalQuantity) {
		errs = append(errs, field.Forbidden(specRoot,
			"spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims\n"+
				diff.Diff(internalForm{was}, internalForm{spec})))
	}
	// API-222, EXP-002: a claim may shrink only to cancel an expansion, so it stays larger than its volume.
	size, was, actual := StorageOf(claim.Spec.Resources.Requests), StorageOf(old.Spec.Resources.Requests), StorageOf(old.Status.Capacity)
	if size.Cmp(was) < 0 && size.Cmp(actual) <= 0 {
		errs = append(errs, field.Forbidden(specRoot.Child("resources", "requests", "storage"), "field can not be less than status.capacity"))
	}
	// API-225: a change of the mode causes a second error with its own path.
	if !EqualPointers(claim.Spec.VolumeMode, old.Spec.VolumeMode) {
		errs = append(errs, field.Invalid(field.NewPath("volumeMode"), claim.Spec.VolumeMode, Immutable))
	}
	return append(errs, validateAttributesKept(claim, old)...)
}

// classMoved reports whether the update may set the class (API-219), and returns the errors of its annotation.
func classMoved(claim, old *corePVC) (bool, field.ErrorList) {
	annotation, annotated := claim.Annotations[corev1.BetaStorageClassAnnotation]
	was, wasAnnotated := old.Annotations[corev1.BetaStorageClassAnnotation]
	// API-219, BIND-014: the class is set once, by field or annotation.
	set := old.Spec.StorageClassName == nil && claim.Spec.StorageClassName != nil &&
		(!wasAnnotated || *claim.Spec.StorageClassName == was)
	// API-220: the annotation may be removed if the field has its value.
	replaced := set && wasAnnotated && !annotated
	if annotation == was || replaced {
		return set, nil
	}
	return set, field.ErrorList{field.Invalid(MetaPath("annotations").Child(corev1.BetaStorageClassAnnotation), annotation, Immutable)}
}

// immutableSpecs returns the specs of both versions without the differences that an update may make (API-226).
func immutableSpecs(claim, old *corePVC, classMoved bool) (spec, was corev1.PersistentVolumeClaimSpec) {
	spec, was = claim.Spec, old.Spec
	// API-112: old may have been stored with one of the two fields only.
	normalizeDataSources(&was)
	// API-218, BIND-014: volumeName may be set once, in any phase.
	if was.VolumeName == "" {
		was.VolumeName = spec.VolumeName
	}
	if classMoved {
		spec.StorageClassName = was.StorageClassName
	}
	// API-216: the stored phase counts. API-221, API-223: size and attributes class of an unbound claim are immutable.
	if old.Status.Phase == corev1.ClaimBound {
		spec.VolumeAttributesClassName = was.VolumeAttributesClassName
		spec.Resources.Requests = withStorage(spec.Resources.Requests, StorageOf(was.Resources.Requests))
	}
	return spec, was
}

// withStorage returns a copy of the list with that storage; list itself if it has that storage or is nil.
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

// StorageOf returns the storage in a list, zero if it has none.
func StorageOf(list corev1.ResourceList) apiresource.Quantity { return list[corev1.ResourceStorage] }

// validateAttributesKept requires that the attributes class of a claim is replaced, not removed (API-223).
func validateAttributesKept(claim, old *corePVC) field.ErrorList {
	name, current := claim.Spec.VolumeAttributesClassName, old.Status.CurrentVolumeAttributesClassName
	if current == nil || EqualPointers(name, old.Spec.VolumeAttributesClassName) {
		return nil
	}
	// API-223: neither nil nor "" is valid once a class is set.
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

// validateClaimStatus validates a status (API-242). Phase, conditions and access modes may be anything.
func validateClaimStatus(claim, _ *corePVC) field.ErrorList {
	var errs field.ErrorList
	// API-242: a claim without access modes, which was stored unvalidated, cannot get a new status; the path is that of upstream.
	if len(claim.Spec.AccessModes) == 0 {
		errs = append(errs, field.Required(field.NewPath("Spec", "accessModes"), ""))
	}
	status := &claim.Status
	errs = append(errs, eachQuantity(status.Capacity, capacityStatusPath, notNegative)...)
	for _, name := range objects.SortedKeys(status.AllocatedResourceStatuses) {
		errs = append(errs, validateClaimResource(name, resizeStatusPath)...)
		// API-242: the error is that of the whole map, and shows the name of the resource.
		if !slices.Contains(resizeStates, status.AllocatedResourceStatuses[name]) {
			errs = append(errs, field.NotSupported(resizeStatusPath, string(name), resizeStates))
		}
	}
	for _, name := range objects.SortedKeys(status.AllocatedResources) {
		if own := validateClaimResource(name, allocatedPath); len(own) > 0 {
			errs = append(errs, own...)
			continue
		}
		quantity := status.AllocatedResources[name]
		if value, fault := notNegative(quantity); fault != "" {
			errs = append(errs, field.Invalid(allocatedPath.Key(string(name)), value, fault))
		} else if isNegative(quantity) { // less than one below zero
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

// validateClaimResource requires storage, or a resource with another domain than that of Kubernetes (API-242).
func validateClaimResource(name corev1.ResourceName, path *field.Path) field.ErrorList {
	if name == corev1.ResourceStorage {
		return nil
	}
	if !IsQualifiedName(string(name)) {
		return AppendInvalid(nil, path, string(name), validation.IsQualifiedName(string(name)))
	}
	if isNativeResource(name) {
		return field.ErrorList{field.NotSupported(path, name, []corev1.ResourceName{corev1.ResourceStorage})}
	}
	return nil
}
