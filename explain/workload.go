package explain

import (
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/controllers/workload"
	"github.com/volsim/volsim/internal/core/actors"
	"github.com/volsim/volsim/internal/core/objkinds"
	"github.com/volsim/volsim/internal/core/plain"
	"github.com/volsim/volsim/internal/core/snapshot"
)

// shownPods is the number of pods that the explanation of a workload lists.
const shownPods = 3

// makers are the controllers that make pods, by the kind of their objects, each with the rule by which it makes them.
var makers = map[api.Kind]struct{ actor, rule string }{
	snapshot.StatefulSets:           {actors.StatefulSet, "STS-020"},
	snapshot.ReplicaSets:            {actors.ReplicaSet, "RS-020"},
	snapshot.ReplicationControllers: {actors.ReplicationController, "RS-020"},
	snapshot.Deployments:            {actors.Deployment, "DEP-030"},
	snapshot.DaemonSets:             {actors.DaemonSet, "DS-020"},
	snapshot.Jobs:                   {actors.Job, "JOB-020"},
	snapshot.CronJobs:               {actors.CronJob, "JOB-091"},
}

// owned are the objects of one controller, by its uid, in the order of the snapshot.
type owned struct {
	pods map[types.UID][]*corev1.Pod
	sets map[types.UID][]*plain.Object
	all  map[api.Ref]*plain.Object // the workloads
}

// workloads returns what workloads own. It is found out when a workload is explained for the first time.
func (x *explainer) workloads() *owned {
	if x.owned != nil {
		return x.owned
	}
	x.owned = &owned{map[types.UID][]*corev1.Pod{}, map[types.UID][]*plain.Object{}, map[api.Ref]*plain.Object{}}
	for _, pod := range sorted(x.Pods) {
		if owner := metav1.GetControllerOfNoCopy(pod); owner != nil {
			x.owned.pods[owner.UID] = append(x.owned.pods[owner.UID], pod)
		}
	}
	for _, obj := range sorted(x.Workloads) {
		x.owned.all[api.RefTo(obj)] = obj
		if owner := metav1.GetControllerOfNoCopy(obj); owner != nil {
			x.owned.sets[owner.UID] = append(x.owned.sets[owner.UID], obj)
		}
	}
	return x.owned
}

// maker explains one workload.
type maker struct {
	*explainer
	obj         *plain.Object
	actor, rule string
	pods        []*corev1.Pod
	e           Explanation
}

// workload explains an object whose controller makes pods: which pod is missing or not ready, and why.
func (x *explainer) workload(obj *plain.Object) Explanation {
	made := makers[api.KindOf(obj)]
	m := &maker{explainer: x, obj: obj, actor: made.actor, rule: made.rule, pods: x.workloads().pods[obj.UID]}
	ready := 0
	for _, pod := range m.pods {
		if isReady(pod) {
			ready++
		}
	}
	switch api.KindOf(obj) {
	case snapshot.StatefulSets:
		set := plain.Shared[*appsv1.StatefulSet](obj)
		if want := orOne(set.Spec.Replicas); m.begins(fmt.Sprintf("%d/%d ready", ready, want)) {
			m.statefulSet(set, want)
		}
	case snapshot.ReplicaSets:
		if want := orOne(plain.Shared[*appsv1.ReplicaSet](obj).Spec.Replicas); m.begins(fmt.Sprintf("%d/%d ready", ready, want)) {
			m.anyPods(want)
		}
	case snapshot.ReplicationControllers:
		if want := orOne(plain.Shared[*corev1.ReplicationController](obj).Spec.Replicas); m.begins(fmt.Sprintf("%d/%d ready", ready, want)) {
			m.anyPods(want)
		}
	case snapshot.DaemonSets:
		if want := int(plain.Shared[*appsv1.DaemonSet](obj).Status.DesiredNumberScheduled); m.begins(fmt.Sprintf("%d/%d ready", ready, want)) {
			m.anyPods(want)
		}
	case snapshot.Deployments:
		deployment := plain.Shared[*appsv1.Deployment](obj)
		if want := orOne(deployment.Spec.Replicas); m.begins(fmt.Sprintf("%d/%d ready", deployment.Status.ReadyReplicas, want)) {
			m.deployment(deployment, want)
		}
	case snapshot.Jobs:
		job := plain.Shared[*batchv1.Job](obj)
		if m.begins(fmt.Sprintf("%d/%d complete", job.Status.Succeeded, orOne(job.Spec.Completions))) {
			m.job(job)
		}
	case snapshot.CronJobs:
		if m.begins(fmt.Sprintf("%d active", len(plain.Shared[*batchv1.CronJob](obj).Status.Active))) {
			m.cronJob(plain.Shared[*batchv1.CronJob](obj))
		}
	}
	return m.e
}

func orOne(n *int32) int {
	if n == nil {
		return 1
	}
	return int(*n)
}

// begins starts the explanation. It reports false for a workload that is being deleted, which is explained already.
func (m *maker) begins(phase string) bool {
	m.e = m.begin(m.obj, phase)
	if m.obj.DeletionTimestamp == nil {
		return true
	}
	if others := without(m.obj, collected...); len(others) > 0 {
		m.blockedByFinalizers(&m.e, others)
		return false
	}
	// GC-020: with foreground deletion the owner stays until its dependents are gone.
	m.e.because("GC-020", "it is being deleted, and its dependents first")
	m.e.next(actors.GarbageCollector, "deletes the dependents, then removes its finalizer")
	m.addPods(func(*corev1.Pod) bool { return true })
	m.addSets()
	m.waits("GC-020", "when the dependents are gone")
	return false
}

// isReady reports whether a pod is ready, and neither being deleted nor ended. isUnready pods may become ready.
func isReady(pod *corev1.Pod) bool   { return workload.Active(pod) && workload.Ready(pod) != nil }
func isUnready(pod *corev1.Pod) bool { return workload.Active(pod) && workload.Ready(pod) == nil }
func isLeaving(pod *corev1.Pod) bool { return pod.DeletionTimestamp != nil }

// addPods adds the first pods that match as related objects.
func (m *maker) addPods(match func(*corev1.Pod) bool) {
	more := 0
	for _, pod := range m.pods {
		switch {
		case !match(pod):
		case len(m.e.Related) < shownPods:
			m.addPod(&m.e, pod)
		default:
			more++
		}
	}
	if more > 0 {
		m.e.Notes = append(m.e.Notes, fmt.Sprintf("%d more of its pods are not ready", more))
	}
}

// addSets adds the sets and Jobs that it owns and that are not in their desired state.
func (m *maker) addSets() {
	for _, set := range m.workloads().sets[m.obj.UID] {
		if m.seen[api.RefTo(set)] {
			continue
		}
		if x := m.workload(set); x.Changes.When != Settled {
			m.e.Related = append(m.e.Related, x)
		}
	}
}

// waits makes the workload change with its related objects; without any its controller is about to act.
func (m *maker) waits(rule, text string) {
	if len(m.e.Related) > 0 {
		m.e.follow()
		return
	}
	m.e.automatic(m.Now, rule, text)
}

// missing explains why the controller has fewer pods than it wants: its last attempt failed, or it is about to make them.
func (m *maker) missing(what string) {
	if failure := m.failure(); failure != "" {
		rule, todo := createRule(failure, m.rule)
		m.e.because(rule, what+"; the last attempt failed: "+failure)
		m.e.todo(todo)
		m.e.next(m.actor, "tries again, with growing delays")
		m.e.manual("the next attempts fail like the last one")
		return
	}
	m.e.because(m.rule, what)
	m.e.next(m.actor, "creates it")
	m.e.automatic(m.Now, m.rule, "at its next sync")
}

// failure returns the message of the newest Event FailedCreate, unless a later creation succeeded.
func (m *maker) failure() string {
	kind, _ := objkinds.Split(string(api.KindOf(m.obj)))
	var failed, succeeded *corev1.Event
	for _, event := range m.events[api.Ref{Kind: api.Kind(kind), Key: api.KeyOf(m.obj)}] {
		last := &succeeded
		switch {
		case event.InvolvedObject.UID != "" && event.InvolvedObject.UID != m.obj.UID:
			continue
		case event.Reason == "FailedCreate":
			last = &failed
		case event.Reason != "SuccessfulCreate":
			continue
		}
		if *last == nil || !timeOf(event).Before(timeOf(*last)) {
			*last = event
		}
	}
	if failed == nil || succeeded != nil && timeOf(failed).Before(timeOf(succeeded)) {
		return ""
	}
	return failed.Message
}

// anyPods explains a workload whose pods are alike: a ReplicaSet or a DaemonSet.
func (m *maker) anyPods(want int) {
	active, unready := 0, 0
	for _, pod := range m.pods {
		if workload.Active(pod) {
			active++
		}
		if isUnready(pod) {
			unready++
		}
	}
	switch {
	case active < want && api.KindOf(m.obj) == snapshot.DaemonSets && slices.ContainsFunc(m.pods, isLeaving):
		// DS-020: a pod that is being deleted blocks its successor. RS-021: that of a ReplicaSet does not.
		m.e.because("DS-020", "a pod that is being deleted blocks its successor on the node")
		m.addPods(isLeaving)
		m.e.follow()
	case active < want:
		m.missing(fmt.Sprintf("it has %d of %d pods", active, want))
		m.addPods(isUnready)
	case unready > 0:
		m.e.because(m.rule, fmt.Sprintf("%d of its pods are not ready", unready))
		m.addPods(isUnready)
		m.waits(m.rule, "when they are ready")
	default:
		m.e.because(m.rule, "all its pods are ready")
		m.e.settled()
	}
}

// statefulSet explains a StatefulSet: the first of its pods, in their order, that is missing or not ready.
func (m *maker) statefulSet(set *appsv1.StatefulSet, want int) {
	first := 0
	if set.Spec.Ordinals != nil {
		first = int(set.Spec.Ordinals.Start)
	}
	for i := first; i < first+want; i++ {
		name := fmt.Sprintf("%s-%d", set.Name, i)
		pod := m.explainer.pods[api.Key(set.Namespace, name)]
		if pod != nil && isReady(pod) {
			continue
		}
		rest := ""
		if set.Spec.PodManagementPolicy != appsv1.ParallelPodManagement && i < first+want-1 {
			rest = "; the pods after it wait"
		}
		m.statefulPod(set, name, pod, rest)
		return
	}
	// STS-027: surplus pods are deleted from the last on.
	if len(m.pods) > want {
		m.e.because("STS-027", fmt.Sprintf("it has %d pods more than it wants", len(m.pods)-want))
		m.e.next(m.actor, "deletes them from the last on")
		m.addPods(isLeaving)
		m.waits("STS-027", "at its next sync")
		return
	}
	m.e.because(m.rule, "all its pods are ready")
	m.e.settled()
}

// statefulPod explains a StatefulSet by the pod that it waits for; pod is nil if there is none of that name.
func (m *maker) statefulPod(set *appsv1.StatefulSet, name string, pod *corev1.Pod, rest string) {
	switch {
	case pod == nil:
		for i := range set.Spec.VolumeClaimTemplates {
			key := api.Key(set.Namespace, set.Spec.VolumeClaimTemplates[i].Name+"-"+name)
			// STS-021: a claim that is being deleted blocks its pod.
			if claim, ok := m.claims[key]; ok && claim.DeletionTimestamp != nil {
				m.e.because("STS-021", fmt.Sprintf("claim %s of pod %s is being deleted, and blocks the pod%s", claim.Name, name, rest))
				m.addClaim(&m.e, key)
				m.waits("STS-021", "when the claim is gone")
				return
			}
		}
		m.missing(fmt.Sprintf("pod %s does not exist%s", name, rest))
		return
	case pod.DeletionTimestamp != nil:
		m.e.because("STS-022", fmt.Sprintf("pod %s is being deleted, and its successor has the same name%s", name, rest))
	case workload.Ended(pod):
		m.e.because("STS-023", fmt.Sprintf("pod %s has ended%s", name, rest))
		m.e.next(m.actor, "deletes it and creates it again")
		m.e.automatic(m.Now, "STS-023", "at its next sync")
		return
	default:
		m.e.because(m.rule, fmt.Sprintf("pod %s is not ready%s", name, rest))
	}
	m.addPod(&m.e, pod)
	m.waits(m.rule, "when the pod is ready")
}

// deployment explains a Deployment by its ReplicaSets.
func (m *maker) deployment(d *appsv1.Deployment, want int) {
	m.addSets()
	for _, set := range m.workloads().sets[m.obj.UID] {
		// DEP-040: the new set waits until the old pods are gone.
		if d.Spec.Strategy.Type != appsv1.RecreateDeploymentStrategyType || orOne(plain.Shared[*appsv1.ReplicaSet](set).Spec.Replicas) > 0 {
			continue
		}
		for _, pod := range m.workloads().pods[set.UID] {
			if isLeaving(pod) {
				m.addPod(&m.e, pod)
			}
		}
	}
	for _, c := range d.Status.Conditions {
		if c.Type == appsv1.DeploymentProgressing && c.Status == corev1.ConditionFalse {
			m.e.Notes = append(m.e.Notes, fmt.Sprintf("condition Progressing is False: %s: %s", c.Reason, c.Message))
		}
	}
	ready, updated := int(d.Status.ReadyReplicas), int(d.Status.UpdatedReplicas)
	switch {
	case ready >= want && updated >= want && len(m.e.Related) == 0:
		m.e.because(m.rule, "all its pods are ready")
		m.e.settled()
	case d.Spec.Paused && updated < want:
		m.e.because("DEP-060", fmt.Sprintf("it is paused, with %d of %d pods of its template", updated, want))
		m.e.todo("resume it: kubectl rollout resume")
		m.e.manual("a paused Deployment is not rolled out")
	case updated < want:
		m.e.because(m.rule, fmt.Sprintf("%d of %d pods have its template", updated, want))
		m.e.next(m.actor, "goes on when its ReplicaSets change")
		m.waits(m.rule, "at its next sync")
	default:
		m.e.because(m.rule, fmt.Sprintf("%d of %d pods are ready", ready, want))
		m.waits(m.rule, "at its next sync")
	}
}

// job explains a Job: how it ended, or which of its pods does not run.
func (m *maker) job(job *batchv1.Job) {
	for _, c := range job.Status.Conditions {
		if c.Status == corev1.ConditionTrue && (c.Type == batchv1.JobComplete || c.Type == batchv1.JobFailed) {
			rule := "JOB-053"
			if c.Type == batchv1.JobFailed {
				rule = "JOB-055"
			}
			m.e.because(rule, fmt.Sprintf("it is %s: %s", c.Type, c.Reason+": "+c.Message))
			m.e.settled()
			return
		}
	}
	active := slices.DeleteFunc(slices.Clone(m.pods), func(pod *corev1.Pod) bool { return !workload.Active(pod) })
	switch waiting := func(pod *corev1.Pod) bool {
		return pod.Status.Phase == corev1.PodPending || pod.DeletionTimestamp != nil
	}; {
	case job.Spec.Suspend != nil && *job.Spec.Suspend:
		m.e.because("JOB-024", "it is suspended")
		m.e.todo("set spec.suspend to false")
		m.e.manual("a suspended Job has no pods")
	case slices.ContainsFunc(m.pods, waiting):
		m.e.because(m.rule, "a pod does not run yet, or is being deleted")
		m.addPods(waiting)
		m.waits(m.rule, "when it runs")
	case len(active) == 0:
		m.missing("none of its pods runs")
	default:
		m.e.because(m.rule, "its pods run")
		m.e.settled()
	}
}

// cronJob explains a CronJob by the Jobs that have not ended.
func (m *maker) cronJob(c *batchv1.CronJob) {
	if m.addSets(); len(m.e.Related) > 0 {
		m.e.because(m.rule, "a Job of it has pods that do not run")
		m.e.follow()
		return
	}
	m.e.because(m.rule, fmt.Sprintf("it creates a Job at each instant of %q", c.Spec.Schedule))
	if c.Spec.Suspend != nil && *c.Spec.Suspend {
		// JOB-123: a suspended CronJob creates no Jobs.
		m.e.because("JOB-123", "it is suspended, and creates no Jobs")
	}
	m.e.settled()
}
