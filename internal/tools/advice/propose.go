package advice

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/evidence"
	"github.com/volsim/volsim/internal/core/objects"
	"github.com/volsim/volsim/internal/core/plain"
	"github.com/volsim/volsim/internal/core/snapshot"
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
		// MNT-333: a pod that is created again waits anew.
		if pod, err := p.cluster.Pods.Get(ref.Key); err == nil && !p.changesOwnership(pod) {
			p.pod(pod)
		}
	case api.PersistentVolumeClaim:
		if claim, err := p.cluster.Claims.Get(ref.Key); err == nil {
			p.claim(claim)
			p.deletes(claim, 0)
		}
	case api.PersistentVolume:
		if pv, err := p.cluster.Volumes.Get(ref.Key); err == nil && pv.DeletionTimestamp != nil {
			p.finalizers(pv, "pv")
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
		if p.files(name, override) {
			return
		}
		does = fmt.Sprintf("correct what keeps pod %s from starting: %s", name, a.Message)
	case a.Operation == evidence.ChangeOwnership:
		return // it ends without a change
	case a.Operation == evidence.StopContainers:
		does = fmt.Sprintf("restart kubelet and container runtime of node %s, so that pod %s stops", a.Node, name)
	case a.Operation == storage.Unpublish && kind == "driver" && a.Behaviour == evidence.Silent:
		does = fmt.Sprintf("restart the kubelet of node %s, or reboot the node, so that it unmounts the volume", a.Node)
	case a.Operation == storage.Recycle:
		does = "make the recycler pod run"
	case a.Behaviour == evidence.Refuses:
		if claim, err := p.cluster.Claims.Get(strings.TrimPrefix(a.Object, "pvc/")); err == nil && a.AboutModes(claim) {
			return // oneNode has the correction
		}
		does = repairOf(name, a)
	}
	if does != "" {
		// A smaller size, or another class, is a command.
		p.add(Way{Does: does, assume: []string{override}, byHand: a.Operation == storage.Expand || a.Operation == storage.Modify})
	}
}

func (p *proposer) changesOwnership(pod *corev1.Pod) bool {
	_, changes := p.snapshot.Evidence.Containers(pod, evidence.ChangeOwnership)
	return changes
}

// repairOf returns what ends the error of a driver.
func repairOf(driver string, a evidence.Assumption) string {
	if absent := a.Absent(); absent != "" {
		return "create " + absent
	}
	if a.FullNode() {
		return fmt.Sprintf("stop a pod on node %s that uses another volume of driver %s", a.Node, driver)
	}
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
		p.foreign(pod, claim)
		for _, other := range p.users(key) {
			if other.UID != pod.UID && other.DeletionTimestamp == nil {
				p.recreate(pod, other, key)
				p.otherUser(pod, other, key)
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

// foreign proposes to delete a claim that has the name of the claim of an ephemeral volume, and is not of the pod (SCHED-045).
func (p *proposer) foreign(pod *corev1.Pod, claim *corev1.PersistentVolumeClaim) {
	ephemeral := slices.ContainsFunc(pod.Spec.Volumes, func(v corev1.Volume) bool { return v.Ephemeral != nil && pod.Name+"-"+v.Name == claim.Name })
	if !ephemeral || objects.OwnsClaim(pod, claim) || claim.DeletionTimestamp != nil {
		return
	}
	way := Way{Does: fmt.Sprintf("delete claim %s, which was not created for pod %s", api.KeyOf(claim), api.KeyOf(pod)),
		Commands: []Command{namespaced(claim, "delete", "pvc", claim.Name)}}
	if claim.Spec.VolumeName != "" {
		way.Danger, way.Risk = Deletes, "the claim has volume "+claim.Spec.VolumeName+": see its reclaim policy"
	}
	p.add(way)
}

// otherUser proposes that another pod leaves a claim. If both have one controller, that makes the other pod again, so it has to want one pod only.
func (p *proposer) otherUser(waiting, other *corev1.Pod, claim string) {
	if !sameOwner(waiting, other) {
		p.deletePod(other, fmt.Sprintf("delete pod %s, which uses claim %s", api.KeyOf(other), claim))
	} else if deployment := p.deploymentOf(waiting); deployment != nil {
		p.add(Way{Does: fmt.Sprintf("scale deployment %s to 1: pod %s has claim %s", api.KeyOf(deployment), api.KeyOf(other), claim), ends: true,
			Commands: []Command{namespaced(deployment, "patch", "deployment", deployment.Name, "-p", `{"spec":{"replicas":1}}`)}})
	}
}

func sameOwner(a, b *corev1.Pod) bool {
	of, other := metav1.GetControllerOfNoCopy(a), metav1.GetControllerOfNoCopy(b)
	return of != nil && other != nil && of.UID == other.UID
}

// recreate proposes the strategy Recreate for a Deployment whose old pod keeps a claim that its new pod waits for: a rolling update never ends.
func (p *proposer) recreate(waiting, old *corev1.Pod, claim string) {
	deployment := p.deploymentOf(waiting)
	if deployment == nil || p.deploymentOf(old) != deployment || sameOwner(waiting, old) {
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
	for i := range pod.Spec.Volumes {
		driver := p.driverOf(pod, &pod.Spec.Volumes[i])
		if driver != "" && !slices.ContainsFunc(csiNode.Spec.Drivers, func(d storagev1.CSINodeDriver) bool { return d.Name == driver }) {
			p.add(Way{Does: fmt.Sprintf("start the node plugin of driver %s on node %s", driver, pod.Spec.NodeName),
				assume: []string{"driver/" + driver + "=" + string(evidence.Healthy)}})
		}
	}
}

// driverOf returns the CSI driver of a pod's volume; "" if it has none.
func (p *proposer) driverOf(pod *corev1.Pod, volume *corev1.Volume) string {
	if volume.CSI != nil {
		return volume.CSI.Driver
	}
	claim, err := p.cluster.Claims.Get(api.Key(pod.Namespace, objects.ClaimOf(pod, volume)))
	if err != nil {
		return ""
	}
	pv, err := p.cluster.Volumes.Get(claim.Spec.VolumeName)
	if err != nil {
		return ""
	}
	if csi := objects.CSIOf(pv); csi != nil {
		return csi.Driver
	}
	return ""
}

// deadNode proposes what ends a pod whose node does not answer.
func (p *proposer) deadNode(pod *corev1.Pod) {
	node, err := p.cluster.Nodes.Get(pod.Spec.NodeName)
	if err != nil || objects.Healthy(node) && !slices.Contains(p.snapshot.Evidence.Cut(), node.Name) {
		return
	}
	risk := fmt.Sprintf("if machine %s still runs, two nodes write to its volumes: power it off first", node.Name)
	before, release := "", []Command(nil)
	if names, command := withoutForeign(pod, "pod"); names != "" {
		// BIND-016: a finalizer keeps the pod even after that.
		before, release = fmt.Sprintf("remove finalizer %s of pod %s, then ", names, api.KeyOf(pod)), []Command{command}
	}
	p.add(Way{Does: before + fmt.Sprintf("declare node %s out of service", node.Name), Danger: Corrupts, Risk: risk,
		Commands: append(slices.Clone(release), kubectl("taint", "nodes", node.Name, corev1.TaintNodeOutOfService+"=nodeshutdown:NoExecute"))})
	p.add(Way{Does: before + fmt.Sprintf("delete pod %s by force", api.KeyOf(pod)), Danger: Corrupts, Risk: risk,
		Commands: append(slices.Clone(release), namespaced(pod, "delete", "pod", pod.Name, "--force", "--grace-period=0"))})
}

// finalizers proposes to remove the finalizers that no component of Kubernetes removes.
func (p *proposer) finalizers(obj api.Object, kind string) {
	if names, command := withoutForeign(obj, kind); names != "" {
		p.add(Way{Does: fmt.Sprintf("remove finalizer %s of %s %s", names, kind, api.KeyOf(obj)), Danger: Skips,
			Risk: "what its component would clean up stays: look at that component first", Commands: []Command{command}})
	}
}

// withoutForeign returns the command that removes the finalizers which no component of Kubernetes removes, and their names; "" for none.
func withoutForeign(obj api.Object, kind string) (names string, command Command) {
	var foreign, ours []string
	for _, name := range obj.GetFinalizers() {
		if strings.Contains(name, "kubernetes.io/") || !strings.Contains(name, "/") {
			ours = append(ours, name)
		} else {
			foreign = append(foreign, name)
		}
	}
	left := "null"
	if len(ours) > 0 {
		left = `["` + strings.Join(ours, `","`) + `"]`
	}
	return strings.Join(foreign, ", "), namespaced(obj, "patch", kind, obj.GetName(), "--type=merge", "-p", `{"metadata":{"finalizers":`+left+`}}`)
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
