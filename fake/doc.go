// Package fake is the storage of the simulation: what CSI drivers and in-tree volume plugins do, without a disk.
//
// In a real cluster a controller that wants something of storage calls a CSI driver by gRPC, or a plugin that is compiled into
// kube-controller-manager and kubelet. Both are a [Backend] here: a name, and for each thing it can do one small interface
// ([Creator], [Deleter], [Recycler], [Attacher], [Stager], [Publisher], [Expander], [NodeExpander], [Modifier]). Requests and answers are those
// of CSI as far as the control plane looks at them. A backend is called synchronously, one call at a time. It has no clock and
// starts nothing: the engine lets the latency pass ([Delayer]) and puts faults in the way (engine.Injector), and only then makes
// the call, which takes effect at once.
//
// [Memory] is a backend that keeps volumes in memory and knows what is on them: who is attached, who has mounted, who wrote last,
// what was deleted. [CSI] makes one that acts as a CSI driver; [InTree], [HostPath], [NFS] and [FlexVolume] make in-tree plugins. What it saw go
// wrong it tells in [Memory.Report]. [Faults] is a programmable injector. [Volume], [Claim], [Class], [Pod] and [Node] are shorthands
// for objects in tests and examples. Package backendtest checks a backend of your own.
//
// Left out: snapshots and clones (a clone is created empty, with its source confirmed), secrets, volume health, listing of volumes,
// attach limits, and everything about file systems but their size.
//
// Rules held here: PROV-024, RECL-030, RECL-032, RECL-035, RECL-036, RECL-064 (which plugin a controller finds), PROV-043 (mount
// options), RECL-027 (volume in use), XPROV-032, EXP-025, MNT-240, MNT-416, MNT-422, VAC-012 (classes of errors). The rest of those
// sections is in the controllers.
package fake
