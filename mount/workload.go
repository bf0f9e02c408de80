package mount

import (
	"time"

	corev1 "k8s.io/api/core/v1"
)

// Workload is what the containers of a pod do once they run. The zero value runs until it is stopped and touches nothing.
type Workload struct {
	// RunFor is how long the containers run before they exit by themselves; zero is for ever.
	RunFor time.Duration
	// Phase is the phase in which that leaves the pod; "" is Succeeded.
	Phase corev1.PodPhase
	// Read has the containers read each volume when they start.
	Read bool
	// Write has them write to each volume that they may write to when they start, after reading.
	Write bool
	// Every is the time after which they do it again, as long as they write; zero is never.
	Every time.Duration
}

func (l Workload) phase() corev1.PodPhase {
	if l.Phase == "" {
		return corev1.PodSucceeded
	}
	return l.Phase
}

// Annotations of a pod that say what its containers do. Durations are as time.ParseDuration reads them; what it cannot read is
// left out.
const (
	AnnRunFor     = "volsim.dev/run-for"     // how long the containers run
	AnnExitPhase  = "volsim.dev/exit-phase"  // Succeeded or Failed: how that ends
	AnnWrite      = "volsim.dev/write"       // any value: read and write the volumes at the start
	AnnRead       = "volsim.dev/read"        // any value: read the volumes at the start
	AnnWriteEvery = "volsim.dev/write-every" // write, and again after so long
)

// WorkloadOf reads the annotations of a pod.
func WorkloadOf(pod *corev1.Pod) Workload {
	var load Workload
	if d, err := time.ParseDuration(pod.Annotations[AnnRunFor]); err == nil && d > 0 {
		load.RunFor = d
	}
	if phase := corev1.PodPhase(pod.Annotations[AnnExitPhase]); terminal(phase) {
		load.Phase = phase
	}
	_, load.Write = pod.Annotations[AnnWrite]
	_, load.Read = pod.Annotations[AnnRead]
	if d, err := time.ParseDuration(pod.Annotations[AnnWriteEvery]); err == nil && d > 0 {
		load.Every, load.Write = d, true
	}
	load.Read = load.Read || load.Write
	return load
}
