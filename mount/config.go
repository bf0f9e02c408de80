package mount

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/internal/core/backends"
	"github.com/volsim/volsim/internal/core/kubeletopts"
)

// DefaultWaitLimit is the default of Config.WaitLimit (MNT-003).
const DefaultWaitLimit = 2*time.Minute + 3*time.Second

// Fixed periods.
const (
	// MNT-001, MNT-002: the pause of the reconciler and of the populator.
	passPeriod = 100 * time.Millisecond
	// MNT-003: how often a wait function checks its condition.
	pollPeriod = 300 * time.Millisecond
	// MNT-011: how often a terminated pod checks whether anything is still mounted for it.
	leftoverPeriod = 100 * time.Millisecond
	// MNT-172: how often one round tries to write the status of the node, or of a pod.
	statusTries = 5
)

// Config configures the kubelets of a cluster. The zero value works; it has no storage except volumes in the pods themselves.
// Negative durations are errors of New.
type Config struct {
	// Backends are the storage systems that nodes can reach. Nil means none.
	Backends *backends.Set
	// StatusPeriod is the time between two rounds of a node's status report (MNT-008). Zero means 10 s.
	StatusPeriod time.Duration
	// StopTime is how long containers take to exit when they are stopped, at most the grace period of their pod. Zero means no time.
	StopTime time.Duration
	// GroupChange is how long it takes to change the group of the files of a volume to the fsGroup of a pod, at one file per millisecond
	// (MNT-333). Zero means no time.
	GroupChange time.Duration
	// WaitLimit is how long a sync of a pod waits for its volumes (MNT-003). Zero means DefaultWaitLimit.
	WaitLimit time.Duration
	// Workload returns what the containers of a pod do while they run. Nil means WorkloadOf, which reads the annotations of the pod.
	Workload func(pod *corev1.Pod) Workload
	// Harness is set by the comparisons and the exploration of volsim itself.
	Harness kubeletopts.Options
}

// complete checks the configuration and fills in the defaults.
func (cfg *Config) complete() error {
	for _, field := range []struct {
		name    string
		value   *time.Duration
		instead time.Duration
	}{
		{"StatusPeriod", &cfg.StatusPeriod, kubeletopts.StatusPeriod},
		{"StopTime", &cfg.StopTime, 0},
		{"GroupChange", &cfg.GroupChange, 0},
		{"WaitLimit", &cfg.WaitLimit, DefaultWaitLimit},
	} {
		if *field.value < 0 {
			return fmt.Errorf("mount: %s is %v: give zero for the default of %v, or more", field.name, *field.value, field.instead)
		}
		if *field.value == 0 {
			*field.value = field.instead
		}
	}
	if cfg.Workload == nil {
		cfg.Workload = WorkloadOf
	}
	if cfg.Backends == nil {
		cfg.Backends = &backends.Set{}
	}
	return nil
}
