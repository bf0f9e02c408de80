// Package advice finds what a user can do so that a pod of a dump runs, a claim binds, or an object that is being deleted goes away.
//
// It proposes changes from what explanations, filters and conditions say, simulates each of them on the dump, and returns those after which
// the object really reaches its goal. Ways are ranked by danger to data, then by the number of commands. The printed text of a command is
// also the text that is simulated.
package advice
