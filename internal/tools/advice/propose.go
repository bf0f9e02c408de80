package advice

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/evidence"
	"github.com/volsim/volsim/internal/core/match"
	"github.com/volsim/volsim/internal/core/objects"
	"github.com/volsim/volsim/internal/core/plain"
	"github.com/volsim/volsim/internal/core/similar"
	"github.com/volsim/volsim/internal/core/snapshot"
	"github.com/volsim/volsim/internal/core/snapshots"
	"github.com/volsim/volsim/internal/tools/dump"
	"github.com/volsim/volsim/storage"
)

// proposer collects ways. They are proposals until they are simulated.
type proposer struct {
	cluster  *dump.Cluster
	snapshot snapshot.Snapshot
	ways     []Way
}

// add adds a way, once: an object may be reached in several ways, such as a pod and its claim from each other.
func (p *proposer) add(way Way) {
	same := func(other Way) bool {
		return other.Does == way.Does && slices.EqualFunc(other.Commands, way.Commands, func(a, b Command) bool { return a.String() == b.String() }) &&
			slices.Equal(other.assume, way.assume)
	}
	if !slices.ContainsFunc(p.ways, same) {
		p.ways = append(p.ways, way)
	}
}

func (p *proposer) propose(ref api.Ref) {
	for _, a := range p.snapshot.Evidence.All() {
		p.repair(a)
	}
	switch ref.Kind {
	case api.Pod:
		if pod, err := p.cluster.Pods.Get(ref.Key); err == nil {
			p.pod(pod)
		}
	case api.PersistentVolumeClaim:
		if claim, err := p.cluster.Claims.Get(ref.Key); err == nil {
			p.claim(claim)
			p.deletes(claim, 0)
		}
	}
}

// deletes says of the ways from an index on that they delete data: those after which a claim that is being deleted is gone, and its volume
// with it (RECL-004). It also proposes them with a volume that stays.
func (p *proposer) deletes(claim *corev1.PersistentVolumeClaim, from int) {
	pv, err := p.cluster.Volumes.Get(claim.Spec.VolumeName)
	if claim.DeletionTimestamp == nil || err != nil || pv.Spec.PersistentVolumeReclaimPolicy != corev1.PersistentVolumeReclaimDelete ||
		pv.Spec.ClaimRef == nil || pv.Spec.ClaimRef.UID != claim.UID {
		return
	}
	retain := kubectl("patch", "pv", pv.Name, "-p", `{"spec":{"persistentVolumeReclaimPolicy":"Retain"}}`)
	for i := range p.ways[from:] {
		way := &p.ways[from+i]
		if way.Danger >= Deletes {
			continue
		}
		kept := *way
		kept.Does, kept.Commands = fmt.Sprintf("set the reclaim policy of volume %s to Retain, then %s", pv.Name, way.Does),
			slices.Concat([]Command{retain}, way.Commands)
		if way.Risk != "" {
			way.Risk += "; "
		}
		way.Danger, way.Risk = Deletes, way.Risk+fmt.Sprintf("the reclaim policy of volume %s is Delete, so it is deleted with the claim", pv.Name)
		p.add(kept)
	}
}

// repair proposes that what the evidence is about works again.
func (p *proposer) repair(a evidence.Assumption) {
	override := a.Subject + "=" + string(evidence.Healthy)
	if a.Operation == evidence.RunContainers || !a.Failing() || slices.ContainsFunc(p.ways, func(w Way) bool { return slices.Contains(w.assume, override) }) {
		return
	}
	kind, name, _ := strings.Cut(a.Subject, "/")
	does := map[string]string{"driver": "repair or start driver " + name, "node": "bring node " + name + " back",
		"controller": "start " + name}[kind]
	switch {
	case a.Operation == evidence.StartContainers:
		does = fmt.Sprintf("correct what keeps pod %s from starting: %s", name, a.Message)
	case a.Operation == evidence.StopContainers:
		does = fmt.Sprintf("restart kubelet and container runtime of node %s, so that pod %s stops", a.Node, name)
	case a.Operation == storage.Recycle:
		does = "make the recycler pod run"
	case a.Behaviour == evidence.Refuses:
		does = repairOf(name, a)
	}
	p.add(Way{Does: does, assume: []string{override}})
}

// repairOf returns what ends the error of a driver.
func repairOf(driver string, a evidence.Assumption) string {
	read := ": read " + evidence.Log(a.Operation, driver, a.Node)
	switch a.Code {
	case storage.InvalidArgument, storage.OutOfRange:
		return fmt.Sprintf("correct the request that driver %s refuses with %s", driver, a.Code)
	case storage.ResourceExhausted:
		return fmt.Sprintf("give driver %s more capacity", driver)
	case "PermissionDenied", "Unauthenticated":
		return fmt.Sprintf("give driver %s the permission that it lacks", driver) + read
	}
	return "repair or start driver " + driver + read
}

// claim proposes changes for a claim that is not bound, or that is being deleted.
func (p *proposer) claim(claim *corev1.PersistentVolumeClaim) {
	if claim.DeletionTimestamp != nil {
		p.finalizers(claim, "pvc")
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
		return
	}
	p.volumes(claim)
	p.classes(claim)
	p.largeEnough(claim)
	if source := claim.Spec.DataSource; source != nil {
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

// largeEnough proposes to create a claim again that is smaller than the snapshot that it is made from (SNAP-030).
func (p *proposer) largeEnough(claim *corev1.PersistentVolumeClaim) {
	source := objects.DataSourceOf(claim)
	for _, obj := range p.snapshot.Snapshots {
		if source == nil || api.KindOf(obj) != snapshots.SnapshotKind || source.Kind != "VolumeSnapshot" ||
			api.KeyOf(obj) != api.Key(objects.ValueOf(source.Namespace), source.Name) {
			continue
		}
		snap, request := snapshots.Of[snapshots.Snapshot](obj), claim.Spec.Resources.Requests[corev1.ResourceStorage]
		if snap.Status == nil || snap.Status.RestoreSize == nil || request.Cmp(*snap.Status.RestoreSize) >= 0 {
			return
		}
		changed := fresh(claim)
		changed.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceStorage: *snap.Status.RestoreSize}
		p.add(Way{Does: fmt.Sprintf("create the claim again, with the %s of VolumeSnapshot %q", snap.Status.RestoreSize, snap.Name), likely: true,
			Commands: p.replace(changed)})
	}
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
		if pv.Spec.ClaimRef != nil {
			p.add(Way{Does: "free volume " + name, Danger: Reuses, Risk: "the claim gets the data of another claim",
				Commands: []Command{kubectl("patch", "pv", name, "-p", `{"spec":{"claimRef":null}}`)}})
		}
		return
	}
	danger, risk := Safe, ""
	if source := claim.Spec.DataSource; source != nil {
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
		if withoutClass(claim) && claim.Spec.VolumeName == "" {
			p.firstClass(claim, name)
			continue
		}
		changed := fresh(claim)
		changed.Spec.StorageClassName = &name
		p.add(Way{Does: fmt.Sprintf("create the claim again, with storage class %q", name), Commands: p.replace(changed), likely: name == meant})
	}
}

// withoutClass reports whether a claim names no class, not even the empty one, which asks for none.
func withoutClass(claim *corev1.PersistentVolumeClaim) bool {
	_, annotated := claim.Annotations[objects.AnnStorageClass]
	return claim.Spec.StorageClassName == nil && !annotated
}

// firstClass proposes a storage class for a claim that has none: its own, which can still be set (API-219), or as the default of the cluster (PROV-001).
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

func (p *proposer) deletePod(pod *corev1.Pod, does string) {
	danger, risk := Stops, "pod "+api.KeyOf(pod)+" stops"
	if pod.Status.Phase != corev1.PodRunning {
		danger, risk = Safe, ""
	}
	p.add(Way{Does: does, Danger: danger, Risk: risk, Commands: []Command{namespaced(pod, "delete", "pod", pod.Name)}})
}

// pod proposes changes for a pod that does not run, or that is being deleted.
func (p *proposer) pod(pod *corev1.Pod) {
	for _, key := range objects.ClaimsOf(pod) {
		claim, err := p.cluster.Claims.Get(key)
		if err != nil {
			p.missingClaim(pod, key)
			continue
		}
		from := len(p.ways)
		p.claim(claim)
		p.deletes(claim, from)
		for _, other := range p.users(key) {
			if other.UID != pod.UID && other.DeletionTimestamp == nil {
				p.recreate(pod, other, key)
				p.deletePod(other, fmt.Sprintf("delete pod %s, which uses claim %s", api.KeyOf(other), key))
			} else if other.DeletionTimestamp != nil {
				p.deadNode(other)
			}
		}
	}
	p.registration(pod)
	switch {
	case pod.DeletionTimestamp != nil:
		p.finalizers(pod, "pod")
		p.deadNode(pod)
	case pod.Spec.NodeName == "":
		p.nodes(pod)
	default:
		p.deletePod(pod, "delete the pod, so that it is created again")
		p.add(Way{Does: "move the pod to another node", Risk: "node " + pod.Spec.NodeName + " takes no pods until kubectl uncordon",
			Commands: []Command{kubectl("cordon", pod.Spec.NodeName), namespaced(pod, "delete", "pod", pod.Name)}})
	}
}

// recreate proposes the strategy Recreate for a Deployment whose old pod keeps a claim that its new pod waits for: a rolling update never ends.
func (p *proposer) recreate(waiting, old *corev1.Pod, claim string) {
	deployment := p.deploymentOf(waiting)
	if deployment == nil || p.deploymentOf(old) != deployment || metav1.GetControllerOfNoCopy(waiting).UID == metav1.GetControllerOfNoCopy(old).UID {
		return
	}
	p.add(Way{Does: fmt.Sprintf("set the strategy of deployment %s to Recreate, so that pod %s frees claim %s first", api.KeyOf(deployment), api.KeyOf(old),
		claim), Danger: Stops, Risk: "pod " + api.KeyOf(old) + " stops", Commands: []Command{namespaced(deployment, "patch", "deployment", deployment.Name,
		"-p", `{"spec":{"strategy":{"type":"Recreate","rollingUpdate":null}}}`)}})
}

// deploymentOf returns the Deployment whose ReplicaSet owns a pod; nil if there is none.
func (p *proposer) deploymentOf(pod *corev1.Pod) *plain.Object {
	owner := metav1.GetControllerOfNoCopy(pod)
	for range 2 {
		at := slices.IndexFunc(p.snapshot.Workloads, func(obj *plain.Object) bool { return owner != nil && obj.UID == owner.UID })
		if at < 0 {
			return nil
		}
		obj := p.snapshot.Workloads[at]
		if api.KindOf(obj) == snapshot.Deployments {
			return obj
		}
		owner = metav1.GetControllerOfNoCopy(obj)
	}
	return nil
}

// registration proposes that the drivers of a pod's volumes register on its node.
func (p *proposer) registration(pod *corev1.Pod) {
	csiNode, err := p.cluster.CSINodes.Get(pod.Spec.NodeName)
	if pod.Spec.NodeName == "" || err != nil {
		return
	}
	for _, key := range objects.ClaimsOf(pod) {
		claim, err := p.cluster.Claims.Get(key)
		if err != nil {
			continue
		}
		pv, err := p.cluster.Volumes.Get(claim.Spec.VolumeName)
		if err != nil || pv.Spec.CSI == nil {
			continue
		}
		driver := pv.Spec.CSI.Driver
		if !slices.ContainsFunc(csiNode.Spec.Drivers, func(d storagev1.CSINodeDriver) bool { return d.Name == driver }) {
			p.add(Way{Does: fmt.Sprintf("start the node plugin of driver %s on node %s", driver, pod.Spec.NodeName),
				assume: []string{"driver/" + driver + "=" + string(evidence.Healthy)}})
		}
	}
}

// deadNode proposes what ends a pod whose node does not answer.
func (p *proposer) deadNode(pod *corev1.Pod) {
	node, err := p.cluster.Nodes.Get(pod.Spec.NodeName)
	if err != nil || objects.Healthy(node) && !slices.Contains(p.snapshot.Evidence.Cut(), node.Name) {
		return
	}
	risk := fmt.Sprintf("if machine %s still runs, two nodes write to its volumes: power it off first", node.Name)
	p.add(Way{Does: fmt.Sprintf("declare node %s out of service", node.Name), Danger: Corrupts, Risk: risk,
		Commands: []Command{kubectl("taint", "nodes", node.Name, corev1.TaintNodeOutOfService+"=nodeshutdown:NoExecute")}})
	p.add(Way{Does: fmt.Sprintf("delete pod %s by force", api.KeyOf(pod)), Danger: Corrupts, Risk: risk,
		Commands: []Command{namespaced(pod, "delete", "pod", pod.Name, "--force", "--grace-period=0")}})
}

// finalizers proposes to remove the finalizers that no component of Kubernetes removes.
func (p *proposer) finalizers(obj api.Object, kind string) {
	foreign := slices.DeleteFunc(slices.Clone(obj.GetFinalizers()), func(name string) bool {
		return strings.Contains(name, "kubernetes.io/") || !strings.Contains(name, "/")
	})
	if len(foreign) == 0 || len(foreign) < len(obj.GetFinalizers()) {
		return
	}
	names := strings.Join(foreign, ", ")
	p.add(Way{Does: fmt.Sprintf("remove finalizer %s of %s %s", names, kind, api.KeyOf(obj)), Danger: Skips,
		Risk:     "what its component would clean up stays: look at that component first",
		Commands: []Command{namespaced(obj, "patch", kind, obj.GetName(), "--type=merge", "-p", `{"metadata":{"finalizers":null}}`)}})
}

// missingClaim proposes to create a claim that a pod names and that does not exist.
func (p *proposer) missingClaim(pod *corev1.Pod, key string) {
	_, name := objects.SplitKey(key)
	named := func(v corev1.Volume) bool {
		return v.PersistentVolumeClaim != nil && v.PersistentVolumeClaim.ClaimName == name
	}
	if !slices.ContainsFunc(pod.Spec.Volumes, named) {
		return // a controller creates those of ephemeral volumes
	}
	spec := map[string]any{"accessModes": []string{string(corev1.ReadWriteOnce)},
		"resources": map[string]any{"requests": map[string]string{string(corev1.ResourceStorage): "1Gi"}}}
	text := manifest(map[string]any{"apiVersion": "v1", "kind": "PersistentVolumeClaim",
		"metadata": map[string]any{"name": name, "namespace": pod.Namespace}, "spec": spec})
	p.add(Way{Does: fmt.Sprintf("create claim %s; choose its size and storage class", key), Risk: "the volume is empty",
		Commands: []Command{{Args: []string{"apply", "-f", "-"}, Manifest: text}}})
}
