package differential

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/actors"
	"github.com/volsim/volsim/internal/core/store"
)

// splitKey splits a key into namespace and name.
func splitKey(key string) (namespace, name string) {
	namespace, name, _ = strings.Cut(key, "/")
	return namespace, name
}

// GenerateNamespaces returns the scenario of a seed about namespaces that are deleted with their content.
func GenerateNamespaces(seed uint64) Scenario {
	g := &namespaceGenerator{newWorkloadGenerator(seed, 28, store.NamespaceKind, actors.Namespace)}
	g.requests = []string{"update-status Namespace", "update-status Namespace", "get Namespace", "update Namespace", "delete Pod", "delete Pod",
		"delete ConfigMap", "delete PersistentVolumeClaim", "update-finalize Namespace"}
	create := func() {
		g.createNamespace()
		for range 6 {
			g.createContent()
		}
	}
	return g.scenario(create, []func(){
		g.createNamespace, g.createNamespace, g.createContent, g.createContent, g.createContent, g.createContent, g.createContent, g.createContent,
		g.deleteNamespace, g.deleteNamespace, g.deleteNamespace, g.finishContent, g.finishContent, g.finishContent, g.finishContent, g.finishContent,
		g.changeNamespace, g.changeNamespace, g.endPods, g.endPods, g.endPods, g.deleteContent, g.pass, g.pass,
	})
}

type namespaceGenerator struct{ *workloadGenerator }

func (g *namespaceGenerator) space() string { return pick(g.generator, "shop", "shop", "shop", "lab") }

func (g *namespaceGenerator) createNamespace() {
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: g.space()}}
	switch g.IntN(6) {
	case 0:
		ns.Finalizers = []string{"example.com/hold"}
	case 1:
		ns.Spec.Finalizers = []corev1.FinalizerName{"example.com/own"}
	}
	g.add(Step{Op: Create, Object: ns})
}

func (g *namespaceGenerator) deleteNamespace() {
	g.add(Step{Op: Delete, Ref: api.Ref{Kind: store.NamespaceKind, Key: g.space()}})
}

func (g *namespaceGenerator) changeNamespace() {
	ref := api.Ref{Kind: store.NamespaceKind, Key: g.space()}
	meta := map[string]any{"labels": map[string]any{"x": pick[any](g.generator, "y", "z", nil)}}
	if g.chance(2) {
		meta["finalizers"] = pick[any](g.generator, nil, nil, []string{"example.com/hold"})
	}
	g.patch(ref, api.Main, map[string]any{"metadata": meta})
}

// contents are the kinds of objects in namespaces.
var contents = []api.Kind{api.Pod, api.Pod, api.Pod, api.PersistentVolumeClaim, api.PersistentVolumeClaim, "ConfigMap", "ConfigMap", "Secret", "Service"}

func (g *namespaceGenerator) content() api.Ref {
	return api.Ref{Kind: pick(g.generator, contents...), Key: fmt.Sprintf("%s/x%d", g.space(), g.IntN(3))}
}

func (g *namespaceGenerator) createContent() {
	ref := g.content()
	meta := metav1.ObjectMeta{}
	meta.Namespace, meta.Name = splitKey(ref.Key)
	if g.chance(4) {
		meta.Finalizers = pick(g.generator, []string{"example.com/hold"}, []string{"example.com/hold", "example.com/more"})
	}
	g.add(Step{Op: Create, Object: g.object(ref.Kind, meta)})
}

// object returns an object of a simple kind.
func (g *workloadGenerator) object(kind api.Kind, meta metav1.ObjectMeta) api.Object {
	switch kind {
	case api.Pod:
		pod := &corev1.Pod{ObjectMeta: meta, Spec: corev1.PodSpec{Containers: g.containers()}}
		if !g.chance(3) {
			pod.Spec.NodeName = "n1"
		}
		if g.chance(2) {
			pod.Spec.TerminationGracePeriodSeconds = new(int64(pick(g.generator, 0, 5, 60)))
		}
		return pod
	case api.PersistentVolumeClaim:
		claim := &corev1.PersistentVolumeClaim{ObjectMeta: meta}
		claim.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}
		claim.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}
		return claim
	case api.PersistentVolume:
		pv := &corev1.PersistentVolume{ObjectMeta: meta}
		pv.Namespace = ""
		pv.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}
		pv.Spec.Capacity = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}
		pv.Spec.HostPath = &corev1.HostPathVolumeSource{Path: "/x"}
		return pv
	case "Secret":
		return &corev1.Secret{ObjectMeta: meta}
	case "Service":
		return &corev1.Service{ObjectMeta: meta, Spec: corev1.ServiceSpec{ClusterIP: "None"}}
	}
	return &corev1.ConfigMap{ObjectMeta: meta}
}

// finishContent removes the finalizers of something.
func (g *namespaceGenerator) finishContent() {
	g.patch(g.content(), api.Main, map[string]any{"metadata": map[string]any{"finalizers": pick[any](g.generator, nil, nil, []string{"example.com/more"})}})
}

// endPods lets kubelets remove pods, or report that they ended.
func (g *namespaceGenerator) endPods() {
	if g.chance(3) {
		g.pods(Living, pick(g.generator, 1, 9), g.status(corev1.PodSucceeded, "False"))
		return
	}
	g.removePods()
}

func (g *namespaceGenerator) deleteContent() { g.add(Step{Op: Delete, Ref: g.content()}) }

// GenerateGarbage returns the scenario of a seed about owners and dependents.
func GenerateGarbage(seed uint64) Scenario {
	g := &garbageGenerator{workloadGenerator: newWorkloadGenerator(seed, 29, "ConfigMap", actors.GarbageCollector), kinds: garbageKinds, owned: []int{0, 1, 1, 1, 2}}
	return g.garbage()
}

// GenerateOwners returns the scenario of a seed about objects with several owners, and volumes that refer to owners in namespaces.
func GenerateOwners(seed uint64) Scenario {
	g := &garbageGenerator{workloadGenerator: newWorkloadGenerator(seed, 31, "ConfigMap", actors.GarbageCollector), kinds: ownerships, owned: []int{0, 1, 2, 2, 3}}
	return g.garbage()
}

func (g *garbageGenerator) garbage() Scenario {
	g.requests = []string{"delete ConfigMap", "delete Pod", "delete PersistentVolumeClaim", "patch ConfigMap", "patch ConfigMap", "patch Pod",
		"patch PersistentVolumeClaim", "get ConfigMap", "get ConfigMap", "get Secret"}
	create := func() {
		for range 3 + g.IntN(4) {
			g.create()
		}
	}
	return g.scenario(create, []func(){
		g.create, g.create, g.create, g.create, g.create, g.create, g.deleteObject, g.deleteObject, g.deleteObject, g.deleteObject, g.deleteObject,
		g.changeOwners, g.changeOwners, g.changeOwners, g.release, g.release, g.removePods, g.removePods, g.pass,
	})
}

type garbageGenerator struct {
	*workloadGenerator
	kinds []api.Kind // of owners and dependents
	owned []int      // numbers of owners
}

// garbageKinds and ownerships are the kinds of owners and dependents of GenerateGarbage and GenerateOwners.
var (
	garbageKinds = []api.Kind{"ConfigMap", "ConfigMap", "ConfigMap", "ConfigMap", "Secret", api.Pod, api.PersistentVolumeClaim, api.PersistentVolume}
	ownerships   = []api.Kind{"ConfigMap", "Secret", api.PersistentVolumeClaim, api.PersistentVolume, api.PersistentVolume, api.PersistentVolume}
)

func (g *garbageGenerator) ref() api.Ref {
	ref := api.Ref{Kind: pick(g.generator, g.kinds...), Key: fmt.Sprintf("x%d", g.IntN(4))}
	if ref.Kind != api.PersistentVolume {
		ref.Key = pick(g.generator, "default", "default", "default", "default", "other") + "/" + ref.Key
	}
	return ref
}

// owner returns a reference to an object that may exist.
func (g *garbageGenerator) owner(namespace string) metav1.OwnerReference {
	ref := g.ref()
	gvk := store.GroupVersionKind(ref.Kind)
	if ref.Kind != api.PersistentVolume && !g.chance(12) {
		_, name := splitKey(ref.Key)
		ref.Key = namespace + "/" + name
	}
	owner := metav1.OwnerReference{Name: ref.Key[strings.Index(ref.Key, "/")+1:], UID: uidOfNow(ref)}
	owner.APIVersion, owner.Kind = gvk.ToAPIVersionAndKind()
	switch g.IntN(20) {
	case 0:
		owner.UID = "another"
	case 1:
		owner.Kind = "Secret"
	case 2:
		owner.APIVersion, owner.Kind = "example.com/v1", "Keeper"
	case 3:
		owner.APIVersion = "apps/v1"
	case 4:
		owner.Name = "x9"
	}
	if !g.chance(3) {
		owner.BlockOwnerDeletion = new(g.chance(2))
	}
	return owner
}

func (g *garbageGenerator) owners(namespace string) []metav1.OwnerReference {
	var owners []metav1.OwnerReference
	for range pick(g.generator, g.owned...) {
		owners = append(owners, g.owner(namespace))
	}
	return owners
}

func (g *garbageGenerator) create() {
	ref := g.ref()
	meta := metav1.ObjectMeta{Name: ref.Key}
	if namespace, name, ok := strings.Cut(ref.Key, "/"); ok {
		meta.Namespace, meta.Name = namespace, name
	}
	meta.OwnerReferences = g.owners(meta.Namespace)
	if g.chance(6) {
		meta.Finalizers = []string{pick(g.generator, "example.com/hold", "example.com/hold", "orphan", "foregroundDeletion")}
	}
	g.add(Step{Op: Create, Object: g.object(ref.Kind, meta)})
}

func (g *garbageGenerator) deleteObject() {
	g.add(Step{Op: Delete, Ref: g.ref(), Cascade: pick(g.generator, "", metav1.DeletePropagationForeground, metav1.DeletePropagationForeground,
		metav1.DeletePropagationOrphan)})
}

func (g *garbageGenerator) changeOwners() {
	ref := g.ref()
	namespace, _ := splitKey(ref.Key)
	g.patch(ref, api.Main, map[string]any{"metadata": map[string]any{"ownerReferences": g.owners(namespace)}})
}

// release removes the finalizers of an object.
func (g *garbageGenerator) release() {
	g.patch(g.ref(), api.Main, map[string]any{"metadata": map[string]any{"finalizers": nil}})
}
