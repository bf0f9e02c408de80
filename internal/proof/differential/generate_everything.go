package differential

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/fake"
)

// everythingGenerator makes a scenario in which every controller runs that Kubernetes has for the simulated kinds, and kubelets on two nodes.
// Steps stand for users and for the scheduler.
type everythingGenerator struct {
	*workloadGenerator
	kubelets *kubeletGenerator
	down     string // a node whose kubelet is down
}

// GenerateEverything returns the scenario of a seed.
func GenerateEverything(seed uint64) Scenario {
	w := newWorkloadGenerator(seed, 51, replicaSetKind, togetherControllers...)
	g := &everythingGenerator{workloadGenerator: w, kubelets: &kubeletGenerator{generator: w.generator, first: []string{"n1", "n2"}}}
	g.requests = []string{"create Pod", "delete Pod", "patch Pod", "create PersistentVolumeClaim", "update-status ReplicaSet.apps", "update-status StatefulSet.apps",
		"update-status ResourceQuota", "delete ReplicaSet.apps", "update-status Namespace", "update-status PodDisruptionBudget.policy", "patch ReplicaSet.apps"}
	budgets, quotas, spaces := &disruptionGenerator{w}, &quotaGenerator{w}, &namespaceGenerator{w}
	create := func() {
		g.add(Step{Op: Create, Object: fake.Class("external", Driver, fake.Policy(corev1.PersistentVolumeReclaimDelete),
			fake.Annotations("storageclass.kubernetes.io/is-default-class", "true"))})
		for _, name := range []string{"n1", "n2"} {
			g.add(Step{Op: Create, Object: managedNode(name)})
		}
		g.wait(2)
		g.createClaims()
		g.createWorkload()
		g.bind()
	}
	moves := []func(){g.createWorkload, g.createWorkload, g.createWorkload, g.createPod, g.createPod, g.bind, g.bind, g.bind, g.bind, g.createClaims, g.deleteClaim,
		g.drive, g.drive, g.drive, g.power, g.power, g.power, g.power, g.changeNode, g.endPods, g.changeWorkload, g.changeWorkload, g.changeWorkload, g.changeWorkload,
		g.deletePods, g.pass, g.passLong, g.passLong, quotas.createQuota, quotas.changeQuota, budgets.createBudget, budgets.evict, spaces.createNamespace,
		spaces.createContent, spaces.deleteNamespace}
	s := g.scenario(create, moves)
	s.Lead = controllersLead - CollectorStart
	s.Volumes, s.Attach, s.Kubelets, s.Nodes = true, true, true, true
	return s
}

func (g *everythingGenerator) createClaims() {
	for i := range 1 + g.IntN(2) {
		g.add(Step{Op: Create, Object: fake.Claim(fmt.Sprintf("default/c%d", i+1), "1Gi", fake.InClass("external"))})
	}
	g.wait(1)
}

func (g *everythingGenerator) deleteClaim() {
	name := pick(g.generator, "c1", "c2", "data-db-0", "data-db-1")
	g.add(Step{Op: Delete, Ref: api.Ref{Kind: api.PersistentVolumeClaim, Key: "default/" + name}})
}

var everyWorkload = []api.Kind{statefulSetKind, statefulSetKind, replicaSetKind, deploymentKind, daemonSetKind, jobKind}

// createWorkload creates a workload whose pods may use volumes.
func (g *everythingGenerator) createWorkload() {
	kind := pick(g.generator, everyWorkload...)
	obj, spec := g.newWorkload(kind)
	// The scheduler places the pods.
	spec.NodeName = ""
	if g.chance(2) && kind != statefulSetKind {
		spec.Volumes = []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: pick(g.generator, "c1", "c1", "c2")}}}}
	}
	g.add(Step{Op: Create, Object: obj})
	g.wait(1)
	g.bind()
}

// newWorkload returns a workload and the spec of its pods.
func (g *everythingGenerator) newWorkload(kind api.Kind) (api.Object, *corev1.PodSpec) {
	switch kind {
	case statefulSetKind:
		set := (&statefulSetGenerator{g.workloadGenerator}).set()
		return set, &set.Spec.Template.Spec
	case replicaSetKind:
		set := g.replicaSet()
		return set, &set.Spec.Template.Spec
	case deploymentKind:
		deployment := g.deployment()
		return deployment, &deployment.Spec.Template.Spec
	case daemonSetKind:
		set := g.daemonSet()
		return set, &set.Spec.Template.Spec
	}
	job := g.job()
	return job, &job.Spec.Template.Spec
}

// bind gives nodes to pods without one.
func (g *everythingGenerator) bind() {
	g.add(Step{Op: Pods, Pods: PodStep{Which: Unbound, From: g.IntN(2), Number: 9, Bind: true}})
}

func (g *everythingGenerator) createPod() { g.add(g.kubelets.startPod()) }

func (g *everythingGenerator) drive() { g.add(g.kubelets.nodeStorage()) }

func (g *everythingGenerator) power() { g.add(g.kubelets.power(&g.down)) }

// changeNode changes a node. A change of taints has an instant of its own, as in nodeGenerator.taint (NODE-064).
func (g *everythingGenerator) changeNode() {
	step := g.kubelets.changeNode()
	if step.Op != Patch {
		g.add(step)
		return
	}
	g.wait(1)
	g.add(step)
	g.wait(1)
}

// endPods lets a user delete pods, by force if they are being deleted already.
func (g *everythingGenerator) endPods() { g.pods(Deleting, 9, nil) }

// changeWorkload scales, changes or deletes a workload.
func (g *everythingGenerator) changeWorkload() {
	g.kind = pick(g.generator, statefulSetKind, replicaSetKind, deploymentKind)
	switch g.IntN(4) {
	case 0:
		g.patchSpec(map[string]any{"replicas": g.IntN(4)})
	case 1:
		g.changeTemplate()
	case 2:
		g.kind = pick(g.generator, everyWorkload...)
		g.delete()
	default:
		g.scale()
	}
	g.wait(1)
	g.bind()
}

// passLong lets enough time pass for the eviction of pods from nodes that fail.
func (g *everythingGenerator) passLong() {
	g.add(Step{Op: Advance})
	g.wait(pick(g.generator, 60, 200, 400))
	g.bind()
}
