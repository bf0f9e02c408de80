package mount

import "github.com/volsim/volsim/internal/core/kubeletdefs"

// Annotations of a pod that choose what its containers do. Without them, they run until they are stopped and use no volume. Durations have
// the syntax of time.ParseDuration; invalid values are ignored. AnnRunFor and AnnExitPhase may be set or changed while the containers run.
const (
	// AnnRunFor is volsim.dev/run-for: how long the containers run, from their start, before they exit by themselves.
	AnnRunFor = kubeletdefs.AnnRunFor
	// AnnExitPhase is volsim.dev/exit-phase: the phase of the pod after that, Succeeded or Failed. The default is Succeeded.
	AnnExitPhase = kubeletdefs.AnnExitPhase
	// AnnRead is volsim.dev/read: with any value, the containers read each volume when they start.
	AnnRead = kubeletdefs.AnnRead
	// AnnWrite is volsim.dev/write: with any value, the containers read each volume when they start, and write to those that are writable.
	AnnWrite = kubeletdefs.AnnWrite
	// AnnWriteEvery is volsim.dev/write-every: like AnnWrite, and again each time this duration has passed.
	AnnWriteEvery = kubeletdefs.AnnWriteEvery
)
