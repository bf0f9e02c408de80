// Package claimstatus writes the status of a PersistentVolumeClaim as the parts of Kubernetes do that expand volumes: with patches that
// contain the difference between what the component read and what it wants (EXP-005).
//
// [Patch] is for writes that must not overwrite those of others, [Force] for the rest. The expand controller, the external resizer and
// kubelets use both.
package claimstatus
