package kinds

import (
	"fmt"
	"slices"
	"strings"

	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	apiregistrationv1 "github.com/volsim/volsim/internal/apiserver/apiregistration/v1"
	"github.com/volsim/volsim/internal/core/plain"
	"github.com/volsim/volsim/internal/core/store"
	"github.com/volsim/volsim/internal/core/strategy"
)

// The rules of APIServices (API-566). They register groups only: no group is served by others.
var apiServiceRules = store.KindRules{
	Default: func(obj *plain.Object) {
		typedDefault(obj, func(s *apiregistrationv1.APIService) {
			if service := s.Spec.Service; service != nil && service.Port == nil {
				service.Port = new(int32(store.DefaultWebhookPort))
			}
		})
	},
	PrepareCreate: func(obj *plain.Object) {
		typedDefault(obj, func(s *apiregistrationv1.APIService) {
			s.Status = apiregistrationv1.APIServiceStatus{}
			// API-566: a group without a service is kube-apiserver's own, and so available.
			if s.Spec.Service == nil {
				s.Status.Conditions = []apiregistrationv1.APIServiceCondition{{
					Type: "Available", Status: "True", LastTransitionTime: obj.CreationTimestamp, Reason: "Local", Message: "Local APIServices are always available",
				}}
			}
		})
	},
	CheckName: checkAPIServiceName,
	Check: func(obj, old *plain.Object) (errs field.ErrorList) {
		// API-566: an update must not change what the name says.
		if old != nil {
			errs = checkAPIServiceName(obj)
		}
		return append(errs, checkAPIServiceFields(obj, old)...)
	},
	CheckStatus: statusCheck(checkAPIServiceStatus),
}

// checkAPIServiceName: the name consists of version and group (API-566).
func checkAPIServiceName(obj *plain.Object) field.ErrorList {
	s, err := plain.As[*apiregistrationv1.APIService](obj)
	if err != nil {
		return nil // checkAPIServiceFields reports it
	}
	name := s.Spec.Version + "." + s.Spec.Group
	return strategy.RequireName(&obj.ObjectMeta, name, fmt.Sprintf("must be `spec.version+\".\"+spec.group`: %q", name))
}

var checkAPIServiceFields = typedCheck(func(s *apiregistrationv1.APIService) field.ErrorList {
	return checkAPIServiceSpec(&s.Spec, field.NewPath("spec"))
})

func checkAPIServiceSpec(spec *apiregistrationv1.APIServiceSpec, path *field.Path) (errs field.ErrorList) {
	switch {
	case spec.Group != "":
		errs = strategy.AppendInvalid(errs, path.Child("group"), spec.Group, utilvalidation.IsDNS1123Subdomain(spec.Group))
	case spec.Version != "v1":
		errs = append(errs, field.Required(path.Child("group"), "only v1 may have an empty group and it better be legacy kube"))
	}
	errs = strategy.AppendInvalid(errs, path.Child("version"), spec.Version, utilvalidation.IsDNS1035Label(spec.Version))
	if spec.GroupPriorityMinimum <= 0 || spec.GroupPriorityMinimum > 20000 {
		errs = append(errs, field.Invalid(path.Child("groupPriorityMinimum"), spec.GroupPriorityMinimum, "must be positive and less than 20000"))
	}
	if spec.VersionPriority <= 0 || spec.VersionPriority > 1000 {
		errs = append(errs, field.Invalid(path.Child("versionPriority"), spec.VersionPriority, "must be positive and less than 1000"))
	}
	insecure := path.Child("insecureSkipTLSVerify")
	if spec.Service == nil {
		// API-566: what says how to reach a service needs one.
		if len(spec.CABundle) > 0 {
			errs = append(errs, field.Invalid(path.Child("caBundle"), fmt.Sprintf("%d bytes", len(spec.CABundle)), "local APIServices may not have a caBundle"))
		}
		if spec.InsecureSkipTLSVerify {
			errs = append(errs, field.Invalid(insecure, true, "local APIServices may not have insecureSkipTLSVerify"))
		}
		return errs
	}
	service := path.Child("service")
	if spec.Service.Namespace == "" {
		errs = append(errs, field.Required(service.Child("namespace"), ""))
	}
	if spec.Service.Name == "" {
		errs = append(errs, field.Required(service.Child("name"), ""))
	}
	if wrong := utilvalidation.IsValidPortNum(int(*spec.Service.Port)); wrong != nil {
		errs = append(errs, field.Invalid(service.Child("port"), *spec.Service.Port, "port is not valid: "+strings.Join(wrong, ", ")))
	}
	if spec.InsecureSkipTLSVerify && len(spec.CABundle) > 0 {
		errs = append(errs, field.Invalid(insecure, true, "may not be true if caBundle is present"))
	}
	return errs
}

func checkAPIServiceStatus(c *statusErrors, s, _ *apiregistrationv1.APIService) {
	statuses := []apiregistrationv1.ConditionStatus{"True", "False", "Unknown"}
	for i, condition := range s.Status.Conditions {
		if !slices.Contains(statuses, condition.Status) {
			c.add(field.NotSupported(c.path.Child("conditions").Index(i).Child("status"), condition.Status, statuses))
		}
	}
}
