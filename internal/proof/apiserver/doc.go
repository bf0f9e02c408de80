// Package apiserver compares the API server of volsim with kube-apiserver and etcd: both get the same requests and the same kubectl command
// lines. It builds them from source, which takes minutes, and is no part of the regular tests; scripts/test-apiserver runs it.
package apiserver
