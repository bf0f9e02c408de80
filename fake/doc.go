// Package fake has simulated storage, faults, and builders of objects, for tests and examples.
//
// [Memory] is a storage system that stores its volumes in memory and records how they are used: attachments, mounts, writes, deletions.
// [CSI] returns one that acts as a CSI driver; [InTree], [HostPath], [NFS] and [FlexVolume] return in-tree plugins. [Memory.Report] lists
// misuse, such as two writers or leaked volumes. To write a CSI driver of your own, see package storage.
//
// [Faults] makes calls fail or take longer, loses their replies, or crashes the caller.
//
// [Volume], [Claim], [Class], [Pod] and [Node] build objects, with options. They return no errors, so that they can be arguments of Create.
// An invalid argument, such as a size of "ten", is recorded in the annotation volsim.dev/builder-error of the object. Cluster.Create then
// returns it as an error, and so does [Err].
//
// Not simulated: what file systems contain, beyond the last write.
//
// Rules: RECL-027 (volume in use), RECL-036 (paths that HostPath deletes).
package fake
