// Package sidecar holds what the simulated sidecars of a CSI driver share. The external-attacher, the external-provisioner and the
// external-resizer have the same configuration; the first and the last also call their driver in the same way.
package sidecar

import (
	"fmt"
	"time"
)

// Config configures a sidecar. The zero value has the defaults of the sidecar.
type Config struct {
	// RetryStart is the delay after the first error of an object; each further error doubles it. Zero is the default, 1 s; negative is an
	// error.
	RetryStart time.Duration
	// RetryMax is the longest delay between retries. Zero is the default, 5 min; less than RetryStart is an error.
	RetryMax time.Duration
	// ResyncPeriod is the time between syncs of all objects. Zero is the default, 10 min, or 15 min for the provisioner; negative is an
	// error.
	ResyncPeriod time.Duration
	// Timeout is how long a call to the driver may take. Zero is the default, 10 s, or 15 s for the attacher; negative is no limit.
	Timeout time.Duration
}

// Complete replaces zero values by the defaults. It returns an error that names the field if a value is invalid; name is that of the
// sidecar's configuration, such as "attach: Attacher".
func (cfg *Config) Complete(name string, defaults Config) error {
	for _, d := range []struct {
		field        string
		value        *time.Duration
		defaultValue time.Duration
	}{
		{"RetryStart", &cfg.RetryStart, defaults.RetryStart},
		{"RetryMax", &cfg.RetryMax, defaults.RetryMax},
		{"ResyncPeriod", &cfg.ResyncPeriod, defaults.ResyncPeriod},
	} {
		if *d.value < 0 {
			return fmt.Errorf("%s.%s is %v: give zero for the default of %v, or more", name, d.field, *d.value, d.defaultValue)
		}
		if *d.value == 0 {
			*d.value = d.defaultValue
		}
	}
	if cfg.RetryMax < cfg.RetryStart {
		return fmt.Errorf("%s.RetryMax is %v, less than RetryStart with %v: give at least that", name, cfg.RetryMax, cfg.RetryStart)
	}
	if cfg.Timeout == 0 {
		cfg.Timeout = defaults.Timeout
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
