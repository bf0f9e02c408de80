package reasons

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/explain"
	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/internal/core/actors"
	"github.com/volsim/volsim/internal/core/objects"
)

// PodsOnANode ask about the pod p, which waits on its node.
func PodsOnANode() []Row {
	claim, pv := BoundPair()
	_, local := BoundPair(fake.FromNodes("n2"))
	_, single := BoundPair(fake.Modes("RWOP"))
	_, shared := BoundPair(fake.Modes("RWX"))
	_, block := BoundPair(fake.Block())
	_, foreign := BoundPair(fake.ForClaim("data", "c9"))
	_, loose := BoundPair()
	loose.Spec.ClaimRef = nil
	p := User("p", "n1")
	no := false
	plain := &storagev1.CSIDriver{ObjectMeta: metav1.ObjectMeta{Name: Driver}, Spec: storagev1.CSIDriverSpec{AttachRequired: &no}}
	device := fake.Pod("p", fake.UID("uid-p"), fake.OnNode("n1"), fake.BlockClaims("data"))
	failing := With(Attachment("n1", false), func(va *storagev1.VolumeAttachment) {
		va.Status.AttachError = &storagev1.VolumeError{Time: metav1.NewTime(Now), Message: "no such disk"}
	})
	unmanaged := With(ManagedNode("n1", false, false), func(n *corev1.Node) { delete(n.Annotations, objects.AnnManagedAttach) })
	outOfService := func(n *corev1.Node) *corev1.Node { return tainted(NotReady(n), corev1.TaintNodeOutOfService) }
	ready := ManagedNode("n1", true, true)
	const kubelet, adc = "kubelet/n1", actors.AttachDetach
	mountFailed := func(message string) []api.Object {
		return []api.Object{p, ready, claim, pv, Attachment("n1", true), Event(p, "FailedMount", message)}
	}
	mapFailed := func(message string) []api.Object {
		return []api.Object{p, ready, claim, pv, Attachment("n1", true), Event(p, "FailedMapVolume", message)}
	}
	return asking("pod/p", []Row{
		{Rule: "MNT-380", Name: "it runs", Objs: []api.Object{Runs(User("p", "n1")), ready, claim, pv, Attachment("n1", true)},
			When: explain.Settled},
		{Rule: "MNT-380", Name: "it is about to start", Objs: []api.Object{p, ready, claim, pv, Attachment("n1", true)},
			When: explain.Automatic, Actor: kubelet},
		{Rule: "MNT-380", Name: "its node is down",
			Objs: []api.Object{p, NotReady(ManagedNode("n1", true, true)), claim, pv, Attachment("n1", true)}, Actor: Admin},
		{Rule: "NODE-074", Name: "its node does not exist", Objs: []api.Object{p, ManagedNode("n2", true, true), claim, pv},
			When: explain.Automatic, Actor: actors.PodGC},
		{Rule: "NODE-074", Name: "it ran on a node that does not exist", Objs: []api.Object{Runs(User("p", "n1")), ManagedNode("n2", true, true), claim, pv},
			When: explain.Automatic, Actor: actors.PodGC},
		{Rule: "NODE-074", Name: "it is being deleted, and its node does not exist",
			Objs: []api.Object{Deleting(User("p", "n1")), ManagedNode("n2", true, true), claim, pv}, When: explain.Automatic, Actor: actors.PodGC},
		{Rule: "NODE-074", Name: "it is being deleted, its node does not exist, and a finalizer keeps it afterwards",
			Objs: []api.Object{Deleting(Runs(User("p", "n1")), "x/y"), ManagedNode("n2", true, true), claim, pv}, When: explain.Automatic, Actor: actors.PodGC},
		{Rule: "MNT-380", Name: "its volume needs no attaching", Objs: []api.Object{p, ManagedNode("n1", false, false), claim, pv, plain},
			When: explain.Automatic, Actor: kubelet},
		{Rule: "MNT-072a", Name: "its claim is missing", Objs: []api.Object{p, ready}, Actor: Admin},
		{Rule: "MNT-072b", Name: "its claim is going, unprotected",
			Objs: []api.Object{p, ready, Deleting(fake.Claim("data", "1Gi"), "x/y")}, Root: "BIND-016", Actor: kubelet},
		{Rule: "MNT-072c", Name: "its claim is not bound", Objs: []api.Object{p, ready, fake.Claim("data", "1Gi")}, Root: "BIND-058",
			Actor: kubelet},
		{Rule: "MNT-072d", Name: "its claim names no volume", Objs: []api.Object{p, ready, fake.Claim("data", "1Gi", fake.Phase("Bound"))},
			Root: "BIND-058", Actor: kubelet},
		{Rule: "MNT-072e", Name: "a claim of the name is not its own",
			Objs: []api.Object{With(ephemeral("p"), func(p *corev1.Pod) { p.Spec.NodeName = "n1" }), ready,
				fake.Claim("p-scratch", "1Gi", fake.Phase("Bound"), fake.VolumeName("pv"))}, Actor: Admin},
		{Rule: "MNT-072f", Name: "its volume is gone", Objs: []api.Object{p, ready, claim, fake.Volume("other", "1Gi")}, Root: "BIND-060b", Actor: kubelet},
		{Rule: "MNT-072g", Name: "its volume lost the claimRef", Objs: []api.Object{p, ready, claim, loose}, Root: "BIND-060c",
			When: explain.Automatic, Actor: kubelet},
		{Rule: "MNT-072h", Name: "its volume is another's", Objs: []api.Object{p, ready, claim, foreign}, Root: "BIND-064", Actor: kubelet},
		{Rule: "MNT-072j", Name: "its volume has no volumeMode",
			Objs: []api.Object{p, ready, claim, With(pv.DeepCopy(), func(pv *corev1.PersistentVolume) { pv.Spec.VolumeMode = nil }),
				Attachment("n1", true)}, Actor: Admin, Dumped: &Dumped{Rule: "MNT-380", When: explain.Automatic, Actor: kubelet}},
		{Rule: "MNT-072k", Name: "a block device is mounted", Objs: []api.Object{p, ready, claim, block}, Actor: Admin},
		{Rule: "MNT-072l", Name: "a file system is used as a device", Objs: []api.Object{device, ready, claim, pv}, Actor: Admin},
		{Rule: "MNT-191", Name: "its volume is out of reach", Objs: []api.Object{p, ready, claim, local}, Actor: Admin},
		{Rule: "MNT-174", Name: "the kubelet has not reported",
			Objs: []api.Object{p, ManagedNode("n1", true, false), claim, pv, Attachment("n1", true)}, When: explain.Automatic, Actor: kubelet},
		{Rule: "MNT-194", Name: "another pod uses its volume",
			Objs: []api.Object{p, Runs(User("q", "n1")), ready, claim, single, Attachment("n1", true)}, Actor: Admin},
		{Rule: "ATT-021", Name: "its node is not managed", Objs: []api.Object{p, unmanaged, claim, pv}, Actor: kubelet},
		{Rule: "ATT-068", Name: "not started", Objs: []api.Object{p, ManagedNode("n1", false, false), claim, pv}, When: explain.Automatic,
			Actor: adc},
		{Rule: "ATT-145", Name: "the driver is attaching it",
			Objs: []api.Object{p, ManagedNode("n1", false, false), claim, pv, Attachment("n1", false)}, Root: "ATT-172",
			When: explain.Automatic, Actor: adc},
		{Rule: "ATT-145", Name: "ATT-142: the driver fails", Objs: []api.Object{p, ManagedNode("n1", false, false), claim, pv, failing},
			Root: "ATT-142", When: explain.Automatic, Actor: adc},
		{Rule: "ATT-081", Name: "another node is tried first",
			Objs: []api.Object{p, ManagedNode("n1", false, false), ManagedNode("n2", false, false), claim, pv, Attachment("n2", false)},
			Root: "ATT-172", When: explain.Automatic, Actor: adc},
		{Rule: "ATT-111", Name: "the node status does not list it yet",
			Objs: []api.Object{p, ManagedNode("n1", false, false), claim, pv, Attachment("n1", true)}, When: explain.Automatic, Actor: adc},
		{Rule: "ATT-141", Name: "it is still being detached",
			Objs: []api.Object{p, ManagedNode("n1", false, false), claim, pv, Deleting(Attachment("n1", true), "external-attacher/x")},
			Root: "ATT-175", When: explain.Automatic, Actor: adc},
		{Rule: "ATT-070", Name: "a pod on another node uses it",
			Objs: []api.Object{p, Runs(User("q", "n2")), ManagedNode("n1", false, false), ManagedNode("n2", true, true), claim, pv,
				Attachment("n2", true)}, Actor: Admin},
		{Rule: "ATT-070", Name: "a pod on another node is being deleted",
			Objs: []api.Object{p, Deleting(Runs(User("q", "n2"))), ManagedNode("n1", false, false), ManagedNode("n2", true, true), claim,
				pv, Attachment("n2", true)}, Root: "MNT-387", When: explain.Automatic, After: time.Minute, Actor: adc},
		{Rule: "ATT-070", Name: "ATT-195: a pod on a dead node uses it",
			Objs: []api.Object{p, Deleting(Runs(User("q", "n2"))), ManagedNode("n1", false, false), NotReady(ManagedNode("n2", true, true)),
				claim, pv, Attachment("n2", true)}, Root: "ATT-195", Actor: adc},
		{Rule: "ATT-070", Name: "ATT-196: the dead node is out of service",
			Objs: []api.Object{p, Deleting(Runs(User("q", "n2"))), ManagedNode("n1", false, false),
				outOfService(ManagedNode("n2", true, true)), claim, pv, Attachment("n2", true)}, Root: "ATT-196", When: explain.Automatic, Actor: adc},
		{Rule: "ATT-070", Name: "ATT-064: it is attached to a dead node, without pods",
			Objs: []api.Object{p, ManagedNode("n1", false, false), NotReady(ManagedNode("n2", true, true)), claim, pv,
				Attachment("n2", true)}, When: explain.Automatic, After: 6 * time.Minute, Actor: Admin},
		{Rule: "ATT-070", Name: "ATT-064: it is mounted where no pod uses it",
			Objs: []api.Object{p, ManagedNode("n1", false, false), ManagedNode("n2", true, true), claim, pv, Attachment("n2", true)},
			When: explain.Automatic, Actor: "kubelet/n2"},
		{Rule: "ATT-070", Name: "ATT-064: it is about to be detached",
			Objs: []api.Object{p, ManagedNode("n1", false, false), ManagedNode("n2", true, false), claim, pv, Attachment("n2", true)},
			When: explain.Automatic, Actor: adc},
		{Rule: "ATT-068", Name: "ATT-069: many nodes may have it",
			Objs: []api.Object{p, Runs(User("q", "n2")), ManagedNode("n1", false, false), ManagedNode("n2", true, true), claim, shared,
				Attachment("n2", true)}, When: explain.Automatic, Actor: adc},
		{Rule: "MNT-190", Name: "no plugin", Objs: mountFailed(`MountVolume.FindPluginBySpec failed for volume "pv" : x`),
			When: explain.Automatic, Actor: kubelet},
		{Rule: "MNT-191", Name: "an Event reports that it is out of reach",
			Objs: mountFailed(`MountVolume.NodeAffinity check failed for volume "pv" : x`), When: explain.Automatic, Actor: kubelet},
		{Rule: "MNT-196", Name: "no path to stage it", Objs: mountFailed(`MountVolume.GetDeviceMountPath failed for volume "pv" : x`),
			When: explain.Automatic, Actor: kubelet},
		{Rule: "MNT-198", Name: "it is not expanded",
			Objs: mountFailed(`MountVolume.Setup failed while expanding volume for volume "pv" : x`), When: explain.Automatic, Actor: kubelet},
		{Rule: "MNT-220", Name: "block: no mapper",
			Objs: mapFailed(`MapVolume.NewBlockVolumeMapper initialization failed for volume "pv" : x`), When: explain.Automatic, Actor: kubelet},
		{Rule: "MNT-221", Name: "block: an Event reports that another pod uses it",
			Objs: mapFailed(`MapVolume.SetUpDevice failed for volume "pv" : volume uses the ReadWriteOncePod access mode and is already in use by another pod`), When: explain.Automatic, Actor: kubelet},
		{Rule: "MNT-226", Name: "block: no device",
			Objs: mapFailed(`MapVolume failed for volume "pv" : Device path of the volume is empty`), When: explain.Automatic, Actor: kubelet},
		{Rule: "MNT-226", Name: "block: a broken link", Objs: mapFailed(`MapVolume.EvalHostSymlinks failed for volume "pv" : x`),
			When: explain.Automatic, Actor: kubelet},
		{Rule: "MNT-229", Name: "block: it is not expanded",
			Objs: mapFailed(`MapVolume.MarkVolumeAsMounted failed while expanding volume for volume "pv" : x`), When: explain.Automatic,
			Actor: kubelet},
		{Rule: "MNT-160", Name: "an Event with an unknown message", Objs: mountFailed(`something else`), When: explain.Automatic, Actor: kubelet},
		{Rule: "MNT-383", Name: "MNT-388: its node can attach no more", Objs: []api.Object{With(User("p", "n1"), func(p *corev1.Pod) {
			p.Status.Phase, p.Status.Reason, p.Status.Message = corev1.PodFailed, "VolumeAttachmentLimitExceeded", "Pod was rejected: x"
		}), ready}, Actor: Admin},
		{Rule: "MNT-385", Name: "a volume went as a container was made", Objs: []api.Object{With(User("p", "n1"), func(p *corev1.Pod) {
			p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "main", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{
				Reason: "CreateContainerConfigError", Message: `cannot find volume "data" to mount into container "main"`}}}}
		}), ready, claim, pv, Attachment("n1", true)}, When: explain.Automatic, Actor: kubelet},
		{Rule: "MNT-192", Name: "no mounter", Objs: mountFailed(`MountVolume.NewMounter initialization failed for volume "pv" : x`),
			When: explain.Automatic, Actor: kubelet},
		{Rule: "MNT-193", Name: "mount options", Objs: mountFailed(`MountVolume.MountOptionSupport check failed for volume "pv" : x`),
			When: explain.Automatic, Actor: kubelet},
		{Rule: "MNT-194", Name: "an Event reports that another pod uses it",
			Objs: mountFailed(`MountVolume.SetUp failed for volume "pv" : volume uses the ReadWriteOncePod access mode and is already in use by another pod`), When: explain.Automatic, Actor: kubelet},
		{Rule: "MNT-195", Name: "waiting for the attachment", Objs: mountFailed(`MountVolume.WaitForAttach failed for volume "pv" : x`),
			When: explain.Automatic, Actor: kubelet},
		{Rule: "MNT-196", Name: "staging", Objs: mountFailed(`MountVolume.MountDevice failed for volume "pv" : rpc error`),
			When: explain.Automatic, Actor: kubelet},
		{Rule: "MNT-197", Name: "publishing", Objs: mountFailed(`MountVolume.SetUp failed for volume "pv" : rpc error`),
			When: explain.Automatic, Actor: kubelet},
		{Rule: "MNT-316", Name: "no ConfigMap", Objs: mountFailed(`MountVolume.SetUp failed for volume "c" : configmap "c" not found`), Actor: kubelet},
		{Rule: "MNT-316", Name: "a Secret without the key",
			Objs: mountFailed(`MountVolume.SetUp failed for volume "s" : references non-existent secret key: k`), Actor: kubelet},
		{Rule: "MNT-316", Name: "one of several sources",
			Objs: mountFailed(`MountVolume.SetUp failed for volume "v" : [failed to fetch token: x, secret "s" not found]`), Actor: kubelet},
		{Rule: "MNT-220", Name: "block: node affinity", Objs: mountFailed(`MapVolume.NodeAffinity check failed for volume "pv" : x`),
			When: explain.Automatic, Actor: kubelet},
		{Rule: "MNT-222", Name: "block: waiting for the attachment",
			Objs: mountFailed(`MapVolume.WaitForAttach failed for volume "pv" : x`), When: explain.Automatic, Actor: kubelet},
		{Rule: "MNT-223", Name: "block: staging", Objs: mountFailed(`MapVolume.SetUpDevice failed for volume "pv" : x`),
			When: explain.Automatic, Actor: kubelet},
		{Rule: "MNT-225", Name: "block: publishing", Objs: mountFailed(`MapVolume.MapPodDevice failed for volume "pv" : x`),
			When: explain.Automatic, Actor: kubelet},
		{Rule: "MNT-227", Name: "block: binding", Objs: mountFailed(`MapVolume.MapBlockVolume failed for volume "pv" : x`),
			When: explain.Automatic, Actor: kubelet},
		{Rule: "MNT-381", Name: "the wait failed", Objs: mountFailed(`Unable to attach or mount volumes: unmounted volumes=[data]`),
			When: explain.Automatic, Actor: kubelet},
		{Rule: "RECL-066", Name: "it was evicted, and has no controller", Objs: []api.Object{With(User("p", "n1"), func(p *corev1.Pod) {
			p.Status.Phase, p.Status.Reason = corev1.PodFailed, "Evicted"
		}), ready}, Actor: Admin},
		{Rule: "RECL-066", Name: "it failed, and its controller makes another one", Objs: []api.Object{With(User("p", "n1"), func(p *corev1.Pod) {
			p.Status.Phase, p.OwnerReferences = corev1.PodFailed, []metav1.OwnerReference{
				{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "r", UID: "r", Controller: new(bool)}}
			*p.OwnerReferences[0].Controller = true
		}), ready}, When: explain.Settled},
		{Rule: "ATT-070", Name: "ATT-175: the detach from another node fails", Objs: []api.Object{p, ManagedNode("n1", false, false),
			ManagedNode("n2", true, false), claim, pv, notDetached(Attachment("n2", true))}, Root: "ATT-175", When: explain.Automatic, Actor: adc,
			Dumped: &Dumped{When: explain.Manual}},
		{Rule: "ATT-070", Name: "ATT-044: the other node is gone", Objs: []api.Object{p, ManagedNode("n1", false, false), claim, pv, Attachment("n2", true)},
			When: explain.Automatic, After: 6 * time.Minute, Actor: adc},
		{Rule: "NODE-035", Name: "NODE-063: its node is down, and it tolerates that for a time", Objs: []api.Object{
			stays(Runs(User("p", "n1")), 300), unreachable(ManagedNode("n1", true, true)), fake.Node("n2")},
			When: explain.Automatic, After: 5*time.Minute - taintedFor, Actor: actors.TaintEviction},
		{Rule: "NODE-035", Name: "NODE-062: its node is down, and it tolerates that", Objs: []api.Object{
			stays(Runs(User("p", "n1")), -1), unreachable(ManagedNode("n1", true, true)), fake.Node("n2")},
			Actor: Admin},
		{Rule: "NODE-035", Name: "NODE-037: its node is down, and has no taint yet", Objs: []api.Object{
			Runs(User("p", "n1")), NotReady(ManagedNode("n1", true, true)), fake.Node("n2")}, When: explain.Automatic, Actor: actors.TaintEviction},
		{Rule: "NODE-035", Name: "NODE-043: all nodes are down", Objs: []api.Object{Runs(User("p", "n1")), NotReady(ManagedNode("n1", true, true))},
			Actor: Admin},
		{Rule: "MNT-380", Name: "it runs, and is not ready", Objs: []api.Object{notReady(Runs(User("p", "n1")), "ContainersNotReady"), ready},
			When: explain.Automatic, Actor: kubelet, Dumped: &Dumped{When: explain.Manual, Actor: Admin}},
		{Rule: "MNT-389", Name: "a readiness gate holds it back", Objs: []api.Object{
			notReady(Runs(User("p", "n1")), "ReadinessGatesNotReady"), ready}, Actor: Admin},
		{Rule: "RECL-066", Name: "it has terminated",
			Objs: []api.Object{With(User("p", "n1"), func(p *corev1.Pod) { p.Status.Phase = corev1.PodSucceeded }), ready}, When: explain.Settled},
		{Rule: "MNT-387", Name: "it is being deleted", Objs: []api.Object{Deleting(Runs(User("p", "n1"))), ready}, When: explain.Automatic,
			After: time.Minute, Actor: kubelet},
		{Rule: "ATT-195", Name: "it is being deleted on a dead node",
			Objs: []api.Object{Deleting(Runs(User("p", "n1"))), NotReady(ManagedNode("n1", true, true))}, Actor: Admin},
		{Rule: "ATT-196", Name: "it is being deleted on a node out of service",
			Objs: []api.Object{Deleting(Runs(User("p", "n1"))), outOfService(ManagedNode("n1", true, true))}, When: explain.Automatic,
			Actor: actors.PodGC},
		{Rule: "BIND-016", Name: "a finalizer blocks its deletion", Objs: []api.Object{Deleting(User("p", "n1"), "x/y"), ready}, Actor: Admin},
	})
}
