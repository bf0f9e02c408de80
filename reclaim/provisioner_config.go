package reclaim

import (
	"fmt"
	"time"

	"github.com/volsim/volsim/internal/core/options"
)

// ProvisionerConfig configures an external-provisioner. The zero value is the CSI sidecar with its defaults (XPROV-001).
type ProvisionerConfig struct {
	// RetryStart is the delay after the first error of an object; each further error doubles it. Zero is 1 s; negative is an error.
	RetryStart time.Duration
	// RetryMax is the longest delay between retries. Zero is 5 min; negative is an error.
	RetryMax time.Duration
	// ResyncPeriod is the time between syncs of all claims and volumes. Zero is 15 min; negative is an error.
	ResyncPeriod time.Duration
	// Timeout is how long a call to the driver may take. Zero is 10 s; negative is no limit. After a timeout the driver goes on with the
	// call, and the next call for the same volume waits for the rest.
	Timeout time.Duration
}

// provisionerSettings are the configuration and the options of an external-provisioner, with defaults filled in.
type provisionerSettings struct {
	ProvisionerConfig
	options.Provisioner
	// retryBucket limits retries of all claims and volumes together to 10 per second after a burst of 100.
	retryBucket bool
}

const (
	// infeasibleDelay is the least delay after the driver rejected a request as invalid (XPROV-012).
	infeasibleDelay = 5 * time.Minute
	// unlimitedWorkers is more than there can be keys.
	unlimitedWorkers = 1 << 30
)

// settings checks the values and fills in defaults (XPROV-001).
func settings(cfg ProvisionerConfig, opts options.Provisioner) (provisionerSettings, error) {
	if err := cfg.check(); err != nil {
		return provisionerSettings{}, err
	}
	if opts.GiveUpAfter < 0 {
		return provisionerSettings{}, fmt.Errorf(
			"reclaim: GiveUpAfter is %d: give the number of retries, or zero for no limit", opts.GiveUpAfter)
	}
	set := provisionerSettings{ProvisionerConfig: cfg, Provisioner: opts}
	if opts.Library {
		set.useLibraryDefaults()
	}
	setDefault(&set.Workers, 100)
	if set.Workers < 0 {
		set.Workers = unlimitedWorkers
	}
	setDefault(&set.RetryStart, time.Second)
	setDefault(&set.RetryMax, 5*time.Minute)
	setDefault(&set.ResyncPeriod, 15*time.Minute)
	setDefault(&set.Timeout, 10*time.Second)
	return set, nil
}

// useLibraryDefaults fills in the defaults of sig-storage-lib-external-provisioner (XPROV-001).
func (set *provisionerSettings) useLibraryDefaults() {
	setDefault(&set.Workers, 4)
	setDefault(&set.RetryStart, 15*time.Second)
	setDefault(&set.RetryMax, 1000*time.Second)
	setDefault(&set.Timeout, -1)
	setDefault(&set.GiveUpAfter, 15)
	set.retryBucket, set.BlockingSave, set.NoFinalizer, set.NoSecretAnnotations, set.AnySource = true, true, true, true, true
}

func setDefault[V comparable](field *V, value V) {
	var zero V
	if *field == zero {
		*field = value
	}
}

func (cfg ProvisionerConfig) check() error {
	for _, d := range []struct {
		field string
		value time.Duration
	}{{"RetryStart", cfg.RetryStart}, {"RetryMax", cfg.RetryMax}, {"ResyncPeriod", cfg.ResyncPeriod}} {
		if d.value < 0 {
			return fmt.Errorf("reclaim: ProvisionerConfig.%s is %v: give a positive duration, or zero for the default", d.field, d.value)
		}
	}
	return nil
}
