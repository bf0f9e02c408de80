// Package examples holds lessons, and nothing else: the folders with a number are scripts to play in that order, the others are programs. README.md
// says what to watch in each; docs/scripts.md is the language of the scripts.
package examples
