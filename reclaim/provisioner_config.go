package reclaim

import (
	"fmt"
	"time"
)

// ProvisionerConfig sets up an external provisioner. The zero value is the CSI sidecar with its defaults (XPROV-001);
// LibraryProvisioner has those of the library it is made of.
type ProvisionerConfig struct {
	// AdditionalNames are more names that the provisioner answers to, such as that of the in-tree plugin that its driver took over.
	AdditionalNames []string
	// Workers is how many claims, and how many volumes, are worked on side by side; zero means 100.
	Workers int
	// RetryBase and RetryMax bound the pause after a failure, which doubles each time; zero means 1 s and 5 min.
	RetryBase, RetryMax time.Duration
	// RetryBucket limits retries over all claims and volumes to 10 per second after a burst of 100.
	RetryBucket bool
	// GiveUpAfter is how many failures in a row are retried; zero means all. What was given up is tried once at its next event.
	GiveUpAfter int
	// Resync is the period after which claims and volumes are looked at without an event; zero means 15 min.
	Resync time.Duration
	// BlockingSave has the claim wait until its volume is stored: 5 tries, 10 s apart, and the asset is deleted if they fail.
	// Otherwise the volume is stored in the background, for as long as it takes (XPROV-040).
	BlockingSave bool
	// NoFinalizer leaves out the external finalizer, and removes it where it is.
	NoFinalizer bool
	// Timeout is how long a call to the driver may take; zero means 10 s, less is no limit. The driver goes on with what it has
	// begun, and the next call for the same volume waits for the rest.
	Timeout time.Duration
	// InfeasibleDelay is the least pause after the driver has called a request invalid (XPROV-012); zero means 5 min.
	InfeasibleDelay time.Duration
	// NoSecretAnnotations leaves out the annotations that name the secret for the deletion, which only the CSI sidecar writes
	// (XPROV-030).
	NoSecretAnnotations bool
	// AnySource has it delete volumes whatever their source is, as provisioners of other storage than CSI do. The CSI sidecar refuses those
	// that are neither of CSI nor of an in-tree plugin that a CSI driver took over (XPROV-053).
	AnySource bool
}

// LibraryProvisioner is the configuration of a provisioner that uses the library as it comes (XPROV-001).
func LibraryProvisioner() ProvisionerConfig {
	return ProvisionerConfig{
		Workers:             4,
		RetryBase:           15 * time.Second,
		RetryMax:            1000 * time.Second,
		RetryBucket:         true,
		GiveUpAfter:         15,
		BlockingSave:        true,
		NoFinalizer:         true,
		Timeout:             -1,
		NoSecretAnnotations: true,
		AnySource:           true,
	}
}

// withDefaults fills in what is zero (XPROV-001).
func (cfg ProvisionerConfig) withDefaults() ProvisionerConfig {
	setDefault(&cfg.Workers, 100)
	setDefault(&cfg.RetryBase, time.Second)
	setDefault(&cfg.RetryMax, 5*time.Minute)
	setDefault(&cfg.Resync, 15*time.Minute)
	setDefault(&cfg.Timeout, 10*time.Second)
	setDefault(&cfg.InfeasibleDelay, 5*time.Minute)
	return cfg
}

func setDefault[V comparable](field *V, value V) {
	var zero V
	if *field == zero {
		*field = value
	}
}

func (cfg ProvisionerConfig) check() error {
	if err := checkWorkers("ProvisionerConfig", cfg.Workers); err != nil {
		return err
	}
	for _, d := range []struct {
		field string
		value time.Duration
	}{{"RetryBase", cfg.RetryBase}, {"RetryMax", cfg.RetryMax}, {"Resync", cfg.Resync}, {"InfeasibleDelay", cfg.InfeasibleDelay}} {
		if d.value < 0 {
			return fmt.Errorf("reclaim: ProvisionerConfig.%s is %v: give a positive duration, or zero for the default", d.field, d.value)
		}
	}
	if cfg.GiveUpAfter < 0 {
		return fmt.Errorf("reclaim: ProvisionerConfig.GiveUpAfter is %d: give the number of retries, or zero to retry for ever", cfg.GiveUpAfter)
	}
	return nil
}
