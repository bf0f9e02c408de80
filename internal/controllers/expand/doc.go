// Package expand expands volumes, and gives them the attributes of other VolumeAttributesClasses.
//
// A user raises the request of a claim, or names another class in it. The expand controller of kube-controller-manager expands volumes of
// in-tree plugins, of which FlexVolume is the last; for all others it records which component is responsible. That is the external-resizer,
// a sidecar of each CSI driver: it calls the driver to expand or to modify the volume, and records the progress in the claim. The kubelet
// expands the file system (package mount). A third controller protects VolumeAttributesClasses in use from deletion.
//
// [New] adds the expand controller, [NewResizer] the external-resizer of a driver with its two halves, expander and modifier, and
// [NewVACProtection] the protection. The size of the next step is a function of objects: [InTreeSize], [ResizerSize].
//
// The external-resizer puts what it wrote into its own cache. An update that it receives afterwards is compared with the earlier content of
// the cache, as if the event had come first ([SIM] upstream, either order is possible).
//
// The rules are EXP-010 to EXP-030 and VAC-001 to VAC-022 in docs/rules/reclaim.md. EXP-001 and EXP-002 are in package store, EXP-003 to
// EXP-005 and EXP-050 in internal/core/objects. Start reading in controller.go, which has the expand controller, or in resizer.go.
// next_size.go decides on the size, infeasible_set.go how long an infeasible request is not retried.
package expand
