// Package tainteviction simulates the taint eviction controller of kube-controller-manager: it deletes pods that do not tolerate a
// NoExecute taint of their node, or that have tolerated it long enough.
//
// It is not limited in rate. What limits evictions after failures of nodes is the rate at which the node lifecycle controller adds taints.
//
// Simulated: all of it, with the default flags and feature gates of v1.36.3. A pod on a node without such taints costs nothing.
//
// [Evict] decides when a pod goes; controller.go follows nodes and pods; timers.go has the pods that wait.
//
// Rules: docs/rules/node-lifecycle.md, NODE-060 to NODE-067.
package tainteviction
