package mount

import (
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/internal/core/backends"
)

// What Config stands for where it says nothing.
const (
	DefaultRoot         = "/var/lib/kubelet"
	DefaultStatusDelay  = 20 * time.Millisecond
	DefaultStatusPeriod = 10 * time.Second              // MNT-008
	DefaultReportPeriod = 5 * time.Minute               // MNT-008
	DefaultWaitLimit    = 2*time.Minute + 3*time.Second // MNT-003
	DefaultRetryPeriod  = 10 * time.Second              // MNT-009
	DefaultSyncPeriod   = 60 * time.Second              // MNT-009
	DefaultHousekeeping = 2 * time.Second               // MNT-010
)

// Periods that are not for configuration.
const (
	// MNT-001, MNT-002: the pause of the reconciler and of the populator.
	passPeriod = 100 * time.Millisecond
	// MNT-003: how often a wait function looks.
	pollPeriod = 300 * time.Millisecond
	// MNT-011: how often a terminated pod looks for what is left of its volumes.
	leftoverPeriod = 100 * time.Millisecond
	// MNT-012: when a slow change of the group of files is told first, and how often then.
	firstGroupWarning  = 30 * time.Second
	groupWarningPeriod = time.Minute
	// MNT-006: what a CSI plugin gives its own calls.
	csiBudget = 2 * time.Minute
	// MNT-172: how often a round tries to write the status of the node.
	statusTries = 5
)

// Config sets up the kubelets of a cluster. The zero value works: kubelets as they come, with no storage but what is in the pods.
type Config struct {
	// Backends are the storage systems that nodes can reach; nil is none.
	Backends *backends.Set
	// Root is the directory of every kubelet; "" is DefaultRoot.
	Root string
	// StartDelay is how long after its start a kubelet begins to work: it moves the node's periods on the clock. Nil is no delay.
	StartDelay func(node string) time.Duration
	// StatusDelay is how long after that the kubelet first reports the status of its node; zero is DefaultStatusDelay.
	StatusDelay time.Duration
	// StatusPeriod is the time between two reports; zero is DefaultStatusPeriod (MNT-008).
	StatusPeriod time.Duration
	// ReportPeriod is how long an unchanged status is kept back; zero is DefaultReportPeriod (MNT-008).
	ReportPeriod time.Duration
	// EveryReport has every unchanged status reported when it is due, instead of only those that the attach/detach controller could learn
	// something from.
	EveryReport bool
	// EveryPass has every pass played that looks again at a volume that cannot be expanded for now, instead of only those that anything comes of.
	EveryPass bool
	// EverySync has every sync of a pod that runs well played, instead of only those that anything comes of. It matters where requests take time:
	// what the populator reads again after each sync keeps it that much longer from its next pass (MNT-002, MNT-069).
	EverySync bool
	// StopTime is how long containers take to exit when they are told to, at most the grace period of their pod; zero is at once.
	StopTime time.Duration
	// GroupChange is how long it takes to give the files of a volume to the group that a pod wants, a file each millisecond; zero is no
	// time (MNT-333).
	GroupChange time.Duration
	// WaitLimit is how long a pod waits for its volumes at a time; zero is DefaultWaitLimit (MNT-003).
	WaitLimit time.Duration
	// RetryPeriod is the time from a failed sync of a pod to the next; zero is DefaultRetryPeriod (MNT-009).
	RetryPeriod time.Duration
	// SyncPeriod is the time from a successful sync to the next; zero is DefaultSyncPeriod (MNT-009).
	SyncPeriod time.Duration
	// Housekeeping is the time between two searches for orphaned directories; zero is DefaultHousekeeping (MNT-010).
	Housekeeping time.Duration
	// Workload says what the containers of a pod do while they run; nil reads the annotations of the pod, see WorkloadOf.
	Workload func(pod *corev1.Pod) Workload
}

// complete fills in what the configuration leaves out, and refuses what makes no sense.
func (cfg *Config) complete() error {
	for _, field := range []struct {
		name    string
		value   *time.Duration
		instead time.Duration
	}{
		{"StatusDelay", &cfg.StatusDelay, DefaultStatusDelay},
		{"StatusPeriod", &cfg.StatusPeriod, DefaultStatusPeriod},
		{"ReportPeriod", &cfg.ReportPeriod, DefaultReportPeriod},
		{"StopTime", &cfg.StopTime, 0},
		{"GroupChange", &cfg.GroupChange, 0},
		{"WaitLimit", &cfg.WaitLimit, DefaultWaitLimit},
		{"RetryPeriod", &cfg.RetryPeriod, DefaultRetryPeriod},
		{"SyncPeriod", &cfg.SyncPeriod, DefaultSyncPeriod},
		{"Housekeeping", &cfg.Housekeeping, DefaultHousekeeping},
	} {
		if *field.value < 0 {
			return fmt.Errorf("mount: %s is %v: give zero for the default of %v, or more", field.name, *field.value, field.instead)
		}
		if *field.value == 0 {
			*field.value = field.instead
		}
	}
	if cfg.Root == "" {
		cfg.Root = DefaultRoot
	}
	if !strings.HasPrefix(cfg.Root, "/") || strings.HasSuffix(cfg.Root, "/") {
		return fmt.Errorf("mount: Root is %q: give an absolute path without a slash at its end", cfg.Root)
	}
	if cfg.Workload == nil {
		cfg.Workload = WorkloadOf
	}
	if cfg.Backends == nil {
		cfg.Backends = &backends.Set{}
	}
	return nil
}
