package differential

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/actors"
	"github.com/volsim/volsim/internal/core/store"
)

// GenerateQuotas returns the scenario of a seed about ResourceQuotas. Steps stand for users, kubelets and the binder.
func GenerateQuotas(seed uint64) Scenario {
	g := &quotaGenerator{newWorkloadGenerator(seed, 27, store.QuotaKind, actors.ResourceQuota)}
	g.requests = []string{"update-status ResourceQuota"}
	create := func() {
		for range 3 {
			g.createQuota()
			g.createClaim()
			g.createPod()
			g.createData()
		}
	}
	return g.scenario(create, []func(){
		g.createQuota, g.createQuota, g.changeQuota, g.changeQuota, g.changeQuota, g.changeUsage, g.changeUsage, g.deleteQuota, g.createClaim, g.createClaim,
		g.createClaim, g.changeClaim, g.changeClaim, g.changeClaim, g.deleteClaim, g.deleteClaim, g.createPod, g.createPod, g.createPod, g.endPod,
		g.endPod, g.deletePod, g.changeDeadline, g.resizePod, g.resizePod, g.createData, g.createData, g.createData, g.deleteData, g.deleteData, g.createLimits, g.pass, g.pass,
	})
}

type quotaGenerator struct{ *workloadGenerator }

func (g *quotaGenerator) space() string {
	return pick(g.generator, "default", "default", "default", "other")
}

func (g *quotaGenerator) quotaRef() api.Ref {
	return api.Ref{Kind: store.QuotaKind, Key: g.space() + "/" + pick(g.generator, "q1", "q1", "q2")}
}

// limited are names that a quota may limit, with possible limits.
var limited = [][]string{
	{"persistentvolumeclaims", "0", "1", "2", "5"}, {"requests.storage", "1Gi", "3Gi", "10Gi", "100Gi"}, {"fast.storageclass.storage.k8s.io/requests.storage", "2Gi", "20Gi"},
	{"fast.storageclass.storage.k8s.io/persistentvolumeclaims", "1", "3"}, {"count/persistentvolumeclaims", "1", "4"}, {"pods", "1", "2", "5"}, {"count/pods", "2", "6"},
	{"requests.cpu", "1", "2"}, {"cpu", "1", "3"}, {"limits.memory", "1Gi", "3Gi"}, {"memory", "2Gi"}, {"requests.ephemeral-storage", "2Gi"}, {"configmaps", "1", "3"},
	{"count/configmaps", "2"}, {"secrets", "2"}, {"count/deployments.apps", "2"}, {"count/widgets.example.com", "3"}, {"services", "1", "2"}, {"services.nodeports", "1"},
	{"resourcequotas", "1", "3"}, {"requests.nvidia.com/gpu", "4"},
}

func (g *quotaGenerator) hard() corev1.ResourceList {
	list := corev1.ResourceList{}
	for range 1 + g.IntN(3) {
		row := pick(g.generator, limited...)
		list[corev1.ResourceName(row[0])] = resource.MustParse(pick(g.generator, row[1:]...))
	}
	return list
}

func (g *quotaGenerator) createQuota() {
	ref := g.quotaRef()
	q := &corev1.ResourceQuota{}
	q.Namespace, q.Name = splitKey(ref.Key)
	q.Spec.Hard = g.hard()
	if g.chance(4) {
		q.Spec.Hard = corev1.ResourceList{"pods": resource.MustParse(pick(g.generator, "1", "3"))}
		switch g.IntN(5) {
		case 0, 1, 2:
			q.Spec.Scopes = []corev1.ResourceQuotaScope{pick(g.generator, corev1.ResourceQuotaScopeTerminating, corev1.ResourceQuotaScopeNotTerminating,
				corev1.ResourceQuotaScopeBestEffort, corev1.ResourceQuotaScopeNotBestEffort)}
		default:
			q.Spec.ScopeSelector = &corev1.ScopeSelector{MatchExpressions: []corev1.ScopedResourceSelectorRequirement{{ScopeName: corev1.ResourceQuotaScopePriorityClass,
				Operator: pick(g.generator, corev1.ScopeSelectorOpExists, corev1.ScopeSelectorOpDoesNotExist)}}}
		}
	}
	g.add(Step{Op: Create, Object: q})
}

func (g *quotaGenerator) changeQuota() {
	if g.chance(4) {
		g.patch(g.quotaRef(), api.Main, map[string]any{"metadata": map[string]any{"labels": map[string]any{"x": pick[any](g.generator, "y", nil)}}})
		return
	}
	row := pick(g.generator, limited...)
	g.patch(g.quotaRef(), api.Main, map[string]any{"spec": map[string]any{"hard": map[string]any{row[0]: pick[any](g.generator, row[1], row[len(row)-1], nil)}}})
}

// changeUsage changes the status of a quota.
func (g *quotaGenerator) changeUsage() {
	row := pick(g.generator, limited...)
	g.patch(g.quotaRef(), api.Status, map[string]any{"status": map[string]any{pick(g.generator, "used", "used", "hard"): map[string]any{
		row[0]: pick[any](g.generator, row[1], nil)}}})
}

func (g *quotaGenerator) deleteQuota() { g.add(Step{Op: Delete, Ref: g.quotaRef()}) }

func (g *quotaGenerator) claimRef() api.Ref {
	return api.Ref{Kind: api.PersistentVolumeClaim, Key: fmt.Sprintf("%s/c%d", g.space(), g.IntN(4))}
}

func (g *quotaGenerator) createClaim() {
	claim := &corev1.PersistentVolumeClaim{}
	claim.Namespace, claim.Name = splitKey(g.claimRef().Key)
	claim.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}
	claim.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(pick(g.generator, "1Gi", "1Gi", "2Gi", "1500M", "100m"))}
	claim.Spec.StorageClassName = new(pick(g.generator, "fast", "fast", "slow", ""))
	if g.chance(3) {
		claim.Annotations = map[string]string{"volume.beta.kubernetes.io/storage-class": pick(g.generator, "fast", "slow")}
	}
	g.add(Step{Op: Create, Object: claim})
}

func (g *quotaGenerator) changeClaim() {
	ref := g.claimRef()
	size := map[string]any{"storage": pick(g.generator, "2Gi", "4Gi", "8Gi")}
	switch g.IntN(4) {
	case 0:
		g.patch(ref, api.Status, map[string]any{"status": map[string]any{"phase": "Bound", "capacity": size}})
		g.patch(ref, api.Main, map[string]any{"spec": map[string]any{"volumeName": "pv"}})
	case 1:
		g.patch(ref, api.Main, map[string]any{"spec": map[string]any{"resources": map[string]any{"requests": size}}})
	case 2:
		g.patch(ref, api.Status, map[string]any{"status": map[string]any{"allocatedResources": size}})
	case 3:
		g.patch(ref, api.Main, map[string]any{"metadata": map[string]any{"labels": map[string]any{"a": pick(g.generator, "b", "c")}}})
	}
}

func (g *quotaGenerator) deleteClaim() {
	ref := g.claimRef()
	g.add(Step{Op: Delete, Ref: ref})
	if !g.chance(4) {
		g.patch(ref, api.Main, map[string]any{"metadata": map[string]any{"finalizers": nil}})
	}
}

func (g *quotaGenerator) podRef() api.Ref {
	return api.Ref{Kind: api.Pod, Key: fmt.Sprintf("%s/p%d", g.space(), g.IntN(4))}
}

func (g *quotaGenerator) createPod() {
	pod := &corev1.Pod{}
	pod.Namespace, pod.Name = splitKey(g.podRef().Key)
	c := corev1.Container{Name: "c", Image: "i"}
	if !g.chance(3) {
		c.Resources.Requests = corev1.ResourceList{"cpu": resource.MustParse(pick(g.generator, "100m", "1")), "memory": resource.MustParse("512Mi")}
	}
	if g.chance(2) {
		c.Resources.Limits = corev1.ResourceList{"cpu": resource.MustParse("1"), "memory": resource.MustParse(pick(g.generator, "512Mi", "1Gi"))}
	}
	pod.Spec.Containers = []corev1.Container{c}
	if g.chance(4) {
		c.Name = "init"
		if g.chance(2) {
			c.RestartPolicy = new(corev1.ContainerRestartPolicyAlways)
		}
		pod.Spec.InitContainers = []corev1.Container{c}
	}
	if g.chance(4) {
		pod.Spec.ActiveDeadlineSeconds = new(int64(100))
	}
	if g.chance(4) {
		pod.Spec.PriorityClassName = "system-node-critical"
	}
	g.add(Step{Op: Create, Object: pod})
}

func (g *quotaGenerator) endPod() {
	phase := pick(g.generator, corev1.PodSucceeded, corev1.PodFailed, corev1.PodRunning)
	g.patch(g.podRef(), api.Status, map[string]any{"status": map[string]any{"phase": phase}})
}

func (g *quotaGenerator) deletePod() { g.add(Step{Op: Delete, Ref: g.podRef(), Force: g.chance(2)}) }

func (g *quotaGenerator) changeDeadline() {
	g.patch(g.podRef(), api.Main, map[string]any{"spec": map[string]any{"activeDeadlineSeconds": 50}})
}

// resizePod writes what a kubelet reports of a resize.
func (g *quotaGenerator) resizePod() {
	list := func() map[string]any {
		return map[string]any{"cpu": pick(g.generator, "100m", "1", "2"), "memory": pick(g.generator, "512Mi", "2Gi")}
	}
	var statuses []any
	for _, name := range []string{"c", "init"}[:1+g.IntN(2)] {
		status := map[string]any{"name": name, "image": "i", "imageID": "i", "ready": true, "restartCount": 0}
		if !g.chance(4) {
			status["resources"] = map[string]any{"requests": list(), "limits": list()}
		}
		if g.chance(2) {
			status["allocatedResources"] = list()
		}
		statuses = append(statuses, status)
	}
	status := map[string]any{"containerStatuses": statuses[:1]}
	if len(statuses) > 1 {
		status["initContainerStatuses"] = statuses[1:]
	}
	if g.chance(3) {
		status["conditions"] = []any{map[string]any{"type": "PodResizePending", "status": "True", "reason": pick(g.generator, "Infeasible", "Deferred")}}
	}
	g.patch(g.podRef(), api.Status, map[string]any{"status": status})
}

// createData creates an object that is only counted.
func (g *quotaGenerator) createData() {
	meta := metav1.ObjectMeta{Namespace: g.space(), Name: fmt.Sprintf("d%d", g.IntN(3))}
	var object api.Object
	switch g.IntN(4) {
	case 0, 1:
		object = &corev1.ConfigMap{ObjectMeta: meta}
	case 2:
		object = &corev1.Secret{ObjectMeta: meta}
	case 3:
		object = &corev1.Service{ObjectMeta: meta, Spec: corev1.ServiceSpec{ClusterIP: "None"}}
	}
	g.add(Step{Op: Create, Object: object})
}

func (g *quotaGenerator) deleteData() {
	kind := pick(g.generator, api.Kind("ConfigMap"), "ConfigMap", "Secret", "Service")
	g.add(Step{Op: Delete, Ref: api.Ref{Kind: kind, Key: fmt.Sprintf("%s/d%d", g.space(), g.IntN(3))}})
}

// createLimits creates a LimitRange, which gives new pods requests and limits.
func (g *quotaGenerator) createLimits() {
	limits := &corev1.LimitRange{ObjectMeta: metav1.ObjectMeta{Namespace: g.space(), Name: "limits"}}
	item := corev1.LimitRangeItem{Type: corev1.LimitTypeContainer, Default: corev1.ResourceList{"memory": resource.MustParse("1Gi")},
		DefaultRequest: corev1.ResourceList{"cpu": resource.MustParse("200m")}}
	limits.Spec.Limits = []corev1.LimitRangeItem{item}
	g.add(Step{Op: Create, Object: limits})
}
