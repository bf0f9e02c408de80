// Package check defines invariants of a cluster's volumes and checks them while a simulation runs.
//
// In a real cluster no component sees what two controllers do to one volume. An error shows days later, as a corrupt file system, a
// forgotten disk, or a pod that waits forever. In a simulation everything that happens is one stream of trace entries ([trace.Entry]). A
// [Checker] follows it: which claim a pod names, which volume the claim is bound to, where that is attached, staged and published, and
// which pods need it. Each [Invariant] is called for the entries that concern it and reads only the objects involved, so the cost of
// checking does not grow with the cluster. A cluster without a Checker pays nothing. The package knows no controller, so an invariant
// cannot repeat a controller's mistake.
//
// Set volsim.Config.Check to [All], to some of them ([Named]), or to an invariant of your own; see [Invariant] for an example.
//
// A [Violation] is data: the invariant, the time, the objects, and the few trace entries that prove it. Some violations are not an error of
// a component, because a user or a fault overruled the protocol: a forced detachment detaches a volume that is still mounted.
// [Violation.Forced] names the cause, and [Unforced] removes such violations.
//
// An invariant with a time limit (Invariant.Within) counts from the moment at which progress was possible: faults, crashed controllers, and
// nodes that are down or cut off stop the clock.
//
// Not checked: what a backend does behind its interface (see fake.Memory.Problems), and the contents of file systems.
package check
