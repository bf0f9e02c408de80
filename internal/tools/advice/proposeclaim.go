package advice

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/yaml"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/controllers/schedule"
	"github.com/volsim/volsim/internal/core/match"
	"github.com/volsim/volsim/internal/core/objects"
	"github.com/volsim/volsim/internal/core/similar"
	"github.com/volsim/volsim/internal/core/snapshots"
)

// claim proposes changes for a claim that is not bound, or that is being deleted.
func (p *proposer) claim(claim *corev1.PersistentVolumeClaim) {
	if claim.DeletionTimestamp != nil {
		p.finalizers(claim, "pvc")
		p.unreadySnapshots(claim)
		for _, pod := range p.users(api.KeyOf(claim)) {
			if pod.DeletionTimestamp != nil {
				p.finalizers(pod, "pod")
				p.deadNode(pod)
				continue
			}
			p.deletePod(pod, "delete pod "+api.KeyOf(pod)+", which uses the claim")
		}
		return
	}
	if claim.Status.Phase == corev1.ClaimBound {
		p.growth(claim)
		p.attributes(claim)
		return
	}
	p.volumes(claim)
	p.classes(claim)
	p.topologies(claim)
	p.nodeOf(claim)
	p.largeEnough(claim)
	p.oneNode(claim)
	if source := objects.DataSourceOf(claim); source != nil {
		changed := fresh(claim)
		changed.Spec.DataSource, changed.Spec.DataSourceRef = nil, nil
		p.add(Way{Does: fmt.Sprintf("create the claim again, without %s %q as its source", source.Kind, source.Name), Danger: Reuses,
			Risk: "the volume is empty", Commands: p.replace(changed)})
	}
	if claim.Spec.Selector != nil {
		changed := fresh(claim)
		changed.Spec.Selector = nil
		p.add(Way{Does: "create the claim again, without a selector", Commands: p.replace(changed)})
	}
	if node := claim.Annotations[objects.AnnSelectedNode]; node != "" {
		p.add(Way{Does: fmt.Sprintf("let the scheduler choose another node than %s", node),
			Commands: []Command{namespaced(claim, "annotate", "pvc", claim.Name, objects.AnnSelectedNode+"-")}})
	}
}

// nodeOf proposes to choose the node of a claim that waits for the scheduler, although its pod names the node itself (SCHED-020).
func (p *proposer) nodeOf(claim *corev1.PersistentVolumeClaim) {
	for _, pod := range p.users(api.KeyOf(claim)) {
		if node := pod.Spec.NodeName; node != "" && pod.Status.Phase == corev1.PodPending && claim.Annotations[objects.AnnSelectedNode] == "" {
			p.add(Way{Does: fmt.Sprintf("choose node %s for the claim, as the scheduler would", node), likely: true,
				Commands: []Command{namespaced(claim, "annotate", "pvc", claim.Name, objects.AnnSelectedNode+"="+node)}})
		}
	}
}

// largeEnough proposes to create a claim again that is smaller than the snapshot (SNAP-030) or the claim (XPROV-031) that it is made from.
func (p *proposer) largeEnough(claim *corev1.PersistentVolumeClaim) {
	source := objects.DataSourceOf(claim)
	if source == nil {
		return
	}
	size, request := p.sizeOf(source), claim.Spec.Resources.Requests[corev1.ResourceStorage]
	if size == nil || request.Cmp(*size) >= 0 {
		return
	}
	changed := fresh(claim)
	changed.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceStorage: *size}
	p.add(Way{Does: fmt.Sprintf("create the claim again, with the %s of %s %q", size, source.Kind, source.Name), likely: true, Commands: p.replace(changed)})
}

// sizeOf returns the least size of a volume that is made from a source; nil if it is unknown.
func (p *proposer) sizeOf(source *corev1.TypedObjectReference) *resource.Quantity {
	key := api.Key(objects.ValueOf(source.Namespace), source.Name)
	if source.Kind == string(api.PersistentVolumeClaim) {
		if claim, err := p.cluster.Claims.Get(key); err == nil {
			return claim.Spec.Resources.Requests.Storage()
		}
	}
	for _, obj := range p.snapshot.Snapshots {
		if api.KindOf(obj) != snapshots.SnapshotKind || source.Kind != "VolumeSnapshot" || api.KeyOf(obj) != key {
			continue
		}
		if snap := snapshots.Of[snapshots.Snapshot](obj); snap.Status != nil {
			return snap.Status.RestoreSize
		}
	}
	return nil
}

// oneNode proposes access mode ReadWriteOnce for a claim whose modes its driver refuses.
func (p *proposer) oneNode(claim *corev1.PersistentVolumeClaim) {
	class, err := p.cluster.Classes.Get(objects.ClassOf(claim))
	if err != nil {
		return
	}
	if a, refused := p.snapshot.Evidence.Create(class.Provisioner, claim); !refused || !a.AboutModes(claim) {
		return
	}
	changed := fresh(claim)
	changed.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}
	p.add(Way{Does: "create the claim again, with access mode ReadWriteOnce", Risk: "pods of one node only can use it", likely: true,
		Commands: p.replace(changed)})
}

// unreadySnapshots proposes to delete the snapshots of a claim that are not ready: while there is one, the claim stays (SNAP-005).
func (p *proposer) unreadySnapshots(claim *corev1.PersistentVolumeClaim) {
	if !slices.Contains(claim.Finalizers, snapshots.ClaimFinalizer) {
		return
	}
	for _, obj := range p.snapshot.Snapshots {
		if api.KindOf(obj) != snapshots.SnapshotKind || obj.GetNamespace() != claim.Namespace {
			continue
		}
		snap := snapshots.Of[snapshots.Snapshot](obj)
		if snap.IsReady() || objects.ValueOf(snap.Spec.Source.Claim) != claim.Name {
			continue
		}
		p.add(Way{Does: fmt.Sprintf("delete VolumeSnapshot %s, which is not ready", api.KeyOf(snap)), Risk: "there will be no snapshot of the claim",
			Commands: []Command{namespaced(claim, "delete", "volumesnapshot", snap.Name)}})
	}
}

// attributes proposes the VolumeAttributesClass that the volume of a claim has now, if it does not get the requested one (VAC-013).
func (p *proposer) attributes(claim *corev1.PersistentVolumeClaim) {
	current := claim.Status.CurrentVolumeAttributesClassName
	if !modifying(claim) || objects.ValueOf(current) == objects.ValueOf(claim.Spec.VolumeAttributesClassName) {
		return
	}
	does, value := "request no VolumeAttributesClass", "null"
	if current != nil {
		does, value = fmt.Sprintf("go back to VolumeAttributesClass %q", *current), fmt.Sprintf("%q", *current)
	}
	p.add(Way{Does: does, Commands: []Command{namespaced(claim, "patch", "pvc", claim.Name, "-p", `{"spec":{"volumeAttributesClassName":`+value+`}}`)}})
}

// modifying reports whether the volume of a claim has to get another VolumeAttributesClass.
func modifying(claim *corev1.PersistentVolumeClaim) bool {
	return claim.Status.ModifyVolumeStatus != nil ||
		objects.ValueOf(claim.Spec.VolumeAttributesClassName) != objects.ValueOf(claim.Status.CurrentVolumeAttributesClassName)
}

// growth proposes a smaller request for a claim whose volume does not grow. It must stay above the capacity (API-131).
func (p *proposer) growth(claim *corev1.PersistentVolumeClaim) {
	request, capacity := claim.Spec.Resources.Requests[corev1.ResourceStorage], claim.Status.Capacity[corev1.ResourceStorage]
	if request.Cmp(capacity) <= 0 {
		return
	}
	for _, pod := range p.users(api.KeyOf(claim)) {
		p.registration(pod)
	}
	const step = 1 << 30
	smaller := resource.NewQuantity(capacity.Value()+min(step, (request.Value()-capacity.Value())/2), resource.BinarySI)
	if smaller.Cmp(capacity) <= 0 {
		return
	}
	p.add(Way{Does: fmt.Sprintf("request %s instead of %s", smaller, &request), Commands: []Command{namespaced(claim, "patch", "pvc", claim.Name, "-p",
		fmt.Sprintf(`{"spec":{"resources":{"requests":{"storage":%q}}}}`, smaller))}})
}

// volumes proposes to free volumes that fit but are reserved, and to create one.
func (p *proposer) volumes(claim *corev1.PersistentVolumeClaim) {
	for _, pv := range p.snapshot.Volumes {
		ref := pv.Spec.ClaimRef
		if ref == nil || pv.DeletionTimestamp != nil || pv.Status.Phase == corev1.VolumeBound {
			continue
		}
		freed := pv.DeepCopy()
		freed.Status.Phase = corev1.VolumeAvailable
		same := ref.Namespace == claim.Namespace && ref.Name == claim.Name
		if same {
			freed.Spec.ClaimRef.UID = ""
		} else {
			freed.Spec.ClaimRef = nil
		}
		if len(match.Failures(claim, freed, match.Options{})) > 0 {
			continue
		}
		if same {
			p.add(Way{Does: fmt.Sprintf("free volume %s, which an earlier claim of this name had", pv.Name),
				Risk:     "the claim gets the data of the earlier claim",
				Commands: []Command{kubectl("patch", "pv", pv.Name, "-p", `{"spec":{"claimRef":{"uid":null,"resourceVersion":null}}}`)}})
			continue
		}
		p.add(Way{Does: fmt.Sprintf("free volume %s, which claim %s had", pv.Name, api.Key(ref.Namespace, ref.Name)), Danger: Reuses,
			Risk:     "the claim gets the data of another claim",
			Commands: []Command{kubectl("patch", "pv", pv.Name, "-p", `{"spec":{"claimRef":null}}`)}})
	}
	name := claim.Spec.VolumeName
	if name == "" {
		name = claim.Namespace + "-" + claim.Name
	} else if pv, err := p.cluster.Volumes.Get(name); err == nil {
		if ref := pv.Spec.ClaimRef; ref != nil {
			risk := "the claim gets the data of another claim"
			if api.Key(ref.Namespace, ref.Name) == api.KeyOf(claim) {
				risk = "the claim gets the data of the earlier claim of this name"
			}
			p.add(Way{Does: "free volume " + name, Danger: Reuses, Risk: risk,
				Commands: []Command{kubectl("patch", "pv", name, "-p", `{"spec":{"claimRef":null}}`)}})
		}
		return
	}
	danger, risk := Safe, ""
	if source := objects.DataSourceOf(claim); source != nil {
		danger, risk = Reuses, fmt.Sprintf("the volume does not have the data of %s %q", source.Kind, source.Name)
	}
	p.add(Way{Does: "create a volume for the claim; replace SERVER and PATH by its storage", Danger: danger, Risk: risk, byHand: true,
		Commands: []Command{{Args: []string{"apply", "-f", "-"}, Manifest: volumeFor(claim, name)}}})
}

// volumeFor returns the manifest of a volume that is reserved for a claim.
func volumeFor(claim *corev1.PersistentVolumeClaim, name string) string {
	request := claim.Spec.Resources.Requests[corev1.ResourceStorage]
	spec := map[string]any{
		"capacity":                      map[string]string{"storage": request.String()},
		"accessModes":                   claim.Spec.AccessModes,
		"storageClassName":              objects.ClassOf(claim),
		"persistentVolumeReclaimPolicy": "Retain",
		"claimRef":                      map[string]string{"namespace": claim.Namespace, "name": claim.Name},
		"nfs":                           map[string]string{"server": "SERVER", "path": "/PATH"},
	}
	metadata := map[string]any{"name": name}
	if claim.Spec.VolumeMode != nil {
		spec["volumeMode"] = *claim.Spec.VolumeMode
	}
	if selector := claim.Spec.Selector; selector != nil {
		metadata["labels"] = selector.MatchLabels
	}
	return manifest(map[string]any{"apiVersion": "v1", "kind": "PersistentVolume", "metadata": metadata, "spec": spec})
}

func manifest(value any) string {
	data, err := yaml.Marshal(value)
	if err != nil {
		panic(err) // the values are of types that YAML has
	}
	return string(data)
}

// fresh returns a claim as it is created again.
func fresh(claim *corev1.PersistentVolumeClaim) *corev1.PersistentVolumeClaim {
	copied := &corev1.PersistentVolumeClaim{ObjectMeta: meta(claim.Namespace, claim.Name), Spec: *claim.Spec.DeepCopy()}
	copied.Labels = claim.Labels
	return copied
}

// replace returns the commands that delete a claim and create it again.
func (p *proposer) replace(changed *corev1.PersistentVolumeClaim) []Command {
	metadata := map[string]any{"name": changed.Name, "namespace": changed.Namespace}
	if len(changed.Labels) > 0 {
		metadata["labels"] = changed.Labels
	}
	text := manifest(map[string]any{"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": metadata, "spec": changed.Spec})
	return []Command{namespaced(changed, "delete", "pvc", changed.Name), {Args: []string{"apply", "-f", "-"}, Manifest: text}}
}

// classes proposes to create the claim again with another storage class. A claim that is not bound has no data.
func (p *proposer) classes(claim *corev1.PersistentVolumeClaim) {
	var names []string
	for _, class := range p.snapshot.Classes {
		names = append(names, class.Name)
	}
	meant := "" // by a name that no class has
	if name := objects.ClassOf(claim); name != "" && !slices.Contains(names, name) {
		meant = similar.To(name, names)
	}
	for _, name := range names {
		if name == objects.ClassOf(claim) {
			continue
		}
		if class, err := p.cluster.Classes.Get(name); err == nil && objects.DataSourceOf(claim) != nil && slices.Contains(names, objects.ClassOf(claim)) {
			if delayed, _ := objects.IsDelayed(class); delayed {
				continue // it shows only with the first pod whether the source can be used
			}
		}
		if withoutClass(claim) && claim.Spec.VolumeName == "" {
			p.firstClass(claim, name)
			continue
		}
		changed := fresh(claim)
		changed.Spec.StorageClassName = &name
		p.add(Way{Does: fmt.Sprintf("create the claim again, with storage class %q", name), Commands: p.replace(changed), likely: name == meant})
	}
}

// topologies proposes that the class of a claim allows all topologies, if no node is in those that it allows (SCHED-103).
func (p *proposer) topologies(claim *corev1.PersistentVolumeClaim) {
	class, err := p.cluster.Classes.Get(objects.ClassOf(claim))
	if err != nil || len(class.AllowedTopologies) == 0 || slices.ContainsFunc(p.snapshot.Nodes, func(node *corev1.Node) bool {
		return schedule.TopologyAllows(class, node)
	}) {
		return
	}
	p.add(Way{Does: fmt.Sprintf("remove the allowedTopologies of storage class %q, which select no node, or correct them", class.Name),
		Commands: []Command{kubectl("patch", "sc", class.Name, "-p", `{"allowedTopologies":null}`)}})
}

// withoutClass reports whether a claim names no class, not even the empty one, which asks for none.
func withoutClass(claim *corev1.PersistentVolumeClaim) bool {
	_, annotated := claim.Annotations[objects.AnnStorageClass]
	return claim.Spec.StorageClassName == nil && !annotated
}

// firstClass proposes a storage class for a claim that has none: its own, which can still be set (API-219), or as the default of the
// cluster (PROV-001).
func (p *proposer) firstClass(claim *corev1.PersistentVolumeClaim, name string) {
	p.add(Way{Does: fmt.Sprintf("use storage class %q for the claim", name), Commands: []Command{namespaced(claim, "patch", "pvc", claim.Name, "-p",
		fmt.Sprintf(`{"spec":{"storageClassName":%q}}`, name))}})
	p.add(Way{Does: fmt.Sprintf("make storage class %q the default, which claims without a class get", name),
		Commands: []Command{kubectl("annotate", "sc", name, objects.AnnDefaultClass+"=true")}})
}

// users returns the pods that name a claim.
func (p *proposer) users(claim string) []*corev1.Pod {
	var users []*corev1.Pod
	for _, pod := range p.snapshot.Pods {
		if slices.Contains(objects.ClaimsOf(pod), claim) {
			users = append(users, pod)
		}
	}
	return users
}
