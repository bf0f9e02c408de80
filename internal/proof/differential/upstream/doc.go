// Package upstream runs unmodified controllers of Kubernetes over package apiserver.
//
// A Cluster must be created, used and closed inside a bubble of testing/synctest, in one goroutine. Its clock is the bubble's: time passes
// only in Advance, while every other goroutine waits. (A benchmark uses no bubble and no Advance.)
package upstream
