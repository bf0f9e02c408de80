// Package specdriver is a CSI driver that follows the specification, and nothing else: its [Options] are what the specification leaves
// open. Its storage system and its nodes are maps in memory. It shares no code with package testdriver, so what only that driver does is
// not taken for a requirement.
package specdriver
