// Package reclaim removes volumes and claims that are no longer needed, and provisions volumes of CSI drivers. It simulates the reclaiming
// half of the PersistentVolume controller, three small controllers of kube-controller-manager, and the external-provisioner.
//
// The reclaiming half of the PersistentVolume controller deletes or recycles the storage behind released volumes. The pv-protection and
// pvc-protection controllers delay the deletion of volumes and claims in use with finalizers. The ephemeral volume controller creates the
// claims of generic ephemeral volumes, which the garbage collector deletes after their pods. The external-provisioner, a sidecar of
// each CSI driver, creates volumes for claims, and deletes released volumes with their storage.
//
// [NewReclaimer] makes the reclaiming half; package binder is the other one, and package volsim connects the two. [New] starts each of the
// small controllers, [NewProvisioner] an external-provisioner. Recycler pods have no kubelet: a pod runner, which Kubernetes does not have,
// takes its place. The decisions are functions of objects: [FindDeleter] and [UsesClaim].
//
// Not simulated: node-local deployments of the external-provisioner. The watch on a recycler pod has no lag.
//
// The rules are RECL-001 to RECL-073, PROT-010 to PROT-027, EPH-001 to EPH-007 and XPROV-001 to XPROV-068 in docs/rules/reclaim.md. Start
// reading in volume.go, which applies a reclaim policy; pvprotection.go and pvcprotection.go add and remove the protection finalizers,
// provision_finalizer.go that of the external-provisioner.
package reclaim
