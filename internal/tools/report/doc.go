// Package report renders what the command and the playground show: the picture of a run, and the answers of explain and predict. Both use
// it, so their texts are the same.
package report
