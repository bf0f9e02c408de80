// Package kubelet compares the requests of the CSI plugin of the kubelet. Its feature gates and those of the sidecars cannot be in one program.
package kubelet
