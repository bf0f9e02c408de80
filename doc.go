// Package volsim simulates the storage control plane of Kubernetes v1.36.3 in memory: create volumes, claims and pods, advance virtual
// time, and see what a cluster would do, in microseconds, with the same result every time.
//
// In a real cluster some ten components take part in the life of a volume: the API server sets defaults and validates, the
// PersistentVolume controller binds and reclaims, protection controllers manage finalizers, provisioners create and delete storage.
// A [Cluster] runs them all, with their queues, caches, retries and races, over a store of the real k8s.io/api objects:
//
//	c, err := volsim.New(volsim.Config{})
//	err = c.Create(fake.Volume("snug", "12Gi"), fake.Volume("huge", "100Gi"))
//	err = c.Settle()
//	err = c.Create(fake.Claim("data", "10Gi"))
//	err = c.Settle()
//	claim, err := c.Claims.Get("data")    // Bound to snug
//	why, err := c.Explain("pvc/data")     // and the reason
//
// In tests, package volsimtest has a cluster whose methods fail the test themselves.
//
// Time is virtual, and everything runs on the caller's goroutine. With Seed 0, events that are due at the same time run first in, first
// out; any other seed shuffles them, and may interrupt a controller between two API calls. The same seed gives the same trace, byte for
// byte. Config.Backends is the storage ([fake.CSI], [fake.NFS], or anything that implements package storage), and [Cluster.Faults] makes
// it fail.
//
// Config.Check evaluates invariants while the cluster runs, and [Cluster.Violations] lists those that were broken. [Cluster.Explain] says
// why a claim, a volume, a pod, an attachment or a workload is in its state, who must act next, and when anything can change.
// [Cluster.AddController] adds a controller of your own.
//
// docs/rules lists the rules of Kubernetes with permanent IDs; the trace names the rule behind each decision.
// docs/rules/left-out.md lists the rules that are not simulated.
//
// Package binder answers single questions without a cluster ([binder.Match], [binder.Trial]), package scenario runs scripts, and
// cmd/volsim is the command.
package volsim
