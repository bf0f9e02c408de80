package differential

import (
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/actors"
)

const statefulSetKind api.Kind = "StatefulSet.apps"

// GenerateStatefulSets returns the scenario of a seed about StatefulSets. Steps stand for kubelets, the binder and the garbage collector.
func GenerateStatefulSets(seed uint64) Scenario {
	g := &statefulSetGenerator{newWorkloadGenerator(seed, 21, statefulSetKind, actors.StatefulSet)}
	g.requests = []string{"create Pod", "create Pod", "delete Pod", "update Pod", "patch Pod", "create PersistentVolumeClaim",
		"update PersistentVolumeClaim", "update-status StatefulSet.apps", "update-status StatefulSet.apps", "get StatefulSet.apps",
		"create ControllerRevision.apps", "update ControllerRevision.apps", "delete ControllerRevision.apps", "patch ControllerRevision.apps"}
	moves := []func(){
		g.createSet, g.scale, g.scale, g.scale, g.change, g.change, g.change, g.changeTemplate, g.changeTemplate, g.changeTemplate, g.delete,
		g.runInOrder, g.runInOrder, g.runInOrder, g.runInOrder, g.runInOrder, g.reportPod, g.reportPod, g.reportPod, g.deletePod, g.deletePod, g.endPods, g.endPods, g.endPods,
		g.endPods, g.changePod, g.createPod, g.changeClaim, g.changeClaim, g.deleteClaim, g.createClaim, g.createRevision, g.unblock, g.pass,
	}
	return g.scenario(g.createSet, moves)
}

type statefulSetGenerator struct{ *workloadGenerator }

// pod returns the name of a pod that a set may have.
func (g *statefulSetGenerator) pod() string {
	return fmt.Sprintf("%s-%d", g.name(), g.IntN(pick(g.generator, 1, 2, 4, 6)))
}

func (g *statefulSetGenerator) podRef() api.Ref {
	return api.Ref{Kind: api.Pod, Key: "default/" + g.pod()}
}

func (g *statefulSetGenerator) claimRef() api.Ref {
	return api.Ref{Kind: api.PersistentVolumeClaim, Key: "default/" + pick(g.generator, "data", "data", "logs") + "-" + g.pod()}
}

func (g *statefulSetGenerator) policy() *appsv1.StatefulSetPersistentVolumeClaimRetentionPolicy {
	if g.chance(3) {
		return nil
	}
	either := []appsv1.PersistentVolumeClaimRetentionPolicyType{appsv1.RetainPersistentVolumeClaimRetentionPolicyType, appsv1.DeletePersistentVolumeClaimRetentionPolicyType}
	return &appsv1.StatefulSetPersistentVolumeClaimRetentionPolicy{WhenDeleted: pick(g.generator, either...), WhenScaled: pick(g.generator, either...)}
}

func (g *statefulSetGenerator) strategy() appsv1.StatefulSetUpdateStrategy {
	if g.chance(6) {
		return appsv1.StatefulSetUpdateStrategy{Type: appsv1.OnDeleteStatefulSetStrategyType}
	}
	strategy := appsv1.StatefulSetUpdateStrategy{Type: appsv1.RollingUpdateStatefulSetStrategyType}
	if !g.chance(3) {
		strategy.RollingUpdate = &appsv1.RollingUpdateStatefulSetStrategy{Partition: new(int32(pick(g.generator, 0, 0, 0, 1, 2)))}
	}
	return strategy
}

func (g *statefulSetGenerator) createSet() { g.add(Step{Op: Create, Object: g.set()}) }

func (g *statefulSetGenerator) set() *appsv1.StatefulSet {
	name := g.name()
	labels := map[string]string{"app": name}
	set := &appsv1.StatefulSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, Annotations: map[string]string{"example.com/note": "yes"}},
		Spec: appsv1.StatefulSetSpec{
			Replicas: new(int32(g.IntN(5))), Selector: &metav1.LabelSelector{MatchLabels: labels}, ServiceName: name,
			PodManagementPolicy:                  pick(g.generator, "", appsv1.OrderedReadyPodManagement, appsv1.ParallelPodManagement),
			UpdateStrategy:                       g.strategy(),
			MinReadySeconds:                      int32(pick(g.generator, 0, 0, 0, 3, 20)),
			PersistentVolumeClaimRetentionPolicy: g.policy(),
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels, Annotations: map[string]string{"example.com/team": "a"}},
				Spec:       corev1.PodSpec{Containers: g.containers()},
			},
		},
	}
	if !g.chance(4) {
		set.Spec.Template.Spec.NodeName = "n1"
	}
	if g.chance(4) {
		set.Spec.Template.Spec.Volumes = []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}},
			{Name: "tmp", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}}
	}
	for _, template := range []string{"data", "logs"}[:pick(g.generator, 0, 1, 1, 1, 2)] {
		claim := corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: template, Labels: map[string]string{"tier": template}}}
		claim.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}
		claim.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}
		set.Spec.VolumeClaimTemplates = append(set.Spec.VolumeClaimTemplates, claim)
	}
	if g.chance(6) {
		set.Spec.Ordinals = &appsv1.StatefulSetOrdinals{Start: int32(g.IntN(3))}
	}
	if g.chance(3) {
		set.Spec.RevisionHistoryLimit = new(int32(g.IntN(3)))
	}
	if g.chance(5) {
		set.Finalizers = []string{"example.com/hold"}
	}
	return set
}

// change changes other fields of a set.
func (g *statefulSetGenerator) change() {
	spec := map[string]any{}
	switch g.IntN(6) {
	case 0:
		spec["persistentVolumeClaimRetentionPolicy"] = g.policy()
	case 1:
		spec["persistentVolumeClaimRetentionPolicy"] = g.policy()
		spec["replicas"] = g.IntN(5)
	case 2:
		spec["updateStrategy"] = g.strategy()
	case 3:
		spec["minReadySeconds"] = pick(g.generator, 0, 2, 30)
	case 4:
		spec["revisionHistoryLimit"] = g.IntN(3)
	case 5:
		spec["ordinals"] = map[string]any{"start": g.IntN(3)}
	}
	g.patch(g.workload(), api.Main, map[string]any{"spec": spec})
}

// runInOrder lets the pods of a set become ready one after the other.
func (g *statefulSetGenerator) runInOrder() {
	name := g.name()
	for i := range 1 + g.IntN(6) {
		g.reportPodAs(fmt.Sprintf("default/%s-%d", name, i), corev1.PodRunning, "True")
		g.wait(pick(g.generator, 0, 1, 1, 1, 3))
	}
}

func (g *statefulSetGenerator) reportPod() {
	phase := pick(g.generator, corev1.PodRunning, corev1.PodRunning, corev1.PodPending, corev1.PodFailed, corev1.PodFailed, corev1.PodSucceeded, corev1.PodUnknown)
	g.reportPodAs(g.podRef().Key, phase, pick(g.generator, "True", "True", "False", "Unknown"))
}

func (g *statefulSetGenerator) deletePod() {
	g.add(Step{Op: Delete, Ref: g.podRef(), Force: g.chance(4)})
}

// endPods lets a kubelet remove pods, from the last: those that are being deleted, or any.
func (g *statefulSetGenerator) endPods() {
	name := g.name()
	for i := 5; i >= g.IntN(4); i-- {
		g.add(Step{Op: Delete, Ref: api.Ref{Kind: api.Pod, Key: fmt.Sprintf("default/%s-%d", name, i)}, Force: true})
		g.wait(pick(g.generator, 0, 0, 1))
	}
}

// changePod changes what identifies a pod, or its owners.
func (g *statefulSetGenerator) changePod() {
	labels := map[string]any{}
	meta := map[string]any{"labels": labels}
	switch g.IntN(5) {
	case 0:
		labels["app"] = pick(g.generator, "db", "web", "other")
	case 1:
		labels[appsv1.StatefulSetPodNameLabel] = pick[any](g.generator, nil, "other")
	case 2:
		meta["ownerReferences"] = nil
	case 3:
		meta["finalizers"] = []string{"example.com/hold"}
	case 4:
		labels[appsv1.StatefulSetRevisionLabel] = pick[any](g.generator, nil, "db-0123456")
	}
	g.patch(g.podRef(), api.Main, map[string]any{"metadata": meta})
}

// createPod creates a pod that a set may adopt, or that has the name of one.
func (g *statefulSetGenerator) createPod() {
	name := pick(g.generator, g.pod(), g.pod(), "db-x")
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, Labels: map[string]string{"app": pick(g.generator, "db", "db", "web", "other")}}}
	pod.Spec.Containers = g.containers()
	if g.chance(2) {
		pod.Spec.NodeName = "n1"
	}
	g.add(Step{Op: Create, Object: pod})
}

// owner returns an owner reference that a claim may have.
func (g *statefulSetGenerator) owner() map[string]any {
	if g.chance(3) {
		return map[string]any{"apiVersion": "v1", "kind": "Pod", "name": g.pod(), "uid": "1234"}
	}
	owner := map[string]any{"apiVersion": "apps/v1", "kind": "StatefulSet", "name": g.name(), "uid": "5678"}
	if g.chance(2) {
		owner["controller"] = true
	}
	if g.chance(3) {
		owner["kind"], owner["apiVersion"] = "Keeper", "example.com/v1"
	}
	return owner
}

func (g *statefulSetGenerator) changeClaim() {
	ref := g.claimRef()
	switch g.IntN(4) {
	case 0:
		g.patch(ref, api.Main, map[string]any{"metadata": map[string]any{"ownerReferences": []any{g.owner()}}})
	case 1:
		g.patch(ref, api.Main, map[string]any{"metadata": map[string]any{"ownerReferences": nil}})
	case 2:
		g.patch(ref, api.Main, map[string]any{"metadata": map[string]any{"labels": map[string]any{"app": "x"}}})
	case 3:
		g.patch(ref, api.Main, map[string]any{"spec": map[string]any{"volumeName": "pv"}})
		g.patch(ref, api.Status, map[string]any{"status": map[string]any{"phase": "Bound"}})
	}
}

// deleteClaim deletes a claim. Without its finalizer it is gone.
func (g *statefulSetGenerator) deleteClaim() {
	ref := g.claimRef()
	g.add(Step{Op: Delete, Ref: ref})
	if g.chance(2) {
		g.wait(pick(g.generator, 0, 2))
		g.patch(ref, api.Main, map[string]any{"metadata": map[string]any{"finalizers": nil}})
	}
}

func (g *statefulSetGenerator) createClaim() {
	_, name, _ := strings.Cut(g.claimRef().Key, "/")
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}
	claim.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}
	claim.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("2Gi")}
	g.add(Step{Op: Create, Object: claim})
}

// unblock removes the finalizers of something, as the garbage collector does.
func (g *statefulSetGenerator) unblock() {
	ref := pick(g.generator, g.workload(), g.podRef(), g.claimRef())
	g.patch(ref, api.Main, map[string]any{"metadata": map[string]any{"finalizers": nil}})
}
