package reclaim

import (
	"fmt"
	"time"

	"github.com/volsim/volsim/internal/core/options"
	"github.com/volsim/volsim/internal/core/sidecar"
)

// ProvisionerConfig configures an external-provisioner. The zero value is the CSI sidecar with its defaults (XPROV-001).
type ProvisionerConfig struct {
	// RetryStart is the delay after the first error of an object; each further error doubles it. Zero is 1 s; negative is an error.
	RetryStart time.Duration
	// RetryMax is the longest delay between retries. Zero is 5 min; less than RetryStart is an error.
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

// infeasibleDelay is the least delay after the driver rejected a request as invalid (XPROV-012).
const infeasibleDelay = 5 * time.Minute

// settings checks the values and fills in defaults (XPROV-001).
func settings(cfg ProvisionerConfig, opts options.Provisioner) (provisionerSettings, error) {
	if opts.GiveUpAfter < 0 {
		return provisionerSettings{}, fmt.Errorf("reclaim: GiveUpAfter is %d: give the number of retries, or zero for no limit", opts.GiveUpAfter)
	}
	set := provisionerSettings{ProvisionerConfig: cfg, Provisioner: opts}
	if opts.Library {
		set.useLibraryDefaults()
	}
	set.Workers = sidecar.Workers(set.Workers, 100)
	const name = "reclaim: ProvisionerConfig"
	if err := sidecar.Complete(name,
		sidecar.Duration{Field: "RetryStart", Value: &set.RetryStart, Default: time.Second},
		sidecar.Duration{Field: "RetryMax", Value: &set.RetryMax, Default: 5 * time.Minute},
		sidecar.Duration{Field: "ResyncPeriod", Value: &set.ResyncPeriod, Default: 15 * time.Minute},
		sidecar.Duration{Field: "Timeout", Value: &set.Timeout, Default: 10 * time.Second, MayBeNegative: true},
	); err != nil {
		return provisionerSettings{}, err
	}
	return set, sidecar.CheckRetries(name, set.RetryStart, set.RetryMax)
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
