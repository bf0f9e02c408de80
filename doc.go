// Package volsim is the storage control plane of Kubernetes in one Go value: create volumes, claims and pods, move virtual time,
// and see exactly what a cluster of version 1.36.3 would have done, in microseconds, the same every time.
//
// In a real cluster some ten controllers take part in the life of a volume: the API server defaults and refuses, the
// PersistentVolume controller binds and reclaims, protection controllers hold finalizers, provisioners make and delete storage.
// [Cluster] has them all, with their queues, caches, retries and races, over a store of the real k8s.io/api objects:
//
//	c, err := volsim.New(volsim.Config{})
//	err = c.Create(fake.Volume("snug", "12Gi"), fake.Volume("huge", "100Gi"))
//	err = c.Settle()
//	err = c.Create(fake.Claim("data", "10Gi"))
//	err = c.Settle()
//	claim, err := c.Claims.Get("default/data") // Bound to snug
//	why, err := c.Explain("default/data")      // and why
//
// Time is virtual and everything runs on the caller's goroutine. With Seed 0 what is due at one instant happens in order; any other
// seed shuffles it, also in the middle of what a controller does; the same seed gives the same bytes. Storage is what the
// configuration says it is ([fake.CSI], [fake.NFS], or anything that implements package fake's interfaces), and [Cluster.Faults] makes
// it fail.
//
// Config.Check has invariants checked as things happen, [Cluster.Violations] says which did not hold; [Cluster.Explain] says why a claim, a
// volume, a pod or an attachment is as it is, who must act next, and when anything can change.
//
// What is true of Kubernetes stands in docs/rules, rule by rule with permanent IDs; the trace names the rule behind each decision.
// What is left out stands in docs/rules/left-out.md.
//
// The packages below are usable on their own: package binder for tables of binding edge cases ([binder.Match], [binder.Trial]), store
// for an API server that knows volumes, engine for actors in virtual time, fake for storage, scenario for scripts. The command is cmd/volsim.
package volsim
