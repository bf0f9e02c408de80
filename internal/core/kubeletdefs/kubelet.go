// Package kubeletdefs holds what simulated kubelets (package mount) share with the module's comparisons and tools: the directory and
// periods of a kubelet, the workload that containers run, and access to the state of a node that users do not need.
package kubeletdefs

import "time"

// Root is the directory of every kubelet.
const Root = "/var/lib/kubelet"

// Periods of a kubelet.
const (
	// StatusDelay is the time from the start of a kubelet to its first status report (MNT-365).
	StatusDelay = 120 * time.Millisecond
	// RecordedDelay is that time in recordings, whose nodes are registered before.
	RecordedDelay = 20 * time.Millisecond
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
