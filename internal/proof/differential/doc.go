// Package differential compares volsim with the real controllers of Kubernetes on random scenarios.
//
// A Scenario is a list of user steps: objects that are created, changed and deleted, storage that fails or is slow, requests that fail,
// passing time. It runs on two sides. One is a volsim.Cluster. The other is package upstream: the unmodified controllers in a bubble of
// testing/synctest, over package apiserver. After each step that settles, both sides make an Observation: all objects, Events, writes with
// the changed fields, storage calls with their times.
//
// Controllers are goroutines, so one scenario may have several outcomes upstream. The test checks whether ours is one of them (Outcomes).
// The order of writes to different objects counts as far as all runs agree. Everything is compared except what Observation names.
//
// README.md defines the terms. The module is nested, so that volsim does not depend on k8s.io/kubernetes.
package differential
