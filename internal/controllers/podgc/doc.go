// Package podgc simulates the pod garbage collector of kube-controller-manager: every 20 s it force-deletes pods that no kubelet will ever
// end.
//
// These are pods that are being deleted on nodes out of service, pods on nodes that no longer exist, pods that are being deleted and have
// no node, and the oldest finished pods if there are more than 12,500. Simulated: all of it, with the default flags and feature gates of
// v1.36.3. Passes that would find nothing are skipped.
//
// [Collect] decides which pods of a cluster go; controller.go makes the passes; quarantine.go has the nodes that are missing.
//
// Rules: docs/rules/attach.md, ATT-195 and ATT-196, and docs/rules/node-lifecycle.md, NODE-070 to NODE-076.
package podgc
