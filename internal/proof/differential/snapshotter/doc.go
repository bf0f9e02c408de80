// Package snapshotter compares volsim with the two controllers of external-snapshotter v8.7.0 on random scenarios: the snapshot controller and
// the csi-snapshotter, with group snapshots.
//
// The driver behind the csi-snapshotter is that of package differential, and takes the place of its gRPC client. The module is one of its own,
// because external-snapshotter needs versions of its dependencies that Kubernetes does not have.
package snapshotter
