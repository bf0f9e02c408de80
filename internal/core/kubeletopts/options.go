// Package kubeletopts holds the fixed periods of a simulated kubelet, and the options that only comparisons and exploration set.
//
// Users configure kubelets with mount.Config. Comparisons with real kubelets use the same periods, and switch skipping off.
package kubeletopts

import "time"

// Root is the directory of every kubelet.
const Root = "/var/lib/kubelet"

// Periods of a kubelet.
const (
	// StatusDelay is the time from the start of a kubelet to its first status report.
	StatusDelay = 20 * time.Millisecond
	// StatusPeriod is the default time between two rounds of the status report (MNT-008).
	StatusPeriod = 10 * time.Second
	// ReportPeriod is how long an unchanged status is not reported (MNT-008).
	ReportPeriod = 5 * time.Minute
	// RetryPeriod is the time from a failed sync of a pod to the next one (MNT-009).
	RetryPeriod = 10 * time.Second
	// SyncPeriod is the time from a successful sync of a pod to the next one (MNT-009).
	SyncPeriod = 60 * time.Second
	// Housekeeping is the time between two searches for orphaned directories (MNT-010).
	Housekeeping = 2 * time.Second
)

// Options change what a kubelet skips, and when it starts. The zero value is what users get.
type Options struct {
	// EveryReport makes every unchanged status report that is due, instead of only those from which the attach/detach controller could
	// learn something.
	EveryReport bool
	// EveryPass runs every pass that checks again a volume that cannot be expanded for now, instead of only those that change something.
	EveryPass bool
	// EverySync runs every sync of a pod that runs well, instead of only those that change something. It matters where requests take time:
	// what the populator reads after each sync delays its next pass (MNT-002, MNT-069).
	EverySync bool
	// StartDelay returns how long after its start the kubelet of a node begins to work, which shifts its periods. Nil is no delay.
	StartDelay func(node string) time.Duration
}
