// Package explore plays a world in many orders and tells what it can come to.
//
// What is due at one instant has no order in Kubernetes. There are two ways to see what depends on it:
//
//   - by seeds: a [Script] is played once with each seed, which shuffles what happens. [Report] counts distinct outcomes, lines that failed, and
//     invariants that did not hold (package check), each with one seed that shows it. Seeds are dealt to shards ([Sweep]), whose results [Merge]
//     joins: the order in which runs are counted makes no difference.
//   - systematically: [Exhaustive] takes every possibility at every choice the engine makes, depth first, with bounds. It needs a [World], which
//     gives it the engine; [Script.World] and [Manifest.World] make one.
//
// An [Outcome] is what a run ends with, less what differs without meaning anything. The same outcome has the same text.
//
// # What an exploration leaves out
//
// Every order of a few dozen events is more than anybody can play: one volume, one claim and their controller have more than can be counted. So
// Exhaustive leaves out what cannot show anything new, and [Exploration].Finished says that there is nothing else: every outcome that there is was
// found, and every invariant that can be violated. Options.NoPrune leaves nothing out, and ends for the smallest worlds only. Three things are
// left out:
//
// What follows from a state that was seen before. A state has in it: the virtual time; the objects; what backends were called for; the changes on
// their way to each informer; the queues with their keys and failures; all that is due, now and later; what each actor remembers; how far each
// process is; what the user may have seen; and what invariants have heard. What an actor remembers is read by reflection if it says where it is
// (engine.Actor.Keeps). Otherwise it stands for itself as what the actor's code has been through: what it was called for and all that it read,
// in order, since what it remembers follows from that. The same is how far a process is. So no two states are taken for one that can behave
// differently.
//
// The other order of two events that make no difference to each other. For each event it is recorded what it reads and changes: objects and kinds
// at the API server, backends, queues, informers, what its actor keeps. Of two that are due at once and touch nothing in common, one order is
// played ("sleep sets"). All states are still seen.
//
// The other times of a delivery to an actor that has nothing else to do, and cannot get anything to do before it: it comes first. This relies on
// kinds of objects that nobody writes; should somebody, the exploration begins anew without.
//
// The last two, and most of the first, need actors of which it is known that they keep to themselves ([Run].Discreet): their code reads the world
// only through informers, the API server and backends, nobody else reads what they keep, and the handlers of the informers they start with
// only look and queue. They are declared, not found out: here the PersistentVolume controller and the two protection controllers. All others are taken to depend on each other and on
// everything. They are explored as completely, but nearly every order of them counts as another one.
//
// What is relied on, besides: a resourceVersion is only compared with others of the same object; of counters of what was done
// ([engine.Proc.Effects]) only differences within one activity are used; functions that an actor remembers do not change what they refer to; names
// that the API server generates do not matter; and no run ends because events without end pass at one instant. The count of an Exploration's
// outcomes is that of the runs made, which says nothing about how likely they are, and the shortest trace is the shortest of these runs.
//
// # How far it goes
//
// On one core, with all invariants watched:
//
//	                                                            states     runs    time
//	a volume and a claim, PersistentVolume controller            7,977    4,597     2 s
//	the same with both protection controllers                   22,669   14,712     8 s
//	two claims for one volume, PersistentVolume controller      33,339   19,922    10 s
//
// A further actor with a part in the story multiplies; one that is discreet and only watches adds little.
//
// # What is left out
//
// Nothing here starts a goroutine: whoever wants all cores plays one script on each (cmd/volsim). An exploration is not dealt to shards.
package explore
