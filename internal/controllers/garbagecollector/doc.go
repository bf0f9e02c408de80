// Package garbagecollector deletes objects whose owners are gone, as the garbage collector of kube-controller-manager does.
//
// It follows the objects of all kinds but Events, and builds a graph of owners and dependents (GC-010). An owner that is referred to and has
// not been seen is a virtual node; the API server decides whether it exists (GC-011). An object without a living owner is deleted (API-271).
// An object that is being deleted in the foreground waits for those dependents that block it (GC-020); one that is deleted with the policy
// Orphan is removed from the owners of its dependents first (GC-030).
//
// Upstream has a node for every object. Here an object has one only if it has owners or dependents, so that clusters without owner
// references cost nothing. Changes of the graph take effect when they are received.
//
// An object that was loaded, for example from a dump, may refer to owners of kinds of which nothing was loaded. They are assumed to exist
// (GC-040).
//
// The rules are API-270 to API-275 in docs/rules/api.md and GC-001 to GC-040 in docs/rules/workloads.md. Start reading in graph.go.
package garbagecollector
