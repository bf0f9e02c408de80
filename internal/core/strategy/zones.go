package strategy

import (
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/volsim/volsim/internal/core/cron"
)

// zonePart matches one component of the name of a time zone.
var zonePart = regexp.MustCompile(`^[A-Za-z.\-_0-9+]{1,14}$`)

// validateTimeZone validates the time zone of a CronJob (JOB-113).
func validateTimeZone(zone *string, path *field.Path) field.ErrorList {
	if zone == nil {
		return nil
	}
	if *zone == "" {
		return field.ErrorList{field.Invalid(path, zone, "timeZone must be nil or non-empty string")}
	}
	unknown := field.Invalid(path, zone, "unknown time zone "+*zone)
	for part := range strings.SplitSeq(*zone, "/") {
		if part == "." || part == ".." || strings.HasPrefix(part, "-") || !zonePart.MatchString(part) {
			return field.ErrorList{unknown}
		}
	}
	var errs field.ErrorList
	if strings.EqualFold(*zone, "Local") {
		errs = append(errs, field.Invalid(path, zone, "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones"))
	}
	// JOB-113: zones are known by name, and names are case-sensitive.
	if !cron.KnownZone(*zone) {
		errs = append(errs, unknown)
	}
	return errs
}
