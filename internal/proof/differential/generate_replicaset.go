package differential

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/actors"
)

const replicaSetKind api.Kind = "ReplicaSet.apps"

var replicaSetRequests = []string{"create Pod", "create Pod", "delete Pod", "delete Pod", "patch Pod", "update-status ReplicaSet.apps",
	"update-status ReplicaSet.apps", "get ReplicaSet.apps"}

// GenerateReplicaSets returns the scenario of a seed about ReplicaSets.
func GenerateReplicaSets(seed uint64) Scenario {
	g := newWorkloadGenerator(seed, 22, replicaSetKind, actors.ReplicaSet)
	g.requests = replicaSetRequests
	create := func() { g.add(Step{Op: Create, Object: g.replicaSet()}) }
	return g.scenario(create, append(g.podMoves(), create, g.scale, g.scale, g.scale, g.scale, g.changeTemplate, g.changeReplicaSet, g.changeReplicaSet,
		g.delete))
}

func (g *workloadGenerator) replicaSet() *appsv1.ReplicaSet {
	name := g.name()
	set := &appsv1.ReplicaSet{ObjectMeta: g.meta(name)}
	set.Spec = appsv1.ReplicaSetSpec{Replicas: new(int32(g.IntN(6))), Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": name}},
		MinReadySeconds: int32(pick(g.generator, 0, 0, 0, 3, 20)), Template: g.template(name)}
	if g.chance(4) {
		// ReplicaSets with one controller count each other's pods per node.
		set.OwnerReferences = []metav1.OwnerReference{{APIVersion: "example.com/v1", Kind: "Keeper", Name: "k", UID: "1234", Controller: new(true)}}
	}
	if g.chance(3) {
		set.Spec.Template.Spec.NodeName = "n1"
	}
	return set
}

func (g *workloadGenerator) changeReplicaSet() {
	switch g.IntN(3) {
	case 0:
		g.patchSpec(map[string]any{"minReadySeconds": pick(g.generator, 0, 2, 30)})
	case 1:
		g.patchSpec(map[string]any{"template": map[string]any{"metadata": map[string]any{"labels": map[string]any{"tier": pick[any](g.generator, nil, "x", "y")}}}})
	case 2:
		g.patch(g.workload(), api.Main, map[string]any{"metadata": map[string]any{"labels": map[string]any{"app": pick(g.generator, "db", "web")}}})
	}
}

const deploymentKind api.Kind = "Deployment.apps"

// GenerateDeployments returns the scenario of a seed about Deployments, with the controller of their ReplicaSets.
func GenerateDeployments(seed uint64) Scenario {
	g := newWorkloadGenerator(seed, 23, deploymentKind, actors.Deployment, actors.ReplicaSet)
	g.requests = append([]string{"create ReplicaSet.apps", "create ReplicaSet.apps", "update ReplicaSet.apps", "update ReplicaSet.apps",
		"patch ReplicaSet.apps", "delete ReplicaSet.apps", "update Deployment.apps", "update-status Deployment.apps", "update-status Deployment.apps",
		"get Deployment.apps"}, replicaSetRequests...)
	create := func() { g.add(Step{Op: Create, Object: g.deployment()}) }
	return g.scenario(create, append(g.podMoves(), create, g.scale, g.scale, g.changeTemplate, g.changeTemplate, g.changeTemplate, g.changeTemplate,
		g.changeDeployment, g.changeDeployment, g.changeDeployment, g.delete, g.changeOwned, g.createReplicaSet))
}

func (g *workloadGenerator) deployment() *appsv1.Deployment {
	name := g.name()
	d := &appsv1.Deployment{ObjectMeta: g.meta(name)}
	d.Spec = appsv1.DeploymentSpec{Replicas: new(int32(g.IntN(6))), Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": name}},
		MinReadySeconds: int32(pick(g.generator, 0, 0, 0, 3, 20)), Template: g.template(name), Strategy: g.deploymentStrategy(), Paused: g.chance(10)}
	if g.chance(3) {
		d.Spec.RevisionHistoryLimit = new(int32(g.IntN(3)))
	}
	if g.chance(2) {
		d.Spec.ProgressDeadlineSeconds = new(int32(pick(g.generator, 21, 40, 100)))
	}
	return d
}

func (g *workloadGenerator) deploymentStrategy() appsv1.DeploymentStrategy {
	if g.chance(4) {
		return appsv1.DeploymentStrategy{Type: appsv1.RecreateDeploymentStrategyType}
	}
	strategy := appsv1.DeploymentStrategy{Type: appsv1.RollingUpdateDeploymentStrategyType}
	if !g.chance(3) {
		strategy.RollingUpdate = &appsv1.RollingUpdateDeployment{MaxSurge: g.share(), MaxUnavailable: g.share()}
	}
	return strategy
}

func (g *workloadGenerator) changeDeployment() {
	switch g.IntN(7) {
	case 0:
		g.patchSpec(map[string]any{"strategy": g.deploymentStrategy()})
	case 1, 2:
		g.patchSpec(map[string]any{"paused": g.chance(2)})
	case 3:
		g.patchSpec(map[string]any{"minReadySeconds": pick(g.generator, 0, 2, 19)})
	case 4:
		g.patchSpec(map[string]any{"revisionHistoryLimit": g.IntN(3)})
	case 5:
		g.patchSpec(map[string]any{"progressDeadlineSeconds": pick[any](g.generator, 20, 35, 90, nil)})
	case 6:
		annotation := pick(g.generator, "deprecated.deployment.rollback.to", "example.com/note", "deployment.kubernetes.io/revision")
		g.patch(g.workload(), api.Main, map[string]any{"metadata": map[string]any{"annotations": map[string]any{annotation: pick(g.generator, "0", "1", "2", "7", "x")}}})
	}
}

// changeOwned changes a ReplicaSet that a Deployment may own.
func (g *workloadGenerator) changeOwned() {
	ref := api.Ref{Kind: replicaSetKind, Key: nthKey(g.IntN(4))}
	switch g.IntN(6) {
	case 0:
		g.patch(ref, api.Main, map[string]any{"metadata": map[string]any{"labels": map[string]any{"app": pick(g.generator, "db", "web", "other")}}})
	case 1:
		g.patch(ref, api.Main, map[string]any{"metadata": map[string]any{"ownerReferences": nil}})
	case 2:
		g.patch(ref, api.Main, map[string]any{"spec": map[string]any{"replicas": g.IntN(5)}})
	case 3:
		g.add(Step{Op: Delete, Ref: ref})
	case 4:
		revision := pick[any](g.generator, "0", "1", "5", "x", nil)
		g.patch(ref, api.Main, map[string]any{"metadata": map[string]any{"annotations": map[string]any{"deployment.kubernetes.io/revision": revision}}})
	case 5:
		g.patch(ref, api.Main, map[string]any{"metadata": map[string]any{"finalizers": pick[any](g.generator, nil, []string{"example.com/hold"})}})
	}
}

// createReplicaSet creates a ReplicaSet that a Deployment may adopt.
func (g *workloadGenerator) createReplicaSet() {
	set := g.replicaSet()
	app := set.Spec.Selector.MatchLabels["app"]
	set.Name, set.Labels, set.Spec.Replicas = app+"-old", map[string]string{"app": app}, new(int32(g.IntN(3)))
	if g.chance(2) {
		set.Annotations = map[string]string{"deployment.kubernetes.io/revision": pick(g.generator, "1", "3")}
	}
	set.Spec.Template.Spec.Containers = []corev1.Container{{Name: "c", Image: pick(g.generator, "i:1", "i:2", "old")}}
	g.add(Step{Op: Create, Object: set})
}
