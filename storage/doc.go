// Package storage is the contract between the simulated control plane and CSI drivers.
//
// In a real cluster, sidecars and kubelets call a CSI driver by gRPC. Here a driver is a [Backend]: a name, and one small interface for
// each capability of CSI that it has: [Provisioner], [Attacher], [Stager], [Publisher], [Expander], [NodeExpander], [Modifier],
// [Snapshotter], [ConditionReporter] and others. Requests have the fields of CSI that the control plane sets. A backend describes in its
// [Capabilities] what its methods do not show. [Errorf] makes errors with a gRPC code.
//
// Package fake has backends in memory, and in-tree volume plugins, which use the same requests. To write a driver of your own, implement
// [Backend] and the interfaces that you need, and check it with volsimtest.TestBackend. Backends have no clock and start nothing. A
// call takes effect at once; fake.Faults makes it slow.
//
// Not simulated: what file systems contain, beyond the last write.
package storage
