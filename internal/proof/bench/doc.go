// Package bench holds the benchmarks of the whole: what a user of a cluster waits for. Those of a single part are in the part's own
// package. docs/performance.md says what they measure, what came out, and where the time goes.
package bench
