package explain_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volsim/volsim/binder"
	"github.com/volsim/volsim/explain"
	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/internal/objects"
	"github.com/volsim/volsim/store"
)

func available(name, size string, opts ...fake.Option) *corev1.PersistentVolume {
	return fake.Volume(name, size, append(opts, fake.Phase("Available"))...)
}

func TestClaims(t *testing.T) {
	bound := fake.Annotations(objects.AnnBindCompleted, "yes")
	own := fake.UID("c1")
	modeless := with(fake.Class("odd", driver), func(c *storagev1.StorageClass) { c.VolumeBindingMode = nil })
	selector := with(fake.Claim("data", "10Gi"), func(c *corev1.PersistentVolumeClaim) {
		c.Spec.Selector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "a", Operator: "Near"}}}
	})
	late := fake.Class("late", driver, fake.WaitForFirstConsumer())
	pinned := fake.Pod("p", fake.Claims("data"), fake.OnNode("n1"))
	loose := fake.Pod("p", fake.Claims("data"))
	claim, pv := boundPair()
	const controller, pvcProtection = binder.ActorName, "pvc-protection-controller"
	for _, r := range []row{
		{rule: "BIND-052", name: "its class has no binding mode", objs: []store.Object{fake.Claim("data", "10Gi", fake.InClass("odd")), modeless}, actor: explain.Somebody},
		{rule: "BIND-053", name: "its selector is malformed", objs: []store.Object{selector, available("snug", "12Gi")}, actor: explain.Somebody},
		{rule: "BIND-054", name: "a volume fits", objs: []store.Object{fake.Claim("data", "10Gi"), available("snug", "12Gi")}, when: explain.ByItself, actor: controller},
		{rule: "BIND-055", name: "it gets the default class", objs: []store.Object{fake.Claim("data", "10Gi", fake.NoClass()), fake.Class("std", driver, fake.Default())}, when: explain.ByItself, actor: controller},
		{rule: "BIND-056", name: "no pod uses it", objs: []store.Object{fake.Claim("data", "10Gi", fake.InClass("late")), late}, actor: explain.Somebody},
		{rule: "BIND-056", name: "its pod has no node to go to", objs: []store.Object{fake.Claim("data", "10Gi", fake.InClass("late")), late, loose}, root: "SCHED-022", actor: "kube-scheduler"},
		{rule: "BIND-056", name: "its pod is about to be placed", objs: []store.Object{fake.Claim("data", "10Gi", fake.InClass("late")), late, loose, fake.Node("n1")}, root: "SCHED-026", when: explain.ByItself, actor: "kube-scheduler"},
		{rule: "SCHED-020", name: "its pod came with a node", objs: []store.Object{fake.Claim("data", "10Gi", fake.InClass("late")), late, pinned}, actor: explain.Somebody},
		{rule: "BIND-057", name: "nobody may be there to provision", objs: []store.Object{fake.Claim("data", "10Gi", fake.InClass("fast")), fake.Class("fast", driver)}, when: explain.ByItself, actor: "provisioner of " + driver},
		{rule: "BIND-057", name: "a driver is to provision", objs: []store.Object{fake.Claim("data", "10Gi", fake.InClass("fast")), fake.Class("fast", driver), csiDriver()}, when: explain.ByItself, actor: "external-provisioner/" + driver},
		{rule: "XPROV-031", name: "a driver makes nothing for a selector", objs: []store.Object{fake.Claim("data", "10Gi", fake.InClass("fast"), fake.Selector("a", "b")), fake.Class("fast", driver)}, actor: explain.Somebody},
		{rule: "PROV-021", name: "its class is missing", objs: []store.Object{fake.Claim("data", "10Gi", fake.InClass("gone"))}, actor: explain.Somebody},
		{rule: "PROV-024", name: "its class makes no volumes", objs: []store.Object{fake.Claim("data", "10Gi", fake.InClass("local")), fake.Class("local", "kubernetes.io/no-provisioner")}, actor: explain.Somebody},
		{rule: "BIND-058", name: "nothing fits", objs: []store.Object{fake.Claim("data", "10Gi")}, actor: explain.Somebody},
		{rule: "BIND-059a", name: "the volume it names is missing", objs: []store.Object{fake.Claim("data", "10Gi", fake.VolumeName("gone"))}, actor: explain.Somebody},
		{rule: "BIND-059b", name: "the volume it names is too small", objs: []store.Object{fake.Claim("data", "10Gi", fake.VolumeName("tiny")), available("tiny", "1Gi")}, actor: explain.Somebody, candidate: "MATCH-030"},
		{rule: "BIND-059c", name: "the volume it names is free", objs: []store.Object{fake.Claim("data", "10Gi", fake.VolumeName("pv")), available("pv", "12Gi")}, when: explain.ByItself, actor: controller},
		{rule: "BIND-059d", name: "the volume it names is reserved for it", objs: []store.Object{fake.Claim("data", "10Gi", fake.VolumeName("pv")), available("pv", "1Gi", fake.ForClaim("data"))}, when: explain.ByItself, actor: controller},
		{rule: "BIND-059e", name: "the volume it names is another's", objs: []store.Object{fake.Claim("data", "10Gi", fake.VolumeName("pv")), available("pv", "12Gi", fake.ForClaim("other"))}, root: "BIND-063", actor: explain.Somebody},
		{rule: "BIND-059f", name: "a controller chose another's volume", objs: []store.Object{fake.Claim("data", "10Gi", fake.VolumeName("pv"), fake.Annotations(objects.AnnBoundByController, "yes")), available("pv", "12Gi", fake.ForClaim("other"))}, root: "BIND-063", actor: explain.Somebody},
		{rule: "BIND-060a", name: "it was bound and names no volume", objs: []store.Object{fake.Claim("data", "10Gi", bound, fake.Phase("Lost"))}, actor: explain.Somebody},
		{rule: "BIND-060b", name: "its volume is gone", objs: []store.Object{fake.Claim("data", "10Gi", bound, fake.VolumeName("gone"), fake.Phase("Lost"))}, actor: explain.Somebody},
		{rule: "BIND-060c", name: "its volume forgot it", objs: []store.Object{fake.Claim("data", "10Gi", bound, fake.VolumeName("pv")), available("pv", "12Gi")}, when: explain.ByItself, actor: controller},
		{rule: "BIND-060d", name: "all is well", objs: []store.Object{claim, pv}, when: explain.Settled},
		{rule: "BIND-060e", name: "its volume belongs to a claim of another uid", objs: []store.Object{fake.Claim("data", "10Gi", bound, own, fake.VolumeName("pv")), available("pv", "12Gi", fake.ForClaim("data", "c2"))}, root: "BIND-064", actor: explain.Somebody},
		{rule: "PROT-026", name: "a running pod keeps it", objs: []store.Object{deleting(fake.Claim("data", "10Gi"), objects.ClaimProtectionFinalizer), runs(user("p", "n1")), fake.Node("n1")}, actor: explain.Somebody},
		{rule: "PROT-026", name: "a pod that is going keeps it", objs: []store.Object{deleting(fake.Claim("data", "10Gi"), objects.ClaimProtectionFinalizer), deleting(runs(user("p", "n1"))), fake.Node("n1")}, root: "MNT-387", when: explain.ByItself, after: 60e9, actor: "kubelet"},
		{rule: "PROT-026", name: "a pod on a dead node keeps it", objs: []store.Object{deleting(fake.Claim("data", "10Gi"), objects.ClaimProtectionFinalizer), deleting(runs(user("p", "n1"))), notReady(fake.Node("n1"))}, root: "ATT-195", actor: "kubelet"},
		{rule: "PROT-023", name: "nothing keeps it", objs: []store.Object{deleting(fake.Claim("data", "10Gi"), objects.ClaimProtectionFinalizer)}, when: explain.ByItself, actor: pvcProtection},
		{rule: "BIND-016", name: "somebody else's finalizer keeps it", objs: []store.Object{deleting(fake.Claim("data", "10Gi"), "example.com/mine")}, actor: explain.Somebody},
	} {
		t.Run(r.rule+" "+r.name, func(t *testing.T) {
			r.ask = "pvc/data"
			r.check(t)
		})
	}
}

func csiDriver() *storagev1.CSIDriver {
	return &storagev1.CSIDriver{ObjectMeta: metav1.ObjectMeta{Name: driver}}
}

func TestVolumesThatAreRefused(t *testing.T) {
	gold := with(available("pv", "12Gi"), func(pv *corev1.PersistentVolume) {
		class := "gold"
		pv.Spec.VolumeAttributesClassName = &class
	})
	late := fake.Class("late", driver, fake.WaitForFirstConsumer())
	for _, r := range []row{
		{rule: "MATCH-002", name: "it lacks an access mode", objs: []store.Object{fake.Claim("data", "10Gi", fake.Modes("RWX")), available("pv", "12Gi")}},
		{rule: "MATCH-010", name: "it is reserved for another", objs: []store.Object{available("pv", "12Gi", fake.ForClaim("other"))}},
		{rule: "MATCH-011", name: "it is too small", objs: []store.Object{available("pv", "9Gi")}},
		{rule: "MATCH-012", name: "it is a block device", objs: []store.Object{available("pv", "12Gi", fake.Block())}},
		{rule: "MATCH-013", name: "it has another attributes class", objs: []store.Object{gold}},
		{rule: "MATCH-014", name: "it is being deleted", objs: []store.Object{deleting(available("pv", "12Gi"))}},
		{rule: "MATCH-015", name: "one that is reserved comes first", objs: []store.Object{available("a", "12Gi", fake.ForClaim("data")), available("b", "11Gi", fake.ForClaim("data"))}},
		{rule: "MATCH-016", name: "the claim waits for the scheduler", objs: []store.Object{fake.Claim("data", "10Gi", fake.InClass("late")), late, available("pv", "12Gi", fake.InClass("late"))}},
		{rule: "MATCH-017", name: "it is Released", objs: []store.Object{fake.Volume("pv", "12Gi", fake.Phase("Released"))}},
		{rule: "MATCH-018", name: "its labels are not selected", objs: []store.Object{fake.Claim("data", "10Gi", fake.Selector("tier", "gold")), available("pv", "12Gi")}},
		{rule: "MATCH-019", name: "it has another class", objs: []store.Object{available("pv", "12Gi", fake.InClass("slow"))}},
		{rule: "MATCH-020", name: "a smaller one fits", objs: []store.Object{available("huge", "100Gi"), available("snug", "12Gi")}},
	} {
		t.Run(r.rule+" "+r.name, func(t *testing.T) {
			world := worldOf(t, r.objs...)
			if len(world.Claims) == 0 {
				world.Claims = append(world.Claims, fake.Claim("data", "10Gi"))
			}
			x, err := explain.Object(store.Ref{Kind: store.PersistentVolumeClaim, Key: "default/data"}, world)
			require.NoError(t, err)
			require.Len(t, x.Candidates, 1, x.String())
			require.Equal(t, r.rule, x.Candidates[0].Rule, x.String())
			require.NotEmpty(t, x.Candidates[0].Want)
			require.NotEmpty(t, x.Candidates[0].Got)
		})
	}
}

// MATCH-030: each test of a volume that a claim names says what it wanted and got.
func TestVolumesThatWereNamed(t *testing.T) {
	class := "gold"
	for _, test := range []struct {
		name  string
		claim *corev1.PersistentVolumeClaim
		pv    *corev1.PersistentVolume
		want  string
		got   string
	}{
		{name: "terminating", pv: deleting(available("pv", "12Gi")), want: "no deletionTimestamp", got: "deletionTimestamp 2026-03-01T12:01:00Z"},
		{name: "too small", pv: available("pv", "9Gi"), want: "capacity of at least 10Gi", got: "capacity 9Gi"},
		{name: "another class", pv: available("pv", "12Gi", fake.InClass("slow")), want: `storageClassName ""`, got: `storageClassName "slow"`},
		{name: "another attributes class", pv: with(available("pv", "12Gi"), func(pv *corev1.PersistentVolume) { pv.Spec.VolumeAttributesClassName = &class }),
			want: `volumeAttributesClassName ""`, got: `volumeAttributesClassName "gold"`},
		{name: "another volume mode", pv: available("pv", "12Gi", fake.Block()), want: "volumeMode Filesystem", got: "volumeMode Block"},
		{name: "an access mode less", claim: fake.Claim("data", "10Gi", fake.VolumeName("pv"), fake.Modes("RWX")), pv: available("pv", "12Gi"),
			want: "access modes ReadWriteMany", got: "ReadWriteOnce"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if test.claim == nil {
				test.claim = fake.Claim("data", "10Gi", fake.VolumeName("pv"))
			}
			x, err := explain.Object(store.RefTo(test.claim), worldOf(t, test.claim, test.pv))
			require.NoError(t, err)
			require.Equal(t, []explain.Candidate{{Name: "pv", Rule: "MATCH-030", Want: test.want, Got: test.got}}, x.Candidates)
		})
	}
}

func TestObjectsThatAreNotExplained(t *testing.T) {
	for _, name := range []string{"pvc/data", "pod/p", "pv/pv", "va/a", "shop/data"} {
		ref, err := explain.ParseRef(name)
		require.NoError(t, err)
		_, err = explain.Object(ref, worldOf(t))
		require.True(t, apierrors.IsNotFound(err), "%v", err)
		require.ErrorContains(t, err, "explain ")
	}
	_, err := explain.Object(store.Ref{Kind: store.Node, Key: "n1"}, worldOf(t, fake.Node("n1")))
	require.EqualError(t, err, "explain node/n1: only claims (pvc), pods (pod), volumes (pv) and attachments (va) are explained")
}

func TestParseRef(t *testing.T) {
	for text, want := range map[string]string{
		"pvc/shop/data":                  "PersistentVolumeClaim/shop/data",
		"pvc/data":                       "PersistentVolumeClaim/default/data",
		"shop/data":                      "PersistentVolumeClaim/shop/data",
		"PersistentVolumeClaim/shop/d":   "PersistentVolumeClaim/shop/d",
		"po/shop/db-0":                   "Pod/shop/db-0",
		"pv/pv1":                         "PersistentVolume/pv1",
		"no/n1":                          "Node/n1",
		"volumeattachment/csi-1":         "VolumeAttachment/csi-1",
		"":                               `"" names no object: write it like pvc/namespace/name, pod/namespace/name or pv/name`,
		"data":                           `"data" names no object: write it like pvc/namespace/name, pod/namespace/name or pv/name`,
		"pv/default/pv1":                 `"pv/default/pv1" names no PersistentVolume: write it like pv/name`,
		"pvc/a/b/c":                      `"pvc/a/b/c" names no PersistentVolumeClaim: write it like pvc/namespace/name`,
		"deployment/default/web":         `"deployment/default/web" names no object: write it like pvc/namespace/name, pod/namespace/name or pv/name`,
		"pvc//data":                      `"pvc//data" names no object: write it like pvc/namespace/name, pod/namespace/name or pv/name`,
		"storageclass/fast":              "StorageClass/fast",
		"csidriver/" + driver:            "CSIDriver/" + driver,
		"persistentvolumeclaims/default": "PersistentVolumeClaim/default/default",
	} {
		ref, err := explain.ParseRef(text)
		if err != nil {
			require.EqualError(t, err, want)
			continue
		}
		require.Equal(t, want, ref.String(), text)
	}
}
