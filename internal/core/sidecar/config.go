// Package sidecar holds what the simulated sidecars of a CSI driver share. The external-attacher, the external-provisioner and the
// external-resizer complete their configuration in the same way; two of them also call their driver in the same way.
package sidecar

import (
	"fmt"
	"time"
)

// Duration is a duration in a configuration.
type Duration struct {
	// Field is its name.
	Field string
	// Value points to it. Zero means Default.
	Value *time.Duration
	// Default is the value that zero stands for.
	Default time.Duration
	// MayBeNegative: a negative value has a meaning, such as no limit.
	MayBeNegative bool
}

// Complete replaces zero durations by their defaults. It returns an error that names the field for a negative one without a meaning. config
// is the name of the configuration for errors, such as "attach: AttacherConfig".
func Complete(config string, durations ...Duration) error {
	for _, d := range durations {
		if *d.Value < 0 && !d.MayBeNegative {
			return fmt.Errorf("%s.%s is %v: give zero for the default of %v, or more", config, d.Field, *d.Value, d.Default)
		}
		if *d.Value == 0 {
			*d.Value = d.Default
		}
	}
	return nil
}

// CheckRetries returns an error if the longest delay between retries is less than the first one.
func CheckRetries(config string, retryStart, retryMax time.Duration) error {
	if retryMax < retryStart {
		return fmt.Errorf("%s.RetryMax is %v, less than RetryStart with %v: give at least that", config, retryMax, retryStart)
	}
	return nil
}

// Workers returns the number of workers that a setting stands for: zero is the default, negative is more than there can be keys.
func Workers(setting, defaultWorkers int) int {
	switch {
	case setting == 0:
		return defaultWorkers
	case setting < 0:
		return 1 << 30
	}
	return setting
}
