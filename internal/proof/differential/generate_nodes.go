package differential

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/internal/core/actors"
)

// GenerateNodes returns the scenario of a seed about nodes that fail. Steps stand for kubelets, and for the scheduler.
func GenerateNodes(seed uint64) Scenario {
	g := &nodeGenerator{
		timeline:    newTimeline(seed, 9),
		tolerations: map[string][]corev1.Toleration{},
	}
	s := Scenario{Lead: 20*time.Second + time.Duration(g.IntN(10))*time.Second + firstNodeStep - CollectorStart, Nodes: true}
	g.now = Epoch.Add(s.Lead + CollectorStart)
	g.prepare()
	moves := []func(){
		g.createPod, g.createPod, g.createPod, g.createPod, g.finishPod, g.finishPod, g.deletePod, g.deletePod, g.changeTolerations, g.reportPod,
		g.fail, g.fail, g.fail, g.fail, g.failMany, g.failMany, g.recover, g.recover, g.recoverAll, g.report, g.report, g.report,
		g.deleteNode, g.deleteNode, g.createNode, g.createNode, g.taint, g.taint, g.untaint, g.changeNode, g.pass,
	}
	if g.chance(2) {
		moves = append(moves, g.failRequests, g.failRequests, g.failRequests)
	}
	for range 5 + g.IntN(10) {
		moves[g.IntN(len(moves))]()
		if g.chance(3) {
			g.settle()
			continue
		}
		g.wait(pick(g.generator, 0, 0, 0, 1, 4, 10, 16, 40, 57, 120, 300))
	}
	g.settle()
	s.Steps = g.steps
	return s
}

// nodeGenerator makes a scenario about nodes.
type nodeGenerator struct {
	timeline
	nodes       []string
	zones       map[string]string              // by node
	tolerations map[string][]corev1.Toleration // by pod, as last requested
	pods        int
}

// pass lets time pass.
func (g *nodeGenerator) pass() {
	g.add(Step{Op: Advance})
	g.wait(pick(g.generator, 5, 30, 60, 100, 290, 400))
}

// prepare creates nodes in one or several zones, and pods.
func (g *nodeGenerator) prepare() {
	g.zones = map[string]string{}
	zones := pick(g.generator, []string{""}, []string{"a"}, []string{"a", "b"}, []string{"a", "b"}, []string{"a", "b", ""}, []string{"a", "b", "c"})
	for i := range 1 + g.IntN(6) {
		name := fmt.Sprintf("n%d", i+1)
		g.nodes = append(g.nodes, name)
		g.zones[name] = pick(g.generator, zones...)
	}
	for _, name := range g.nodes {
		g.create(name)
		if !g.chance(10) {
			g.lease(name, Start)
		}
	}
	g.wait(pick(g.generator, 0, 1, 7, 30))
	for range g.IntN(4) {
		g.createPod()
	}
	g.wait(pick(g.generator, 0, 1, 8, 30))
}

func (g *nodeGenerator) node() string { return pick(g.generator, g.nodes...) }

func (g *nodeGenerator) lease(node string, what MachineOp) {
	g.add(Step{Op: Power, Node: node, Machine: what})
}

// create creates a node.
func (g *nodeGenerator) create(name string) {
	node := fake.Node(name)
	if zone := g.zones[name]; zone != "" {
		node.Labels[corev1.LabelTopologyZone] = zone
		if g.chance(3) {
			node.Labels[corev1.LabelTopologyRegion] = "r"
		}
	}
	if g.chance(3) {
		node.Labels[corev1.LabelOSStable], node.Labels[corev1.LabelArchStable] = "linux", "amd64"
	}
	if g.chance(12) {
		node.Labels["node.kubernetes.io/exclude-disruption"] = ""
	}
	node.Status.Conditions = g.conditions(pick(g.generator, "True", "True", "True", "True", "True", "True", "False", "Unknown", ""))
	node.Spec.Unschedulable = g.chance(15)
	g.add(Step{Op: Create, Object: node})
}

// conditions returns what a kubelet reports at this time, without Ready if that is "".
func (g *nodeGenerator) conditions(ready string) []corev1.NodeCondition {
	var all []corev1.NodeCondition
	add := func(kind corev1.NodeConditionType, status string) {
		c := corev1.NodeCondition{Type: kind, Status: corev1.ConditionStatus(status), Reason: "KubeletReports", Message: "the kubelet reports this"}
		c.LastHeartbeatTime.Time = g.now.Truncate(time.Second)
		c.LastTransitionTime = c.LastHeartbeatTime
		all = append(all, c)
	}
	for _, kind := range []corev1.NodeConditionType{corev1.NodeMemoryPressure, corev1.NodeDiskPressure, corev1.NodePIDPressure, corev1.NodeNetworkUnavailable} {
		if !g.chance(3) {
			add(kind, pick(g.generator, "False", "False", "False", "False", "False", "True", "Unknown"))
		}
	}
	if ready != "" {
		add(corev1.NodeReady, ready)
	}
	return all
}

// reportAs reports the status of a node.
func (g *nodeGenerator) reportAs(node, ready string) {
	g.patch(api.Ref{Kind: api.Node, Key: node}, api.Status, map[string]any{"status": map[string]any{"conditions": g.conditions(ready)}})
}

// report reports any status.
func (g *nodeGenerator) report() {
	g.reportAs(g.node(), pick(g.generator, "True", "True", "True", "False", "False", "False", "Unknown", ""))
}

// fail cuts a kubelet off.
func (g *nodeGenerator) fail() { g.lease(g.node(), StopKubelet) }

// failMany cuts all kubelets of a zone off, or all but one of the cluster, or all.
func (g *nodeGenerator) failMany() {
	how, zone, spared := g.IntN(4), g.zones[g.node()], g.node()
	g.add(Step{Op: Advance})
	for _, name := range g.nodes {
		if how == 0 || how == 1 && name != spared || how > 1 && g.zones[name] == zone {
			g.lease(name, StopKubelet)
			g.wait(pick(g.generator, 0, 0, 0, 1, 5))
		}
	}
}

// recover lets a kubelet report again.
func (g *nodeGenerator) recover() { g.recoverNode(g.node()) }

func (g *nodeGenerator) recoverNode(name string) {
	g.lease(name, pick(g.generator, Start, Reconnect))
	g.wait(pick(g.generator, 0, 0, 1, 6))
	if !g.chance(5) {
		g.reportAs(name, pick(g.generator, "True", "True", "True", "False"))
	}
}

func (g *nodeGenerator) recoverAll() {
	for _, name := range g.nodes {
		if !g.chance(6) {
			g.recoverNode(name)
		}
	}
	g.add(Step{Op: Advance})
}

func (g *nodeGenerator) deleteNode() {
	name := g.node()
	if g.chance(2) {
		g.lease(name, StopKubelet)
	}
	g.add(Step{Op: Delete, Ref: api.Ref{Kind: api.Node, Key: name}})
	if g.chance(3) {
		g.wait(pick(g.generator, 0, 1, 10, 30, 70))
		g.create(name)
	}
}

func (g *nodeGenerator) createNode() { g.create(g.node()) }

// The NoExecute taints of users.
var userTaints = []corev1.Taint{
	{Key: corev1.TaintNodeOutOfService, Value: "nodeshutdown", Effect: corev1.TaintEffectNoExecute},
	{Key: corev1.TaintNodeOutOfService, Value: "nodeshutdown", Effect: corev1.TaintEffectNoExecute},
	{Key: "example.com/maintenance", Effect: corev1.TaintEffectNoExecute},
	{Key: "example.com/maintenance", Value: "soon", Effect: corev1.TaintEffectNoSchedule},
	{Key: corev1.TaintNodeUnreachable, Effect: corev1.TaintEffectNoExecute},
	{Key: corev1.TaintNodeNotReady, Effect: corev1.TaintEffectNoExecute},
	{Key: corev1.TaintNodeUnschedulable, Effect: corev1.TaintEffectNoSchedule},
}

// taint replaces the taints of a node, at an instant of its own: of two changes of a pod and its node at one instant, the real taint
// eviction controller cancels the eviction of the first and begins another (NODE-064).
func (g *nodeGenerator) taint() {
	g.wait(1)
	defer g.wait(1)
	taints := []corev1.Taint{pick(g.generator, userTaints...)}
	if other := pick(g.generator, userTaints...); g.chance(3) && other.Key != taints[0].Key {
		taints = append(taints, other)
	}
	g.patch(api.Ref{Kind: api.Node, Key: g.node()}, api.Main, map[string]any{"spec": map[string]any{"taints": taints}})
}

func (g *nodeGenerator) untaint() {
	g.wait(1)
	defer g.wait(1)
	g.patch(api.Ref{Kind: api.Node, Key: g.node()}, api.Main, map[string]any{"spec": map[string]any{"taints": nil}})
}

// changeNode changes what a user may change of a node.
func (g *nodeGenerator) changeNode() {
	change := pick(g.generator,
		`{"spec":{"unschedulable":true}}`, `{"spec":{"unschedulable":true}}`, `{"spec":{"unschedulable":null}}`,
		`{"metadata":{"labels":{"kubernetes.io/os":"`+pick(g.generator, "linux", "windows")+`"}}}`,
		`{"metadata":{"labels":{"beta.kubernetes.io/os":"plan9"}}}`,
		`{"metadata":{"labels":{"node.kubernetes.io/exclude-disruption":`+pick(g.generator, `""`, `null`)+`}}}`,
		`{"metadata":{"labels":{"topology.kubernetes.io/zone":"`+pick(g.generator, "a", "b", "c")+`"}}}`,
	)
	g.add(Step{Op: Patch, Ref: api.Ref{Kind: api.Node, Key: g.node()}, Patch: change})
}

// tolerationsOfPod returns tolerations as pods have them. Those of two NoExecute taints are added by admission unless they are there.
func (g *nodeGenerator) tolerationsOfPod() (all []corev1.Toleration) {
	seconds := func() *int64 { return new(pick(g.generator, int64(0), -5, 3, 10, 10, 30, 60)) }
	exists := func(key string, limit *int64) {
		all = append(all, corev1.Toleration{Key: key, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute, TolerationSeconds: limit})
	}
	switch g.IntN(6) {
	case 0:
		// Those of a DaemonSet's pod.
		exists(corev1.TaintNodeNotReady, nil)
		exists(corev1.TaintNodeUnreachable, nil)
		for _, key := range []string{corev1.TaintNodeDiskPressure, corev1.TaintNodeMemoryPressure, corev1.TaintNodeUnschedulable} {
			all = append(all, corev1.Toleration{Key: key, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoSchedule})
		}
	case 1:
		exists(corev1.TaintNodeUnreachable, seconds())
		exists(corev1.TaintNodeNotReady, seconds())
	case 2:
		exists("example.com/maintenance", seconds())
	case 3:
		all = append(all, corev1.Toleration{Operator: corev1.TolerationOpExists})
	case 4:
		exists("", seconds())
	}
	if g.chance(4) {
		all = append(all, corev1.Toleration{
			Key: corev1.TaintNodeOutOfService, Operator: corev1.TolerationOpEqual, Value: "nodeshutdown", Effect: corev1.TaintEffectNoExecute, TolerationSeconds: seconds(),
		})
	}
	return all
}

// pod returns a pod that was created.
func (g *nodeGenerator) pod() api.Ref {
	return api.Ref{Kind: api.Pod, Key: g.existing(api.Pod, "default/p1")}
}

// createPod creates a pod, on a node or without one, and perhaps reports that it runs.
func (g *nodeGenerator) createPod() {
	g.pods++
	key := fmt.Sprintf("default/p%d", g.pods)
	if g.chance(5) {
		key = g.pod().Key
	}
	pod := fake.Pod(key)
	switch {
	case g.chance(12):
		pod.Spec.NodeName = "unknown"
	case !g.chance(8):
		pod.Spec.NodeName = g.node()
	}
	pod.Spec.Tolerations = g.tolerationsOfPod()
	g.tolerations[key] = slices.Clone(pod.Spec.Tolerations)
	if g.chance(8) {
		pod.Finalizers = []string{"example.com/hold"}
	}
	if g.chance(4) {
		pod.Spec.TerminationGracePeriodSeconds = new(pick(g.generator, int64(0), 1, 60))
	}
	g.add(Step{Op: Create, Object: pod})
	if pod.Spec.NodeName != "" && !g.chance(4) {
		g.wait(pick(g.generator, 0, 0, 1, 3))
		g.reportPodAs(key, corev1.PodRunning, "", pick(g.generator, "True", "True", "True", "False"))
	}
}

// reportPodAs reports the status of a pod.
func (g *nodeGenerator) reportPodAs(key string, phase corev1.PodPhase, reason, ready string) {
	status := map[string]any{"phase": phase, "reason": reason}
	if ready != "" {
		at := g.now.Truncate(time.Second).Format(time.RFC3339)
		status["conditions"] = []map[string]any{
			{"type": "PodScheduled", "status": "True", "lastTransitionTime": at}, {"type": "Ready", "status": ready, "lastTransitionTime": at},
		}
	}
	g.patch(api.Ref{Kind: api.Pod, Key: key}, api.Status, map[string]any{"status": status})
}

func (g *nodeGenerator) reportPod() {
	g.reportPodAs(g.pod().Key, pick(g.generator, corev1.PodRunning, corev1.PodRunning, corev1.PodPending, corev1.PodUnknown), "", pick(g.generator, "True", "True", "Unknown", "False", ""))
}

// finishPod lets several pods end. With more than TerminatedThreshold the collector deletes some.
func (g *nodeGenerator) finishPod() {
	for range pick(g.generator, 1, 2, 5) {
		phase, reason := pick(g.generator, corev1.PodSucceeded, corev1.PodFailed), ""
		if phase == corev1.PodFailed && g.chance(2) {
			reason = "Evicted"
		}
		g.reportPodAs(g.pod().Key, phase, reason, "")
		g.wait(pick(g.generator, 0, 0, 1))
	}
}

func (g *nodeGenerator) deletePod() {
	for range pick(g.generator, 1, 1, 2, 3) {
		g.add(Step{Op: Delete, Ref: g.pod(), Force: g.chance(4)})
	}
}

// changeTolerations adds tolerations to a pod, or changes for how long it tolerates a taint.
func (g *nodeGenerator) changeTolerations() {
	pod := g.pod()
	all := slices.Clone(g.tolerations[pod.Key])
	for i := range all {
		if all[i].TolerationSeconds != nil && g.chance(2) {
			all[i].TolerationSeconds = new(pick(g.generator, int64(0), 5, 20, 100))
		}
	}
	if len(all) == 0 || g.chance(2) {
		all = append(all, g.tolerationsOfPod()...)
	}
	g.tolerations[pod.Key] = all
	g.patch(pod, api.Main, map[string]any{"spec": map[string]any{"tolerations": all}})
}

// The requests that may fail, by actor: verb and kind.
var nodeRequests = map[string][]string{
	actors.NodeLifecycle: {"get Node", "patch Node", "patch Node", "update-status Node", "update-status Node", "update-status Pod", "update-status Pod"},
	actors.TaintEviction: {"get Pod", "patch-status Pod", "delete Pod"},
	actors.PodGC:         {"get Node", "patch-status Pod", "delete Pod"},
}

// failRequests lets some of the next requests of a controller fail.
func (g *nodeGenerator) failRequests() {
	r := Rule{Actor: pick(g.generator, NodeActors...), Times: 1 + g.IntN(8)}
	verb, kind, _ := strings.Cut(pick(g.generator, nodeRequests[r.Actor]...), " ")
	r.Verb, r.Kind = verb, api.Kind(kind)
	switch g.IntN(4) {
	case 0:
		r.Lost = true
	case 1:
		r.Conflict = verb != "get"
	}
	if g.chance(2) {
		r.Key = g.node()
		if r.Kind == api.Pod {
			r.Key = g.pod().Key
		}
	}
	g.add(Step{Op: Fault, Rule: r})
}
