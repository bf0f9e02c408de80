// Package conformance runs the scenarios of recordings of the real Kubernetes controllers on a simulated cluster, and compares the
// observations with the recorded ones.
//
// There are three sorts of files, one JSON document per line, gzipped. A recording (docs/recordings.md) contains user steps and, after
// each of them, the objects, the Events and the writes of the controllers. A node recording (docs/node-recordings.md) also has nodes,
// storage calls and their times. A table (docs/tables.md) contains cases of one sync each: objects before, a call, objects and Events
// after.
//
// Everything recorded is compared, and an unknown field is an error. A racy scenario has several outcomes, and passes with any of them.
package conformance
