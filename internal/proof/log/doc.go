// Package log compares the log of a run with one of the real controllers.
//
// testdata/static-binding.log was recorded with the PersistentVolume, pv-protection and pvc-protection controllers of Kubernetes v1.36.3, a
// kube-apiserver and etcd, with --vmodule=pv_controller*=5,pv_protection*=5,pvc_protection*=5, while kubectl applied a volume and a claim,
// and deleted the claim and then the volume. Lines of shared_informer.go are omitted. testdata/static-binding.txtar is the same history.
package log
