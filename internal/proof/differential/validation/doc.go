// Package validation asks both sides whether they accept an object, and what they store: package store, and the strategies of
// k8s.io/kubernetes/pkg/registry with their defaults and validation.
//
// Objects are valid ones with some fields changed at random (Mutate). Verdicts are compared.
package validation
