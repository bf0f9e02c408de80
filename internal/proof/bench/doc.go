// Package bench contains the benchmarks of a whole cluster: what a user waits for. Benchmarks of one part are in the part's own package.
// docs/performance.md describes them, their results, and where the time goes.
package bench
