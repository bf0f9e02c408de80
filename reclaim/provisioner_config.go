package reclaim

import (
	"fmt"
	"time"

	"github.com/volsim/volsim/internal/core/options"
	"github.com/volsim/volsim/internal/core/sidecar"
)

// provisionerDefaults are the settings of the CSI sidecar, libraryDefaults those of sig-storage-lib-external-provisioner (XPROV-001).
var (
	provisionerDefaults = sidecar.Config{
		RetryStart: time.Second, RetryMax: 5 * time.Minute, ResyncPeriod: 15 * time.Minute, Timeout: 10 * time.Second,
	}
	libraryDefaults = sidecar.Config{
		RetryStart: 15 * time.Second, RetryMax: 1000 * time.Second, ResyncPeriod: 15 * time.Minute, Timeout: -1,
	}
)

// provisionerSettings are the configuration and the options of an external-provisioner, with defaults filled in.
type provisionerSettings struct {
	sidecar.Config
	options.Provisioner
	// retryBucket limits retries of all claims and volumes together to 10 per second after a burst of 100.
	retryBucket bool
}

// infeasibleDelay is the least delay after the driver rejected a request as invalid (XPROV-012).
const infeasibleDelay = 5 * time.Minute

// settings checks the values and fills in defaults (XPROV-001).
func settings(cfg sidecar.Config, opts options.Provisioner) (provisionerSettings, error) {
	if opts.GiveUpAfter < 0 {
		return provisionerSettings{}, fmt.Errorf("reclaim: GiveUpAfter is %d: give the number of retries, or zero for no limit", opts.GiveUpAfter)
	}
	set, defaults, workers := provisionerSettings{Config: cfg, Provisioner: opts}, provisionerDefaults, 100
	if opts.Library {
		defaults, workers = libraryDefaults, 4
		set.useLibrary()
	}
	set.Workers = sidecar.Workers(set.Workers, workers)
	err := set.Complete("reclaim: Provisioner", defaults)
	return set, err
}

// useLibrary fills in the options of sig-storage-lib-external-provisioner (XPROV-001).
func (set *provisionerSettings) useLibrary() {
	if set.GiveUpAfter == 0 {
		set.GiveUpAfter = 15
	}
	set.retryBucket, set.BlockingSave, set.NoFinalizer, set.NoSecretAnnotations, set.AnySource = true, true, true, true, true
}
