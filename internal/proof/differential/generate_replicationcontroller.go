package differential

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/actors"
)

const replicationControllerKind api.Kind = "ReplicationController"

var replicationControllerRequests = []string{"create Pod", "create Pod", "delete Pod", "delete Pod", "patch Pod", "update-status ReplicationController",
	"update-status ReplicationController", "get ReplicationController"}

// GenerateReplicationControllers returns the scenario of a seed about ReplicationControllers. In every third one ReplicaSets select the same pods.
func GenerateReplicationControllers(seed uint64) Scenario {
	g := newWorkloadGenerator(seed, 52, replicationControllerKind, actors.ReplicationController)
	g.requests = replicationControllerRequests
	create := func() { g.add(Step{Op: Create, Object: g.replicationController()}) }
	moves := append(g.podMoves(), create, g.scale, g.scale, g.scale, g.scale, g.changeTemplate, g.changeReplicaSet, g.changeSelector, g.delete)
	if g.chance(3) {
		g.controllers = append(g.controllers, actors.ReplicaSet)
		moves = append(moves, func() { g.add(Step{Op: Create, Object: g.replicaSet()}) }, g.scaleReplicaSet, g.moveOwner)
	}
	return g.scenario(create, moves)
}

// replicationController returns a ReplicationController with the fields of a ReplicaSet.
func (g *workloadGenerator) replicationController() *corev1.ReplicationController {
	set := g.replicaSet()
	rc := &corev1.ReplicationController{ObjectMeta: set.ObjectMeta}
	rc.Spec = corev1.ReplicationControllerSpec{Replicas: set.Spec.Replicas, MinReadySeconds: set.Spec.MinReadySeconds, Template: &set.Spec.Template}
	if !g.chance(4) {
		rc.Spec.Selector = set.Spec.Selector.MatchLabels
	}
	return rc
}

// changeSelector changes which pods a ReplicationController selects.
func (g *workloadGenerator) changeSelector() {
	labels := map[string]any{"app": pick(g.generator, "db", "web", "other"), "tier": pick[any](g.generator, nil, nil, "x")}
	g.patchSpec(map[string]any{"selector": labels, "template": map[string]any{"metadata": map[string]any{"labels": labels}}})
}

func (g *workloadGenerator) scaleReplicaSet() {
	g.patch(api.Ref{Kind: replicaSetKind, Key: "default/" + g.name()}, api.Main, map[string]any{"spec": map[string]any{"replicas": g.IntN(6)}})
}

// moveOwner gives a pod to a set that does not exist, with the name of one that may.
func (g *workloadGenerator) moveOwner() {
	kind := pick(g.generator, "ReplicaSet", "ReplicationController")
	g.patch(g.anyPod(), api.Main, map[string]any{"metadata": map[string]any{"ownerReferences": []map[string]any{
		{"apiVersion": "apps/v1", "kind": kind, "name": g.name(), "uid": "1234", "controller": true}}}})
}
