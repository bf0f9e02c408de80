package definition

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
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
	case apiextensions.NoneConverter, apiextensions.WebhookConverter:
	default:
		errs = append(errs, field.NotSupported(path.Child("strategy"), c.Strategy, []apiextensions.ConversionStrategyType{apiextensions.NoneConverter, apiextensions.WebhookConverter}))
	}
	if c.Strategy == apiextensions.WebhookConverter {
		errs = append(errs, checkWebhook(config, configPath)...)
		return append(errs, CheckReviewVersions(versions, "", versionsPath)...)
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
