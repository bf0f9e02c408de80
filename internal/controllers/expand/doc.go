// Package expand makes volumes larger, and gives them other attributes.
//
// In a real cluster three parts have to do with it. A user raises the request of a claim, or names another VolumeAttributesClass in it.
// The expand controller of kube-controller-manager grows volumes of in-tree plugins, of which FlexVolume is the last that can grow,
// and for all others only says who has to do it. That is the external-resizer, a sidecar that each CSI driver brings along: it has the
// driver grow the volume, or change it, and writes down in the claim how far that is. What is left for a file system to grow is the
// kubelet's, in package mount. A third controller keeps VolumeAttributesClasses from being deleted while volumes have them.
//
// [New] adds the expand controller, [NewResizer] the sidecar of one driver with its two halves, and [NewAttributesProtection] the third.
// Which size comes next is a function of objects alone: [InTreeSize], [ResizerSize].
//
// Left out: secrets; the translation of in-tree sources to CSI ones, so that the driver that took over from a plugin is asked about a
// handle that is the name of the PersistentVolume. The external-resizer puts what it wrote into its own cache; an update that it then
// gets of it is compared with what the cache had before, as if the event had come first (SIM: upstream either may).
//
// Rules held here, of docs/rules/reclaim.md: EXP-010 to EXP-030 and VAC-001 to VAC-022. EXP-001 and EXP-002 are in package store,
// EXP-003 to EXP-005 and EXP-050 in internal/core/objects.
package expand
