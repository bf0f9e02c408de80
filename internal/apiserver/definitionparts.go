package apiserver

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// longestDeprecation is how long the warning about a deprecated version may be, in bytes.
const longestDeprecation = 256

// checkDeprecation validates the warning about a version (API-342).
func checkDeprecation(v *definedVersion, path *field.Path) field.ErrorList {
	if v.DeprecationWarning == nil {
		return nil
	}
	text := *v.DeprecationWarning
	var errs field.ErrorList
	add := func(detail string) { errs = append(errs, field.Invalid(path, v.DeprecationWarning, detail)) }
	if !v.Deprecated {
		// API-342: the warning is sent for deprecated versions only.
		add("can only be set for deprecated versions")
		return errs
	}
	if len(text) > longestDeprecation {
		add(fmt.Sprintf("must be <= %d characters long", longestDeprecation))
	}
	if text == "" {
		add("must not be an empty string")
	}
	if i := strings.IndexFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }); i >= 0 {
		add(fmt.Sprintf("must only contain printable UTF-8 characters; non-printable character found at index %d", i))
	}
	if !utf8.ValidString(text) {
		add("must only contain printable UTF-8 characters")
	}
	return errs
}

// checkSubresources validates the paths of the subresource scale (API-342).
func checkSubresources(s *apiextensions.CustomResourceSubresources, path *field.Path) field.ErrorList {
	if s == nil || s.Scale == nil {
		return nil
	}
	// API-342: the replicas are fields of spec and status.
	errs := checkReplicasPath(s.Scale.SpecReplicasPath, ".spec", path.Child("scale.specReplicasPath"))
	errs = append(errs, checkReplicasPath(s.Scale.StatusReplicasPath, ".status", path.Child("scale.statusReplicasPath"))...)
	selector := s.Scale.LabelSelectorPath
	if selector == nil || *selector == "" {
		return errs
	}
	at := path.Child("scale.labelSelectorPath")
	if wrong := checkSimplePath(*selector, at); wrong != nil {
		return append(errs, wrong)
	}
	if !strings.HasPrefix(*selector, ".spec.") && !strings.HasPrefix(*selector, ".status.") {
		errs = append(errs, field.Invalid(at, selector, "should be a json path under either .spec or .status"))
	}
	return errs
}

func checkReplicasPath(given, under string, path *field.Path) field.ErrorList {
	if given == "" {
		return field.ErrorList{field.Required(path, "")}
	}
	if wrong := checkSimplePath(given, path); wrong != nil {
		return field.ErrorList{wrong}
	}
	if !strings.HasPrefix(given, under+".") {
		return field.ErrorList{field.Invalid(path, given, "should be a json path under "+under)}
	}
	return nil
}

// checkSimplePath requires that a path begins with a dot.
func checkSimplePath(given string, path *field.Path) *field.Error {
	if strings.HasPrefix(given, ".") {
		return nil
	}
	return field.Invalid(path, given, "must be a simple json path starting with .")
}

var (
	columnTypes   = []string{"boolean", "date", "integer", "number", "string"}
	columnFormats = []string{"byte", "date", "date-time", "double", "float", "int32", "int64", "password"}
)

// checkColumns validates the columns of tables (API-342).
func checkColumns(columns []apiextensions.CustomResourceColumnDefinition, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for i, c := range columns {
		at := path.Index(i)
		// API-342: a column has a name, a type and a path.
		if c.Name == "" {
			errs = append(errs, field.Required(at.Child("name"), ""))
		}
		if types := "must be one of " + strings.Join(columnTypes, ","); c.Type == "" {
			errs = append(errs, field.Required(at.Child("type"), types))
		} else if !slices.Contains(columnTypes, c.Type) {
			errs = append(errs, field.Invalid(at.Child("type"), c.Type, types))
		}
		if c.Format != "" && !slices.Contains(columnFormats, c.Format) {
			errs = append(errs, field.Invalid(at.Child("format"), c.Format, "must be one of "+strings.Join(columnFormats, ",")))
		}
		if c.JSONPath == "" {
			errs = append(errs, field.Required(at.Child("JSONPath"), ""))
		} else if wrong := checkSimplePath(c.JSONPath, at.Child("JSONPath")); wrong != nil {
			errs = append(errs, wrong)
		}
	}
	return errs
}

const (
	conversionNone    apiextensions.ConversionStrategyType = "None"
	conversionWebhook apiextensions.ConversionStrategyType = "Webhook"
)

// checkConversion validates how objects are converted between versions (API-342).
func checkConversion(c *apiextensions.CustomResourceConversion, path *field.Path) field.ErrorList {
	if c == nil {
		return nil
	}
	errs := field.ErrorList{}
	config, versions := (*apiextensions.WebhookClientConfig)(nil), []string(nil)
	if c.Webhook != nil {
		config, versions = c.Webhook.ClientConfig, c.Webhook.ConversionReviewVersions
	}
	configPath, versionsPath := path.Child("webhookClientConfig"), path.Child("conversionReviewVersions")
	switch c.Strategy {
	case "":
		errs = append(errs, field.Required(path.Child("strategy"), ""))
	case conversionNone, conversionWebhook:
	default:
		errs = append(errs, field.NotSupported(path.Child("strategy"), c.Strategy, []apiextensions.ConversionStrategyType{conversionNone, conversionWebhook}))
	}
	if c.Strategy == conversionWebhook {
		errs = append(errs, checkWebhook(config, configPath)...)
		return append(errs, checkReviewVersions(versions, "", versionsPath)...)
	}
	// API-342: without a webhook nothing describes one.
	const notWebhook = "should not be set when strategy is not set to Webhook"
	if config != nil {
		errs = append(errs, field.Forbidden(configPath, notWebhook))
	}
	if len(versions) > 0 {
		errs = append(errs, field.Forbidden(versionsPath, notWebhook))
	}
	return errs
}

func checkWebhook(c *apiextensions.WebhookClientConfig, path *field.Path) field.ErrorList {
	switch {
	case c == nil:
		return field.ErrorList{field.Required(path, "required when strategy is set to Webhook")}
	case (c.URL == nil) == (c.Service == nil):
		return field.ErrorList{field.Required(path, "exactly one of url or service is required")}
	case c.URL != nil:
		return checkWebhookURL(*c.URL, path.Child("url"))
	}
	return checkWebhookService(c.Service, path.Child("service"))
}

func checkWebhookURL(text string, path *field.Path) field.ErrorList {
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
	var errs field.ErrorList
	// API-342: Kubernetes confuses the two, and so do its errors.
	if s.Namespace == "" {
		errs = append(errs, field.Required(path.Child("name"), ""))
	}
	if s.Name == "" {
		errs = append(errs, field.Required(path.Child("namespace"), ""))
	}
	return append(errs, checkServiceAddress(s.Port, s.Path, path)...)
}

// checkServiceAddress validates where in a service a webhook is; nil is the default.
func checkServiceAddress(number *int32, urlPath *string, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	port := int32(defaultWebhookPort)
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

// checkReviewVersions requires that the webhook understands a version of the reviews that the server sends (API-342, API-381). missing is the error if
// there are none.
func checkReviewVersions(versions []string, missing string, path *field.Path) field.ErrorList {
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
	if !slices.ContainsFunc(versions, func(v string) bool { return slices.Contains(reviewVersions, v) }) {
		errs = append(errs, field.Invalid(path, versions, "must include at least one of "+strings.Join(reviewVersions, ", ")))
	}
	return errs
}

// reviewVersions are the versions of reviews that the server can send to webhooks.
var reviewVersions = []string{"v1", "v1beta1"}

// defaultWebhookPort is the port of a service at which a webhook is.
const defaultWebhookPort = 443
