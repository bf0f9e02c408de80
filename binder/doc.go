// Package binder simulates the PersistentVolume controller of kube-controller-manager: it binds claims to volumes, sets their phases, and
// provisions volumes with in-tree plugins.
//
// # What Kubernetes does
//
// The controller keeps a cache of its own of all volumes and claims, with one queue and one worker for each kind. A claim without a volume
// gets the smallest volume that fits, unless its class delays binding until a pod needs it. A bind is four writes: claimRef and phase of
// the volume, volumeName and phase of the claim. If no volume fits, an in-tree plugin or an external provisioner creates one. Every 15
// seconds all volumes and claims are synced again.
//
// # What is simulated
//
// All of that, with every API call as a point where other components can run. Reclaim policies are carried out by package reclaim, which is
// part of the same controller; the cluster connects the two. [Match] and [Satisfies] are the decisions as pure functions. [NewTrial] runs
// single syncs for table tests.
//
// In-tree volumes that were migrated to CSI are recognized by their annotations; this controller needs no translation of their sources.
package binder

// Where to start: controller.go has the queues and handlers, claim.go the sync of a claim, volume.go that of a volume, bind.go the four writes,
// provision.go dynamic provisioning, provisioned.go the object of a new volume, resync.go the objects that a resync skips, and why. The
// predicates of Match are in internal/core/match.
//
// The rules are BIND, MATCH and PROV in docs/rules/binder.md.
