// Package reclaim is what becomes of volumes and claims that are not needed any more, and of those that are made from outside.
//
// In a real cluster kube-controller-manager does the first: the reclaiming half of its PersistentVolume controller deletes or recycles
// the storage behind released volumes, two small controllers keep volumes and claims that are in use from being deleted, one creates
// and re-creates the claims of generic ephemeral volumes, and the garbage collector removes what has lost its owners. The second is
// the external-provisioner, a sidecar that each CSI driver brings along: it creates volumes for claims, and deletes them with their
// storage once they are released.
//
// [Reclaimer] is that half of the PersistentVolume controller. Its other half, package binder, is a Host of package pvcontroller: the two meet in the root of
// the module and share caches, phases and operations. The others are actors of their own: [NewPVProtection], [NewPVCProtection],
// [NewEphemeral], [NewGarbageCollector], and [NewProvisioner] for each driver. [NewPodRunner] stands in for a kubelet where recycler
// pods have none. What the controllers decide is also there as functions of objects alone: [Released], [FindDeleter], [UsesClaim],
// [Responsible], [EphemeralClaim], [RecyclerPod].
//
// Left out: foreground deletion and orphaning by the garbage collector, and owners of kinds that
// the store does not hold, whose dependents are left alone; of the external-provisioner secrets, snapshots (there are none, so a
// claim that wants one waits), the finalizer on the source of a clone, node-local deployments, publishing of storage capacity, and the
// translation between in-tree and CSI sources for migrated plugins (a migrated class gets a volume with a CSI source). The watch on a
// recycler pod has no lag.
//
// Rules held here, of docs/rules/reclaim.md: RECL-001 to RECL-073, PROT-010 to PROT-027, EPH-001 to EPH-007, XPROV-001 to XPROV-056;
// and API-270 to API-276 of docs/rules/api.md.
package reclaim
