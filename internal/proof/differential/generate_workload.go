package differential

import (
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volsim/volsim/api"
)

// workloadGenerator makes the steps of a scenario about workloads of one kind, which are called web or db. Steps stand for kubelets, scheduler
// and garbage collector.
type workloadGenerator struct {
	timeline
	kind        api.Kind
	controllers []string
	// requests are the requests that may fail, as verb and kind.
	requests []string
}

func newWorkloadGenerator(seed, stream uint64, kind api.Kind, controllers ...string) *workloadGenerator {
	g := &workloadGenerator{timeline: newTimeline(seed, stream), kind: kind, controllers: controllers}
	g.now = Epoch.Add(controllersLead)
	return g
}

// scenario makes a scenario that begins with the step create, and goes on with some of the moves. In every second one requests fail and
// controllers restart.
func (g *workloadGenerator) scenario(create func(), moves []func()) Scenario {
	create()
	g.wait(1)
	if g.chance(2) {
		moves = append(moves, g.failRequests, g.failRequests, g.failRequests, g.restart)
	}
	for range 6 + g.IntN(14) {
		moves[g.IntN(len(moves))]()
		g.pauseOrSettle()
	}
	g.settle()
	return Scenario{Lead: controllersLead, Controllers: g.controllers, Steps: g.steps}
}

func (g *workloadGenerator) pauseOrSettle() {
	if g.chance(4) {
		g.settle()
		return
	}
	g.wait(pick(g.generator, 0, 0, 0, 1, 1, 3, 7, 15, 40))
}

// pass lets time pass.
func (g *workloadGenerator) pass() {
	g.add(Step{Op: Advance})
	g.wait(pick(g.generator, 1, 5, 30, 100))
}

// restart lets a controller crash and start again.
func (g *workloadGenerator) restart() {
	g.settle()
	g.add(Step{Op: Restart, Actor: pick(g.generator, g.controllers...)})
	g.wait(1)
}

// failRequests lets some of the next requests fail.
func (g *workloadGenerator) failRequests() {
	verb, kind, _ := strings.Cut(pick(g.generator, g.requests...), " ")
	r := Rule{Actor: pick(g.generator, g.controllers...), Verb: verb, Kind: api.Kind(kind), Times: 1 + g.IntN(5)}
	switch g.IntN(4) {
	case 0:
		r.Lost = true
	case 1:
		r.Conflict = verb != "get"
	}
	g.add(Step{Op: Fault, Rule: r})
}

func (g *workloadGenerator) name() string { return pick(g.generator, "db", "db", "db", "web") }

// workload returns a workload that may exist.
func (g *workloadGenerator) workload() api.Ref {
	return api.Ref{Kind: g.kind, Key: "default/" + g.name()}
}

// anyPod returns one of the pods that exist when the step runs.
func (g *workloadGenerator) anyPod() api.Ref {
	return api.Ref{Kind: api.Pod, Key: nthKey(g.IntN(6))}
}

func (g *workloadGenerator) containers() []corev1.Container {
	return []corev1.Container{{Name: "c", Image: pick(g.generator, "i:1", "i:1", "i:2", "i:3")}}
}

// template returns the template of the pods of a workload.
func (g *workloadGenerator) template(name string) corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": name}, Annotations: map[string]string{"example.com/team": "a"}},
		Spec:       corev1.PodSpec{Containers: g.containers()},
	}
}

// meta returns the metadata of a workload.
func (g *workloadGenerator) meta(name string) metav1.ObjectMeta {
	meta := metav1.ObjectMeta{Namespace: "default", Name: name, Annotations: map[string]string{"example.com/note": "yes"}}
	if g.chance(5) {
		meta.Finalizers = []string{"example.com/hold"}
	}
	return meta
}

func (g *workloadGenerator) patchSpec(spec map[string]any) {
	g.patch(g.workload(), api.Main, map[string]any{"spec": spec})
}

func (g *workloadGenerator) scale() { g.patchSpec(map[string]any{"replicas": g.IntN(6)}) }

func (g *workloadGenerator) changeTemplate() {
	g.patchSpec(map[string]any{"template": map[string]any{"spec": map[string]any{"containers": g.containers()}}})
}

func (g *workloadGenerator) delete() {
	g.add(Step{Op: Delete, Ref: g.workload(), Cascade: pick(g.generator, "", "", metav1.DeletePropagationForeground, metav1.DeletePropagationOrphan)})
}

// status returns the patch of a pod's status by a kubelet.
func (g *workloadGenerator) status(phase corev1.PodPhase, ready string) map[string]any {
	at := g.now.Truncate(time.Second).Format(time.RFC3339)
	return map[string]any{"status": map[string]any{"phase": phase, "conditions": []map[string]any{{"type": "Ready", "status": ready, "lastTransitionTime": at}}}}
}

// reportPodAs reports the status of a pod as a kubelet does.
func (g *workloadGenerator) reportPodAs(key string, phase corev1.PodPhase, ready string) {
	g.patch(api.Ref{Kind: api.Pod, Key: key}, api.Status, g.status(phase, ready))
}

// pods makes a step about some pods that match at that time. Without a status, they are deleted.
func (g *workloadGenerator) pods(which Which, number int, status map[string]any) {
	step := Step{Op: Pods, Pods: PodStep{Which: which, From: g.IntN(6), Number: number}, Force: which == Deleting}
	if status != nil {
		step.Patch = encode(status)
	}
	g.add(step)
}

// runPods lets pods become ready.
func (g *workloadGenerator) runPods() {
	g.pods(Unready, pick(g.generator, 1, 2, 3, 9, 9), g.status(corev1.PodRunning, "True"))
}

// disturbPods lets pods become unready, or end.
func (g *workloadGenerator) disturbPods() {
	phase := pick(g.generator, corev1.PodRunning, corev1.PodRunning, corev1.PodFailed, corev1.PodFailed, corev1.PodSucceeded, corev1.PodPending, corev1.PodUnknown)
	g.pods(Living, pick(g.generator, 1, 1, 1, 2, 9), g.status(phase, "False"))
}

// removePods lets kubelets remove pods that are being deleted.
func (g *workloadGenerator) removePods() {
	g.pods(Deleting, pick(g.generator, 1, 9, 9), nil)
}

func (g *workloadGenerator) deletePods() {
	g.pods(pick(g.generator, Living, Living, Ended), pick(g.generator, 1, 1, 2), nil)
}

// changePod changes labels, finalizers, owners or the cost of a pod.
func (g *workloadGenerator) changePod() {
	meta := map[string]any{}
	switch g.IntN(5) {
	case 0, 1:
		meta["labels"] = map[string]any{"app": pick(g.generator, "db", "web", "other")}
	case 2:
		meta["ownerReferences"] = nil
	case 3:
		meta["finalizers"] = []string{"example.com/hold"}
	case 4:
		meta["annotations"] = map[string]any{corev1.PodDeletionCost: pick(g.generator, "-1", "5", "x")}
	}
	g.patch(g.anyPod(), api.Main, map[string]any{"metadata": meta})
}

// createPod creates a pod that a workload may adopt.
func (g *workloadGenerator) createPod() {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: fmt.Sprintf("stray-%d", g.IntN(3)),
		Labels: map[string]string{"app": pick(g.generator, "db", "db", "web", "other")}}}
	pod.Spec.Containers = g.containers()
	if g.chance(2) {
		pod.Spec.NodeName = "n1"
	}
	g.add(Step{Op: Create, Object: pod})
}

// unblock removes the finalizers of something, as the garbage collector does.
func (g *workloadGenerator) unblock() {
	g.patch(pick(g.generator, g.workload(), g.anyPod(), g.anyPod()), api.Main, map[string]any{"metadata": map[string]any{"finalizers": nil}})
}

// podMoves are the moves of kubelets and of users about pods.
func (g *workloadGenerator) podMoves() []func() {
	return []func(){g.runPods, g.runPods, g.runPods, g.runPods, g.runPods, g.removePods, g.removePods, g.removePods, g.disturbPods, g.disturbPods,
		g.deletePods, g.changePod, g.createPod, g.unblock, g.pass}
}
