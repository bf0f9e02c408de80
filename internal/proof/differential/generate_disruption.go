package differential

import (
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/actors"
	"github.com/volsim/volsim/internal/core/store"
)

// GenerateDisruptions returns the scenario of a seed about PodDisruptionBudgets. Steps stand for the controllers of pods and for kubelets.
func GenerateDisruptions(seed uint64) Scenario {
	g := &disruptionGenerator{newWorkloadGenerator(seed, 26, store.DisruptionBudgetKind, actors.Disruption)}
	g.requests = []string{"update-status PodDisruptionBudget.policy", "update-status PodDisruptionBudget.policy", "update-status Pod",
		"get ReplicaSet.apps", "get StatefulSet.apps", "get Job.batch"}
	create := func() {
		for range 2 {
			g.createOwner()
			g.createBudget()
		}
		for range 5 {
			g.createPod()
		}
		g.runPods()
	}
	return g.scenario(create, []func(){
		g.createBudget, g.createBudget, g.createOwner, g.createOwner, g.createPod, g.createPod, g.createPod, g.runPods, g.runPods, g.runPods, g.removePods,
		g.disturbPods, g.deletePods, g.evict, g.evict, g.evict, g.evict, g.changeBudget, g.changeBudget, g.changeOwner, g.changeOwner, g.deleteBudget,
		g.deleteOwner, g.changePod, g.markPod, g.markPod, g.listPod, g.pass, g.pass,
	})
}

type disruptionGenerator struct{ *workloadGenerator }

func (g *disruptionGenerator) budget() string {
	return pick(g.generator, "db", "db", "db", "web", "all")
}

func (g *disruptionGenerator) budgetRef() api.Ref {
	return api.Ref{Kind: store.DisruptionBudgetKind, Key: "default/" + g.budget()}
}

func (g *disruptionGenerator) limit() *intstr.IntOrString {
	return new(intstr.Parse(pick(g.generator, "0", "1", "1", "2", "3", "50%", "34%", "100%", "0%")))
}

func (g *disruptionGenerator) budgetSpec(name string) policyv1.PodDisruptionBudgetSpec {
	spec := policyv1.PodDisruptionBudgetSpec{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": name}}}
	switch {
	case name == "all":
		spec.Selector = &metav1.LabelSelector{}
	case g.chance(8):
		spec.Selector = nil
	}
	switch g.IntN(5) {
	case 0, 1:
		spec.MinAvailable = g.limit()
	case 2, 3:
		spec.MaxUnavailable = g.limit()
	}
	if g.chance(4) {
		spec.UnhealthyPodEvictionPolicy = new(pick(g.generator, policyv1.AlwaysAllow, policyv1.IfHealthyBudget))
	}
	return spec
}

func (g *disruptionGenerator) createBudget() {
	name := g.budget()
	g.add(Step{Op: Create, Object: &policyv1.PodDisruptionBudget{ObjectMeta: g.meta(name), Spec: g.budgetSpec(name)}})
}

func (g *disruptionGenerator) changeBudget() {
	if g.chance(5) {
		g.patch(g.budgetRef(), api.Main, map[string]any{"metadata": map[string]any{"labels": map[string]any{"x": pick[any](g.generator, "y", nil)}}})
		return
	}
	limits := map[string]any{"minAvailable": nil, "maxUnavailable": nil}
	limits[pick(g.generator, "minAvailable", "maxUnavailable")] = g.limit()
	g.patch(g.budgetRef(), api.Main, map[string]any{"spec": limits})
}

func (g *disruptionGenerator) deleteBudget() { g.add(Step{Op: Delete, Ref: g.budgetRef()}) }

// ownerKinds are the kinds of controllers that a pod may name.
var ownerKinds = []api.Kind{replicaSetKind, replicaSetKind, replicaSetKind, statefulSetKind, statefulSetKind, deploymentKind, "ReplicationController", jobKind}

func (g *disruptionGenerator) createOwner() {
	name := pick(g.generator, "db", "web")
	selector := &metav1.LabelSelector{MatchLabels: map[string]string{"app": name}}
	replicas := new(int32(g.IntN(6)))
	template := g.template(name)
	var object api.Object
	switch pick(g.generator, ownerKinds...) {
	case replicaSetKind:
		set := &appsv1.ReplicaSet{ObjectMeta: g.meta(name), Spec: appsv1.ReplicaSetSpec{Replicas: replicas, Selector: selector, Template: template}}
		if g.chance(2) {
			set.OwnerReferences = []metav1.OwnerReference{g.ownerOf(deploymentKind, name)}
		}
		object = set
	case statefulSetKind:
		object = &appsv1.StatefulSet{ObjectMeta: g.meta(name), Spec: appsv1.StatefulSetSpec{Replicas: replicas, Selector: selector, Template: template}}
	case deploymentKind:
		object = &appsv1.Deployment{ObjectMeta: g.meta(name), Spec: appsv1.DeploymentSpec{Replicas: replicas, Selector: selector, Template: template}}
	case "ReplicationController":
		object = &corev1.ReplicationController{ObjectMeta: g.meta(name), Spec: corev1.ReplicationControllerSpec{Replicas: replicas,
			Selector: selector.MatchLabels, Template: &template}}
	case jobKind:
		template.Spec.RestartPolicy = corev1.RestartPolicyNever
		object = &batchv1.Job{ObjectMeta: g.meta(name), Spec: batchv1.JobSpec{Template: template}}
	}
	g.add(Step{Op: Create, Object: object})
}

// ownerOf returns a reference to the controller of that kind and name, sometimes to none.
func (g *disruptionGenerator) ownerOf(kind api.Kind, name string) metav1.OwnerReference {
	gvk := store.GroupVersionKind(kind)
	owner := metav1.OwnerReference{Name: name, Controller: new(true), UID: uidOfNow(api.Ref{Kind: kind, Key: "default/" + name})}
	owner.APIVersion, owner.Kind = gvk.ToAPIVersionAndKind()
	switch g.IntN(16) {
	case 0:
		owner.APIVersion, owner.Kind = "example.com/v1", "Keeper"
	case 1:
		owner.APIVersion = "apps/v1beta1"
	case 2:
		owner.UID = "another"
	}
	return owner
}

func (g *disruptionGenerator) createPod() {
	app := pick(g.generator, "db", "db", "web")
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: pick(g.generator, "p0", "p1", "p2", "p3", "p4"),
		Labels: map[string]string{"app": app}}}
	pod.Spec.Containers, pod.Spec.NodeName = g.containers(), "n1"
	if !g.chance(6) {
		pod.OwnerReferences = []metav1.OwnerReference{g.ownerOf(pick(g.generator, ownerKinds...), app)}
	}
	g.add(Step{Op: Create, Object: pod})
}

func (g *disruptionGenerator) owner() api.Ref {
	return api.Ref{Kind: pick(g.generator, ownerKinds...), Key: "default/" + pick(g.generator, "db", "web")}
}

func (g *disruptionGenerator) changeOwner() {
	g.patch(g.owner(), api.Main, map[string]any{"spec": map[string]any{"replicas": g.IntN(6)}})
	if g.chance(2) {
		// The controller does not watch for this.
		g.runPods()
	}
}

func (g *disruptionGenerator) deleteOwner() { g.add(Step{Op: Delete, Ref: g.owner()}) }

func (g *disruptionGenerator) evict() { g.add(Step{Op: Evict, Ref: g.anyPod()}) }

// markPod gives a pod the condition DisruptionTarget, which gets stale.
func (g *disruptionGenerator) markPod() {
	condition := map[string]any{"type": "DisruptionTarget", "status": pick(g.generator, "True", "True", "True", "False"),
		"reason": pick(g.generator, "EvictionByEvictionAPI", "PreemptionByScheduler", "TerminationByKubelet"), "message": "m",
		"lastTransitionTime": g.now.Format("2006-01-02T15:04:05Z")}
	conditions := []any{condition}
	if g.chance(2) {
		conditions = append(conditions, map[string]any{"type": "Ready", "status": "True"})
	}
	g.patch(g.anyPod(), api.Status, map[string]any{"status": map[string]any{"phase": "Running", "conditions": conditions}})
}

// listPod lists a pod as evicted, as the API server does before a deletion that then fails.
func (g *disruptionGenerator) listPod() {
	at := g.now.Format("2006-01-02T15:04:05Z")
	g.patch(g.budgetRef(), api.Status, map[string]any{"status": map[string]any{"disruptedPods": map[string]any{pick(g.generator, "p0", "p1", "p2", "p3"): at}}})
}
