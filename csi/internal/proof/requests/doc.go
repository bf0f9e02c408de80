// Package requests compares the requests that drivers get from volsim with those of the real external-provisioner, external-attacher,
// external-resizer, the csi-snapshotter and the CSI plugin of the kubelet, on the same API objects. Its tests need their modules, so it is a
// module of its own.
package requests
