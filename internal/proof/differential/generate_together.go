package differential

import (
	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/internal/core/actors"
	"github.com/volsim/volsim/internal/core/store"
)

// togetherControllers run in a scenario of GenerateTogether beside those of volumes and nodes.
var togetherControllers = []string{actors.StatefulSet, actors.ReplicaSet, actors.Deployment, actors.DaemonSet, actors.Job, actors.TTLAfterFinished, actors.Disruption,
	actors.ResourceQuota, actors.Namespace, actors.GarbageCollector}

// GenerateTogether returns the scenario of a seed in which all controllers run. Steps stand for the scheduler and for kubelets.
func GenerateTogether(seed uint64) Scenario {
	g := newWorkloadGenerator(seed, 31, replicaSetKind, togetherControllers...)
	g.classes = []string{pick(g.generator, "", "fast", "external"), pick(g.generator, "fast", "late", "external")}
	g.requests = []string{"create Pod", "delete Pod", "patch Pod", "create PersistentVolumeClaim", "update PersistentVolumeClaim", "update PersistentVolume",
		"update-status ReplicaSet.apps", "update-status StatefulSet.apps", "update-status ResourceQuota", "delete ReplicaSet.apps", "update-status Namespace"}
	var (
		sets    = &statefulSetGenerator{g}
		quotas  = &quotaGenerator{g}
		budgets = &disruptionGenerator{g}
		spaces  = &namespaceGenerator{g}
	)
	of := func(kind api.Kind, move func()) func() {
		return func() { g.kind = kind; move() }
	}
	step := func(make func() Step) func() { return func() { g.add(make()) } }
	workloads := []func(){
		of(statefulSetKind, sets.createSet), of(replicaSetKind, func() { g.add(Step{Op: Create, Object: g.replicaSet()}) }),
		of(deploymentKind, func() { g.add(Step{Op: Create, Object: g.deployment()}) }), of(jobKind, func() { g.add(Step{Op: Create, Object: g.job()}) }),
	}
	volumes := []func(){step(g.createVolume), step(g.generator.createClaim), step(g.generator.deleteClaim), step(g.deleteVolume), step(g.storage), step(g.resizeClaim)}
	create := func() {
		for _, name := range []string{"n1", "n2", "n3"} {
			g.add(Step{Op: Create, Object: fake.Node(name)})
		}
		for _, name := range g.classes {
			if class := g.named(name); class != nil {
				g.add(Step{Op: Create, Object: class})
			}
		}
		pick(g.generator, workloads...)()
		pick(g.generator, volumes[:2]...)()
	}
	moves := append(workloads, volumes...)
	for _, kind := range []api.Kind{statefulSetKind, replicaSetKind, deploymentKind, jobKind} {
		moves = append(moves, of(kind, g.scale), of(kind, g.changeTemplate), of(kind, g.delete))
	}
	moves = append(moves, quotas.createQuota, quotas.changeQuota, of(store.DisruptionBudgetKind, budgets.createBudget), budgets.changeBudget, budgets.evict,
		spaces.createNamespace, spaces.createContent, spaces.deleteNamespace, spaces.finishContent, g.runPods, g.runPods, g.runPods, g.runPods, g.removePods, g.removePods,
		g.removePods, g.disturbPods, g.deletePods, g.pass)
	s := g.scenario(create, moves)
	s.Volumes, s.Controllers = true, togetherControllers
	return s
}
