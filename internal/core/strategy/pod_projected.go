package strategy

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apiresource "k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// These volumes show objects as files: secrets, config maps, and fields of the pod itself.

func validateSecret(s *corev1.SecretVolumeSource, path *field.Path) field.ErrorList {
	errs := append(Required(path, "secretName", s.SecretName), validateFileMode(s.DefaultMode, path, "defaultMode")...)
	return append(errs, validateItems(s.Items, path)...)
}

func validateConfigMap(s *corev1.ConfigMapVolumeSource, path *field.Path) field.ErrorList {
	errs := append(Required(path, "name", s.Name), validateFileMode(s.DefaultMode, path, "defaultMode")...)
	return append(errs, validateItems(s.Items, path)...)
}

func validateDownwardAPI(s *corev1.DownwardAPIVolumeSource, path *field.Path) field.ErrorList {
	errs := validateFileMode(s.DefaultMode, path, "defaultMode")
	for i := range s.Items {
		errs = append(errs, validateDownwardFile(&s.Items[i], path)...)
	}
	return errs
}

// validateProjected validates a volume with several sources. Two of them must not show the same file.
func validateProjected(s *corev1.ProjectedVolumeSource, path *field.Path) field.ErrorList {
	errs := validateFileMode(s.DefaultMode, path, "defaultMode")
	taken := map[string]bool{}
	take := func(file, shown string) {
		if file != "" && taken[file] {
			errs = append(errs, field.Invalid(path, shown, "conflicting duplicate paths"))
		}
		taken[file] = true
	}
	for i := range s.Sources {
		source, at := &s.Sources[i], path.Child("sources").Index(i)
		kinds := 0
		if secret := source.Secret; secret != nil {
			kinds++
			errs = append(errs, Required(at.Child("secret"), "name", secret.Name)...)
			errs = append(errs, validateItems(secret.Items, at.Child("secret"))...)
			for _, item := range secret.Items {
				take(item.Path, secret.Name)
			}
		}
		if config := source.ConfigMap; config != nil {
			kinds++
			errs = append(errs, Required(at.Child("configMap"), "name", config.Name)...)
			errs = append(errs, validateItems(config.Items, at.Child("configMap"))...)
			for _, item := range config.Items {
				take(item.Path, config.Name)
			}
		}
		if downward := source.DownwardAPI; downward != nil {
			kinds++
			for j := range downward.Items {
				errs = append(errs, validateDownwardFile(&downward.Items[j], at.Child("downwardAPI"))...)
				take(downward.Items[j].Path, downward.Items[j].Path)
			}
		}
		if token := source.ServiceAccountToken; token != nil {
			kinds++
			errs = append(errs, validateToken(token, path, at.Child("serviceAccountToken"))...)
		}
		if kinds > 1 {
			errs = append(errs, field.Forbidden(at, "may not specify more than 1 volume type per source"))
		}
	}
	return errs
}

// validateToken validates a service account token. Errors about its file have the path of the volume, those about its lifetime the path
// of the token.
func validateToken(token *corev1.ServiceAccountTokenProjection, volume, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if seconds := token.ExpirationSeconds; seconds != nil && *seconds < minTokenSeconds {
		errs = append(errs, field.Invalid(path.Child("expirationSeconds"), *seconds, "may not specify a duration less than 10 minutes"))
	} else if seconds != nil && *seconds > maxTokenSeconds {
		errs = append(errs, field.Invalid(path.Child("expirationSeconds"), *seconds, "may not specify a duration larger than 2^32 seconds"))
	}
	if token.Path == "" {
		return append(errs, field.Required(volume.Child("path"), ""))
	}
	return append(errs, validateFileName(token.Path, volume, "path")...)
}

func validateItems(items []corev1.KeyToPath, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for i, item := range items {
		at := path.Child("items").Index(i)
		errs = append(errs, Required(at, "key", item.Key, "path", item.Path)...)
		errs = append(errs, validateFileName(item.Path, at, "path")...)
		errs = append(errs, validateFileMode(item.Mode, at, "mode")...)
	}
	return errs
}

func validateFileMode(mode *int32, path *field.Path, child string) field.ErrorList {
	if mode == nil || *mode >= 0 && *mode <= 0o777 {
		return nil
	}
	return field.ErrorList{field.Invalid(path.Child(child), *mode, "must be a number between 0 and 0777 (octal), both inclusive")}
}

// validateFileName requires a path within the volume that does not begin with a name reserved for the kubelet.
func validateFileName(file string, path *field.Path, child string) field.ErrorList {
	errs := validateRelativePath(file, path, child)
	if strings.HasPrefix(file, "..") && !strings.HasPrefix(file, "../") {
		errs = append(errs, field.Invalid(path.Child(child), file, "must not start with '..'"))
	}
	return errs
}

// validateDownwardFile validates a file that shows a field of the pod or a resource of a container. path is the path of the volume.
func validateDownwardFile(file *corev1.DownwardAPIVolumeFile, path *field.Path) field.ErrorList {
	errs := append(Required(path, "path", file.Path), validateFileName(file.Path, path, "path")...)
	switch {
	case file.FieldRef != nil:
		errs = append(errs, validateFieldRef(file.FieldRef, fileFields, path.Child("fieldRef"))...)
		if file.ResourceFieldRef != nil {
			errs = append(errs, field.Invalid(path, "resource", "fieldRef and resourceFieldRef can not be specified simultaneously"))
		}
	case file.ResourceFieldRef != nil:
		errs = append(errs, validateResourceRef(file.ResourceFieldRef, true, path.Child("resourceFieldRef"))...)
	default:
		errs = append(errs, field.Required(path, "one of fieldRef and resourceFieldRef is required"))
	}
	return append(errs, validateFileMode(file.Mode, path, "mode")...)
}

var (
	// The fields of a pod that a file can show, and those that only an environment variable can contain.
	fileFields = []string{"metadata.annotations", "metadata.labels", "metadata.name", "metadata.namespace", "metadata.uid"}
	envFields  = []string{"spec.host", "spec.nodeName", "spec.restartPolicy", "spec.schedulerName", "spec.serviceAccountName",
		"status.hostIP", "status.hostIPs", "status.phase", "status.podIP", "status.podIPs"}
)

func validateFieldRef(ref *corev1.ObjectFieldSelector, allowed []string, path *field.Path) field.ErrorList {
	if ref.APIVersion == "" {
		return field.ErrorList{field.Required(path.Child("apiVersion"), "")}
	}
	if ref.FieldPath == "" {
		return field.ErrorList{field.Required(path.Child("fieldPath"), "")}
	}
	name, key, hasKey := subscripted(ref.FieldPath)
	unknown := ""
	switch {
	case ref.APIVersion != "v1":
		unknown = "unsupported pod version: " + ref.APIVersion
	case hasKey && name != "metadata.annotations" && name != "metadata.labels":
		unknown = "field label does not support subscript: " + ref.FieldPath
	case !hasKey && !slices.Contains(fileFields, name) && !slices.Contains(envFields, name):
		unknown = "field label not supported: " + ref.FieldPath
	}
	if name == "spec.host" {
		name = "spec.nodeName" // its name in the past
	}
	switch {
	case unknown != "":
		return field.ErrorList{field.Invalid(path.Child("fieldPath"), ref.FieldPath, "error converting fieldPath: "+unknown)}
	case !hasKey && !slices.Contains(allowed, name):
		return field.ErrorList{field.NotSupported(path.Child("fieldPath"), name, allowed)}
	case !hasKey:
		return nil
	}
	if name == "metadata.annotations" {
		key = strings.ToLower(key)
	}
	if IsQualifiedName(key) {
		return nil
	}
	return AppendInvalid(nil, path, key, validation.IsQualifiedName(key))
}

// subscripted splits metadata.labels['key'].
func subscripted(fieldPath string) (name, key string, ok bool) {
	inner, found := strings.CutSuffix(fieldPath, "']")
	if !found {
		return fieldPath, "", false
	}
	name, key, found = strings.Cut(inner, "['")
	if !found || name == "" {
		return fieldPath, "", false
	}
	return name, key, true
}

var (
	resourceFields = []string{"limits.cpu", "limits.ephemeral-storage", "limits.memory",
		"requests.cpu", "requests.ephemeral-storage", "requests.memory"}
	cpuDivisors  = []string{"1", "1m"}
	byteDivisors = []string{"1", "1k", "1M", "1G", "1T", "1P", "1E", "1Ki", "1Mi", "1Gi", "1Ti", "1Pi", "1Ei"}
)

func validateResourceRef(ref *corev1.ResourceFieldSelector, ofFile bool, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	huge := strings.HasPrefix(ref.Resource, "requests.hugepages-") || strings.HasPrefix(ref.Resource, "limits.hugepages-")
	switch {
	case ofFile && ref.ContainerName == "":
		errs = append(errs, field.Required(path.Child("containerName"), ""))
	case ref.Resource == "":
		errs = append(errs, field.Required(path.Child("resource"), ""))
	case !huge:
		errs = append(errs, OneOf(ref.Resource, path, "resource", resourceFields)...)
	}
	divisor := ref.Divisor
	if divisor.Cmp(apiresource.Quantity{}) == 0 || !huge && !slices.Contains(resourceFields, ref.Resource) {
		return errs
	}
	allowed, kind := byteDivisors, ""
	switch _, resource, _ := strings.Cut(ref.Resource, "."); {
	case resource == "cpu":
		allowed, kind = cpuDivisors, "cpu"
	case resource == "memory":
		kind = resource
	case resource == "ephemeral-storage":
		kind = "local ephemeral storage"
	default:
		kind = "hugepages"
	}
	if slices.Contains(allowed, divisor.String()) {
		return errs
	}
	divisors := strings.Join(allowed, ", ")
	if kind == "cpu" {
		divisors = "1m and 1"
	}
	errs = append(errs, field.Invalid(path.Child("divisor"), ref.Resource, fmt.Sprintf("only divisor's values %s are supported with the %s resource", divisors, kind)))
	return errs
}
