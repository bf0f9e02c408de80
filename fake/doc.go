// Package fake has simulated storage, faults and shorthands for objects, for tests and examples.
//
// [Memory] is a storage system that keeps its volumes in memory and records how they are used: attachments, mounts, writes, deletions.
// [CSI] makes one that acts as a CSI driver; [InTree], [HostPath], [NFS] and [FlexVolume] make in-tree plugins. [Memory.Report] lists
// misuse, such as two writers or leaked volumes. To write a backend of your own, see package storage.
//
// [Faults] makes calls fail, wait, lose their reply or crash the caller.
//
// [Volume], [Claim], [Class], [Pod], [Node] and their options write objects as an administrator would. They do not return errors, so that
// they fit into a call of Create. An invalid argument, such as a size of "ten", is recorded in the annotation volsim.dev/shorthand-error
// of the object; Cluster.Create then fails with that text, and [Err] returns it.
//
// Not simulated: snapshots and clones (a clone is created empty, with its source confirmed), secrets, volume health, listing of
// volumes, and file systems except for their size.
//
// Rules: RECL-027 (volume in use), RECL-036 (what HostPath deletes).
package fake
