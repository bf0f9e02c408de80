package strategy

import (
	"slices"
	"strings"

	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

const (
	maxDriverNameBytes = 63
	// The shortest allowed period, in seconds, between two requests for the attach limit of a node.
	minAllocatablePeriodSeconds = 10
	minTokenSeconds             = 600
	maxTokenSeconds             = 1 << 32
)

// CSIDriver is the strategy for CSIDrivers.
var CSIDriver = Of[*csiDriver]{
	Shallow: func(driver *csiDriver) *csiDriver {
		c := *driver
		return &c
	},
	Defaults: defaultDriver,
	PrepareCreate: func(driver *csiDriver, _ metav1.Time) {
		// API-094: the feature gate is off, so the field is dropped.
		driver.Spec.PreventPodSchedulingIfMissing = nil
	},
	PrepareUpdate: func(driver, old *csiDriver) {
		if old.Spec.PreventPodSchedulingIfMissing == nil {
			driver.Spec.PreventPodSchedulingIfMissing = nil
		}
	},
	ValidateCreate: validateDriver,
	ValidateUpdate: validateDriverUpdate,
	Equal:          func(a, b *csiDriver) bool { return sameDriverSpec(&a.Spec, &b.Spec) },
	// API-233, API-030: any change of the spec raises generation.
	SpecChanged: func(driver, old *csiDriver) bool { return !sameDriverSpec(&driver.Spec, &old.Spec) },
}

// The values that defaults point to. Stored objects share them; no code writes through these pointers.
var (
	yes, no           = true, false
	defaultFSGroup    = storagev1.ReadWriteOnceWithFSTypeFSGroupPolicy
	persistentVolumes = []storagev1.VolumeLifecycleMode{storagev1.VolumeLifecyclePersistent}
	supportedFSGroups = []storagev1.FSGroupPolicy{storagev1.FileFSGroupPolicy, storagev1.NoneFSGroupPolicy,
		storagev1.ReadWriteOnceWithFSTypeFSGroupPolicy}
	supportedLifecycle = []storagev1.VolumeLifecycleMode{storagev1.VolumeLifecyclePersistent, storagev1.VolumeLifecycleEphemeral}
)

// defaultDriver sets the defaults of a CSIDriver (API-094).
func defaultDriver(driver *csiDriver) {
	spec := &driver.Spec
	orDefault(&spec.AttachRequired, &yes)
	orDefault(&spec.PodInfoOnMount, &no)
	orDefault(&spec.StorageCapacity, &no)
	orDefault(&spec.RequiresRepublish, &no)
	orDefault(&spec.SELinuxMount, &no)
	orDefault(&spec.FSGroupPolicy, &defaultFSGroup)
	if len(spec.VolumeLifecycleModes) == 0 {
		spec.VolumeLifecycleModes = persistentVolumes
	}
}

// orDefault sets p to the default if it is nil.
func orDefault[V any](p **V, value *V) {
	if *p == nil {
		*p = value
	}
}

// validateDriverName validates the name with which volumes and nodes refer to a CSI driver (API-131, API-186, API-201).
// The name of a CSIDriver object may be longer (API-185).
func validateDriverName(name string, path *field.Path, child string) field.ErrorList {
	if len(name) <= maxDriverNameBytes && isDomain(name, true) {
		return nil
	}
	return DriverName(name, path.Child(child))
}

// DriverName validates the name of a driver.
func DriverName(name string, path *field.Path) field.ErrorList {
	if name == "" {
		return field.ErrorList{field.Required(path, "")}
	}
	var errs field.ErrorList
	if len(name) > maxDriverNameBytes {
		errs = append(errs, field.TooLong(path, "", maxDriverNameBytes))
	}
	return AppendInvalid(errs, path, name, validation.IsDNS1123Subdomain(strings.ToLower(name)))
}

func validateDriver(driver *csiDriver) field.ErrorList {
	var errs field.ErrorList
	spec, path := &driver.Spec, field.NewPath("spec")
	// API-185: these fields are required; defaults set them.
	if spec.AttachRequired == nil {
		errs = append(errs, field.Required(path.Child("attachedRequired"), ""))
	}
	if spec.PodInfoOnMount == nil {
		errs = append(errs, field.Required(path.Child("podInfoOnMount"), ""))
	}
	if spec.StorageCapacity == nil {
		errs = append(errs, field.Required(path.Child("storageCapacity"), ""))
	}
	// API-180: the policy, if set, must be known.
	if policy := spec.FSGroupPolicy; policy != nil && !slices.Contains(supportedFSGroups, *policy) {
		errs = append(errs, field.NotSupported(path.Child("fsGroupPolicy"), *policy, supportedFSGroups))
	}
	errs = append(errs, validateTokenRequests(spec.TokenRequests, path.Child("tokenRequests"))...)
	// API-181: each mode must be known; the error does not say which one is not.
	for _, mode := range spec.VolumeLifecycleModes {
		if !slices.Contains(supportedLifecycle, mode) {
			errs = append(errs, field.NotSupported(path.Child("volumeLifecycleModes"), mode, supportedLifecycle))
		}
	}
	if spec.SELinuxMount == nil {
		errs = append(errs, field.Required(path.Child("seLinuxMount"), ""))
	}
	// API-183: the period between two requests for a limit has a minimum.
	if period := spec.NodeAllocatableUpdatePeriodSeconds; period != nil && *period < minAllocatablePeriodSeconds {
		errs = append(errs, field.Invalid(path.Child("nodeAllocatableUpdatePeriodSeconds"), *period,
			"must be greater than or equal to 10 seconds"))
	}
	// API-184: tokens cannot be passed as secrets if none are requested.
	if spec.ServiceAccountTokenInSecrets != nil && len(spec.TokenRequests) == 0 {
		errs = append(errs, field.Invalid(path.Child("serviceAccountTokenInSecrets"), *spec.ServiceAccountTokenInSecrets,
			"serviceAccountTokenInSecrets is set but no tokenRequests are specified"))
	}
	return errs
}

// validateTokenRequests validates the tokens that a driver requests (API-182).
func validateTokenRequests(requests []storagev1.TokenRequest, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for i, request := range requests {
		// API-182: a second token for the same audience is rejected, and its other fields are not validated.
		if slices.ContainsFunc(requests[:i], func(r storagev1.TokenRequest) bool { return r.Audience == request.Audience }) {
			errs = append(errs, field.Duplicate(path.Index(i).Child("audience"), request.Audience))
			continue
		}
		if request.ExpirationSeconds == nil {
			continue
		}
		if seconds := *request.ExpirationSeconds; seconds < minTokenSeconds {
			errs = append(errs, field.Invalid(path.Index(i).Child("expirationSeconds"), seconds, "may not specify a duration less than 10 minutes"))
		} else if seconds > maxTokenSeconds {
			errs = append(errs, field.Invalid(path.Index(i).Child("expirationSeconds"), seconds,
				"may not specify a duration larger than 2^32 seconds"))
		}
	}
	return errs
}

func validateDriverUpdate(driver, old *csiDriver) field.ErrorList {
	errs := validateDriver(driver)
	// API-233: the fields that decide how volumes of the driver are handled are immutable.
	if !EqualPointers(driver.Spec.AttachRequired, old.Spec.AttachRequired) {
		errs = append(errs, field.Invalid(field.NewPath("spec", "attachedRequired"), driver.Spec.AttachRequired, Immutable))
	}
	if !slices.Equal(driver.Spec.VolumeLifecycleModes, old.Spec.VolumeLifecycleModes) {
		errs = append(errs, field.Invalid(field.NewPath("spec", "volumeLifecycleModes"), driver.Spec.VolumeLifecycleModes, Immutable))
	}
	return errs
}

// sameDriverSpec reports whether both specs are stored as the same bytes, which for these fields means that they are equal.
func sameDriverSpec(a, b *storagev1.CSIDriverSpec) bool {
	return EqualPointers(a.AttachRequired, b.AttachRequired) && EqualPointers(a.PodInfoOnMount, b.PodInfoOnMount) &&
		slices.Equal(a.VolumeLifecycleModes, b.VolumeLifecycleModes) && EqualPointers(a.StorageCapacity, b.StorageCapacity) &&
		EqualPointers(a.FSGroupPolicy, b.FSGroupPolicy) && equalTokenRequests(a.TokenRequests, b.TokenRequests) &&
		EqualPointers(a.RequiresRepublish, b.RequiresRepublish) && EqualPointers(a.SELinuxMount, b.SELinuxMount) &&
		EqualPointers(a.NodeAllocatableUpdatePeriodSeconds, b.NodeAllocatableUpdatePeriodSeconds) &&
		EqualPointers(a.ServiceAccountTokenInSecrets, b.ServiceAccountTokenInSecrets) &&
		EqualPointers(a.PreventPodSchedulingIfMissing, b.PreventPodSchedulingIfMissing)
}

func equalTokenRequests(a, b []storagev1.TokenRequest) bool {
	return slices.EqualFunc(a, b, func(x, y storagev1.TokenRequest) bool {
		return x.Audience == y.Audience && EqualPointers(x.ExpirationSeconds, y.ExpirationSeconds)
	})
}
