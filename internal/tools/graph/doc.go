// Package graph draws the observed state machines of volumes and claims: the phases, the transitions, how often each occurred, and the
// rule that decided it.
//
// Such diagrams are usually drawn from memory. A [Machine] counts traces of one run or of many: each API write that creates or deletes an
// object or changes its phase is one transition. Its reason is the rule of the decision behind the write ([Reasons]), or the actor of a
// write without a decision.
//
// A Machine is written as Mermaid or as DOT. The same traces give the same bytes.
//
// Writes that do not change the phase, such as a deletion that waits for finalizers, and other kinds are omitted.
package graph
