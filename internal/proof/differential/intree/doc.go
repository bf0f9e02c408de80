// Package intree compares the translation of in-tree volumes and classes (internal/core/intree) with that of k8s.io/csi-translation-lib,
// object by object.
package intree
