package mount

import (
	"fmt"
	"time"

	"github.com/volsim/volsim/internal/core/kubeletdefs"
)

// Fixed periods.
const (
	// MNT-001, MNT-002: the pause of the reconciler and of the populator.
	passPeriod = 100 * time.Millisecond
	// MNT-003: how long a sync of a pod waits for its volumes, and how often it checks whether it has them.
	defaultWaitLimit = 2*time.Minute + 3*time.Second
	pollPeriod       = 300 * time.Millisecond
	// MNT-011: how often a terminated pod checks whether anything is still mounted for it.
	leftoverPeriod = 100 * time.Millisecond
	// MNT-172: how often one round tries to write the status of the node, or of a pod.
	statusTries = 5
)

// Config configures the kubelets of a cluster. The zero value works. Negative values are errors.
type Config struct {
	// StatusPeriod is the time between two rounds of a node's status report (MNT-008). Zero means 10 s.
	StatusPeriod time.Duration
	// StopTime is how long containers take to exit when they are stopped, at most the grace period of their pod. Zero means no time.
	StopTime time.Duration
	// GroupChange is how long it takes to change the group of the files of a volume to the fsGroup of a pod, at one file per millisecond
	// (MNT-333). Zero means no time.
	GroupChange time.Duration
	// WaitLimit is how long one sync of a pod waits for its volumes (MNT-003). Zero means 2 min 3 s.
	WaitLimit time.Duration
}

// complete checks the configuration and fills in the defaults.
func (cfg *Config) complete() error {
	for _, field := range []struct {
		name    string
		value   *time.Duration
		instead time.Duration
	}{
		{"StatusPeriod", &cfg.StatusPeriod, kubeletdefs.StatusPeriod},
		{"StopTime", &cfg.StopTime, 0},
		{"GroupChange", &cfg.GroupChange, 0},
		{"WaitLimit", &cfg.WaitLimit, defaultWaitLimit},
	} {
		if *field.value < 0 {
			return fmt.Errorf("mount: %s is %v: give zero for the default of %v, or more", field.name, *field.value, field.instead)
		}
		if *field.value == 0 {
			*field.value = field.instead
		}
	}
	return nil
}
