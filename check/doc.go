// Package check holds what must be true of volumes at every moment, as values that can be listed, chosen and added to.
//
// A real cluster has no such judge: what two controllers do to one volume is seen by neither, and what went wrong shows days later,
// as a corrupt file system, a disk that nobody pays attention to, or a pod that waits for ever. Here everything that happens is one
// stream of entries ([engine.Entry]), so a [Checker] can follow it: which claim a pod names, which volume the claim is bound to, where
// that is attached, staged and published, what of it is wanted. Each [Invariant] hears of what concerns it, as it happens, and looks at
// that alone; nothing is searched through after each event, and a cluster without a Checker pays nothing.
//
// A [Violation] is data: which invariant, when, about which objects, and the few entries that prove it. Some violations are no
// mistake of a controller, because somebody overruled the protocol: a volume that is detached by force is detached under a mount. They
// are reported as what they are ([Violation.Forced]); [Unforced] leaves them out.
//
// What is to end within some time (Invariant.Within) is given that time from when it could have begun to end: faults, controllers that
// are down, and nodes that are down or cut off stop the clock.
//
// Left out: what the backend does behind its interface (a [fake.Memory] tells of that in its own report), what is written to the file
// systems, and snapshots.
package check
