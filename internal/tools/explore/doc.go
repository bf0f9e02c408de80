// Package explore runs a small model of a cluster in many orders and reports the outcomes it can have.
//
// Events that are due at one instant have no fixed order in Kubernetes. There are two ways to find out what depends on their order:
//
//   - Seeds: a [Script] runs once with each seed, which shuffles the events. A [Report] counts the distinct outcomes, the lines that failed and
//     the invariants that were violated (package check), each with a seed that shows it. Seeds are distributed over shards ([Sweep]), and
//     [Merge] joins their results. The order in which runs are counted makes no difference.
//   - Systematic exploration: [Exhaustive] tries every possibility at every choice of the engine, depth first, within bounds. It needs a
//     [Model]; [Script.Model] and [Manifest.Model] make one.
//
// # Terms
//
//   - Model: a function that makes the same cluster each time, whose run depends only on choices.
//   - Run: one execution of a model. Choice: a point at which the engine picks one of several events that are due.
//   - Event: the smallest step of the engine: the turn of a queue's worker, the delivery of a change to an informer, a timer, the part of a
//     process between two of its waits.
//   - Interleaving: an order of the events of a run.
//   - Outcome: the objects, storage and failures at the end of a run, without what differs for no reason, such as times and uids. The same
//     outcome has the same text.
//   - State: everything that can influence the rest of a run, as a digest. Two runs in the same state have the same continuations.
//   - Footprint: what an event reads and writes, recorded by the engine. access is its summary, a list of cells.
//   - Independent events: neither writes a cell that the other reads or writes, so both orders lead to the same state.
//   - Reduction: skipping interleavings that cannot lead to a new outcome or violation. Sleep set: the events at a state whose continuations
//     were explored elsewhere, until a dependent event happens.
//   - Invisible event: one of which nothing else can observe when it comes, so it may come first. It is a delivery, or an event of an idle
//     actor.
//   - Independent actor ([Run].Independent): one whose memory no other code reads or changes.
//   - Idle actor ([Run].Idle): one that has no effect before a certain object exists.
//
// # Reduction
//
// A few dozen events have more orders than can be run: one volume, one claim and their controller have more than can be counted. Exhaustive
// therefore skips interleavings that cannot show anything new. [Exploration].Finished means that every outcome and every violation was
// found. With Options.NoPrune nothing is skipped, which ends for the smallest models only. The reduction has three parts:
//
// Known states. Nothing is explored from a state that was seen before. A state consists of the virtual time; the objects; the calls that
// backends received; the undelivered changes of each informer; the queues with their keys and failures; all events that are due, now and
// later; the memory of each actor; the progress of each process; what the driver of the run may have seen; and what invariants have read.
// If an actor registers its memory (engine.Actor.Keeps), it is read by reflection. Otherwise everything that the actor's code was called
// for and has read, in order, represents its memory, because its memory follows from that. The same represents the progress of a process.
// So two states that can behave differently are never equal.
//
// Sleep sets. Of two independent events that are due at once, one order is explored. All states are still visited.
//
// Invisible deliveries. A delivery to an independent actor that has no other event due, and cannot get one before it, comes first. This
// assumes that the kinds of the actor's other informers do not change. If one does, the exploration begins anew without that assumption.
// All events of an idle actor come first, too, until an object wakes it; then the exploration begins anew with that actor awake.
//
// The last two parts, and most of the first, need independent actors: their code reads the cluster only through informers, the API server
// and backends; no other code reads or changes their memory; and the handlers of the informers they start with only read what they get and
// informers, and queue keys. Such actors are declared after a review of their code, not detected: the PersistentVolume controller, the three
// protection controllers, the expand controller, and the ephemeral volume controller. So are those that can be idle: these, except the first
// and the expand controller, the garbage collector, the attach/detach controller, the pod garbage collector, and the scheduler. All others are
// taken to depend on each other and on everything. They are explored as completely, but nearly every order of their events counts as a
// different one.
//
// Further assumptions: a resourceVersion is only compared with others of the same object; code uses only differences of effect counters
// ([engine.Process.Effects]) within one process; functions in an actor's memory do not change what they refer to; generated names do not
// matter; and no run ends because of a livelock. The count of an outcome is the number of runs that were made, which says nothing about its
// probability, and the shortest trace is the shortest one among these runs.
//
// # Size
//
// On one core, with all invariants checked:
//
//	                                                            states     runs    time
//	a volume and a claim, PersistentVolume controller            7,977    4,940     2 s
//	the same with all controllers but kubelets                   1,049      470   0.2 s
//	the same, with all controllers, and their start             20,697   11,430     5 s
//	two claims for one volume, PersistentVolume controller      33,339   19,922    10 s
//
// The second model is smaller than the first, because the attach/detach controller starts 0.1 s late: the objects are created after the
// first resync, not beside it. Each further actor that takes part multiplies these figures. One that is idle adds nothing, an independent
// one that only watches little.
//
// Exhaustive makes several runs at once if Options.Others has models; otherwise nothing here starts a goroutine. docs/explore.md says why neither
// that nor the reduction loses an outcome. An exploration cannot be split into shards.
package explore
