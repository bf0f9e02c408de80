// Package validation asks both sides whether they accept an object, and what they make of it: package store, and the strategies of
// k8s.io/kubernetes/pkg/registry with the defaults and the validation behind them.
//
// Objects are made by chance: a good one, of which some fields are changed (Mutate). What is compared is the Verdict.
package validation
