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

// Figures of the controllers that are played here.
const (
	// gracePeriod is how long a node may be silent (--node-monitor-grace-period).
	gracePeriod = 50 * time.Second
	// monitorPeriod is how often that is looked at (--node-monitor-period).
	monitorPeriod = 5 * time.Second
)

// outside plays what decides about pods and is not simulated.
type outside struct {
	// lost are the machines that are not heard of, and since when.
	lost map[string]time.Time
	// claims are those there were, for StatefulSets to make again.
	claims map[string]*corev1.PersistentVolumeClaim
	// watched are the pods of ReplicaSets and StatefulSets that are there, by key.
	watched map[string]*corev1.Pod
	made    int
	// changed says that the nodes have to be looked at again, and evicting are those that pods have to leave, as of the last look.
	changed  bool
	evicting []*corev1.Node
}

// nodeWritten notes a write to a node that matters here. Most do not: a kubelet reports every few seconds.
func (o *outside) nodeWritten(e *trace.Entry) {
	before, _ := e.Old.(*corev1.Node)
	after, _ := e.New.(*corev1.Node)
	if before == nil || after == nil || isReady(before) != isReady(after) || !equality.Semantic.DeepEqual(before.Spec.Taints, after.Spec.Taints) {
		o.changed = true
	}
}

func newOutside(r *run) *outside {
	o := &outside{lost: map[string]time.Time{}, claims: map[string]*corev1.PersistentVolumeClaim{}, watched: map[string]*corev1.Pod{}, changed: true}
	for _, claim := range r.Claims.List() {
		o.claims[api.KeyOf(claim)] = claim
	}
	for _, pod := range r.Pods.List() {
		if replaced(pod) && pod.DeletionTimestamp == nil {
			o.watched[api.KeyOf(pod)] = pod
		}
	}
	return o
}

// pass is one look at everything.
func (r *run) pass() error {
	if r.outside.changed || len(r.outside.lost) > 0 {
		r.outside.changed, r.outside.evicting = false, nil
		for _, node := range r.Nodes.List() {
			if err := r.monitor(node); err != nil {
				return err
			}
		}
		r.observe()
		for _, node := range r.Nodes.List() {
			if slices.ContainsFunc(node.Spec.Taints, func(t corev1.Taint) bool { return t.Effect == corev1.TaintEffectNoExecute }) {
				r.outside.evicting = append(r.outside.evicting, node)
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

// monitor is the node lifecycle controller: a node that is silent for too long is not known to be ready, and one that reports again is
// freed of the taints for that.
func (r *run) monitor(node *corev1.Node) error {
	since, silent := r.outside.lost[node.Name]
	ready := isReady(node)
	switch {
	case silent && ready && r.Now().Sub(since) >= gracePeriod:
		at := metav1.NewTime(r.Now())
		for i := range node.Status.Conditions {
			c := &node.Status.Conditions[i]
			c.Status, c.Reason, c.Message, c.LastTransitionTime = corev1.ConditionUnknown, "NodeStatusUnknown", "Kubelet stopped posting node status.", at
		}
		if err := r.UpdateStatus(node); err != nil {
			return err
		}
		for _, effect := range []corev1.TaintEffect{corev1.TaintEffectNoSchedule, corev1.TaintEffectNoExecute} {
			if err := r.taint(node.Name, corev1.Taint{Key: corev1.TaintNodeUnreachable, Effect: effect, TimeAdded: &at}); err != nil {
				return err
			}
		}
	case !silent && ready && slices.ContainsFunc(node.Spec.Taints, unreachable):
		node.Spec.Taints = slices.DeleteFunc(node.Spec.Taints, unreachable)
		return r.Update(node)
	}
	return nil
}

func unreachable(taint corev1.Taint) bool { return taint.Key == corev1.TaintNodeUnreachable }

func isReady(node *corev1.Node) bool {
	return slices.ContainsFunc(node.Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
	})
}

// taint adds a taint to a node, unless it has it.
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

// evict is the taint eviction controller: pods that do not tolerate a taint with NoExecute are deleted, when their time is over.
func (r *run) evict() error {
	if len(r.outside.evicting) == 0 {
		return nil
	}
	pods := r.Pods.List()
	for _, node := range r.outside.evicting {
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

// evictedAt is when the pod has to leave the node for its taints.
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

// controllerKind is the kind of the controller that a pod belongs to, "" for none.
func controllerKind(pod *corev1.Pod) string {
	if owner := metav1.GetControllerOfNoCopy(pod); owner != nil {
		return owner.Kind
	}
	return ""
}

// replaced reports whether somebody makes another pod in its place.
func replaced(pod *corev1.Pod) bool {
	kind := controllerKind(pod)
	return kind == "ReplicaSet" || kind == "StatefulSet"
}

// replace is the part of ReplicaSets and StatefulSets: a ReplicaSet makes another pod when one begins to go, a StatefulSet one of the
// same name when it is gone.
func (r *run) replace() error {
	for _, key := range sortedKeys(r.outside.watched) {
		old := r.outside.watched[key]
		now, err := r.Pods.Get(key)
		gone := err != nil || now.UID != old.UID
		kind := controllerKind(old)
		switch {
		case kind == "ReplicaSet" && !gone && now.DeletionTimestamp == nil, kind == "StatefulSet" && !gone:
			continue
		}
		if kind == "StatefulSet" && r.claimGoes(old) {
			continue
		}
		delete(r.outside.watched, key)
		if err := r.remake(old, kind); err != nil {
			return err
		}
	}
	return nil
}

func (r *run) remake(old *corev1.Pod, kind string) error {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: old.Namespace, Name: old.Name, Labels: old.Labels, OwnerReferences: old.OwnerReferences}, Spec: *old.Spec.DeepCopy()}
	pod.Spec.NodeName = ""
	if kind == "ReplicaSet" {
		r.outside.made++
		pod.Name = fmt.Sprintf("%s-new%d", metav1.GetControllerOfNoCopy(old).Name, r.outside.made)
	} else if err := r.remakeClaims(old); err != nil {
		return err
	}
	if err := r.Create(pod); err != nil {
		r.note("a pod in place of %s is not made: %v", api.KeyOf(old), err)
		return nil
	}
	stored, err := r.Pods.Get(api.KeyOf(pod))
	if err == nil {
		r.outside.watched[api.KeyOf(pod)] = stored
	}
	return err
}

// claimGoes reports whether a claim of the StatefulSet's template is still being deleted: until it is gone no pod is made.
func (r *run) claimGoes(pod *corev1.Pod) bool {
	return slices.ContainsFunc(templateClaims(pod), func(key string) bool {
		claim, err := r.Claims.Get(key)
		return err == nil && claim.DeletionTimestamp != nil
	})
}

// templateClaims are the keys of the claims that a pod's StatefulSet makes from its template, as their names tell.
func templateClaims(pod *corev1.Pod) []string {
	var keys []string
	for _, volume := range pod.Spec.Volumes {
		if source := volume.PersistentVolumeClaim; source != nil && source.ClaimName == volume.Name+"-"+pod.Name {
			keys = append(keys, api.Key(pod.Namespace, source.ClaimName))
		}
	}
	return keys
}

// remakeClaims makes the claims of a StatefulSet's template that are missing. They are new: whatever was on the old ones is not on them.
func (r *run) remakeClaims(pod *corev1.Pod) error {
	for _, key := range templateClaims(pod) {
		old := r.outside.claims[key]
		if _, err := r.Claims.Get(key); err == nil || old == nil {
			continue
		}
		claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: old.Namespace, Name: old.Name, Labels: old.Labels}, Spec: *old.Spec.DeepCopy()}
		claim.Spec.VolumeName = ""
		if err := r.Create(claim); err != nil {
			return err
		}
		r.outcome(Outcome{Kind: Warns, Object: "pvc/" + key, What: "is made again by its StatefulSet, and is empty"})
	}
	return nil
}

// named is an object of that name, to point at.
func named(ref api.Ref) api.Object {
	namespace, name := api.SplitKey(ref.Key)
	meta := metav1.ObjectMeta{Namespace: namespace, Name: name}
	return emptyOf(ref.Kind, meta)
}

// running reports whether containers of the pod run.
func running(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodRunning && !objects.Terminated(pod)
}
