// Package sidecars runs the sidecars of Kubernetes CSI as clients of volsim serve: external-provisioner, external-attacher, external-resizer,
// external-snapshotter and snapshot-controller, built from their modules, beside a CSI driver behind a unix socket. The simulated ones are off.
// It is no part of the regular tests, because it compiles for ten minutes; scripts/test-sidecars runs it.
package sidecars
