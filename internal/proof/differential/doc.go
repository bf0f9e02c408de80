// Package differential compares volsim with the controllers of Kubernetes themselves, on random scenarios.
//
// A Scenario is a list of steps that a user takes: objects that come, change and go, storage that fails or is slow, requests that are
// refused, time. It is played in two worlds. One is a volsim.Cluster. The other is package upstream: the PersistentVolume controller,
// the protection, expand and ephemeral volume controllers and the external provisioner's library, unaltered, in a bubble of testing/synctest, over package
// apiserver. After each step that settles an Observation is made: every object in full, the Events, the writes of the
// controllers with the fields they changed, the calls to the storage with their times.
//
// The controllers are goroutines, and which of them gets somewhere first is up to the Go scheduler; so the same scenario may have several
// outcomes. What is asked is whether ours is one of them (Outcomes): whether the controllers have been seen to do the same in one of many
// runs. Requests and watch events take more or less time in these, in most of them such times as lead to what ours did (Request). The
// order of writes to different objects counts as far as all runs agree.
// Nothing is left out of the comparison but what must differ, and Observation says what that is.
//
// This module is nested, so that nobody who uses volsim depends on k8s.io/kubernetes.
package differential
