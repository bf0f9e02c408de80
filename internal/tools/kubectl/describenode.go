//go:build !js

package kubectl

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volsim/volsim/internal/core/plain"
	"github.com/volsim/volsim/internal/core/quota"
)

func (d *description) node(n *corev1.Node) {
	d.field("Roles", "%s", nodeRoles(n))
	d.meta(n)
	d.field("CreationTimestamp", "%s", timeOf(n.CreationTimestamp))
	taints := slices.SortedFunc(slices.Values(n.Spec.Taints), func(a, b corev1.Taint) int {
		return strings.Compare(string(a.Effect)+","+a.Key, string(b.Effect)+","+b.Key)
	})
	var texts []string
	for _, t := range taints {
		texts = append(texts, t.ToString())
	}
	d.lines("Taints", texts)
	d.field("Unschedulable", "%t", n.Spec.Unschedulable)
	d.lease(n.Name)
	if len(n.Status.Conditions) > 0 {
		d.printf("Conditions:\n  Type\tStatus\tLastHeartbeatTime\tLastTransitionTime\tReason\tMessage\n" +
			"  ----\t------\t-----------------\t------------------\t------\t-------\n")
	}
	for _, c := range n.Status.Conditions {
		d.printf("  %s \t%s \t%s \t%s \t%s \t%s\n", c.Type, c.Status, timeOf(c.LastHeartbeatTime), timeOf(c.LastTransitionTime), c.Reason, c.Message)
	}
	d.printf("Addresses:\n")
	for _, a := range n.Status.Addresses {
		d.printf("  %s:\t%s\n", a.Type, a.Address)
	}
	d.amounts("Capacity", n.Status.Capacity)
	d.amounts("Allocatable", n.Status.Allocatable)
	info := n.Status.NodeInfo
	d.printf("System Info:\n  Machine ID:\t%s\n  System UUID:\t%s\n  Boot ID:\t%s\n  Kernel Version:\t%s\n  OS Image:\t%s\n  Operating System:\t%s\n"+
		"  Architecture:\t%s\n  Container Runtime Version:\t%s\n  Kubelet Version:\t%s\n", info.MachineID, info.SystemUUID, info.BootID, info.KernelVersion,
		info.OSImage, info.OperatingSystem, info.Architecture, info.ContainerRuntimeVersion, info.KubeletVersion)
	d.unlessEmpty("PodCIDR", n.Spec.PodCIDR)
	d.unlessEmpty("PodCIDRs", strings.Join(n.Spec.PodCIDRs, ","))
	d.unlessEmpty("ProviderID", n.Spec.ProviderID)
	d.nodePods(n)
}

// lease writes the Lease of a node.
func (d *description) lease(node string) {
	for _, obj := range d.list("Lease.coordination.k8s.io", corev1.NamespaceNodeLease) {
		lease, err := plain.As[*coordinationv1.Lease](obj)
		if err != nil || lease.Name != node {
			continue
		}
		at := func(t *metav1.MicroTime) string {
			if t == nil {
				return "<unset>"
			}
			return timeOf(metav1.NewTime(t.Time))
		}
		d.printf("Lease:\n  HolderIdentity:\t%s\n  AcquireTime:\t%s\n  RenewTime:\t%s\n", deref(lease.Spec.HolderIdentity, "<unset>"),
			at(lease.Spec.AcquireTime), at(lease.Spec.RenewTime))
		return
	}
	d.field("Lease", "Failed to get lease: leases.coordination.k8s.io %q not found", node)
}

func (d *description) amounts(name string, list corev1.ResourceList) {
	if len(list) == 0 {
		return
	}
	d.printf("%s:\n", name)
	for _, resource := range slices.Sorted(maps.Keys(list)) {
		amount := list[resource]
		d.printf("  %s:\t%s\n", resource, amount.String())
	}
}

// nodePods writes the pods of a node that have not ended, and what they request.
func (d *description) nodePods(n *corev1.Node) {
	pods := slices.DeleteFunc(d.pods(""), func(p *corev1.Pod) bool {
		return p.Spec.NodeName != n.Name || p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed
	})
	d.printf("Non-terminated Pods:\t(%d in total)\n  Namespace\tName\t\tCPU Requests\tCPU Limits\tMemory Requests\tMemory Limits\tAge\n"+
		"  ---------\t----\t\t------------\t----------\t---------------\t-------------\t---\n", len(pods))
	all := n.Status.Allocatable
	if len(all) == 0 {
		all = n.Status.Capacity
	}
	requests, limits := corev1.ResourceList{}, corev1.ResourceList{}
	for _, pod := range pods {
		ofPod, limitsOfPod := quota.PodTotals(pod)
		d.printf("  %s\t%s\t\t%s\t%s\t%s\t%s\t%s\n", pod.Namespace, pod.Name, share(ofPod, all, corev1.ResourceCPU), share(limitsOfPod, all, corev1.ResourceCPU),
			share(ofPod, all, corev1.ResourceMemory), share(limitsOfPod, all, corev1.ResourceMemory), Age(d.now, pod))
		requests, limits = quota.Plus(requests, ofPod), quota.Plus(limits, limitsOfPod)
	}
	d.printf("Allocated resources:\n  (Total limits may be over 100 percent, i.e., overcommitted.)\n  Resource\tRequests\tLimits\n  --------\t--------\t------\n")
	shares := []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourceEphemeralStorage}
	var others []corev1.ResourceName
	for _, name := range slices.Sorted(maps.Keys(all)) {
		switch {
		case slices.Contains(shares, name) || name == corev1.ResourcePods:
		case strings.HasPrefix(string(name), corev1.ResourceHugePagesPrefix):
			shares = append(shares, name)
		default:
			others = append(others, name)
		}
	}
	for _, name := range shares {
		d.printf("  %s\t%s\t%s\n", name, share(requests, all, name), share(limits, all, name))
	}
	for _, name := range others {
		requested, limit := requests[name], limits[name]
		d.printf("  %s\t%s\t%s\n", name, requested.String(), limit.String())
	}
}

// share returns an amount and how much of all it is, in percent.
func share(list, all corev1.ResourceList, name corev1.ResourceName) string {
	amount, of := list[name], all[name]
	part, whole := amount.Value(), of.Value()
	if name == corev1.ResourceCPU {
		part, whole = amount.MilliValue(), of.MilliValue()
	}
	percent := int64(0)
	if whole != 0 {
		percent = int64(float64(part) / float64(whole) * 100)
	}
	return fmt.Sprintf("%s (%d%%)", amount.String(), percent)
}
