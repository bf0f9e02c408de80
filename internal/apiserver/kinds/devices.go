package kinds

import (
	"fmt"
	"strings"
	"time"

	resourcev1 "k8s.io/api/resource/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/plain"
	"github.com/volsim/volsim/internal/core/store"
	"github.com/volsim/volsim/internal/core/strategy"
)

// ResourceClaim is the kind of claims for devices.
const ResourceClaim api.Kind = "ResourceClaim.resource.k8s.io"

// Surroundings are what the rules of devices need to know of a cluster.
type Surroundings struct {
	Now             func() time.Time
	NamespaceLabels func(name string) map[string]string
}

// DeviceRules are the rules of the kinds of resource.k8s.io (API-565, API-579 to API-583).
func DeviceRules(c Surroundings) map[api.Kind]store.KindRules {
	return map[api.Kind]store.KindRules{
		"DeviceClass.resource.k8s.io":           deviceClassRules,
		ResourceClaim:                           c.claimRules(),
		"ResourceClaimTemplate.resource.k8s.io": c.templateRules(),
		"ResourceSlice.resource.k8s.io":         c.sliceRules(),
	}
}

var deviceClassRules = store.KindRules{Check: func(obj, old *plain.Object) field.ErrorList {
	class, err := plain.As[*resourcev1.DeviceClass](obj)
	if err != nil {
		return nil // the body was decoded before
	}
	spec, path := &class.Spec, field.NewPath("spec")
	var before resourcev1.DeviceClassSpec
	if old != nil {
		before = plain.Shared[*resourcev1.DeviceClass](old).Spec
	}
	// API-579: what was valid before is so in later versions, too.
	kept := old != nil && apiequality.Semantic.DeepEqual(spec.Selectors, before.Selectors)
	errs := checkSelectors(spec.Selectors, kept, path.Child("selectors"))
	kept = old != nil && apiequality.Semantic.DeepEqual(spec.Config, before.Config)
	errs = append(errs, eachOf(spec.Config, resourcev1.DeviceConfigMaxSize, path.Child("config"), func(config *resourcev1.DeviceClassConfiguration, path *field.Path) field.ErrorList {
		return checkDeviceConfig(&config.DeviceConfiguration, kept, path)
	})...)
	if name := spec.ExtendedResourceName; name != nil && !isExtendedResource(*name) {
		errs = append(errs, field.Invalid(path.Child("extendedResourceName"), *name, "must be a valid extended resource name"))
	}
	return errs
}}

// isExtendedResource reports whether pods may request a resource of that name, which is not one of Kubernetes.
func isExtendedResource(name string) bool {
	return !isNativeResource(name) && !strings.HasPrefix(name, "requests.") && strategy.IsQualifiedName("requests."+name)
}

func isNativeResource(name string) bool {
	return !strings.Contains(name, "/") || strings.Contains(name, "kubernetes.io/")
}

func (c Surroundings) claimRules() store.KindRules {
	return store.KindRules{
		Default: func(obj *plain.Object) {
			typedDefault(obj, func(claim *resourcev1.ResourceClaim) {
				completeDevices(&claim.Spec.Devices)
				if a := claim.Status.Allocation; a != nil {
					for i := range a.Devices.Results {
						completeTolerations(a.Devices.Results[i].Tolerations)
					}
				}
			})
		},
		PrepareStatus: func(obj, old *plain.Object, _ metav1.Time) {
			before := plain.Shared[*resourcev1.ResourceClaim](old)
			typedDefault(obj, func(claim *resourcev1.ResourceClaim) { prepareClaimStatus(&claim.Status, &before.Status) })
		},
		Check: func(obj, old *plain.Object) field.ErrorList {
			claim, err := plain.As[*resourcev1.ResourceClaim](obj)
			if err != nil {
				return nil // the body was decoded before
			}
			path := field.NewPath("spec")
			if old == nil {
				return append(c.checkAdmin(claim.Spec.Devices.Requests, claim.Namespace), checkClaimedDevices(&claim.Spec.Devices, path.Child("devices"))...)
			}
			// API-580: the spec never changes.
			return append(prefixOfUpdate(obj, old), fixed(&claim.Spec, &plain.Shared[*resourcev1.ResourceClaim](old).Spec, path)...)
		},
		CheckStatus: statusCheck(c.checkClaimStatus),
	}
}

func (c Surroundings) templateRules() store.KindRules {
	return store.KindRules{
		Default: func(obj *plain.Object) {
			typedDefault(obj, func(template *resourcev1.ResourceClaimTemplate) { completeDevices(&template.Spec.Spec.Devices) })
		},
		Check: func(obj, old *plain.Object) field.ErrorList {
			template, err := plain.As[*resourcev1.ResourceClaimTemplate](obj)
			if err != nil {
				return nil
			}
			path, devices := field.NewPath("spec"), &template.Spec.Spec.Devices
			var errs field.ErrorList
			if old == nil {
				errs = c.checkAdmin(devices.Requests, template.Namespace)
			}
			errs = append(errs, prefixOfUpdate(obj, old)...)
			errs = append(errs, strategy.TemplateMetadata(&template.Spec.ObjectMeta, path.Child("metadata"))...)
			errs = append(errs, checkClaimedDevices(devices, path.Child("spec", "devices"))...)
			if old != nil {
				errs = append(errs, fixed(&template.Spec, &plain.Shared[*resourcev1.ResourceClaimTemplate](old).Spec, path)...)
			}
			return errs
		},
	}
}

// fixed refuses a change of a part of an object.
func fixed[T any](value, old *T, path *field.Path) field.ErrorList {
	if apiequality.Semantic.DeepEqual(value, old) {
		return nil
	}
	return field.ErrorList{field.Invalid(path, strategy.InternalForm(value), strategy.Immutable)}
}

// completeDevices sets how many devices are allocated, and how tolerations compare (API-565).
func completeDevices(devices *resourcev1.DeviceClaim) {
	for i := range devices.Requests {
		request := &devices.Requests[i]
		if exact := request.Exactly; exact != nil {
			completeAllocation(&exact.AllocationMode, &exact.Count)
			completeTolerations(exact.Tolerations)
		}
		for j := range request.FirstAvailable {
			sub := &request.FirstAvailable[j]
			completeAllocation(&sub.AllocationMode, &sub.Count)
			completeTolerations(sub.Tolerations)
		}
	}
}

func completeTolerations(tolerations []resourcev1.DeviceToleration) {
	for i := range tolerations {
		if t := &tolerations[i]; t.Operator == "" {
			t.Operator = resourcev1.DeviceTolerationOpEqual
		}
	}
}

func completeAllocation(mode *resourcev1.DeviceAllocationMode, count *int64) {
	if *mode == "" {
		*mode = resourcev1.DeviceAllocationModeExactCount
	}
	if *mode == resourcev1.DeviceAllocationModeExactCount && *count == 0 {
		*count = 1
	}
}

// checkAdmin refuses requests for devices that others use, unless the namespace allows them.
func (c Surroundings) checkAdmin(requests []resourcev1.DeviceRequest, namespace string) field.ErrorList {
	for i := range requests {
		if exact := requests[i].Exactly; exact != nil && exact.AdminAccess != nil && *exact.AdminAccess {
			return c.mayAdmin(namespace, field.NewPath("spec", "devices", "requests").Index(i))
		}
	}
	return nil
}

// mayAdmin requires the label of namespaces whose users have access to all devices.
func (c Surroundings) mayAdmin(namespace string, path *field.Path) field.ErrorList {
	// API-583: only administrators may set the label.
	if c.NamespaceLabels(namespace)[resourcev1.DRAAdminNamespaceLabelKey] == "true" {
		return nil
	}
	text := fmt.Sprintf("admin access to devices requires the `%s: true` label on the containing namespace", resourcev1.DRAAdminNamespaceLabelKey)
	return field.ErrorList{field.Forbidden(path.Child("adminAccess"), text)}
}

// eachOf checks a list of at most so many items. A list that is too long is not looked at.
func eachOf[T any](list []T, limit int, path *field.Path, check func(*T, *field.Path) field.ErrorList) field.ErrorList {
	if limit >= 0 && len(list) > limit {
		return field.ErrorList{field.TooMany(path, len(list), limit)}
	}
	var errs field.ErrorList
	for i := range list {
		errs = append(errs, check(&list[i], path.Index(i))...)
	}
	return errs
}

// eachDistinct is eachOf for a list whose items have distinct keys.
func eachDistinct[T any, K comparable](list []T, limit int, path *field.Path, key func(*T) K, check func(*T, *field.Path) field.ErrorList) field.ErrorList {
	errs := eachOf(list, limit, path, check)
	if limit >= 0 && len(list) > limit {
		return errs
	}
	seen := map[K]bool{}
	for i := range list {
		k := key(&list[i])
		if seen[k] {
			errs = append(errs, field.Duplicate(path.Index(i), k))
		}
		seen[k] = true
	}
	return errs
}

func itself[T any](item *T) T { return *item }
