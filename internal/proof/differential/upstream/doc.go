// Package upstream runs controllers of Kubernetes as they are, over package apiserver.
//
// A Cluster must be made, used and closed inside a bubble of testing/synctest, in one goroutine. Its clock is that of the bubble: time
// passes in Advance alone, while everybody else waits. (In a benchmark there is no bubble, and Advance is not used.)
package upstream
