// Package kubelet compares simulated kubelets with the kubelet of Kubernetes, unaltered: what each reports about the same pods.
//
// The kubelet of Kubernetes runs in hollow, which gives it containers, images and mounts that are made of memory. It and a simulated one each serve a node of
// a cluster that volsim serve runs, in real time. scripts/test-kubelet runs the comparison; it is no part of the regular tests, because it compiles for some
// minutes.
package kubelet
