// Package csi makes a CSI driver the storage of a simulated cluster: every call of a sidecar or a kubelet goes to the driver by gRPC.
//
// The services are Identity, Controller, Node and GroupController, with snapshots and clones. Not called: SnapshotMetadata.
//
// [Dial] connects to a driver process by its unix socket, [Serve] to a server in the same process. [New] asks the driver for its name and
// its capabilities, as the sidecars and the kubelet do, and returns a [Driver], which is a storage.Backend:
//
//	conn, err := csi.Dial("unix:///run/disk/csi.sock")
//	driver, err := csi.New(ctx, csi.Config{Controller: conn})
//	cluster, err := volsim.New(volsim.Config{Backends: []storage.Backend{driver}})
//	driver.Clock = cluster.Now
//
// Every call and its reply is recorded as a [Call], see [Driver.Calls]. Config.Inject decides for each call what goes wrong at the wire
// ([Fault]): a lost reply, a reset connection, a call that is delivered twice, a driver that is killed, or a call that stays open until
// another call of the same volume meets it.
//
// The simulation has one thread. A call to a driver runs in a goroutine of its own, and the simulation waits for its reply, at most
// Config.Limit of real time. A driver that panics, hangs or answers garbage returns an error to the caller; it never ends the run. A run is
// as deterministic as its driver.
//
// The package opens no socket but those it is given.
package csi
