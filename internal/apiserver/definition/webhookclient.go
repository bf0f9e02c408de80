package definition

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/volsim/volsim/internal/core/store"
)

func checkWebhook(c *apiextensions.WebhookClientConfig, path *field.Path) field.ErrorList {
	switch {
	case c == nil:
		return field.ErrorList{field.Required(path, "required when strategy is set to Webhook")}
	case (c.URL == nil) == (c.Service == nil):
		return field.ErrorList{field.Required(path, "exactly one of url or service is required")}
	case c.URL != nil:
		return CheckWebhookURL(*c.URL, path.Child("url"))
	}
	return checkWebhookService(c.Service, path.Child("service"))
}

// CheckWebhookURL validates the address of a webhook outside the cluster (API-342).
func CheckWebhookURL(text string, path *field.Path) field.ErrorList {
	const form = "; desired format: https://host[/path]"
	u, err := url.Parse(text)
	if err != nil {
		return field.ErrorList{field.Required(path, "url must be a valid URL: "+err.Error()+form)}
	}
	var errs field.ErrorList
	add := func(wrong bool, value, detail string) {
		if wrong {
			errs = append(errs, field.Invalid(path, value, detail))
		}
	}
	add(u.Scheme != "https", u.Scheme, "'https' is the only allowed URL scheme"+form)
	add(u.Host == "", u.Host, "host must be specified"+form)
	add(u.User != nil, u.User.String(), "user information is not permitted in the URL")
	add(u.Fragment != "", u.Fragment, "fragments are not permitted in the URL")
	add(u.RawQuery != "", u.RawQuery, "query parameters are not permitted in the URL")
	return errs
}

func checkWebhookService(s *apiextensions.ServiceReference, path *field.Path) field.ErrorList {
	return CheckService(s.Namespace, s.Name, s.Port, s.Path, path)
}

// CheckService validates the service of a webhook.
func CheckService(namespace, name string, port *int32, urlPath *string, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	// API-342: Kubernetes confuses the two, and so do its errors.
	if namespace == "" {
		errs = append(errs, field.Required(path.Child("name"), ""))
	}
	if name == "" {
		errs = append(errs, field.Required(path.Child("namespace"), ""))
	}
	return append(errs, CheckServiceAddress(port, urlPath, path)...)
}

// CheckServiceAddress validates where in a service a webhook is; nil is the default.
func CheckServiceAddress(number *int32, urlPath *string, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	port := int32(store.DefaultWebhookPort)
	if number != nil {
		port = *number
	}
	if wrong := validation.IsValidPortNum(int(port)); wrong != nil {
		errs = append(errs, field.Invalid(path.Child("port"), port, "port is not valid: "+strings.Join(wrong, ", ")))
	}
	if urlPath == nil || *urlPath == "" || *urlPath == "/" {
		return errs
	}
	add := func(format string, args ...any) {
		errs = append(errs, field.Invalid(path.Child("path"), *urlPath, fmt.Sprintf(format, args...)))
	}
	if *urlPath == "//" {
		add("segment[0] may not be empty")
		return errs
	}
	if !strings.HasPrefix(*urlPath, "/") {
		add("must start with a '/'")
	}
	for i, segment := range strings.Split(strings.TrimSuffix((*urlPath)[1:], "/"), "/") {
		if segment == "" {
			add("segment[%d] may not be empty", i)
			continue
		}
		for _, wrong := range validation.IsDNS1123Subdomain(segment) {
			add("segment[%d]: %v", i, wrong)
		}
	}
	return errs
}

// CheckReviewVersions requires that the webhook understands a version of the reviews that the server sends (API-342, API-381). missing is the error if
// there are none.
func CheckReviewVersions(versions []string, missing string, path *field.Path) field.ErrorList {
	if len(versions) == 0 {
		return field.ErrorList{field.Required(path, missing)}
	}
	var errs field.ErrorList
	for i, v := range versions {
		if slices.Contains(versions[:i], v) {
			errs = append(errs, field.Invalid(path.Index(i), v, "duplicate version"))
			continue
		}
		for _, wrong := range validation.IsDNS1035Label(v) {
			errs = append(errs, field.Invalid(path.Index(i), v, wrong))
		}
	}
	if !slices.ContainsFunc(versions, func(v string) bool { return slices.Contains(ReviewVersions, v) }) {
		errs = append(errs, field.Invalid(path, versions, "must include at least one of "+strings.Join(ReviewVersions, ", ")))
	}
	return errs
}

// ReviewVersions are the versions of reviews that the server can send to webhooks.
var ReviewVersions = []string{"v1", "v1beta1"}
