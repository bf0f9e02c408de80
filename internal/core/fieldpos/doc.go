// Package fieldpos finds the line of a manifest that an error is about, and says what is wrong there and what would be right.
package fieldpos
