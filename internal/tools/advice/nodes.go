package advice

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/controllers/schedule"
	"github.com/volsim/volsim/internal/core/objects"
	"github.com/volsim/volsim/internal/core/podresources"
)

// nodes proposes, for each node, what removes every refusal of the scheduler, and another node like the first one that is only used up.
func (p *proposer) nodes(pod *corev1.Pod) {
	evaluator := schedule.NewEvaluator(&p.snapshot)
	added := false
	for _, node := range p.snapshot.Nodes {
		if way, ok := p.fit(evaluator, pod, node); ok {
			p.add(way)
		}
		if refusals := evaluator.Refusals(pod, node.Name); !added && len(refusals) > 0 && !slices.ContainsFunc(refusals, lasting) {
			p.add(Way{Does: "add a node like " + node.Name, node: another(node)})
			added = true
		}
	}
}

// lasting reports whether a new node like the one that the refusal is about would refuse, too.
func lasting(r schedule.NodeResult) bool {
	return !slices.Contains([]string{"NodePorts", "NodeResourcesFit", "NodeVolumeLimits", "InterPodAffinity", "PodTopologySpread"}, r.Plugin)
}

// another returns a new node with the labels, taints and resources of a node.
func another(node *corev1.Node) *corev1.Node {
	name := node.Name + "-added"
	added := &corev1.Node{Spec: corev1.NodeSpec{Taints: node.Spec.Taints}, Status: corev1.NodeStatus{Capacity: node.Status.Capacity,
		Allocatable: node.Status.Allocatable}}
	added.Name, added.Labels = name, maps.Clone(node.Labels)
	if _, named := added.Labels[corev1.LabelHostname]; named {
		added.Labels[corev1.LabelHostname] = name
	}
	return added.DeepCopy()
}

// fit returns the change after which a node accepts a pod; ok is false if there is none.
func (p *proposer) fit(evaluator *schedule.Evaluator, pod *corev1.Pod, node *corev1.Node) (way Way, ok bool) {
	var does []string
	for _, r := range evaluator.Refusals(pod, node.Name) {
		switch r.Plugin {
		case "NodeUnschedulable":
			does = append(does, "uncordon node "+node.Name)
			way.Commands = append(way.Commands, kubectl("uncordon", node.Name))
		case "TaintToleration":
			for i := range node.Spec.Taints {
				taint := &node.Spec.Taints[i]
				if taint.Effect == corev1.TaintEffectPreferNoSchedule || objects.Tolerated(pod, taint) {
					continue
				}
				if taint.Key == corev1.TaintNodeUnschedulable && node.Spec.Unschedulable {
					// Uncordon removes it.
					continue
				}
				does = append(does, fmt.Sprintf("remove taint %s from node %s", taint.Key, node.Name))
				way.Commands = append(way.Commands, kubectl("taint", "nodes", node.Name, fmt.Sprintf("%s:%s-", taint.Key, taint.Effect)))
			}
		case "NodePorts", "NodeResourcesFit", "NodeVolumeLimits":
			frees, find := "make room", p.evictable
			switch r.Plugin {
			case "NodePorts":
				frees, find = "free the host port", p.portHolder
			case "NodeVolumeLimits":
				frees, find = "free an attachment", p.attached
			}
			other, found := find(pod, node)
			if !found {
				return Way{}, false
			}
			does = append(does, fmt.Sprintf("%s on node %s: delete pod %s", frees, node.Name, api.KeyOf(other)))
			way.Danger, way.Risk = Stops, "pod "+api.KeyOf(other)+" stops"
			way.Commands = append(way.Commands, namespaced(other, "delete", "pod", other.Name))
		case "NodeAffinity":
			for _, label := range missingLabels(pod, node) {
				does = append(does, fmt.Sprintf("label node %s with %s", node.Name, label))
				command := kubectl("label", "node", node.Name, label)
				if _, other := node.Labels[strings.SplitN(label, "=", 2)[0]]; other {
					command.Args = append(command.Args, "--overwrite")
				}
				way.Commands = append(way.Commands, command)
			}
		default:
			// The volumes of the pod cannot be used on this node.
			return Way{}, false
		}
	}
	way.Does = strings.Join(does, ", then ")
	return way, len(way.Commands) > 0
}

// missingLabels returns the labels of a pod's node selector that a node lacks, as KEY=VALUE. Labels that describe the node itself, such as its
// name and zone, are not for the administrator to change, so there are none if one of them is missing.
func missingLabels(pod *corev1.Pod, node *corev1.Node) []string {
	var missing []string
	for _, key := range slices.Sorted(maps.Keys(pod.Spec.NodeSelector)) {
		switch value := pod.Spec.NodeSelector[key]; {
		case node.Labels[key] == value:
		case strings.Contains(key, "kubernetes.io/"):
			return nil
		default:
			missing = append(missing, key+"="+value)
		}
	}
	return missing
}

// evictable returns the pod that requests least of those whose deletion makes room for another one on a node.
func (p *proposer) evictable(pod *corev1.Pod, node *corev1.Node) (found *corev1.Pod, ok bool) {
	lacking := requests(pod)
	var running []*corev1.Pod
	for _, other := range p.snapshot.Pods {
		if other.Spec.NodeName == node.Name && !objects.Terminated(other) {
			running = append(running, other)
			lacking = lacking.Plus(requests(other), 1)
		}
	}
	for name := range lacking {
		if have, listed := node.Status.Allocatable[name]; listed {
			lacking[name] -= podresources.UnitsOf(name, have)
		} else {
			delete(lacking, name) // the scheduler does not count it
		}
	}
	for _, other := range running {
		own, enough := requests(other), other.DeletionTimestamp == nil
		for name, amount := range lacking {
			enough = enough && own[name] >= amount
		}
		if enough && (!ok || less(own, requests(found))) {
			found, ok = other, true
		}
	}
	return found, ok
}

// portHolder returns the pod on a node that has a port which another pod needs. ok is false if there are several.
func (p *proposer) portHolder(pod *corev1.Pod, node *corev1.Node) (found *corev1.Pod, ok bool) {
	for _, other := range p.snapshot.Pods {
		if other.Spec.NodeName != node.Name || objects.Terminated(other) {
			continue
		}
		if _, conflict := objects.HostPortConflict(pod, other); conflict {
			if found != nil || other.DeletionTimestamp != nil {
				return nil, false
			}
			found = other
		}
	}
	return found, found != nil
}

// attached returns the pod with the fewest volumes of those on a node that use a volume of a driver that the other pod needs.
func (p *proposer) attached(pod *corev1.Pod, node *corev1.Node) (found *corev1.Pod, ok bool) {
	needed := p.drivers(pod)
	for _, other := range p.snapshot.Pods {
		if other.Spec.NodeName != node.Name || other.DeletionTimestamp != nil || objects.Terminated(other) {
			continue
		}
		uses := slices.ContainsFunc(p.drivers(other), func(driver string) bool { return slices.Contains(needed, driver) })
		if uses && (!ok || len(objects.ClaimsOf(other)) < len(objects.ClaimsOf(found))) {
			found, ok = other, true
		}
	}
	return found, ok
}

// drivers returns the CSI drivers of the claims of a pod, those of claims that are not bound by their class.
func (p *proposer) drivers(pod *corev1.Pod) (drivers []string) {
	for _, key := range objects.ClaimsOf(pod) {
		claim, err := p.cluster.Claims.Get(key)
		if err != nil {
			continue
		}
		if pv, err := p.cluster.Volumes.Get(claim.Spec.VolumeName); err == nil {
			if csi := objects.CSIOf(pv); csi != nil {
				drivers = append(drivers, csi.Driver)
			}
		} else if class, err := p.cluster.Classes.Get(objects.ClassOf(claim)); err == nil {
			drivers = append(drivers, class.Provisioner)
		}
	}
	return drivers
}

// less orders requests by CPU, then by memory.
func less(a, b podresources.Amounts) bool {
	return cmp.Or(cmp.Compare(a[corev1.ResourceCPU], b[corev1.ResourceCPU]), cmp.Compare(a[corev1.ResourceMemory], b[corev1.ResourceMemory])) < 0
}

// requests returns what a pod requests, and one of the pods that a node allows.
func requests(pod *corev1.Pod) podresources.Amounts {
	return podresources.Requests(pod).Plus(podresources.Amounts{corev1.ResourcePods: 1}, 1)
}
