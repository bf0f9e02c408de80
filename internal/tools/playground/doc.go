// Package playground is the Go side of the playground, a web page that simulates a cluster. Package wasm below it exports Server.Handle to
// JavaScript.
//
// Everything that a visitor does is a line of a script: a button appends one, and a change in the past makes a second script that has the
// same lines up to there. So the state of the page is text, and the same text always gives the same run. A run is executed once, to its
// end; where it was at an earlier moment follows from its trace.
package playground
