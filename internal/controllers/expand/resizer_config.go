package expand

import (
	"github.com/volsim/volsim/internal/core/sidecar"
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

// complete checks the configuration and fills in the defaults of external-resizer 2.
func (cfg *ResizerConfig) complete() error {
	const name = "expand: ResizerConfig"
	if err := sidecar.Complete(name,
		sidecar.Duration{Field: "RetryStart", Value: &cfg.RetryStart, Default: time.Second},
		sidecar.Duration{Field: "RetryMax", Value: &cfg.RetryMax, Default: 5 * time.Minute},
		sidecar.Duration{Field: "Timeout", Value: &cfg.Timeout, Default: 10 * time.Second, MayBeNegative: true},
		sidecar.Duration{Field: "ResyncPeriod", Value: &cfg.ResyncPeriod, Default: 10 * time.Minute},
	); err != nil {
		return err
	}
	cfg.Workers = sidecar.Workers(cfg.Workers, defaultWorkers)
	return sidecar.CheckRetries(name, cfg.RetryStart, cfg.RetryMax)
}
