package explain_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/binder"
	"github.com/volsim/volsim/explain"
	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/internal/objects"
	"github.com/volsim/volsim/store"
)

func TestVolumes(t *testing.T) {
	claim, pv := boundPair()
	released := func(opts ...fake.Option) *corev1.PersistentVolume {
		return fake.Volume("pv", "10Gi", append([]fake.Option{fake.ForClaim("data", "c1"), fake.Phase("Released"), fake.CSISource(driver, "h1")}, opts...)...)
	}
	marked := func(phase string, policy corev1.PersistentVolumeReclaimPolicy, finalizers ...string) *corev1.PersistentVolume {
		return deleting(fake.Volume("pv", "10Gi", fake.ForClaim("data", "c1"), fake.Phase(phase), fake.CSISource(driver, "h1"), fake.Policy(policy)), finalizers...)
	}
	const (
		protection = objects.VolumeProtectionFinalizer
		attacher   = "external-attacher/disk-example-com"
		keep, drop = corev1.PersistentVolumeReclaimRetain, corev1.PersistentVolumeReclaimDelete
		scrub      = corev1.PersistentVolumeReclaimRecycle
	)
	nfs := fake.NFSSource("server", "/share")
	for _, r := range []row{
		{rule: "BIND-062", name: "it is free", objs: []store.Object{available("pv", "10Gi")}, when: explain.Settled},
		{rule: "BIND-062", name: "it was just made", objs: []store.Object{fake.Volume("pv", "10Gi", fake.Phase("Pending"))}, when: explain.ByItself, actor: binder.ActorName},
		{rule: "BIND-063", name: "it is reserved", objs: []store.Object{available("pv", "10Gi", fake.ForClaim("data"))}, actor: explain.Somebody},
		{rule: "BIND-064", name: "its claim is gone", objs: []store.Object{pv}, when: explain.ByItself, actor: binder.ActorName},
		{rule: "BIND-065a", name: "its claim wants another mode", objs: []store.Object{available("pv", "10Gi", fake.ForClaim("data", "c1")), fake.Claim("data", "1Gi", fake.UID("c1"), fake.Block())}, actor: explain.Somebody},
		{rule: "BIND-065b", name: "its claim is not bound yet", objs: []store.Object{available("pv", "10Gi", fake.ForClaim("data", "c1")), fake.Claim("data", "1Gi", fake.UID("c1"))}, root: "BIND-054", when: explain.ByItself},
		{rule: "BIND-066", name: "it is bound", objs: []store.Object{claim, pv}, when: explain.Settled},
		{rule: "BIND-067", name: "it was made for a claim that took another", objs: []store.Object{fake.Volume("pv", "10Gi", fake.ForClaim("data", "c1"), fake.Policy(drop), fake.Annotations(objects.AnnProvisionedBy, driver)), fake.Claim("data", "1Gi", fake.UID("c1"), fake.VolumeName("x"))}, when: explain.ByItself, actor: binder.ActorName},
		{rule: "BIND-068", name: "its claim took another", objs: []store.Object{available("pv", "10Gi", fake.ForClaim("data", "c1")), fake.Claim("data", "1Gi", fake.UID("c1"), fake.VolumeName("x"))}, when: explain.ByItself, actor: binder.ActorName},
		{rule: "RECL-002", name: "it is retained", objs: []store.Object{released(fake.Policy(keep))}, actor: explain.Somebody},
		{rule: "RECL-003", name: "it is recycled", objs: []store.Object{released(fake.Policy(scrub), nfs)}, when: explain.ByItself, actor: binder.ActorName},
		{rule: "RECL-004", name: "a plugin deletes it", objs: []store.Object{released(fake.Policy(drop), fake.HostPathSource("/tmp/pv"))}, when: explain.ByItself, actor: binder.ActorName},
		{rule: "RECL-005", name: "its policy is unknown", objs: []store.Object{released(fake.Policy("Shred"))}, actor: explain.Somebody},
		{rule: "RECL-020", name: "no plugin can delete it", objs: []store.Object{released(fake.Policy(drop), nfs)}, actor: explain.Somebody},
		{rule: "RECL-063", name: "a pod still has it", objs: []store.Object{released(fake.Policy(scrub), nfs), runs(user("p", "n1"))}, actor: explain.Somebody},
		{rule: "RECL-064", name: "nobody recycles it", objs: []store.Object{released(fake.Policy(scrub))}, actor: explain.Somebody},
		{rule: "XPROV-052", name: "a driver deletes it", objs: []store.Object{released(fake.Policy(drop))}, when: explain.ByItself, actor: "external-provisioner/" + driver},
		{rule: "XPROV-052", name: "RECL-034: a driver does not look at what Failed", objs: []store.Object{with(released(fake.Policy(drop)), func(pv *corev1.PersistentVolume) { pv.Status.Phase = corev1.VolumeFailed })}, actor: explain.Somebody},
		{rule: "XPROV-054", name: "it is still attached", objs: []store.Object{released(fake.Policy(drop)), attachment("n1", true), machine("n1", true, false)}, root: "ATT-064", when: explain.ByItself, actor: "attachdetach-controller"},
		{rule: "XPROV-054", name: "it is still attached to a dead node", objs: []store.Object{released(fake.Policy(drop)), attachment("n1", true), notReady(machine("n1", true, true))}, root: "ATT-064", when: explain.ByItself, after: 6 * time.Minute, actor: "attachdetach-controller"},
		{rule: "PROT-011", name: "its claim keeps it", objs: []store.Object{marked("Bound", drop, protection), claim}, actor: explain.Somebody},
		{rule: "PROT-011", name: "nothing keeps it", objs: []store.Object{marked("Available", drop, protection)}, when: explain.ByItself, actor: "pv-protection-controller"},
		{rule: "RECL-046", name: "it is not Released", objs: []store.Object{marked("Available", drop, objects.ExternalFinalizer)}, actor: explain.Somebody},
		{rule: "RECL-045", name: "its policy lets it go", objs: []store.Object{marked("Available", keep, objects.InTreeFinalizer)}, when: explain.ByItself},
		{rule: "ATT-178", name: "it is not detached yet", objs: []store.Object{marked("Available", keep, attacher), attachment("n1", true), machine("n1", true, false)}, root: "ATT-064", actor: "attachdetach-controller"},
		{rule: "ATT-178", name: "it was detached", objs: []store.Object{marked("Available", keep, attacher)}, when: explain.ByItself, actor: attacher},
		{rule: "BIND-016", name: "a finalizer keeps it", objs: []store.Object{marked("Available", keep, "x/y")}, actor: explain.Somebody},
	} {
		t.Run(r.rule+" "+r.name, func(t *testing.T) {
			r.ask = "pv/pv"
			backends, err := fake.NewSet(fake.HostPath(), fake.NFS(), fake.CSI(driver))
			require.NoError(t, err)
			r.backends = backends
			r.check(t)
		})
	}
}

// A claim that is being deleted says what becomes of the data (RECL-002, RECL-003, RECL-004, RECL-005).
func TestFate(t *testing.T) {
	for policy, want := range map[corev1.PersistentVolumeReclaimPolicy]string{
		corev1.PersistentVolumeReclaimDelete:  "it is deleted with its data (RECL-004)",
		corev1.PersistentVolumeReclaimRecycle: "its data is removed and it becomes Available (RECL-003)",
		corev1.PersistentVolumeReclaimRetain:  "it stays with its data (RECL-002)",
		"Shred":                               `its policy "Shred" is unknown, so it becomes Failed (RECL-005)`,
	} {
		claim, pv := boundPair(fake.Policy(policy))
		x, err := explain.Object(store.RefTo(claim), worldOf(t, deleting(claim, objects.ClaimProtectionFinalizer), pv))
		require.NoError(t, err)
		require.Len(t, x.Notes, 1)
		require.Contains(t, x.Notes[0], want)
	}
}

func TestAttachments(t *testing.T) {
	claim, pv := boundPair()
	for _, r := range []row{
		{rule: "ATT-025", name: "a pod wants it", objs: []store.Object{attachment("n1", true), claim, pv, runs(user("p", "n1")), machine("n1", true, true)}, when: explain.Settled},
		{rule: "ATT-064", name: "nobody wants it", objs: []store.Object{attachment("n1", true), claim, pv, machine("n1", true, false)}, when: explain.ByItself, actor: "attachdetach-controller"},
		{rule: "ATT-064", name: "the node is gone", objs: []store.Object{attachment("n1", true), claim, pv}, when: explain.ByItself, after: 6 * time.Minute, actor: explain.Somebody},
		{rule: "ATT-132", name: "its volume is gone", objs: []store.Object{attachment("n1", true)}, actor: explain.Somebody},
		{rule: "ATT-172", name: "it is on its way", objs: []store.Object{attachment("n1", false), claim, pv, machine("n1", false, false)}, when: explain.ByItself, actor: "external-attacher/" + driver},
		{rule: "ATT-172", name: "no driver is on the node", objs: []store.Object{attachment("n1", false), claim, pv, notReady(machine("n1", false, false))}, actor: explain.Somebody},
		{rule: "ATT-172", name: "its volume is gone", objs: []store.Object{attachment("n1", false)}, actor: explain.Somebody},
		{rule: "ATT-172", name: "its volume is being deleted", objs: []store.Object{attachment("n1", false), claim, deleting(pv.DeepCopy(), objects.VolumeProtectionFinalizer)}, actor: explain.Somebody},
		{rule: "ATT-175", name: "it is going", objs: []store.Object{deleting(attachment("n1", true), "external-attacher/x"), claim, pv}, when: explain.ByItself, actor: "external-attacher/" + driver},
		{rule: "ATT-177", name: "it cannot go", objs: []store.Object{deleting(attachment("n1", true), "external-attacher/x")}, actor: explain.Somebody},
	} {
		t.Run(r.rule+" "+r.name, func(t *testing.T) {
			r.ask = "va/" + attachment("n1", true).Name
			r.check(t)
		})
	}
}
