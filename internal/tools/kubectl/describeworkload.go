//go:build !js

package kubectl

import (
	"fmt"
	"io"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/controllers/deployment"
	"github.com/volsim/volsim/internal/core/objects"
	"github.com/volsim/volsim/internal/core/plain"
)

// PodTemplate writes a template as `kubectl rollout history --revision` does, which does not align the columns.
func PodTemplate(w io.Writer, t *corev1.PodTemplateSpec) {
	(&description{columns: unaligned{w}}).podTemplate(t)
}

type unaligned struct{ io.Writer }

func (unaligned) Flush() error { return nil }

// podTemplate describes the pods that a workload makes.
func (d *description) podTemplate(t *corev1.PodTemplateSpec) {
	d.printf("Pod Template:\n")
	d.lines("  Labels", pairs(t.Labels, "="))
	if len(t.Annotations) > 0 {
		d.annotations("  Annotations", t.Annotations)
	}
	d.unlessEmpty("  Service Account", t.Spec.ServiceAccountName)
	if len(t.Spec.InitContainers) > 0 {
		d.containers("Init Containers", nil, t.Spec.InitContainers, nil)
	}
	d.containers("Containers", nil, t.Spec.Containers, nil)
	d.podVolumes("  ", t.Spec.Volumes)
	if len(t.Spec.TopologySpreadConstraints) > 0 {
		texts := spreadTexts(t.Spec.TopologySpreadConstraints)
		d.printf("  Topology Spread Constraints:\t%s\n", strings.Join(texts, "\n  \t"))
	}
	d.unlessEmpty("  Priority Class Name", t.Spec.PriorityClassName)
	d.lines("  Node-Selectors", pairs(t.Spec.NodeSelector, "="))
	d.lines("  Tolerations", tolerationTexts(t.Spec.Tolerations))
}

// selector writes a label selector as an expression.
func selector(s *metav1.LabelSelector) string {
	parsed, err := metav1.LabelSelectorAsSelector(s)
	if err != nil {
		return "Failed to get selector: " + err.Error()
	}
	return parsed.String()
}

// podCounts writes how many pods of a workload are in each phase.
func (d *description) podCounts(owner api.Object, s *metav1.LabelSelector) {
	counts := map[corev1.PodPhase]int{}
	if parsed, err := metav1.LabelSelectorAsSelector(s); err == nil {
		for _, pod := range d.pods(owner.GetNamespace()) {
			if ref := metav1.GetControllerOfNoCopy(pod); ref != nil && ref.UID == owner.GetUID() && parsed.Matches(labels.Set(pod.Labels)) {
				counts[pod.Status.Phase]++
			}
		}
	}
	d.field("Pods Status", "%d Running / %d Waiting / %d Succeeded / %d Failed", counts[corev1.PodRunning], counts[corev1.PodPending],
		counts[corev1.PodSucceeded], counts[corev1.PodFailed])
}

func (d *description) statefulSet(s *appsv1.StatefulSet) {
	d.field("CreationTimestamp", "%s", timeOf(s.CreationTimestamp))
	d.field("Selector", "%s", selector(s.Spec.Selector))
	d.meta(s)
	d.field("Replicas", "%d desired | %d total", deref(s.Spec.Replicas, 1), s.Status.Replicas)
	d.field("Update Strategy", "%s", s.Spec.UpdateStrategy.Type)
	if rolling := s.Spec.UpdateStrategy.RollingUpdate; rolling != nil && rolling.Partition != nil {
		d.field("  Partition", "%d", *rolling.Partition)
		if rolling.MaxUnavailable != nil {
			d.field("  MaxUnavailable", "%s", rolling.MaxUnavailable.String())
		}
	}
	d.podCounts(s, s.Spec.Selector)
	d.podTemplate(&s.Spec.Template)
	if len(s.Spec.VolumeClaimTemplates) == 0 {
		d.field("Volume Claims", "<none>")
		return
	}
	d.printf("Volume Claims:\n")
	for _, claim := range s.Spec.VolumeClaimTemplates {
		d.printf("  Name:\t%s\n  StorageClass:\t%s\n", claim.Name, objects.ClassOf(&claim))
		d.linesUnder("  ", "Labels", pairs(claim.Labels, "="))
		d.linesUnder("  ", "Annotations", pairs(claim.Annotations, "="))
		capacity := "<default>"
		if q, ok := claim.Spec.Resources.Requests[corev1.ResourceStorage]; ok {
			capacity = q.String()
		}
		d.printf("  Capacity:\t%s\n  Access Modes:\t%s\n", capacity, claim.Spec.AccessModes)
	}
}

func (d *description) deployment(w *appsv1.Deployment) {
	d.field("CreationTimestamp", "%s", timeOf(w.CreationTimestamp))
	d.meta(w)
	d.field("Selector", "%s", selector(w.Spec.Selector))
	d.field("Replicas", "%d desired | %d updated | %d total | %d available | %d unavailable", deref(w.Spec.Replicas, 1), w.Status.UpdatedReplicas,
		w.Status.Replicas, w.Status.AvailableReplicas, w.Status.UnavailableReplicas)
	d.field("StrategyType", "%s", w.Spec.Strategy.Type)
	d.field("MinReadySeconds", "%d", w.Spec.MinReadySeconds)
	if rolling := w.Spec.Strategy.RollingUpdate; rolling != nil {
		d.field("RollingUpdateStrategy", "%s max unavailable, %s max surge", rolling.MaxUnavailable.String(), rolling.MaxSurge.String())
	}
	d.podTemplate(&w.Spec.Template)
	var rows [][3]string
	for _, c := range w.Status.Conditions {
		rows = append(rows, [3]string{string(c.Type), string(c.Status), c.Reason})
	}
	d.workloadConditions(rows)
	var sets []*appsv1.ReplicaSet
	for _, obj := range d.list("ReplicaSet.apps", w.Namespace) {
		if set, err := plain.As[*appsv1.ReplicaSet](obj); err == nil && metav1.IsControlledBy(set, w) {
			sets = append(sets, set)
		}
	}
	if len(sets) == 0 {
		return
	}
	updated := deployment.Current(w, sets)
	others := slices.DeleteFunc(sets, func(s *appsv1.ReplicaSet) bool { return s == updated })
	d.field("OldReplicaSets", "%s", replicaSets(others...))
	if updated == nil {
		d.field("NewReplicaSet", "<none>")
		return
	}
	d.field("NewReplicaSet", "%s", replicaSets(updated))
}

// replicaSets lists sets with their sizes.
func replicaSets(sets ...*appsv1.ReplicaSet) string {
	return orNone(strings.ReplaceAll(joined(sets, func(s *appsv1.ReplicaSet) string {
		return fmt.Sprintf("%s (%d/%d replicas created)", s.Name, s.Status.Replicas, deref(s.Spec.Replicas, 1))
	}), ",", ", "))
}

// workloadConditions writes a table of types, statuses and reasons.
func (d *description) workloadConditions(rows [][3]string) {
	if len(rows) > 0 {
		d.printf("Conditions:\n  Type\tStatus\tReason\n  ----\t------\t------\n")
	}
	for _, row := range rows {
		d.printf("  %s \t%s\t%s\n", row[0], row[1], row[2])
	}
}

func (d *description) replicaSet(s *appsv1.ReplicaSet) {
	d.field("Selector", "%s", metav1.FormatLabelSelector(s.Spec.Selector))
	d.meta(s)
	d.owner(s)
	d.field("Replicas", "%d current / %d desired", s.Status.Replicas, deref(s.Spec.Replicas, 1))
	d.podCounts(s, s.Spec.Selector)
	d.podTemplate(&s.Spec.Template)
	var rows [][3]string
	for _, c := range s.Status.Conditions {
		rows = append(rows, [3]string{string(c.Type), string(c.Status), c.Reason})
	}
	d.workloadConditions(rows)
}

func (d *description) replicationController(c *corev1.ReplicationController) {
	d.field("Selector", "%s", inOneLine(c.Spec.Selector))
	d.meta(c)
	d.field("Replicas", "%d current / %d desired", c.Status.Replicas, deref(c.Spec.Replicas, 1))
	d.podCounts(c, &metav1.LabelSelector{MatchLabels: c.Spec.Selector})
	d.podTemplate(c.Spec.Template)
	var rows [][3]string
	for _, c := range c.Status.Conditions {
		rows = append(rows, [3]string{string(c.Type), string(c.Status), c.Reason})
	}
	d.workloadConditions(rows)
}

func (d *description) daemonSet(s *appsv1.DaemonSet) {
	d.field("Selector", "%s", selector(s.Spec.Selector))
	d.field("Node-Selector", "%s", inOneLine(s.Spec.Template.Spec.NodeSelector))
	d.meta(s)
	d.printf("Desired Number of Nodes Scheduled: %d\nCurrent Number of Nodes Scheduled: %d\nNumber of Nodes Scheduled with Up-to-date Pods: %d\n"+
		"Number of Nodes Scheduled with Available Pods: %d\nNumber of Nodes Misscheduled: %d\n", s.Status.DesiredNumberScheduled,
		s.Status.CurrentNumberScheduled, s.Status.UpdatedNumberScheduled, s.Status.NumberAvailable, s.Status.NumberMisscheduled)
	d.podCounts(s, s.Spec.Selector)
	d.podTemplate(&s.Spec.Template)
}

// number writes a field with a number that may be unset.
func (d *description) number(name string, n *int32) {
	if n == nil {
		d.field(name, "<unset>")
		return
	}
	d.field(name, "%d", *n)
}

func (d *description) job(j *batchv1.Job) {
	d.field("Selector", "%s", selector(j.Spec.Selector))
	d.meta(j)
	d.owner(j)
	if j.Spec.Parallelism != nil {
		d.number("Parallelism", j.Spec.Parallelism)
	}
	d.number("Completions", j.Spec.Completions)
	d.unlessEmpty("Completion Mode", string(deref(j.Spec.CompletionMode, "")))
	if j.Spec.Suspend != nil {
		d.field("Suspend", "%t", *j.Spec.Suspend)
	}
	if j.Spec.BackoffLimit != nil {
		d.number("Backoff Limit", j.Spec.BackoffLimit)
	}
	if j.Spec.TTLSecondsAfterFinished != nil {
		d.number("TTL Seconds After Finished", j.Spec.TTLSecondsAfterFinished)
	}
	start, end := j.Status.StartTime, j.Status.CompletionTime
	if start != nil {
		d.field("Start Time", "%s", timeOf(*start))
	}
	if end != nil {
		d.field("Completed At", "%s", timeOf(*end))
	}
	if start != nil && end != nil {
		d.field("Duration", "%s", duration.HumanDuration(end.Sub(start.Time)))
	}
	if j.Spec.ActiveDeadlineSeconds != nil {
		d.field("Active Deadline Seconds", "%ds", *j.Spec.ActiveDeadlineSeconds)
	}
	active := fmt.Sprintf("%d Active", j.Status.Active)
	if j.Status.Ready != nil {
		active += fmt.Sprintf(" (%d Ready)", *j.Status.Ready)
	}
	d.field("Pods Statuses", "%s / %d Succeeded / %d Failed", active, j.Status.Succeeded, j.Status.Failed)
	if deref(j.Spec.CompletionMode, "") == batchv1.IndexedCompletion {
		d.field("Completed Indexes", "%s", orNone(cappedIndexes(j.Status.CompletedIndexes)))
	}
	d.podTemplate(&j.Spec.Template)
}

// cappedIndexes shortens a list of indexes at the first comma after 50 characters.
func cappedIndexes(indexes string) string {
	const soft = 50
	if len(indexes) <= soft {
		return indexes
	}
	if i := strings.IndexByte(indexes[soft:], ','); i >= 0 {
		return indexes[:soft+i+1] + "..."
	}
	return indexes
}

func (d *description) cronJob(c *batchv1.CronJob) {
	d.meta(c)
	d.field("Schedule", "%s", c.Spec.Schedule)
	d.field("Concurrency Policy", "%s", c.Spec.ConcurrencyPolicy)
	d.field("Suspend", "%s", optional(c.Spec.Suspend))
	d.field("Time Zone", "%s", deref(c.Spec.TimeZone, "<unset>"))
	d.number("Successful Job History Limit", c.Spec.SuccessfulJobsHistoryLimit)
	d.number("Failed Job History Limit", c.Spec.FailedJobsHistoryLimit)
	deadline := "<unset>"
	if s := c.Spec.StartingDeadlineSeconds; s != nil {
		deadline = fmt.Sprintf("%ds", *s)
	}
	d.field("Starting Deadline Seconds", "%s", deadline)
	job := c.Spec.JobTemplate.Spec
	if job.Selector == nil {
		d.field("Selector", "<unset>")
	} else {
		d.field("Selector", "%s", selector(job.Selector))
	}
	d.number("Parallelism", job.Parallelism)
	d.number("Completions", job.Completions)
	if job.ActiveDeadlineSeconds != nil {
		d.field("Active Deadline Seconds", "%ds", *job.ActiveDeadlineSeconds)
	}
	d.podTemplate(&job.Template)
	last := "<unset>"
	if at := c.Status.LastScheduleTime; at != nil {
		last = timeOf(*at)
	}
	d.field("Last Schedule Time", "%s", last)
	names := make([]string, len(c.Status.Active))
	for i, ref := range c.Status.Active {
		names[i] = ref.Name
	}
	d.field("Active Jobs", "%s", orNone(strings.Join(names, ", ")))
}

func (d *description) budget(b *policyv1.PodDisruptionBudget) {
	switch {
	case b.Spec.MinAvailable != nil:
		d.field("Min available", "%s", b.Spec.MinAvailable.String())
	case b.Spec.MaxUnavailable != nil:
		d.field("Max unavailable", "%s", b.Spec.MaxUnavailable.String())
	}
	text := "<unset>"
	if b.Spec.Selector != nil {
		text = metav1.FormatLabelSelector(b.Spec.Selector)
	}
	d.field("Selector", "%s", text)
	d.printf("Status:\n    Allowed disruptions:\t%d\n    Current:\t%d\n    Desired:\t%d\n    Total:\t%d\n", b.Status.DisruptionsAllowed,
		b.Status.CurrentHealthy, b.Status.DesiredHealthy, b.Status.ExpectedPods)
}
