// Package conformance plays recordings of the real Kubernetes controllers against a simulated cluster, and compares what is seen
// with what was recorded.
//
// There are three sorts of files, one JSON document a line, compressed with gzip. A recording (docs/recordings.md) is a scenario: steps
// that a user takes, and after each of them the objects, the Events and the writes of the controllers. A node recording
// (docs/node-recordings.md) is one of nodes, with the calls to the storage and their times. A table (docs/tables.md) is a list of cases
// of one sync each: objects before, a call, objects and Events after.
//
// Nothing recorded is left out of a comparison, and a field that the player does not know is an error: a recording that says more
// than the player understands does not pass. A case that is marked racy has several outcomes, and passes with any of them.
package conformance
