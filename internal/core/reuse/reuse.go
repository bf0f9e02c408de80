// Package reuse lets packages of this module use the memory of values of public types again, which have no methods for that. The packages of
// the types set the functions when they are initialized, and arguments are of type any.
package reuse

// Trace makes a *trace.Trace without entries take over the memory of another, which is no longer used.
var Trace func(to, from any)

// Observe makes a func(*trace.Entry) receive each entry of a *trace.Trace, which is not copied for it.
var Observe func(trace, observe any)

// Check makes a *check.Checker observe a *trace.Trace.
var Check func(checker, trace any)

// Checker lets the next *check.Checker take over the memory of one that is no longer used.
var Checker func(old any)
