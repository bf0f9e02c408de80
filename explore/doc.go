// Package explore plays a world in many orders and tells what it can come to.
//
// What is due at one instant has no order in Kubernetes. There are two ways to see what depends on it:
//
//   - by seeds: a [Script] is played once with each seed, which shuffles what happens. [Report] counts distinct outcomes, lines that failed, and
//     invariants that did not hold (package check), each with one seed that shows it. Seeds are dealt to shards ([Sweep]), whose results [Merge]
//     joins: the order in which runs are counted makes no difference.
//   - systematically: [Exhaustive] takes every possibility at every choice the engine makes, depth first, with bounds. It needs a [World], which
//     gives it the engine; [Manifest] makes one.
//
// An [Outcome] is what a run ends with, less what differs without meaning anything. The same outcome has the same text.
//
// # States
//
// An exploration does not go on from a state that it has seen in another run. A state has in it: the virtual time; the objects without their
// resourceVersion, and how often each has changed; what the backends hold; the events that are queued, as [engine.Engine.Pending] describes
// them, and for a process among them what the objects were each time it went on, so that one that has read an old version is told from one that
// has read a new one; the changes that are on their way to a watch; and what each actor has decided, called, written and failed at, object by
// object in order, if the engine keeps a trace.
//
// It does not have: the order of keys in a queue; what a process that waits for a signal has read; backoffs and caches, as far as nothing in the
// trace tells of them; memory that two actors share; Kubernetes Events. So two states that are taken for one may still differ, and pruning is not
// sound: an outcome may be missed. Finished then means that nothing is left to explore among states that can be told apart. Options.NoPrune leaves
// nothing out, and ends for very small worlds only: two actors with two calls each have 252 orders, three have 756,756.
//
// # What is left out
//
// Nothing here starts a goroutine: whoever wants all cores plays one script on each (cmd/volsim). Exhaustive does not play scripts: package
// scenario makes the cluster of a script itself and takes a seed, but no choices.
package explore
