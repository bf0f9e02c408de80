package differential

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/actors"
)

const daemonSetKind api.Kind = "DaemonSet.apps"

// GenerateDaemonSets returns the scenario of a seed about DaemonSets on nodes that come, change and go.
func GenerateDaemonSets(seed uint64) Scenario {
	g := newWorkloadGenerator(seed, 24, daemonSetKind, actors.DaemonSet)
	g.requests = []string{"create Pod", "create Pod", "delete Pod", "delete Pod", "patch Pod", "update-status DaemonSet.apps",
		"update-status DaemonSet.apps", "get DaemonSet.apps", "create ControllerRevision.apps", "update ControllerRevision.apps",
		"delete ControllerRevision.apps", "patch ControllerRevision.apps"}
	for i := range g.IntN(4) {
		g.createNode(fmt.Sprintf("n%d", i+1))
	}
	create := func() { g.add(Step{Op: Create, Object: g.daemonSet()}) }
	return g.scenario(create, append(g.podMoves(), create, g.changeTemplate, g.changeTemplate, g.changeTemplate, g.changeDaemonSet, g.changeDaemonSet,
		g.delete, g.changeNode, g.changeNode, g.changeNode, g.changeNode, g.changeNode, g.changeRevision))
}

func (g *workloadGenerator) daemonSet() *appsv1.DaemonSet {
	name := g.name()
	set := &appsv1.DaemonSet{ObjectMeta: g.meta(name)}
	set.Spec = appsv1.DaemonSetSpec{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": name}}, UpdateStrategy: g.daemonSetStrategy(),
		MinReadySeconds: int32(pick(g.generator, 0, 0, 0, 3, 20)), Template: g.template(name)}
	if g.chance(4) {
		set.Spec.RevisionHistoryLimit = new(int32(g.IntN(3)))
	}
	spec := &set.Spec.Template.Spec
	switch g.IntN(6) {
	case 0:
		spec.NodeSelector = map[string]string{"disk": "ssd"}
	case 1:
		spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{
			NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchExpressions: []corev1.NodeSelectorRequirement{
				{Key: "disk", Operator: pick(g.generator, corev1.NodeSelectorOpExists, corev1.NodeSelectorOpDoesNotExist)}}}}}}}
	case 2:
		spec.Tolerations = []corev1.Toleration{{Key: "example.com/own", Operator: corev1.TolerationOpExists}}
	}
	return set
}

func (g *workloadGenerator) share() *intstr.IntOrString {
	return new(intstr.Parse(pick(g.generator, "0", "1", "1", "2", "25%", "50%", "100%")))
}

func (g *workloadGenerator) daemonSetStrategy() appsv1.DaemonSetUpdateStrategy {
	if g.chance(6) {
		return appsv1.DaemonSetUpdateStrategy{Type: appsv1.OnDeleteDaemonSetStrategyType}
	}
	strategy := appsv1.DaemonSetUpdateStrategy{Type: appsv1.RollingUpdateDaemonSetStrategyType}
	switch g.IntN(3) {
	case 0:
		strategy.RollingUpdate = &appsv1.RollingUpdateDaemonSet{MaxUnavailable: g.share()}
	case 1:
		strategy.RollingUpdate = &appsv1.RollingUpdateDaemonSet{MaxSurge: g.share(), MaxUnavailable: new(intstr.FromInt32(0))}
	}
	return strategy
}

func (g *workloadGenerator) changeDaemonSet() {
	switch g.IntN(4) {
	case 0:
		g.patchSpec(map[string]any{"updateStrategy": g.daemonSetStrategy()})
	case 1:
		g.patchSpec(map[string]any{"minReadySeconds": pick(g.generator, 0, 2, 30)})
	case 2:
		g.patchSpec(map[string]any{"template": map[string]any{"spec": map[string]any{"nodeSelector": pick[any](g.generator, nil, map[string]any{"disk": "ssd"})}}})
	case 3:
		g.patchSpec(map[string]any{"revisionHistoryLimit": g.IntN(3)})
	}
}

func (g *workloadGenerator) createNode(name string) {
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if g.chance(2) {
		node.Labels = map[string]string{"disk": "ssd"}
	}
	if g.chance(5) {
		node.Spec.Taints = g.taints()
	}
	g.add(Step{Op: Create, Object: node})
}

func (g *workloadGenerator) taints() []corev1.Taint {
	return []corev1.Taint{{Key: pick(g.generator, "example.com/own", "example.com/other", corev1.TaintNodeNotReady, corev1.TaintNodeUnreachable, corev1.TaintNodeUnschedulable),
		Effect: pick(g.generator, corev1.TaintEffectNoSchedule, corev1.TaintEffectNoExecute)}}
}

func (g *workloadGenerator) changeNode() {
	name := fmt.Sprintf("n%d", 1+g.IntN(4))
	ref := api.Ref{Kind: api.Node, Key: name}
	switch g.IntN(6) {
	case 0, 1:
		g.createNode(name)
	case 2:
		g.patch(ref, api.Main, map[string]any{"metadata": map[string]any{"labels": map[string]any{"disk": pick[any](g.generator, nil, "ssd", "hdd")}}})
	case 3:
		g.patch(ref, api.Main, map[string]any{"spec": map[string]any{"taints": g.taints()}})
	case 4:
		g.patch(ref, api.Main, map[string]any{"spec": map[string]any{"taints": nil, "unschedulable": g.chance(2)}})
	case 5:
		g.add(Step{Op: Delete, Ref: ref})
	}
}

// changeRevision changes, deletes or creates a revision.
func (g *workloadGenerator) changeRevision() {
	ref := api.Ref{Kind: "ControllerRevision.apps", Key: nthKey(g.IntN(4))}
	switch g.IntN(4) {
	case 0:
		g.add(Step{Op: Delete, Ref: ref})
	case 1:
		g.patch(ref, api.Main, map[string]any{"metadata": map[string]any{"labels": map[string]any{"app": pick(g.generator, "db", "web", "other")}}})
	case 2:
		g.patch(ref, api.Main, map[string]any{"metadata": map[string]any{"ownerReferences": nil}})
	case 3:
		g.createRevision()
	}
}

// createRevision creates a revision that a set may adopt.
func (g *workloadGenerator) createRevision() {
	revision := &appsv1.ControllerRevision{ObjectMeta: metav1.ObjectMeta{
		Namespace: "default", Name: fmt.Sprintf("%s-old%d", g.name(), g.IntN(3)), Labels: map[string]string{"app": g.name()}}}
	revision.Data.Raw, revision.Revision = []byte(`{"spec":{"template":{"$patch":"replace","spec":{"containers":[{"name":"c","image":"old"}]}}}}`), int64(g.IntN(4))
	g.add(Step{Op: Create, Object: revision})
}
