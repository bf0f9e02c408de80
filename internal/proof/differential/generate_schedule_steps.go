package differential

import (
	"encoding/json"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/actors"
	"github.com/volsim/volsim/internal/core/objects"
)

// steps generates what happens after the first scheduling attempt.
func (g *schedulingGenerator) steps() []Step {
	changes := []func() Step{
		g.bind, g.bind, g.bind, g.provision, g.provision, g.provision, g.changeClaim, g.changeClaim, g.changeVolume, g.changeVolume,
		g.changeClass, g.changeNode, g.changeNode,
		g.changeCSINode, g.changeDriver, g.changeCapacity, g.endPod, g.endPod, g.remove, g.create, g.create, g.another, g.fault, g.pause,
		g.changePod,
	}
	if g.about == "provision" {
		changes = append(changes, g.provision, g.provision, g.provision, g.provision)
	}
	var steps []Step
	if g.chance(6) {
		steps = append(steps, g.another())
	}
	for range g.IntN(7) {
		steps = append(steps, pick(g.generator, changes...)())
	}
	steps = append(steps, Step{Op: Advance})
	at := FirstStep
	for i := range steps {
		whole := time.Duration(pick(g.generator, 0, 1, 1, 2, 2, 3, 5, 12)) * time.Second
		if g.chance(16) {
			whole = pick(g.generator, 31*time.Second, 310*time.Second, 640*time.Second)
		}
		// Each step has its own fraction of a second.
		next := (at + whole).Truncate(time.Second) + FirstStep + time.Duration(i+1)*37*time.Millisecond
		for next <= at {
			next += time.Second
		}
		steps[i].Wait = next - at
		at = next
	}
	return steps
}

func (g *schedulingGenerator) patch(kind api.Kind, key string, sub api.Subresource, format string, args ...any) Step {
	return Step{Op: Patch, Ref: api.Ref{Kind: kind, Key: key}, Sub: sub, Patch: fmt.Sprintf(format, args...)}
}

// bind completes the binding of a claim to a volume.
func (g *schedulingGenerator) bind() Step {
	return g.patch(api.PersistentVolumeClaim, g.known(), api.Main, `{"metadata":{"annotations":{%q:"yes"}},"spec":{"volumeName":%q}}`,
		objects.AnnBindCompleted, pick(g.generator, "pv1", "pv2", "pv3", "pv4", "pv5"))
}

// provision creates a volume for a claim, or lets the provisioner give up.
func (g *schedulingGenerator) provision() Step {
	if g.chance(3) {
		return g.patch(api.PersistentVolumeClaim, g.known(), api.Main, `{"metadata":{"annotations":{%q:null,"some":%s}}}`,
			objects.AnnSelectedNode, pick(g.generator, "null", `"x"`))
	}
	pv := g.volume(pick(g.generator, "pv1", "pv2", "pv3", "pv4", "pv5", "pv6"))
	pv.DeletionTimestamp, pv.Finalizers, pv.Status = nil, nil, corev1.PersistentVolumeStatus{}
	g.asUser(pv)
	return Step{Op: Create, Object: pv}
}

// asUser makes a volume valid for the API server.
func (g *schedulingGenerator) asUser(pv *corev1.PersistentVolume) {
	pv.UID = ""
	if len(pv.Spec.AccessModes) > 1 {
		pv.Spec.AccessModes = pv.Spec.AccessModes[:1]
	}
	if pv.Spec.Local != nil || pv.Spec.NodeAffinity != nil && g.chance(2) {
		pv.Spec.NodeAffinity = &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchExpressions: []corev1.NodeSelectorRequirement{{
			Key: corev1.LabelHostname, Operator: corev1.NodeSelectorOpIn, Values: []string{pick(g.generator, "n1", "n2", "n3")}}}}}}}
	}
	for key, value := range pv.Labels {
		if value == "a__" || value == "__" {
			pv.Labels[key] = "b"
		}
	}
	if ref := pv.Spec.ClaimRef; ref != nil {
		ref.Kind, ref.APIVersion = "PersistentVolumeClaim", "v1"
	}
	pv.Spec.VolumeAttributesClassName = nil
}

func (g *schedulingGenerator) changeClaim() Step {
	key := g.known()
	switch g.IntN(4) {
	case 0:
		return g.patch(api.PersistentVolumeClaim, key, api.Main, `{"metadata":{"annotations":{%q:%q}}}`, objects.AnnSelectedNode,
			pick(g.generator, "n1", "n2", "n3"))
	case 1:
		return g.patch(api.PersistentVolumeClaim, key, api.Main, `{"metadata":{"annotations":null}}`)
	case 2:
		return g.patch(api.PersistentVolumeClaim, key, api.Status, `{"status":{"phase":%q}}`, pick(g.generator, "Bound", "Lost", "Pending"))
	}
	return g.patch(api.PersistentVolumeClaim, key, api.Main, `{"metadata":{"labels":{"some":%q}}}`, pick(g.generator, "x", "y"))
}

func (g *schedulingGenerator) changeVolume() Step {
	name := pick(g.generator, "pv1", "pv2", "pv3", "pv4", "pv5")
	switch g.IntN(4) {
	case 0:
		labels, err := json.Marshal(g.zoneLabels())
		if err != nil {
			panic(err) // it is a map of texts
		}
		return g.patch(api.PersistentVolume, name, api.Main, `{"metadata":{"labels":%s}}`, labels)
	case 1:
		return g.patch(api.PersistentVolume, name, api.Main, `{"spec":{"claimRef":null}}`)
	case 2:
		return g.patch(api.PersistentVolume, name, api.Status, `{"status":{"phase":%q}}`, pick(g.generator, "Available", "Released", "Bound"))
	}
	return g.patch(api.PersistentVolume, name, api.Main, `{"metadata":{"annotations":{"some":%q}}}`, pick(g.generator, "x", "y"))
}

// changeClass changes mutable fields of a class, or recreates it.
func (g *schedulingGenerator) changeClass() Step {
	name := pick(g.generator, "wait", "static", "now", "nosuch")
	switch g.IntN(4) {
	case 0:
		return Step{Op: Delete, Ref: api.Ref{Kind: api.StorageClass, Key: name}}
	case 1:
		topologies, err := json.Marshal(g.topologies())
		if err != nil {
			panic(err) // all fields can be encoded
		}
		return g.patch(api.StorageClass, name, api.Main, `{"allowedTopologies":%s}`, topologies)
	}
	class := g.storageClass(name)
	class.UID = ""
	if g.chance(2) {
		class.AllowedTopologies = nil
	}
	return Step{Op: Create, Object: class}
}

func (g *schedulingGenerator) changeNode() Step {
	name := pick(g.generator, "n1", "n2", "n3")
	switch g.IntN(8) {
	case 0:
		return Step{Op: Delete, Ref: api.Ref{Kind: api.Node, Key: name}}
	case 1, 2:
		node := g.node(name)
		node.UID = ""
		return Step{Op: Create, Object: node}
	case 3:
		return g.patch(api.Node, name, api.Main, `{"spec":{"unschedulable":%t}}`, g.chance(2))
	case 4:
		return g.patch(api.Node, name, api.Main, `{"spec":{"taints":%s}}`,
			pick(g.generator, `null`, `[{"key":"only","value":"some","effect":"NoSchedule"}]`, `[{"key":"soft","effect":"PreferNoSchedule"}]`))
	case 5:
		return g.patch(api.Node, name, api.Status, `{"status":{"allocatable":{"cpu":%q}}}`, pick(g.generator, "1", "2", "4", "8"))
	}
	labels, err := json.Marshal(g.nodeLabels(name))
	if err != nil {
		panic(err) // it is a map of texts
	}
	return g.patch(api.Node, name, api.Main, `{"metadata":{"labels":%s}}`, labels)
}

func (g *schedulingGenerator) changeCSINode() Step {
	name := pick(g.generator, "n1", "n2", "n3")
	switch g.IntN(4) {
	case 0:
		node := g.csiNode(name)
		node.UID = ""
		return Step{Op: Create, Object: node}
	case 1:
		return g.patch(api.CSINode, name, api.Main, `{"metadata":{"annotations":{%q:%q}}}`, "storage.alpha.kubernetes.io/migrated-plugins",
			pick(g.generator, "example.com/one", "example.com/two"))
	}
	drivers := g.csiNode(name).Spec.Drivers
	data, err := json.Marshal(drivers)
	if err != nil || len(drivers) == 0 {
		return Step{Op: Delete, Ref: api.Ref{Kind: api.CSINode, Key: name}}
	}
	return g.patch(api.CSINode, name, api.Main, `{"spec":{"drivers":%s}}`, data)
}

func (g *schedulingGenerator) changeDriver() Step {
	return g.patch(api.CSIDriver, pick(g.generator, firstDriver, secondDriver), api.Main, `{"spec":{"storageCapacity":%t}}`, g.chance(2))
}

func (g *schedulingGenerator) changeCapacity() Step {
	c := g.capacity(fmt.Sprintf("capacity%d", g.IntN(4)))
	c.UID = ""
	if g.chance(2) {
		return Step{Op: Create, Object: c}
	}
	capacity, maximum := g.limits()
	data, err := json.Marshal(map[string]any{"capacity": capacity, "maximumVolumeSize": maximum})
	if err != nil {
		panic(err) // quantities have JSON
	}
	return g.patch(api.CSIStorageCapacity, api.KeyOf(c), api.Main, "%s", data)
}

// endPod ends or deletes a pod on a node.
func (g *schedulingGenerator) endPod() Step {
	key := pick(g.generator, "default", "default", "other") + fmt.Sprintf("/q%d", g.IntN(5))
	if g.chance(3) {
		return g.patch(api.Pod, key, api.Status, `{"status":{"phase":%q}}`, pick(g.generator, "Succeeded", "Failed", "Running"))
	}
	return Step{Op: Delete, Ref: api.Ref{Kind: api.Pod, Key: key}, Force: !g.chance(4)}
}

// changePod changes a pod that may be waiting.
func (g *schedulingGenerator) changePod() Step {
	switch g.IntN(3) {
	case 0:
		return g.patch(api.Pod, "default/p", api.Main, `{"metadata":{"labels":{"some":%q}}}`, pick(g.generator, "x", "y"))
	case 1:
		return Step{Op: Delete, Ref: api.Ref{Kind: api.Pod, Key: "default/p"}, Force: !g.chance(3)}
	}
	return g.patch(api.Pod, "default/p", api.Main, `{"metadata":{"finalizers":["example.com/hold"]}}`)
}

// remove deletes an object.
func (g *schedulingGenerator) remove() Step {
	return Step{Op: Delete, Ref: pick(g.generator,
		api.Ref{Kind: api.PersistentVolume, Key: pick(g.generator, "pv1", "pv2", "pv3", "pv4", "pv5")},
		api.Ref{Kind: api.PersistentVolumeClaim, Key: g.known()},
		api.Ref{Kind: api.VolumeAttachment, Key: fmt.Sprintf("attachment%d", g.IntN(3))},
		api.Ref{Kind: api.CSIDriver, Key: firstDriver},
		api.Ref{Kind: api.CSIStorageCapacity, Key: fmt.Sprintf("drivers/capacity%d", g.IntN(4))},
	)}
}

// create creates a claim, or something else that pods may wait for.
func (g *schedulingGenerator) create() Step {
	var obj api.Object
	switch g.IntN(8) {
	case 0:
		obj = g.driver(pick(g.generator, firstDriver, secondDriver))
	case 1:
		obj = g.attachment(fmt.Sprintf("attachment%d", g.IntN(3)))
	case 2:
		pod := g.placed(fmt.Sprintf("q%d", g.IntN(5)), 50+int32(g.IntN(40)))
		pod.DeletionTimestamp, pod.DeletionGracePeriodSeconds, pod.Status = nil, nil, corev1.PodStatus{}
		obj = pod
	default:
		claim := g.claim(pick(g.generator, "default/c1", "default/c2", "default/c3", "default/p-own", "default/nosuch"))
		claim.DeletionTimestamp, claim.Finalizers, claim.Status, claim.Spec.VolumeAttributesClassName = nil, nil,
			corev1.PersistentVolumeClaimStatus{}, nil
		if claim.Spec.Resources.Requests == nil {
			claim.Spec.Resources.Requests = amounts("storage", "1Gi")
		}
		claim.Spec.AccessModes, claim.Spec.Selector = claim.Spec.AccessModes[:1], nil
		obj = claim
	}
	obj.SetUID("")
	if attachment, ok := obj.(*storagev1.VolumeAttachment); ok {
		attachment.Status = storagev1.VolumeAttachmentStatus{}
	}
	return Step{Op: Create, Object: obj}
}

// another creates a second waiting pod. Its priority differs from the first one's: the order of two pods of equal priority that failed in
// the same millisecond is undefined.
func (g *schedulingGenerator) another() Step {
	pod := g.waiting("r", int32(pick(g.generator, 5, 15)))
	pod.UID, pod.Status = "", corev1.PodStatus{}
	return Step{Op: Create, Object: pod}
}

// fault lets requests of the scheduler fail.
func (g *schedulingGenerator) fault() Step {
	kind := pick(g.generator, api.PersistentVolume, api.PersistentVolumeClaim, api.PersistentVolumeClaim, api.Pod)
	verb := "update"
	if kind == api.Pod {
		verb = pick(g.generator, "bind", "patch-status")
	}
	return Step{Op: Fault,
		Rule: Rule{Actor: actors.Scheduler, Verb: verb, Kind: kind, Times: 1 + g.IntN(2), Lost: g.chance(4), Conflict: g.chance(2)}}
}

func (g *schedulingGenerator) pause() Step { return Step{Op: Advance} }
