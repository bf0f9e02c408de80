// Package daemonset is the DaemonSet controller of kube-controller-manager.
//
// A set has one pod on each node that its template allows. The controller creates a pod with a node affinity for the name of its node, and
// the scheduler binds it. Pods tolerate the taints of failing and cordoned nodes, so a drain leaves them.
//
// The rules are DS-001 to DS-062 in docs/rules/workloads.md. Start reading in controller.go.
package daemonset
