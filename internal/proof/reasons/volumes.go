package reasons

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/explain"
	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/internal/core/actors"
	"github.com/volsim/volsim/internal/core/objects"
)

// Volumes ask about the volume pv.
func Volumes() []Row {
	claim, pv := BoundPair()
	released := func(opts ...fake.Option) *corev1.PersistentVolume {
		return fake.Volume("pv", "10Gi",
			append([]fake.Option{fake.ForClaim("data", "c1"), fake.Phase("Released"), fake.CSISource(Driver, "h1")}, opts...)...)
	}
	marked := func(phase string, policy corev1.PersistentVolumeReclaimPolicy, finalizers ...string) *corev1.PersistentVolume {
		return Deleting(fake.Volume("pv", "10Gi", fake.ForClaim("data", "c1"), fake.Phase(phase), fake.CSISource(Driver, "h1"),
			fake.Policy(policy)), finalizers...)
	}
	const (
		protection = objects.VolumeProtectionFinalizer
		attacher   = "external-attacher/disk-example-com"
		keep, drop = corev1.PersistentVolumeReclaimRetain, corev1.PersistentVolumeReclaimDelete
		scrub      = corev1.PersistentVolumeReclaimRecycle
	)
	nfs := fake.NFSSource("server", "/share")
	backends := set(fake.HostPath(), fake.NFS(), fake.CSI(Driver))
	rows := asking("pv/pv", []Row{
		{Rule: "BIND-062", Name: "it is free", Objs: []api.Object{Available("pv", "10Gi")}, When: explain.Settled},
		{Rule: "BIND-062", Name: "it was just made", Objs: []api.Object{fake.Volume("pv", "10Gi", fake.Phase("Pending"))},
			When: explain.Automatic, Actor: actors.PersistentVolume},
		{Rule: "BIND-063", Name: "it is reserved", Objs: []api.Object{Available("pv", "10Gi", fake.ForClaim("data"))}, Actor: Admin},
		{Rule: "BIND-064", Name: "its claim is gone", Objs: []api.Object{pv, fake.Claim("other", "1Gi")}, When: explain.Automatic, Actor: actors.PersistentVolume},
		{Rule: "BIND-065a", Name: "its claim wants another mode",
			Objs: []api.Object{Available("pv", "10Gi", fake.ForClaim("data", "c1")),
				fake.Claim("data", "1Gi", fake.UID("c1"), fake.Block())}, Actor: Admin},
		{Rule: "BIND-065b", Name: "its claim is not bound yet",
			Objs: []api.Object{Available("pv", "10Gi", fake.ForClaim("data", "c1")), fake.Claim("data", "1Gi", fake.UID("c1"))},
			Root: "BIND-054", When: explain.Automatic},
		{Rule: "BIND-066", Name: "it is bound", Objs: []api.Object{claim, pv}, When: explain.Settled},
		{Rule: "BIND-067", Name: "it was made for a claim that took another",
			Objs: []api.Object{fake.Volume("pv", "10Gi", fake.ForClaim("data", "c1"), fake.Policy(drop),
				fake.Annotations(objects.AnnProvisionedBy, Driver)), fake.Claim("data", "1Gi", fake.UID("c1"), fake.VolumeName("x"))},
			When: explain.Automatic, Actor: actors.PersistentVolume},
		{Rule: "BIND-068", Name: "its claim took another",
			Objs: []api.Object{Available("pv", "10Gi", fake.ForClaim("data", "c1")),
				fake.Claim("data", "1Gi", fake.UID("c1"), fake.VolumeName("x"))}, When: explain.Automatic, Actor: actors.PersistentVolume},
		{Rule: "RECL-002", Name: "it is retained", Objs: []api.Object{released(fake.Policy(keep))}, Actor: Admin},
		{Rule: "RECL-003", Name: "it is recycled", Objs: []api.Object{released(fake.Policy(scrub), nfs)}, When: explain.Automatic,
			Actor: actors.PersistentVolume},
		{Rule: "RECL-004", Name: "a plugin deletes it", Objs: []api.Object{released(fake.Policy(drop), fake.HostPathSource("/tmp/pv"))},
			When: explain.Automatic, Actor: actors.PersistentVolume},
		{Rule: "RECL-005", Name: "its policy is unknown", Objs: []api.Object{released(fake.Policy("Shred"))}, Actor: Admin},
		{Rule: "RECL-020", Name: "no plugin can delete it", Objs: []api.Object{released(fake.Policy(drop), nfs)}, Actor: Admin},
		{Rule: "RECL-063", Name: "a pod still has it", Objs: []api.Object{released(fake.Policy(scrub), nfs), Runs(User("p", "n1"))},
			Actor: Admin},
		{Rule: "RECL-064", Name: "no plugin recycles it", Objs: []api.Object{released(fake.Policy(scrub))}, Actor: Admin},
		{Rule: "XPROV-052", Name: "a driver deletes it", Objs: []api.Object{released(fake.Policy(drop))}, When: explain.Automatic,
			Actor: "external-provisioner/" + Driver},
		{Rule: "XPROV-052", Name: "RECL-034: a driver skips Failed volumes",
			Objs: []api.Object{With(released(fake.Policy(drop)),
				func(pv *corev1.PersistentVolume) { pv.Status.Phase = corev1.VolumeFailed })}, Actor: Admin},
		{Rule: "XPROV-054", Name: "it is still attached",
			Objs: []api.Object{released(fake.Policy(drop)), Attachment("n1", true), ManagedNode("n1", true, false)}, Root: "ATT-064",
			When: explain.Automatic, Actor: "attachdetach-controller"},
		{Rule: "XPROV-054", Name: "it is still attached to a dead node",
			Objs: []api.Object{released(fake.Policy(drop)), Attachment("n1", true), NotReady(ManagedNode("n1", true, true))},
			Root: "ATT-064", When: explain.Automatic, After: 6 * time.Minute, Actor: "attachdetach-controller"},
		{Rule: "PROT-011", Name: "its claim keeps it", Objs: []api.Object{marked("Bound", drop, protection), claim}, Actor: Admin},
		{Rule: "PROT-011", Name: "nothing keeps it", Objs: []api.Object{marked("Available", drop, protection)}, When: explain.Automatic,
			Actor: "pv-protection-controller"},
		{Rule: "RECL-046", Name: "it is not Released", Objs: []api.Object{marked("Available", drop, objects.ExternalFinalizer)}, Actor: Admin},
		{Rule: "RECL-045", Name: "its policy lets it go", Objs: []api.Object{marked("Available", keep, objects.InTreeFinalizer)},
			When: explain.Automatic},
		{Rule: "ATT-178", Name: "it is not detached yet",
			Objs: []api.Object{marked("Available", keep, attacher), Attachment("n1", true), ManagedNode("n1", true, false)},
			Root: "ATT-064", When: explain.Automatic, Actor: actors.Attacher(Driver)},
		{Rule: "ATT-178", Name: "it was detached", Objs: []api.Object{marked("Available", keep, attacher)}, When: explain.Automatic,
			Actor: attacher},
		{Rule: "BIND-016", Name: "a finalizer blocks its deletion", Objs: []api.Object{marked("Available", keep, "x/y")}, Actor: Admin},
		{Rule: "BIND-016", Name: "PROT-011, RECL-045: a finalizer stays after those of the controllers",
			Objs: []api.Object{marked("Available", keep, protection, objects.ExternalFinalizer, attacher, "x/y")}, Actor: Admin},
		{Rule: "BIND-016", Name: "it is retained, and a finalizer blocks its deletion", Objs: []api.Object{marked("Released", keep, "x/y")}, Actor: Admin},
		{Rule: "RECL-045", Name: "it is retained, and its deletion ends", Objs: []api.Object{marked("Released", keep, objects.ExternalFinalizer)},
			When: explain.Automatic},
		{Rule: "GC-020", Name: "it is deleted after its dependents", Objs: []api.Object{marked("Available", keep, metav1.FinalizerDeleteDependents)},
			When: explain.Automatic, Actor: actors.GarbageCollector},
	})
	for i := range rows {
		rows[i].Backends = backends
	}
	return rows
}

// Attachments ask about the attachment of the volume pv to node n1.
func Attachments() []Row {
	claim, pv := BoundPair()
	return asking("va/"+Attachment("n1", true).Name, []Row{
		{Rule: "ATT-025", Name: "a pod uses it",
			Objs: []api.Object{Attachment("n1", true), claim, pv, Runs(User("p", "n1")), ManagedNode("n1", true, true)}, When: explain.Settled},
		{Rule: "ATT-064", Name: "no pod uses it", Objs: []api.Object{Attachment("n1", true), claim, pv, ManagedNode("n1", true, false)},
			When: explain.Automatic, Actor: "attachdetach-controller"},
		{Rule: "ATT-064", Name: "the node is gone", Objs: []api.Object{Attachment("n1", true), claim, pv}, When: explain.Automatic,
			After: 6 * time.Minute, Actor: actors.AttachDetach},
		{Rule: "ATT-132", Name: "its volume is gone", Objs: []api.Object{Attachment("n1", true), fake.Volume("other", "1Gi")}, Actor: Admin},
		{Rule: "ATT-172", Name: "it is being attached",
			Objs: []api.Object{Attachment("n1", false), claim, pv, ManagedNode("n1", false, false)}, When: explain.Automatic,
			Actor: "external-attacher/" + Driver},
		{Rule: "ATT-172", Name: "no driver is on the node",
			Objs: []api.Object{Attachment("n1", false), claim, pv, NotReady(ManagedNode("n1", false, false))}, Actor: Admin},
		{Rule: "ATT-172", Name: "its volume is gone", Objs: []api.Object{Attachment("n1", false), fake.Volume("other", "1Gi")}, Actor: Admin},
		{Rule: "ATT-172", Name: "its volume is being deleted",
			Objs: []api.Object{Attachment("n1", false), claim, Deleting(pv.DeepCopy(), objects.VolumeProtectionFinalizer)}, Actor: Admin},
		{Rule: "ATT-175", Name: "it is going", Objs: []api.Object{Deleting(Attachment("n1", true), "external-attacher/x"), claim, pv},
			When: explain.Automatic, Actor: "external-attacher/" + Driver},
		{Rule: "ATT-177", Name: "it cannot go", Objs: []api.Object{Deleting(Attachment("n1", true), "external-attacher/x"), fake.Volume("other", "1Gi")}, Actor: Admin},
	})
}
