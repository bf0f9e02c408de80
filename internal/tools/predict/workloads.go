package predict

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/objects"
	"github.com/volsim/volsim/trace"
)

// Defaults of kube-controller-manager.
const (
	// gracePeriod is how long a node may miss heartbeats (--node-monitor-grace-period).
	gracePeriod = 50 * time.Second
	// monitorPeriod is how often that is checked (--node-monitor-period).
	monitorPeriod = 5 * time.Second
)

// workloads replaces the node lifecycle controller, ReplicaSets and StatefulSets.
type workloads struct {
	// unreachable holds the nodes without heartbeats, with the time of the last one.
	unreachable map[string]time.Time
	// claims holds the last state of every claim, for StatefulSets to create again.
	claims map[string]*corev1.PersistentVolumeClaim
	// replaceable holds the existing pods of ReplicaSets and StatefulSets, by key.
	replaceable map[string]*corev1.Pod
	created     int
	// changed requests another check of all nodes. evicting holds the nodes with a NoExecute taint, as of the last check.
	changed  bool
	evicting []*corev1.Node
}

// nodeWritten sets changed for writes that affect readiness or taints. Most writes are heartbeats and do not.
func (o *workloads) nodeWritten(e *trace.Entry) {
	before, _ := e.Old.(*corev1.Node)
	after, _ := e.New.(*corev1.Node)
	if before == nil || after == nil || isReady(before) != isReady(after) ||
		!equality.Semantic.DeepEqual(before.Spec.Taints, after.Spec.Taints) {
		o.changed = true
	}
}

func newWorkloads(r *run) *workloads {
	o := &workloads{unreachable: map[string]time.Time{}, claims: map[string]*corev1.PersistentVolumeClaim{},
		replaceable: map[string]*corev1.Pod{}, changed: true}
	for _, claim := range r.Claims.List() {
		o.claims[api.KeyOf(claim)] = claim
	}
	for _, pod := range r.Pods.List() {
		if hasReplacement(pod) && pod.DeletionTimestamp == nil {
			o.replaceable[api.KeyOf(pod)] = pod
		}
	}
	return o
}

// reconcile runs each replaced controller once.
func (r *run) reconcile() error {
	if r.workloads.changed || len(r.workloads.unreachable) > 0 {
		r.workloads.changed, r.workloads.evicting = false, nil
		for _, node := range r.Nodes.List() {
			if err := r.monitor(node); err != nil {
				return err
			}
		}
		r.observe()
		for _, node := range r.Nodes.List() {
			if slices.ContainsFunc(node.Spec.Taints, func(t corev1.Taint) bool { return t.Effect == corev1.TaintEffectNoExecute }) {
				r.workloads.evicting = append(r.workloads.evicting, node)
			}
		}
	}
	if err := r.evict(); err != nil {
		return err
	}
	if r.opts.NoReplacements {
		return nil
	}
	return r.replace()
}

// monitor is the node lifecycle controller: it marks a node without heartbeats as Unknown and taints it, and removes the taints when
// heartbeats return.
func (r *run) monitor(node *corev1.Node) error {
	since, silent := r.workloads.unreachable[node.Name]
	ready := isReady(node)
	switch {
	case silent && ready && r.Now().Sub(since) >= gracePeriod:
		at := metav1.NewTime(r.Now())
		for i := range node.Status.Conditions {
			c := &node.Status.Conditions[i]
			c.Status, c.Reason, c.Message, c.LastTransitionTime = corev1.ConditionUnknown, "NodeStatusUnknown",
				"Kubelet stopped posting node status.", at
		}
		if err := r.UpdateStatus(node); err != nil {
			return err
		}
		for _, effect := range []corev1.TaintEffect{corev1.TaintEffectNoSchedule, corev1.TaintEffectNoExecute} {
			if err := r.taint(node.Name, corev1.Taint{Key: corev1.TaintNodeUnreachable, Effect: effect, TimeAdded: &at}); err != nil {
				return err
			}
		}
	case !silent && ready && slices.ContainsFunc(node.Spec.Taints, isUnreachable):
		node.Spec.Taints = slices.DeleteFunc(node.Spec.Taints, isUnreachable)
		return r.Update(node)
	}
	return nil
}

func isUnreachable(taint corev1.Taint) bool { return taint.Key == corev1.TaintNodeUnreachable }

func isReady(node *corev1.Node) bool {
	return slices.ContainsFunc(node.Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
	})
}

// taint adds a taint to a node if it is missing.
func (r *run) taint(name string, taint corev1.Taint) error {
	node, err := r.Nodes.Get(name)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(node.Spec.Taints, func(t corev1.Taint) bool { return t.MatchTaint(&taint) }) {
		return nil
	}
	if taint.TimeAdded == nil {
		at := metav1.NewTime(r.Now())
		taint.TimeAdded = &at
	}
	node.Spec.Taints = append(node.Spec.Taints, taint)
	return r.Update(node)
}

// evict is the taint eviction controller: it deletes pods that do not tolerate a NoExecute taint, or whose toleration has expired.
func (r *run) evict() error {
	if len(r.workloads.evicting) == 0 {
		return nil
	}
	pods := r.Pods.List()
	for _, node := range r.workloads.evicting {
		for _, pod := range pods {
			if pod.Spec.NodeName != node.Name || pod.DeletionTimestamp != nil || objects.Terminated(pod) {
				continue
			}
			at, evicted := evictedAt(pod, node, r.Now())
			if !evicted || at.After(r.Now()) {
				continue
			}
			if err := r.Delete(pod); err != nil {
				return err
			}
		}
	}
	return nil
}

// evictedAt returns when the taints of the node evict the pod.
func evictedAt(pod *corev1.Pod, node *corev1.Node, now time.Time) (at time.Time, evicted bool) {
	for i := range node.Spec.Taints {
		taint := &node.Spec.Taints[i]
		if taint.Effect != corev1.TaintEffectNoExecute {
			continue
		}
		since := now
		if taint.TimeAdded != nil {
			since = taint.TimeAdded.Time
		}
		stays, forever := time.Duration(0), false
		for _, t := range pod.Spec.Tolerations {
			if !objects.Tolerated(&corev1.Pod{Spec: corev1.PodSpec{Tolerations: []corev1.Toleration{t}}}, taint) {
				continue
			}
			if t.TolerationSeconds == nil {
				forever = true
				break
			}
			stays = max(stays, time.Duration(*t.TolerationSeconds)*time.Second)
		}
		if leave := since.Add(stays); !forever && (!evicted || leave.Before(at)) {
			at, evicted = leave, true
		}
	}
	return at, evicted
}

// controllerKind returns the kind of the controller that owns the pod; "" for none.
func controllerKind(pod *corev1.Pod) string {
	if owner := metav1.GetControllerOfNoCopy(pod); owner != nil {
		return owner.Kind
	}
	return ""
}

// hasReplacement reports whether the controller of the pod replaces it.
func hasReplacement(pod *corev1.Pod) bool {
	kind := controllerKind(pod)
	return kind == "ReplicaSet" || kind == "StatefulSet"
}

// replace acts as ReplicaSets and StatefulSets: a ReplicaSet creates another pod as soon as one is being deleted, a StatefulSet one of the
// same name once it is deleted.
func (r *run) replace() error {
	for _, key := range sortedKeys(r.workloads.replaceable) {
		old := r.workloads.replaceable[key]
		now, err := r.Pods.Get(key)
		gone := err != nil || now.UID != old.UID
		kind := controllerKind(old)
		switch {
		case kind == "ReplicaSet" && !gone && now.DeletionTimestamp == nil, kind == "StatefulSet" && !gone:
			continue
		}
		if kind == "StatefulSet" && r.claimTerminating(old) {
			continue
		}
		delete(r.workloads.replaceable, key)
		if err := r.recreate(old, kind); err != nil {
			return err
		}
	}
	return nil
}

func (r *run) recreate(old *corev1.Pod, kind string) error {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: old.Namespace, Name: old.Name, Labels: old.Labels,
		OwnerReferences: old.OwnerReferences}, Spec: *old.Spec.DeepCopy()}
	pod.Spec.NodeName = ""
	if kind == "ReplicaSet" {
		r.workloads.created++
		pod.Name = fmt.Sprintf("%s-new%d", metav1.GetControllerOfNoCopy(old).Name, r.workloads.created)
	} else if err := r.recreateClaims(old); err != nil {
		return err
	}
	if err := r.Create(pod); err != nil {
		r.note("The replacement of pod %s could not be created: %v.", api.KeyOf(old), err)
		return nil
	}
	stored, err := r.Pods.Get(api.KeyOf(pod))
	if err == nil {
		r.workloads.replaceable[api.KeyOf(pod)] = stored
	}
	return err
}

// claimTerminating reports whether a claim of the StatefulSet's template is still being deleted; until then the StatefulSet waits.
func (r *run) claimTerminating(pod *corev1.Pod) bool {
	return slices.ContainsFunc(templateClaims(pod), func(key string) bool {
		claim, err := r.Claims.Get(key)
		return err == nil && claim.DeletionTimestamp != nil
	})
}

// templateClaims returns the keys of the pod's claims that its StatefulSet created from a template, recognized by their names.
func templateClaims(pod *corev1.Pod) []string {
	var keys []string
	for _, volume := range pod.Spec.Volumes {
		if source := volume.PersistentVolumeClaim; source != nil && source.ClaimName == volume.Name+"-"+pod.Name {
			keys = append(keys, api.Key(pod.Namespace, source.ClaimName))
		}
	}
	return keys
}

// recreateClaims creates the missing claims of a StatefulSet's template. They get new, empty volumes.
func (r *run) recreateClaims(pod *corev1.Pod) error {
	for _, key := range templateClaims(pod) {
		old := r.workloads.claims[key]
		if _, err := r.Claims.Get(key); err == nil || old == nil {
			continue
		}
		claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: old.Namespace, Name: old.Name, Labels: old.Labels},
			Spec: *old.Spec.DeepCopy()}
		claim.Spec.VolumeName = ""
		if err := r.Create(claim); err != nil {
			return err
		}
		r.outcome(Outcome{Kind: Warns, Object: "pvc/" + key, What: "is created again by its StatefulSet, and is empty"})
	}
	return nil
}

// emptyObject returns an object with only its kind and name.
func emptyObject(ref api.Ref) api.Object {
	namespace, name := objects.SplitKey(ref.Key)
	meta := metav1.ObjectMeta{Namespace: namespace, Name: name}
	return emptyOf(ref.Kind, meta)
}

// running reports whether containers of the pod run.
func running(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodRunning && !objects.Terminated(pod)
}
