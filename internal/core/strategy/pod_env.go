package strategy

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// validateEnv validates the environment of a container (API-355).
func validateEnv(c *corev1.Container, at func() *field.Path) field.ErrorList {
	var errs field.ErrorList
	for i := range c.Env {
		env := &c.Env[i]
		path := func() *field.Path { return at().Child("env").Index(i) }
		if env.Name == "" {
			errs = append(errs, field.Required(path().Child("name"), ""))
		} else if messages := validation.IsRelaxedEnvVarName(env.Name); len(messages) > 0 {
			errs = AppendInvalid(errs, path().Child("name"), env.Name, messages)
		}
		if env.ValueFrom != nil {
			errs = append(errs, validateEnvSource(env, path().Child("valueFrom"))...)
		}
	}
	if len(c.EnvFrom) > 0 {
		errs = append(errs, validateEnvFrom(c.EnvFrom, at().Child("envFrom"))...)
	}
	return errs
}

// variableFields are the fields of a pod that a variable can have.
var variableFields = []string{"metadata.name", "metadata.namespace", "metadata.uid", "spec.nodeName", "spec.serviceAccountName", "status.hostIP",
	"status.hostIPs", "status.podIP", "status.podIPs"}

// validateEnvSource requires exactly one source of the value of a variable.
func validateEnvSource(env *corev1.EnvVar, path *field.Path) field.ErrorList {
	from, sources := env.ValueFrom, 0
	var errs field.ErrorList
	if from.FieldRef != nil {
		sources++
		errs = append(errs, validateFieldRef(from.FieldRef, variableFields, path.Child("fieldRef"))...)
	}
	if from.ResourceFieldRef != nil {
		sources++
		errs = append(errs, validateResourceRef(from.ResourceFieldRef, false, path.Child("resourceFieldRef"))...)
	}
	if ref := from.ConfigMapKeyRef; ref != nil {
		sources++
		errs = append(errs, validateKeyRef(ref.Name, ref.Key, path.Child("configMapKeyRef"))...)
	}
	if ref := from.SecretKeyRef; ref != nil {
		sources++
		errs = append(errs, validateKeyRef(ref.Name, ref.Key, path.Child("secretKeyRef"))...)
	}
	if from.FileKeyRef != nil {
		sources++
		errs = append(errs, validateFileRef(from.FileKeyRef, path.Child("fileKeyRef"))...)
	}
	switch {
	case sources == 0:
		// API-355: a variable without a source has no value.
		errs = append(errs, field.Invalid(path, "", "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`"))
	case env.Value != "":
		errs = append(errs, field.Invalid(path, "", "may not be specified when `value` is not empty"))
	case sources > 1:
		errs = append(errs, field.Invalid(path, "", "may not have more than one field specified at a time"))
	}
	return errs
}

// validateFileRef validates a reference to a variable in a file (API-375).
func validateFileRef(ref *corev1.FileKeySelector, path *field.Path) field.ErrorList {
	errs := Required(path, "key", ref.Key)
	if ref.Key != "" {
		errs = AppendInvalid(errs, path.Child("key"), ref.Key, validation.IsRelaxedEnvVarName(ref.Key))
	}
	if ref.VolumeName == "" {
		errs = append(errs, field.Required(path.Child("volumeName"), ""))
	} else {
		errs = append(errs, DNSLabel(ref.VolumeName, path, "volumeName")...)
	}
	return append(errs, validatePath(ref.Path, path)...)
}

// validateFileVolumes requires that files with variables are in emptyDirs of the pod (API-375).
func validateFileVolumes(spec *corev1.PodSpec) field.ErrorList {
	var errs field.ErrorList
	eachContainer(spec, func(c *corev1.Container, place containerPlace) {
		for i, env := range c.Env {
			if env.ValueFrom == nil || env.ValueFrom.FileKeyRef == nil {
				continue
			}
			name, at := env.ValueFrom.FileKeyRef.VolumeName, place.path().Child("env").Index(i).Child("valueFrom", "fileKeyRef", "volumeName")
			volume := slices.IndexFunc(spec.Volumes, func(v corev1.Volume) bool { return v.Name == name })
			switch {
			case volume < 0:
				errs = append(errs, field.NotFound(at, name))
			case spec.Volumes[volume].EmptyDir == nil:
				errs = append(errs, field.Invalid(at, name, "referenced volume must be of type emptyDir"))
			}
		}
	})
	return errs
}

func validateKeyRef(name, key string, path *field.Path) field.ErrorList {
	errs := Subdomain(name, path, "name")
	if key == "" {
		return append(errs, field.Required(path.Child("key"), ""))
	}
	return AppendInvalid(errs, path.Child("key"), key, validation.IsConfigMapKey(key))
}

// validateEnvFrom validates the ConfigMaps and Secrets whose entries become variables. Errors about their number have the path of the list.
func validateEnvFrom(sources []corev1.EnvFromSource, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for i, source := range sources {
		at := path.Index(i)
		if source.Prefix != "" {
			errs = AppendInvalid(errs, at.Child("prefix"), source.Prefix, validation.IsRelaxedEnvVarName(source.Prefix))
		}
		if ref := source.ConfigMapRef; ref != nil {
			errs = append(errs, requiredSubdomain(ref.Name, at.Child("configMapRef"))...)
		}
		if ref := source.SecretRef; ref != nil {
			errs = append(errs, requiredSubdomain(ref.Name, at.Child("secretRef"))...)
		}
		switch {
		case source.ConfigMapRef == nil && source.SecretRef == nil:
			errs = append(errs, field.Invalid(path, "", "must specify one of: `configMapRef` or `secretRef`"))
		case source.ConfigMapRef != nil && source.SecretRef != nil:
			errs = append(errs, field.Invalid(path, "", "may not have more than one field specified at a time"))
		}
	}
	return errs
}

func requiredSubdomain(name string, path *field.Path) field.ErrorList {
	if name == "" {
		return field.ErrorList{field.Required(path.Child("name"), "")}
	}
	return Subdomain(name, path, "name")
}
