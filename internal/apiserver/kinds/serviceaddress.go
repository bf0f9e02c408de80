package kinds

import (
	"reflect"

	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/validate/content"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	netutils "k8s.io/utils/net"

	"github.com/volsim/volsim/internal/core/plain"
	"github.com/volsim/volsim/internal/core/store"
	"github.com/volsim/volsim/internal/core/strategy"
)

// The rules of IPAddresses (API-562) and of ServiceCIDRs (API-563).
var (
	ipAddressRules = store.KindRules{Check: func(obj, old *plain.Object) field.ErrorList {
		address, err := plain.As[*networkingv1.IPAddress](obj)
		if err != nil {
			return nil // the body was decoded before
		}
		path := field.NewPath("spec", "parentRef")
		errs := checkParent(address.Spec.ParentRef, path)
		// API-562: an address is given once.
		if old != nil && !reflect.DeepEqual(address.Spec.ParentRef, plain.Shared[*networkingv1.IPAddress](old).Spec.ParentRef) {
			errs = append(errs, field.Invalid(path, (*shownParent)(address.Spec.ParentRef), strategy.Immutable))
		}
		return errs
	}}
	serviceCIDRRules = store.KindRules{Check: func(obj, old *plain.Object) field.ErrorList {
		cidr, err := plain.As[*networkingv1.ServiceCIDR](obj)
		if err != nil {
			return nil
		}
		if old == nil {
			return checkServiceCIDRs(&cidr.Spec)
		}
		return checkServiceCIDRChange(&cidr.Spec, plain.Shared[*networkingv1.ServiceCIDR](old).Spec.CIDRs)
	}}
)

// Errors show fields by their names in Go.
type (
	shownParent struct{ Group, Resource, Namespace, Name string }
	shownRanges struct{ CIDRs []string }
)

// checkParent validates the object to which an address belongs.
func checkParent(ref *networkingv1.ParentReference, path *field.Path) field.ErrorList {
	if ref == nil {
		return field.ErrorList{field.Required(path, "")}
	}
	var errs field.ErrorList
	if ref.Group != "" {
		errs = strategy.AppendInvalid(errs, path.Child("group"), ref.Group, utilvalidation.IsDNS1123Subdomain(ref.Group))
	}
	for _, f := range []struct {
		name, value string
		optional    bool
	}{{"resource", ref.Resource, false}, {"name", ref.Name, false}, {"namespace", ref.Namespace, true}} {
		switch {
		case f.value != "":
			errs = strategy.AppendInvalid(errs, path.Child(f.name), f.value, content.IsPathSegmentName(f.value))
		case !f.optional:
			errs = append(errs, field.Required(path.Child(f.name), ""))
		}
	}
	return errs
}

// checkServiceCIDRs validates the ranges of addresses of Services: one, or one of each family.
func checkServiceCIDRs(spec *networkingv1.ServiceCIDRSpec) field.ErrorList {
	path := field.NewPath("spec", "cidrs")
	switch n := len(spec.CIDRs); {
	case n == 0:
		return field.ErrorList{field.Required(path, "at least one CIDR required")}
	case n > 2:
		return field.ErrorList{field.Invalid(path, (*shownRanges)(spec), "may only hold up to 2 values")}
	}
	var errs field.ErrorList
	for i, cidr := range spec.CIDRs {
		errs = append(errs, utilvalidation.IsValidCIDR(path.Index(i), cidr)...)
	}
	if len(spec.CIDRs) == 2 {
		family := netutils.IPFamilyOfCIDRString(spec.CIDRs[0])
		if family == netutils.IPFamilyOfCIDRString(spec.CIDRs[1]) && family != netutils.IPFamilyUnknown {
			errs = append(errs, field.Invalid(path, spec.CIDRs, "may specify no more than one IP for each IP family, i.e 192.168.0.0/24 and 2001:db8::/64"))
		}
	}
	return errs
}

// checkServiceCIDRChange lets an update add a range of the other family, and nothing else.
func checkServiceCIDRChange(spec *networkingv1.ServiceCIDRSpec, old []string) field.ErrorList {
	path := field.NewPath("spec", "cidrs")
	added := len(old) == 1 && len(spec.CIDRs) == 2
	if len(old) != len(spec.CIDRs) && !added {
		return field.ErrorList{field.Invalid(path, spec.CIDRs, strategy.Immutable)}
	}
	var errs field.ErrorList
	for i, cidr := range old {
		if cidr != spec.CIDRs[i] {
			errs = append(errs, field.Invalid(path.Index(i), spec.CIDRs[i], strategy.Immutable))
		}
	}
	if added {
		errs = append(errs, checkServiceCIDRs(spec)...)
	}
	return errs
}
