// Package script implements the script language: the public package scenario runs scripts through it, and the command and exploration use
// what scenario does not export.
//
// [Parse] reads a script and [FromManifests] makes one from manifests; both check every line. [Run] executes the lines, once for each seed;
// [Begin] executes them once and lets the caller observe the cluster from the start. Commands are rows of one table (command.go), each with
// its usage, help and examples; [Reference] writes docs/scripts.md from that table.
package script
