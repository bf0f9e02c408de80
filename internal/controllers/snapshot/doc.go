// Package snapshot takes snapshots of volumes, as external-snapshotter v8.7.0 does, in two parts.
//
// The snapshot controller is one for the cluster. For each VolumeSnapshot of a claim it creates a VolumeSnapshotContent (SNAP-006), or it
// binds the one that the user made (SNAP-010). It copies the status of the content (SNAP-009), protects the claim while the snapshot is
// taken (SNAP-005), and deletes the content with its snapshot if the policy is Delete (SNAP-012).
//
// The csi-snapshotter is one for each CSI driver. It takes and deletes the snapshots in the storage system (SNAP-021 to SNAP-025), and
// writes the status of the contents.
//
// Both keep copies of the objects that they synced or wrote last, besides their informers, and ignore older versions (SNAP-001).
//
// Both do the same for group snapshots (SNAP-040 to SNAP-065): one call of the driver takes snapshots of several volumes, and the snapshot
// controller makes a VolumeSnapshot of each.
//
// Not simulated: distributed snapshotting, the contents of secrets, and the limits of the API client.
package snapshot
