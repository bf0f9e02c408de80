// Package graph draws the state machines of volumes and claims as they were observed: which phases there were, and which
// transitions, how often, and by the decision of which rule.
//
// People know these diagrams from documentation and talks, where somebody drew them from memory. A [Machine] is counted off traces,
// of one run or of many: each API write that creates an object, removes it, or changes its phase is one transition. Its rule is
// that of the decision behind the write ([Reasons]); a write that no decision stands behind bears the name of who made it.
//
// A Machine is written as Mermaid or as DOT. The same traces give the same bytes.
//
// Left out: what leads to no other phase, such as a deletion that waits for finalizers, and the phases of other kinds.
package graph
