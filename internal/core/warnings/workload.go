package warnings

import (
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/volsim/volsim/api"
)

// podNames is the use of the name of a workload.
const podNames = "Pod names and hostnames"

// workload adds those of a kind with a template for pods. An update has the warnings of the template if it changes the generation (API-322).
func (l *list) workload(obj, old api.Object, template *corev1.PodTemplateSpec) {
	if isNil(old) {
		l.hostname(obj.GetName(), podNames)
	}
	if isNil(old) || obj.GetGeneration() != old.GetGeneration() {
		l.template(field.NewPath("spec", "template"), template)
	}
}

func (l *list) statefulSet(obj, old *appsv1.StatefulSet) {
	if old == nil || obj.Generation != old.Generation {
		l.template(field.NewPath("spec", "template"), &obj.Spec.Template)
	}
	for i, claim := range obj.Spec.VolumeClaimTemplates {
		path := field.NewPath("spec", "volumeClaimTemplates").Index(i)
		if old != nil {
			path = path.Child("Spec") // as the server spells it
		}
		l.claimSpec(path, &claim.Spec)
	}
	if limit := obj.Spec.RevisionHistoryLimit; limit != nil && *limit < 0 {
		l.addf(field.NewPath("spec", "revisionHistoryLimit"),
			"a negative value retains all historical revisions; a value >= 0 is recommended")
	}
}

func (l *list) daemonSet(obj, old *appsv1.DaemonSet) {
	if old == nil || obj.Generation != old.Generation {
		l.template(field.NewPath("spec", "template"), &obj.Spec.Template)
	}
}

func (l *list) replicationController(obj, old *corev1.ReplicationController) {
	if old == nil {
		l.hostname(obj.Name, podNames)
	}
	switch {
	case obj.Spec.Template == nil:
	case old == nil:
		l.template(field.NewPath("spec", "template"), obj.Spec.Template)
	case obj.Generation != old.Generation && old.Spec.Template != nil:
		// API-322: the server warns about the template as it was.
		l.template(field.NewPath("spec", "template"), old.Spec.Template)
	}
}

func (l *list) job(obj, old *batchv1.Job) {
	if old == nil {
		l.hostname(obj.Name, podNames)
	}
	if old == nil || obj.Generation != old.Generation {
		l.jobSpec(field.NewPath("spec"), &obj.Spec)
	}
}

func (l *list) cronJob(obj, old *batchv1.CronJob) {
	if old == nil {
		l.hostname(obj.Name, podNames)
	}
	if old == nil || obj.Generation != old.Generation {
		l.jobSpec(field.NewPath("spec", "jobTemplate", "spec"), &obj.Spec.JobTemplate.Spec)
	}
	if old != nil && strings.Contains(obj.Spec.Schedule, "TZ") {
		*l = append(*l, "cannot use TZ or CRON_TZ in spec.spec.schedule, use timeZone instead, see "+
			"https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/ for more details")
	}
}

func (l *list) jobSpec(path *field.Path, spec *batchv1.JobSpec) {
	// API-322: so many indexes may not fit into the status.
	if spec.CompletionMode != nil && *spec.CompletionMode == batchv1.IndexedCompletion && value(spec.Completions) > 100_000 &&
		value(spec.Parallelism) > 10_000 {
		l.addf(path, "In Indexed Jobs with a number of completions higher than 10^5 and a parallelism higher than 10^4, Kubernetes might not be "+
			"able to track completedIndexes when a big number of indexes fail")
	}
	l.template(path.Child("template"), &spec.Template)
}

func value(n *int32) int32 {
	if n == nil {
		return 0
	}
	return *n
}

// quota adds those of a new ResourceQuota: requests above the limits (API-325).
func (l *list) quota(obj, old *corev1.ResourceQuota) {
	if old != nil {
		return
	}
	for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourceStorage, corev1.ResourceEphemeralStorage} {
		requests, limits := "requests."+name, "limits."+name
		request, ok := obj.Spec.Hard[requests]
		if !ok && (name == corev1.ResourceCPU || name == corev1.ResourceMemory) {
			if request, ok = obj.Spec.Hard[name]; ok {
				requests = name
			}
		}
		limit, limited := obj.Spec.Hard[limits]
		if ok && limited && request.Cmp(limit) > 0 {
			*l = append(*l, fmt.Sprintf("ResourceQuota %s (%s) should be less than %s (%s)", requests, request.String(), limits, limit.String()))
		}
	}
}

// service adds those of a Service (API-326).
func (l *list) service(s *corev1.Service) {
	const topologyHints = "service.kubernetes.io/topology-aware-hints"
	spec, external := field.NewPath("spec"), s.Spec.Type == corev1.ServiceTypeExternalName
	add := func(format string, args ...any) { *l = append(*l, fmt.Sprintf(format, args...)) }
	if _, ok := s.Annotations[topologyHints]; ok {
		add("annotation %s is deprecated, please use %s instead", topologyHints, "service.kubernetes.io/topology-mode")
	}
	if s.Spec.ClusterIP != "" && s.Spec.ClusterIP != corev1.ClusterIPNone {
		for i, ip := range s.Spec.ClusterIPs {
			l.ip(spec.Child("clusterIPs").Index(i), ip)
		}
	}
	headless := s.Spec.Type == corev1.ServiceTypeClusterIP && s.Spec.ClusterIP == corev1.ClusterIPNone
	if headless && s.Spec.LoadBalancerIP != "" {
		add("spec.loadBalancerIP is ignored for headless services")
	}
	if headless && len(s.Spec.ExternalIPs) > 0 {
		add("spec.externalIPs is ignored for headless services")
	}
	if headless && s.Spec.SessionAffinity != corev1.ServiceAffinityNone {
		add("spec.SessionAffinity is ignored for headless services")
	}
	for i, ip := range s.Spec.ExternalIPs {
		l.ip(spec.Child("externalIPs").Index(i), ip)
	}
	if len(s.Spec.ExternalIPs) > 0 && !headless && !external {
		add("spec.externalIPs is deprecated and may no longer be implemented in some clusters")
	}
	if s.Spec.LoadBalancerIP != "" {
		l.ip(spec.Child("loadBalancerIP"), s.Spec.LoadBalancerIP)
	}
	for i, cidr := range s.Spec.LoadBalancerSourceRanges {
		l.cidr(spec.Child("loadBalancerSourceRanges").Index(i), cidr)
	}
	if external && len(s.Spec.ExternalIPs) > 0 {
		add("spec.externalIPs is ignored when spec.type is %q", s.Spec.Type)
	}
	if !external && s.Spec.ExternalName != "" {
		add("spec.externalName is ignored when spec.type is not %q", corev1.ServiceTypeExternalName)
	}
	if d := s.Spec.TrafficDistribution; d != nil && *d == corev1.ServiceTrafficDistributionPreferClose {
		add("spec.trafficDistribution: %q is deprecated; use %q", *d, corev1.ServiceTrafficDistributionPreferSameZone)
	}
}
