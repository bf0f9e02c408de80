package differential_test

import (
	"math/rand/v2"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kubernetes/pkg/registry/apps/replicaset"
	"k8s.io/kubernetes/pkg/registry/apps/statefulset"
	"k8s.io/kubernetes/pkg/registry/core/limitrange"
	"k8s.io/kubernetes/pkg/registry/core/replicationcontroller"
	"k8s.io/kubernetes/pkg/registry/core/resourcequota"

	"github.com/volsim/volsim/api"
)

// setKinds are further kinds of workloads.
func setKinds() []workloadKind {
	meta := func() metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: "default", Name: "web"} }
	apps := schema.GroupVersion{Group: "apps", Version: runtime.APIVersionInternal}
	return []workloadKind{
		{kind: "StatefulSet.apps", internal: apps, strategy: statefulset.Strategy,
			base: func() api.Object {
				return &appsv1.StatefulSet{ObjectMeta: meta(), Spec: appsv1.StatefulSetSpec{
					Selector: &metav1.LabelSelector{MatchLabels: podLabels}, ServiceName: "web", Template: podTemplate("")}}
			},
			edits: []func(*rand.Rand, api.Object){
				edit(func(r *rand.Rand, s *appsv1.StatefulSet) { s.Spec.Replicas = number(r) }),
				edit(func(r *rand.Rand, s *appsv1.StatefulSet) { s.Spec.MinReadySeconds = *number(r) }),
				edit(func(r *rand.Rand, s *appsv1.StatefulSet) { s.Spec.RevisionHistoryLimit = number(r) }),
				edit(func(r *rand.Rand, s *appsv1.StatefulSet) { s.Spec.ServiceName = choose(r, "", "other", "a b") }),
				edit(func(r *rand.Rand, s *appsv1.StatefulSet) {
					s.Spec.PodManagementPolicy = choose(r, "", appsv1.ParallelPodManagement, appsv1.OrderedReadyPodManagement, "x")
				}),
				edit(func(r *rand.Rand, s *appsv1.StatefulSet) {
					s.Spec.UpdateStrategy.Type = choose(r, "", appsv1.OnDeleteStatefulSetStrategyType, appsv1.RollingUpdateStatefulSetStrategyType, "x")
				}),
				edit(func(r *rand.Rand, s *appsv1.StatefulSet) {
					s.Spec.UpdateStrategy.RollingUpdate = &appsv1.RollingUpdateStatefulSetStrategy{Partition: choose(r, nil, number(r)), MaxUnavailable: choose(r, nil, share(r))}
				}),
				edit(func(r *rand.Rand, s *appsv1.StatefulSet) {
					policy := func() appsv1.PersistentVolumeClaimRetentionPolicyType {
						return choose(r, "", appsv1.DeletePersistentVolumeClaimRetentionPolicyType, appsv1.RetainPersistentVolumeClaimRetentionPolicyType, "x")
					}
					s.Spec.PersistentVolumeClaimRetentionPolicy = &appsv1.StatefulSetPersistentVolumeClaimRetentionPolicy{WhenDeleted: policy(), WhenScaled: policy()}
				}),
				edit(func(r *rand.Rand, s *appsv1.StatefulSet) {
					s.Spec.Ordinals = choose(r, nil, &appsv1.StatefulSetOrdinals{Start: *number(r)})
				}),
				edit(func(r *rand.Rand, s *appsv1.StatefulSet) { s.Spec.Selector = selectorFor(r) }),
				edit(func(r *rand.Rand, s *appsv1.StatefulSet) { s.Spec.VolumeClaimTemplates = claimTemplates(r) }),
				edit(func(r *rand.Rand, s *appsv1.StatefulSet) { s.Annotations = map[string]string{"a": "b"} }),
				edit(func(r *rand.Rand, s *appsv1.StatefulSet) { changeTemplate(r, &s.Spec.Template) }),
			}},
		{kind: "ReplicaSet.apps", internal: apps, strategy: replicaset.Strategy,
			base: func() api.Object {
				return &appsv1.ReplicaSet{ObjectMeta: meta(), Spec: appsv1.ReplicaSetSpec{Selector: &metav1.LabelSelector{MatchLabels: podLabels}, Template: podTemplate("")}}
			},
			edits: []func(*rand.Rand, api.Object){
				edit(func(r *rand.Rand, s *appsv1.ReplicaSet) { s.Spec.Replicas = number(r) }),
				edit(func(r *rand.Rand, s *appsv1.ReplicaSet) { s.Spec.MinReadySeconds = *number(r) }),
				edit(func(r *rand.Rand, s *appsv1.ReplicaSet) { s.Spec.Selector = selectorFor(r) }),
				edit(func(r *rand.Rand, s *appsv1.ReplicaSet) { s.Labels = choose(r, nil, podLabels) }),
				edit(func(r *rand.Rand, s *appsv1.ReplicaSet) { changeTemplate(r, &s.Spec.Template) }),
			}},
		{kind: "ReplicationController", internal: schema.GroupVersion{Version: runtime.APIVersionInternal}, strategy: replicationcontroller.Strategy,
			base: func() api.Object {
				return &corev1.ReplicationController{ObjectMeta: meta(), Spec: corev1.ReplicationControllerSpec{Template: new(podTemplate(""))}}
			},
			edits: []func(*rand.Rand, api.Object){
				edit(func(r *rand.Rand, c *corev1.ReplicationController) { c.Spec.Replicas = number(r) }),
				edit(func(r *rand.Rand, c *corev1.ReplicationController) { c.Spec.MinReadySeconds = *number(r) }),
				edit(func(r *rand.Rand, c *corev1.ReplicationController) {
					c.Spec.Selector = choose(r, nil, podLabels, map[string]string{"app": "other"}, map[string]string{"a b": "c"}, map[string]string{"app": "web", "tier": "x"})
				}),
				edit(func(r *rand.Rand, c *corev1.ReplicationController) {
					c.Labels = choose(r, nil, map[string]string{"mine": "yes"})
				}),
				edit(func(_ *rand.Rand, c *corev1.ReplicationController) { c.Spec.Template = nil }),
				edit(func(r *rand.Rand, c *corev1.ReplicationController) {
					if c.Spec.Template != nil {
						changeTemplate(r, c.Spec.Template)
					}
				}),
			}},
	}
}

func claimTemplates(r *rand.Rand) []corev1.PersistentVolumeClaim {
	var claims []corev1.PersistentVolumeClaim
	number, names := r.IntN(3), []string{"data", "logs"}
	// Upstream takes the volumes of several claims from a map, so an error about one has a random index.
	if number == 1 {
		names = append(names, "a b")
	}
	for range number {
		claim := corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: choose(r, names...)}}
		claim.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{choose(r, corev1.ReadWriteOnce, corev1.ReadWriteMany)}
		claim.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(choose(r, "1Gi", "2Gi", "-1"))}
		claims = append(claims, claim)
	}
	return claims
}

// limitKinds are the kinds of limits in a namespace.
func limitKinds() []workloadKind {
	meta := func() metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: "default", Name: "web"} }
	internal := schema.GroupVersion{Version: runtime.APIVersionInternal}
	return []workloadKind{
		{kind: "ResourceQuota", internal: internal, strategy: resourcequota.Strategy,
			base: func() api.Object {
				return &corev1.ResourceQuota{ObjectMeta: meta(), Spec: corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{"pods": resource.MustParse("3")}}}
			},
			edits: []func(*rand.Rand, api.Object){
				edit(func(r *rand.Rand, q *corev1.ResourceQuota) { q.Spec.Hard = hard(r) }),
				edit(func(r *rand.Rand, q *corev1.ResourceQuota) { q.Spec.Hard = hard(r) }),
				edit(func(r *rand.Rand, q *corev1.ResourceQuota) { q.Spec.Scopes = scopes(r) }),
				edit(func(r *rand.Rand, q *corev1.ResourceQuota) { q.Spec.ScopeSelector = scopeSelector(r) }),
			}},
		{kind: "LimitRange", internal: internal, strategy: limitrange.Strategy, unordered: true,
			base: func() api.Object {
				return &corev1.LimitRange{ObjectMeta: meta(), Spec: corev1.LimitRangeSpec{Limits: []corev1.LimitRangeItem{{Type: corev1.LimitTypeContainer,
					Max: corev1.ResourceList{"cpu": resource.MustParse("3")}}}}}
			},
			edits: []func(*rand.Rand, api.Object){
				edit(func(r *rand.Rand, l *corev1.LimitRange) { l.Spec.Limits = append(l.Spec.Limits, limitItem(r)) }),
				edit(func(r *rand.Rand, l *corev1.LimitRange) { l.Spec.Limits = []corev1.LimitRangeItem{limitItem(r)} }),
			}},
	}
}

// quantities returns quantities of one or two of these names: more would be reported in the order of a map.
func quantities(r *rand.Rand, names ...string) corev1.ResourceList {
	if r.IntN(2) == 0 {
		return nil
	}
	return corev1.ResourceList{corev1.ResourceName(choose(r, names...)): resource.MustParse(choose(r, "0", "1", "500m", "2", "3", "-1", "1Gi"))}
}

func hard(r *rand.Rand) corev1.ResourceList {
	list := corev1.ResourceList{"pods": resource.MustParse("2")}
	for name, q := range quantities(r, "cpu", "requests.cpu", "limits.memory", "persistentvolumeclaims", "requests.storage", "gold.storageclass.storage.k8s.io/requests.storage",
		"count/widgets.example.com", "hugepages-2Mi", "requests.hugepages-2Mi", "limits.example.com/gpu", "requests.example.com/gpu", "example.com/gpu", "x", "storage", "a b/c", "services",
		"limits.ephemeral-storage", "count/pods") {
		list[name] = q
	}
	return list
}

func scopes(r *rand.Rand) []corev1.ResourceQuotaScope {
	var list []corev1.ResourceQuotaScope
	for range r.IntN(3) {
		list = append(list, choose[corev1.ResourceQuotaScope](r, "Terminating", "NotTerminating", "BestEffort", "NotBestEffort", "PriorityClass", "CrossNamespacePodAffinity",
			"VolumeAttributesClass", "x"))
	}
	return list
}

func scopeSelector(r *rand.Rand) *corev1.ScopeSelector {
	selector := &corev1.ScopeSelector{}
	for range r.IntN(3) {
		selector.MatchExpressions = append(selector.MatchExpressions, corev1.ScopedResourceSelectorRequirement{
			ScopeName: choose[corev1.ResourceQuotaScope](r, "Terminating", "BestEffort", "PriorityClass", "VolumeAttributesClass", "x"),
			Operator:  choose[corev1.ScopeSelectorOperator](r, "In", "NotIn", "Exists", "DoesNotExist", "x"),
			Values:    choose(r, nil, []string{"a"}, []string{"a", "b"}, []string{"A b"}),
		})
	}
	return selector
}

func limitItem(r *rand.Rand) corev1.LimitRangeItem {
	list := func() corev1.ResourceList {
		return quantities(r, "cpu", "cpu", "cpu", "memory", "storage", "example.com/gpu", "x")
	}
	return corev1.LimitRangeItem{Type: choose(r, corev1.LimitTypeContainer, corev1.LimitTypePod, corev1.LimitTypePersistentVolumeClaim, "x", "example.com/y"),
		Min: list(), Max: list(), Default: list(), DefaultRequest: list(), MaxLimitRequestRatio: choose(r, nil, nil, list())}
}

// templateOf returns the template of a workload's pods, nil for other kinds.
func templateOf(obj api.Object) *corev1.PodTemplateSpec {
	switch obj := obj.(type) {
	case *appsv1.Deployment:
		return &obj.Spec.Template
	case *appsv1.DaemonSet:
		return &obj.Spec.Template
	case *appsv1.StatefulSet:
		return &obj.Spec.Template
	case *appsv1.ReplicaSet:
		return &obj.Spec.Template
	case *corev1.ReplicationController:
		return obj.Spec.Template
	case *batchv1.Job:
		return &obj.Spec.Template
	case *batchv1.CronJob:
		return &obj.Spec.JobTemplate.Spec.Template
	}
	return nil
}
