package strategy

import (
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// VolumeAttributesClass is the strategy for VolumeAttributesClasses. They have no defaults (API-100).
var VolumeAttributesClass = Of[*volumeAttributesClass]{
	Shallow: func(class *volumeAttributesClass) *volumeAttributesClass {
		c := *class
		return &c
	},
	ValidateCreate: validateAttributesClass,
	ValidateUpdate: validateAttributesClassUpdate,
	Equal:          sameAttributesClass,
}

const (
	maxParameters     = 512
	maxParameterBytes = 256 << 10
)

var driverNamePath = field.NewPath("driverName")

// validateProvisioner validates the name of a provisioner (API-160).
func validateProvisioner(name string, path *field.Path) field.ErrorList {
	if name == "" {
		return field.ErrorList{field.Required(path, "")}
	}
	if isQualifiedNameOfAnyCase(name) {
		return nil
	}
	lower := strings.ToLower(name)
	return AppendInvalid(nil, path, lower, validation.IsQualifiedName(lower))
}

// validateParameters validates the parameters of a class (API-161).
func validateParameters(parameters map[string]string, path *field.Path) field.ErrorList {
	// API-161: too many parameters are the only error.
	if len(parameters) > maxParameters {
		return field.ErrorList{field.TooLong(path, "", maxParameters)}
	}
	var errs field.ErrorList
	size := 0
	for key, value := range parameters {
		if key == "" {
			errs = append(errs, field.Invalid(path, key, "field can not be empty."))
		}
		size += len(key) + len(value)
	}
	if size > maxParameterBytes {
		errs = append(errs, field.TooLong(path, "", maxParameterBytes))
	}
	return errs
}

func validateAttributesClass(class *volumeAttributesClass) field.ErrorList {
	errs := validateProvisioner(class.DriverName, driverNamePath)
	errs = append(errs, validateParameters(class.Parameters, parametersPath)...)
	// API-161: at least one parameter is required.
	if len(class.Parameters) == 0 {
		errs = append(errs, field.Required(parametersPath, "must contain at least one key/value pair"))
	}
	return errs
}

func validateAttributesClassUpdate(class, old *volumeAttributesClass) field.ErrorList {
	errs := ValidateGenerateName(&class.ObjectMeta)
	// API-231: driver and parameters are immutable.
	if class.DriverName != old.DriverName {
		errs = append(errs, field.Forbidden(driverNamePath, "updates to driverName are forbidden."))
	}
	if !equalMaps(class.Parameters, old.Parameters) {
		errs = append(errs, field.Forbidden(parametersPath, "updates to parameters are forbidden."))
	}
	return append(errs, validateAttributesClass(class)...)
}

func sameAttributesClass(a, b *volumeAttributesClass) bool {
	return a.DriverName == b.DriverName && equalMaps(a.Parameters, b.Parameters)
}
