package expand

import (
	"fmt"
	"time"
)

// ResizerComponent is the source of the Events of that resizer.
func ResizerComponent(driver string) string { return "external-resizer " + driver }

// ResizerConfig sets up an external resizer. The zero value is one with the defaults of external-resizer 2.
type ResizerConfig struct {
	// RetryStart and RetryMax are the first and the longest delay after an error, of which each is twice the one before; zero is 1 s
	// and 5 min (EXP-020). RetryMax is also how long a request that cannot be met is left alone (EXP-026, VAC-014).
	RetryStart, RetryMax time.Duration
	// Timeout is how long a call to the driver may take; zero is 10 s, less than zero is no limit.
	Timeout time.Duration
	// Workers is how many claims are expanded, and how many are modified, side by side; zero is 10.
	Workers int
	// ResyncPeriod is the time between two looks at everything; zero is 10 min (EXP-020).
	ResyncPeriod time.Duration
	// IgnoreUse has the driver asked again although it has said that it cannot expand a volume in use (EXP-025).
	IgnoreUse bool
	// ExtraMetadata adds the names of claim and volume to the parameters of a change (VAC-010).
	ExtraMetadata bool
	// Migrated tells the CSI driver that took over from an in-tree plugin (PROV-051); nil: none was taken over.
	Migrated Migration
}

// The defaults of ResizerConfig.
const (
	DefaultRetryStart = time.Second
	DefaultRetryMax   = 5 * time.Minute
	DefaultTimeout    = 10 * time.Second
	DefaultResync     = 10 * time.Minute
)

func (cfg *ResizerConfig) complete() error {
	for _, d := range []struct {
		field   string
		value   *time.Duration
		standby time.Duration
	}{
		{"RetryStart", &cfg.RetryStart, DefaultRetryStart},
		{"RetryMax", &cfg.RetryMax, DefaultRetryMax},
		{"ResyncPeriod", &cfg.ResyncPeriod, DefaultResync},
	} {
		if *d.value < 0 {
			return fmt.Errorf("expand: ResizerConfig.%s is %v: give zero for the default of %v, or more", d.field, *d.value, d.standby)
		}
		if *d.value == 0 {
			*d.value = d.standby
		}
	}
	if cfg.RetryMax < cfg.RetryStart {
		return fmt.Errorf("expand: ResizerConfig.RetryMax is %v, less than RetryStart with %v: give at least that", cfg.RetryMax, cfg.RetryStart)
	}
	if cfg.Workers < 0 {
		return fmt.Errorf("expand: ResizerConfig.Workers is %d: give a positive number, or zero for the default of %d", cfg.Workers, defaultWorkers)
	}
	if cfg.Workers == 0 {
		cfg.Workers = defaultWorkers
	}
	if cfg.Timeout == 0 {
		cfg.Timeout = DefaultTimeout
	}
	return nil
}
