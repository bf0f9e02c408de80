// Package examples has lessons and no code. The numbered folders are scripts, to be read in that order; the others are programs. README.md
// lists what to watch in each; docs/scripts.md describes the language of the scripts.
package examples
