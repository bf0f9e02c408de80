package healthmonitor

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/kubeletstatus"
	"github.com/volsim/volsim/internal/core/objects"
)

// notReadyFor is how long a node must not be ready before it counts as failed (HEALTH-012).
const notReadyFor = 5 * time.Minute

// nodeWatcher emits Events about the claims of pods on nodes that fail (HEALTH-010 to HEALTH-014).
type nodeWatcher struct {
	*monitor
	nodes engine.Informer[*corev1.Node]
	queue *engine.Queue
	// users are the pods that use a claim, by the key of the claim and of the pod, as they were when the cache first had them.
	users map[string]map[string]*corev1.Pod
	// broken is when a node was first seen not ready; failed are the nodes that had Events.
	broken map[string]time.Time
	failed map[string]bool
}

func newNodeWatcher(m *monitor) {
	w := &nodeWatcher{monitor: m, users: map[string]map[string]*corev1.Pod{}, broken: map[string]time.Time{}, failed: map[string]bool{}}
	// HEALTH-011: changes of pods are ignored.
	engine.NewInformer(m.actor, m.actor.Engine().Store().Pods).Handle(engine.Handler[*corev1.Pod]{Add: w.podAdded, Delete: w.podDeleted})
	// HEALTH-010: one worker; every change of a node queues it.
	w.queue = m.actor.NewQueue(engine.QueueConfig{Name: "nodes", Kind: api.Node, Workers: 1, Sync: w.sync,
		// HEALTH-012: [SIM] upstream it is queued again at once, without a pause.
		Limiter: engine.NewLimiter(time.Second, time.Second, 0, 0)})
	w.nodes = engine.NewInformer(m.actor, m.actor.Engine().Store().Nodes)
	add := func(node *corev1.Node) { w.queue.Add(node.Name) }
	w.nodes.Handle(engine.Handler[*corev1.Node]{Add: add, Update: func(_, node *corev1.Node) { add(node) }, Delete: add})
	// HEALTH-010: all nodes at the start and every five minutes.
	var ticker *engine.Ticker
	ticker = m.actor.NewTicker(engine.TickerConfig{Name: "nodes", Period: listPeriod, Pass: func(*engine.Process) {
		for _, node := range w.nodes.List() {
			add(node)
		}
		ticker.ArmBackground()
	}})
	ticker.ArmBackground()
}

// claimsOf returns the keys of the claims that the pod names.
func claimsOf(pod *corev1.Pod) (keys []string) {
	for i := range pod.Spec.Volumes {
		// HEALTH-011: claims of generic ephemeral volumes do not count.
		if source := pod.Spec.Volumes[i].PersistentVolumeClaim; source != nil {
			keys = append(keys, api.Key(pod.Namespace, source.ClaimName))
		}
	}
	return keys
}

func (w *nodeWatcher) podAdded(pod *corev1.Pod) {
	for _, claim := range claimsOf(pod) {
		if w.users[claim] == nil {
			w.users[claim] = map[string]*corev1.Pod{}
		}
		w.users[claim][api.KeyOf(pod)] = pod
	}
}

func (w *nodeWatcher) podDeleted(pod *corev1.Pod) {
	for _, claim := range claimsOf(pod) {
		delete(w.users[claim], api.KeyOf(pod))
		if len(w.users[claim]) == 0 {
			delete(w.users, claim)
		}
	}
}

// sync looks at a node.
func (w *nodeWatcher) sync(p *engine.Process, name string) error {
	node, ok := w.nodes.Get(name)
	if !ok {
		// HEALTH-014: the program dereferences a node that it does not have.
		p.Decide("HEALTH-014", &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}, "the node is gone: the sidecar panics, and is started again")
		p.Restart()
	}
	if kubeletstatus.Ready(node) {
		w.noteReady(p, node)
		return nil
	}
	if !w.isBroken(p, node) {
		return nil
	}
	// HEALTH-012: an error in between repeats the Events before it.
	if err := w.each(node, func(claim *corev1.PersistentVolumeClaim, pods []string) {
		w.events.Event(p, claim, corev1.EventTypeWarning, "NodeFailed",
			"Pods: [ %s ] consuming PVC: %s in namespace: %s are now on a failed node: %s", strings.Join(pods, " "), claim.Name, claim.Namespace, name)
	}); err != nil {
		return err
	}
	delete(w.broken, name)
	w.failed[name] = true
	return nil
}

// isBroken reports whether the node counts as failed (HEALTH-012).
func (w *nodeWatcher) isBroken(p *engine.Process, node *corev1.Node) bool {
	switch first, seen := w.broken[node.Name]; {
	case node.Status.Phase == corev1.NodeTerminated:
		return true
	case !slices.ContainsFunc(node.Status.Conditions, func(c corev1.NodeCondition) bool { return c.Type == corev1.NodeReady }):
		// HEALTH-012: a node without the condition is neither.
		return false
	case !seen:
		w.broken[node.Name] = p.Now()
		return false
	default:
		return p.Now().Sub(first) > notReadyFor
	}
}

// noteReady forgets that a node was not ready (HEALTH-013).
func (w *nodeWatcher) noteReady(p *engine.Process, node *corev1.Node) {
	delete(w.broken, node.Name)
	if !w.failed[node.Name] {
		return
	}
	err := w.each(node, func(claim *corev1.PersistentVolumeClaim, _ []string) {
		w.events.Event(p, claim, corev1.EventTypeWarning, "NodeRecovered", "Node: %s recovered", node.Name)
	})
	// HEALTH-013: after an error the next look tries again.
	if err == nil {
		delete(w.failed, node.Name)
	}
}

// each calls fn for the claims of bound volumes of the driver that pods on the node use, with the names of these pods.
func (w *nodeWatcher) each(node *corev1.Node, fn func(claim *corev1.PersistentVolumeClaim, pods []string)) error {
	for _, pv := range w.mine() {
		if pv.Status.Phase != corev1.VolumeBound || pv.Spec.ClaimRef == nil {
			continue
		}
		key := api.Key(pv.Spec.ClaimRef.Namespace, pv.Spec.ClaimRef.Name)
		// HEALTH-011: the node that the pod had when it was first seen. [SIM] In the order of their names.
		var pods []string
		for _, user := range objects.SortedKeys(w.users[key]) {
			if pod := w.users[key][user]; pod.Spec.NodeName == node.Name {
				pods = append(pods, pod.Name)
			}
		}
		if len(pods) == 0 {
			continue
		}
		claim, ok := w.claims.Get(key)
		if !ok {
			return fmt.Errorf("persistentvolumeclaim %q not found", pv.Spec.ClaimRef.Name)
		}
		fn(claim, pods)
	}
	return nil
}
