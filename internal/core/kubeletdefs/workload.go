package kubeletdefs

import (
	"time"

	corev1 "k8s.io/api/core/v1"
)

// Annotations of a pod that choose what its containers do. Package mount documents them.
const (
	AnnRunFor     = "volsim.dev/run-for"
	AnnExitPhase  = "volsim.dev/exit-phase"
	AnnWrite      = "volsim.dev/write"
	AnnRead       = "volsim.dev/read"
	AnnWriteEvery = "volsim.dev/write-every"
)

// Workload describes what the containers of a pod do. The zero value runs until it is stopped and uses no volume.
type Workload struct {
	// RunFor is how long the containers run before they exit by themselves. Zero is no limit.
	RunFor time.Duration
	// Phase is the phase of the pod after that, Succeeded or Failed. "" is Succeeded.
	Phase corev1.PodPhase
	// Read makes the containers read each volume when they start.
	Read bool
	// Write makes them write to each writable volume when they start, after reading.
	Write bool
	// Every is the time between two such accesses. Zero is only one, at the start.
	Every time.Duration
}

// ExitPhase returns the phase of the pod after its containers have exited by themselves.
func (l Workload) ExitPhase() corev1.PodPhase {
	if l.Phase == "" {
		return corev1.PodSucceeded
	}
	return l.Phase
}

// WorkloadOf returns the workload that the annotations of a pod describe. Invalid values are ignored.
func WorkloadOf(pod *corev1.Pod) Workload {
	var load Workload
	if len(pod.Annotations) == 0 {
		return load // most pods
	}
	if d, ok := durationOf(pod, AnnRunFor); ok {
		load.RunFor = d
	}
	if phase := corev1.PodPhase(pod.Annotations[AnnExitPhase]); phase == corev1.PodSucceeded || phase == corev1.PodFailed {
		load.Phase = phase
	}
	_, load.Write = pod.Annotations[AnnWrite]
	_, load.Read = pod.Annotations[AnnRead]
	if d, ok := durationOf(pod, AnnWriteEvery); ok {
		load.Every, load.Write = d, true
	}
	load.Read = load.Read || load.Write
	return load
}

// durationOf returns the duration in an annotation; ok is false for none, and for one that is invalid or not positive.
func durationOf(pod *corev1.Pod, annotation string) (d time.Duration, ok bool) {
	text := pod.Annotations[annotation]
	if text == "" {
		return 0, false // parsing it would make an error
	}
	d, err := time.ParseDuration(text)
	return d, err == nil && d > 0
}
