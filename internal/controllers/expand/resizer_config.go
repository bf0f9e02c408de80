package expand

import (
	"fmt"
	"time"
)

// resizerComponent returns the source of the Events of a driver's external-resizer.
func resizerComponent(driver string) string { return "external-resizer " + driver }

// ResizerConfig configures an external-resizer. The zero value has the defaults of external-resizer 2.
type ResizerConfig struct {
	// RetryStart is the delay after the first error of a claim; each further error doubles it. Zero is 1 s; negative is an error (EXP-020).
	RetryStart time.Duration
	// RetryMax is the longest delay between retries, and the time for which an infeasible request is not retried (EXP-026, VAC-014). Zero is
	// 5 min; less than RetryStart is an error.
	RetryMax time.Duration
	// Timeout is how long a call to the driver may take. Zero is 10 s; negative is no limit.
	Timeout time.Duration
	// Workers is the number of claims that are expanded, and of those that are modified, side by side. Zero is 10; negative is no limit.
	Workers int
	// ResyncPeriod is the time between syncs of all claims. Zero is 10 min; negative is an error (EXP-020).
	ResyncPeriod time.Duration
	// IgnoreUse retries a claim while a pod uses it, although the driver has rejected the expansion of a volume in use (EXP-025).
	IgnoreUse bool
	// ExtraMetadata adds the names of claim and volume to the parameters of a modification (VAC-010).
	ExtraMetadata bool
	// Migration returns the CSI driver that took over from an in-tree plugin (PROV-051); nil: no plugin is migrated.
	Migration Migration
}

// resizerDefaults are those of external-resizer 2.
var resizerDefaults = ResizerConfig{RetryStart: time.Second, RetryMax: 5 * time.Minute, Timeout: 10 * time.Second, ResyncPeriod: 10 * time.Minute}

// unlimitedWorkers is more than there can be keys.
const unlimitedWorkers = 1 << 30

func (cfg *ResizerConfig) complete() error {
	for _, d := range []struct {
		field        string
		value        *time.Duration
		defaultValue time.Duration
	}{
		{"RetryStart", &cfg.RetryStart, resizerDefaults.RetryStart},
		{"RetryMax", &cfg.RetryMax, resizerDefaults.RetryMax},
		{"ResyncPeriod", &cfg.ResyncPeriod, resizerDefaults.ResyncPeriod},
	} {
		if *d.value < 0 {
			return fmt.Errorf("expand: ResizerConfig.%s is %v: give zero for the default of %v, or more", d.field, *d.value, d.defaultValue)
		}
		if *d.value == 0 {
			*d.value = d.defaultValue
		}
	}
	if cfg.RetryMax < cfg.RetryStart {
		return fmt.Errorf("expand: ResizerConfig.RetryMax is %v, less than RetryStart with %v: give at least that", cfg.RetryMax, cfg.RetryStart)
	}
	switch {
	case cfg.Workers == 0:
		cfg.Workers = defaultWorkers
	case cfg.Workers < 0:
		cfg.Workers = unlimitedWorkers
	}
	if cfg.Timeout == 0 {
		cfg.Timeout = resizerDefaults.Timeout
	}
	return nil
}
