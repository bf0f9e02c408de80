package reasons

import (
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/explain"
	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/internal/core/actors"
	"github.com/volsim/volsim/internal/core/objects"
	"github.com/volsim/volsim/storage"
)

// Claims ask about the claim data.
func Claims() []Row {
	bound := fake.Annotations(objects.AnnBindCompleted, "yes")
	own := fake.UID("c1")
	modeless := With(fake.Class("odd", Driver), func(c *storagev1.StorageClass) { c.VolumeBindingMode = nil })
	selector := With(fake.Claim("data", "10Gi"), func(c *corev1.PersistentVolumeClaim) {
		c.Spec.Selector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "a", Operator: "Near"}}}
	})
	sourceIn := func(namespace string) *corev1.PersistentVolumeClaim {
		return With(fake.Claim("data", "10Gi", fake.InClass("fast")), func(c *corev1.PersistentVolumeClaim) {
			c.Spec.DataSourceRef = &corev1.TypedObjectReference{Kind: "PersistentVolumeClaim", Name: "seed", Namespace: &namespace}
		})
	}
	populated := func(finalizers ...string) *corev1.PersistentVolumeClaim {
		return With(fake.Claim("data", "10Gi", fake.InClass("fast")), func(c *corev1.PersistentVolumeClaim) {
			c.Spec.DataSourceRef = &corev1.TypedObjectReference{APIGroup: new("example.com"), Kind: "Hello", Name: "x"}
			c.Finalizers = finalizers
		})
	}
	late := fake.Class("late", Driver, fake.WaitForFirstConsumer())
	pinned := fake.Pod("p", fake.Claims("data"), fake.OnNode("n1"))
	loose := fake.Pod("p", fake.Claims("data"))
	claim, pv := BoundPair()
	gold := With(Available("pv", "12Gi", fake.CSISource(Driver, "h1")), func(pv *corev1.PersistentVolume) {
		class := "gold"
		pv.Spec.VolumeAttributesClassName = &class
	})
	plugins := set(fake.InTree(InTree), fake.NFS(), fake.HostPath(fake.Only(storage.Create, storage.Delete, storage.Recycle)))
	chosen := fake.Annotations(objects.AnnBoundByController, "yes")
	// Dumps do not list plugins that kube-controller-manager no longer has.
	unknown := &Dumped{Rule: "PROV-024", Root: "PROV-024", When: explain.Manual, Actor: Admin}
	const controller, pvcProtection = actors.PersistentVolume, "pvc-protection-controller"
	return asking("pvc/data", []Row{
		{Rule: "BIND-052", Name: "its class has no binding mode",
			Objs: []api.Object{fake.Claim("data", "10Gi", fake.InClass("odd")), modeless}, Actor: Admin,
			Dumped: &Dumped{Rule: "BIND-057", When: explain.Automatic, Actor: "external-provisioner/" + Driver}},
		{Rule: "BIND-053", Name: "its selector is malformed", Objs: []api.Object{selector, Available("snug", "12Gi")}, Actor: Admin},
		{Rule: "BIND-054", Name: "a volume fits", Objs: []api.Object{fake.Claim("data", "10Gi"), Available("snug", "12Gi")},
			When: explain.Automatic, Actor: controller},
		{Rule: "BIND-055", Name: "it gets the default class",
			Objs: []api.Object{fake.Claim("data", "10Gi", fake.NoClass()), fake.Class("std", Driver, fake.Default())},
			When: explain.Automatic, Actor: controller},
		{Rule: "BIND-056", Name: "no pod uses it", Objs: []api.Object{fake.Claim("data", "10Gi", fake.InClass("late")), late}, Actor: Admin},
		{Rule: "BIND-056", Name: "its pod has no node to go to",
			Objs: []api.Object{fake.Claim("data", "10Gi", fake.InClass("late")), late, loose}, Root: "SCHED-022", Actor: "kube-scheduler"},
		{Rule: "BIND-056", Name: "its pod is about to be placed",
			Objs: []api.Object{fake.Claim("data", "10Gi", fake.InClass("late")), late, loose, fake.Node("n1")}, Root: "SCHED-026",
			When: explain.Automatic, Actor: "kube-scheduler"},
		{Rule: "SCHED-020", Name: "its pod came with a node",
			Objs: []api.Object{fake.Claim("data", "10Gi", fake.InClass("late")), late, pinned}, Actor: Admin},
		{Rule: "BIND-057", Name: "no provisioner is known",
			Objs: []api.Object{fake.Claim("data", "10Gi", fake.InClass("fast")), fake.Class("fast", Driver)}, When: explain.Automatic,
			Actor: "provisioner of " + Driver, Dumped: &Dumped{Actor: "external-provisioner/" + Driver}},
		{Rule: "BIND-057", Name: "the driver provisions",
			Objs: []api.Object{fake.Claim("data", "10Gi", fake.InClass("fast")), fake.Class("fast", Driver), CSIDriver()},
			When: explain.Automatic, Actor: "external-provisioner/" + Driver},
		{Rule: "XPROV-031", Name: "a driver makes nothing for a selector",
			Objs: []api.Object{fake.Claim("data", "10Gi", fake.InClass("fast"), fake.Selector("a", "b")), fake.Class("fast", Driver)}, Actor: Admin},
		// In a dump such a claim shows that the gate is on.
		{Rule: "SNAP-034", Name: "its source is in another namespace, and the gate is off",
			Objs: []api.Object{sourceIn("golden"), fake.Class("fast", Driver), CSIDriver()}, Actor: Admin, Dumped: &Dumped{Rule: "SNAP-033"}},
		{Rule: "SNAP-034", Name: "its source has a namespace, its own, and the gate is off",
			Objs: []api.Object{sourceIn("default"), fake.Class("fast", Driver), CSIDriver()}, Actor: Admin,
			Dumped: &Dumped{Rule: "BIND-057", When: explain.Automatic, Actor: "external-provisioner/" + Driver}},
		{Rule: "XPROV-026", Name: "a populator has to fill it",
			Objs: []api.Object{populated(), fake.Class("fast", Driver), CSIDriver()}, Actor: "populator for Hello.example.com"},
		{Rule: "XPROV-026", Name: "SNAP-072: a populator fills it",
			Objs: []api.Object{populated("example.com/populate-target-protection"), fake.Class("fast", Driver), CSIDriver()},
			When: explain.Automatic, Actor: "populator for Hello.example.com"},
		{Rule: "PROV-023", Name: "the controller provisions",
			Objs: []api.Object{fake.Claim("data", "10Gi", fake.InClass("old")), fake.Class("old", InTree)}, Backends: plugins,
			When: explain.Automatic, Actor: controller, Dumped: unknown},
		{Rule: "PROV-023", Name: "PROV-025: the backends are unknown",
			Objs: []api.Object{fake.Claim("data", "10Gi", fake.InClass("old")), fake.Class("old", InTree)}, When: explain.Automatic,
			Actor: controller, Dumped: unknown},
		{Rule: "PROV-023", Name: "PROV-046: the plugin failed",
			Objs: []api.Object{fake.Claim("data", "10Gi", fake.InClass("old")), fake.Class("old", InTree),
				Event(fake.Claim("data", "10Gi"), "ProvisioningFailed", "no")}, Backends: plugins, When: explain.Automatic,
			Actor: controller, Dumped: unknown},
		{Rule: "PROV-023", Name: "XPROV-031: a plugin may make a volume for a selector",
			Objs:     []api.Object{fake.Claim("data", "10Gi", fake.InClass("old"), fake.Selector("a", "b")), fake.Class("old", InTree)},
			Backends: plugins, When: explain.Automatic, Actor: controller, Dumped: unknown},
		{Rule: "PROV-040", Name: "a plugin makes nothing from a data source",
			Objs: []api.Object{With(fake.Claim("data", "10Gi", fake.InClass("old")), func(c *corev1.PersistentVolumeClaim) {
				c.Spec.DataSource = &corev1.TypedLocalObjectReference{Kind: "PersistentVolumeClaim", Name: "other"}
			}), fake.Class("old", InTree)}, Backends: plugins, Actor: Admin, Dumped: unknown},
		{Rule: "PROV-043", Name: "a plugin takes no mount options",
			Objs: []api.Object{fake.Claim("data", "10Gi", fake.InClass("old")),
				fake.Class("old", "kubernetes.io/host-path", fake.MountOptions("ro"))}, Backends: plugins, Actor: Admin},
		{Rule: "PROV-045", Name: "the node that was selected is gone",
			Objs: []api.Object{fake.Claim("data", "10Gi", fake.InClass("old"), selected("gone")),
				fake.Class("old", InTree, fake.WaitForFirstConsumer())}, Backends: plugins, Actor: Admin, Dumped: unknown},
		{Rule: "PROV-024", Name: "no plugin has the name",
			Objs: []api.Object{fake.Claim("data", "10Gi", fake.InClass("old")), fake.Class("old", "kubernetes.io/gone")}, Backends: plugins,
			Actor: Admin},
		{Rule: "BIND-057", Name: "PROV-022: a driver took over from the plugin",
			Objs:     []api.Object{fake.Claim("data", "10Gi", fake.InClass("old")), fake.Class("old", "kubernetes.io/aws-ebs")},
			Backends: plugins, When: explain.Automatic, Actor: "provisioner of ebs.csi.aws.com",
			Dumped: &Dumped{Actor: "external-provisioner/ebs.csi.aws.com"}},
		{Rule: "PROV-021", Name: "its class is missing", Objs: []api.Object{fake.Claim("data", "10Gi", fake.InClass("gone"))}, Actor: Admin},
		{Rule: "PROV-024", Name: "its class makes no volumes",
			Objs:  []api.Object{fake.Claim("data", "10Gi", fake.InClass("local")), fake.Class("local", "kubernetes.io/no-provisioner")},
			Actor: Admin},
		{Rule: "BIND-058", Name: "nothing fits", Objs: []api.Object{fake.Claim("data", "10Gi")}, Actor: Admin},
		{Rule: "BIND-059a", Name: "the volume it names is missing", Objs: []api.Object{fake.Claim("data", "10Gi", fake.VolumeName("gone"))},
			Actor: Admin},
		{Rule: "BIND-059b", Name: "the volume it names is too small",
			Objs: []api.Object{fake.Claim("data", "10Gi", fake.VolumeName("tiny")), Available("tiny", "1Gi")}, Actor: Admin, Candidate: "MATCH-030"},
		{Rule: "BIND-059b", Name: "MATCH-030: the volume it names is going",
			Objs: []api.Object{fake.Claim("data", "10Gi", fake.VolumeName("pv")), Deleting(Available("pv", "12Gi"), "x/y")},
			Root: "BIND-016", Actor: Admin, Candidate: "MATCH-030"},
		{Rule: "BIND-059b", Name: "MATCH-030: the volume it names has another class",
			Objs:  []api.Object{fake.Claim("data", "10Gi", fake.VolumeName("pv")), Available("pv", "12Gi", fake.InClass("slow"))},
			Actor: Admin, Candidate: "MATCH-030"},
		{Rule: "BIND-059b", Name: "MATCH-030: the volume it names has other attributes",
			Objs: []api.Object{fake.Claim("data", "10Gi", fake.VolumeName("pv")), gold}, Actor: Admin, Candidate: "MATCH-030"},
		{Rule: "BIND-059b", Name: "MATCH-030: the volume it names is a block device",
			Objs: []api.Object{fake.Claim("data", "10Gi", fake.VolumeName("pv")), Available("pv", "12Gi", fake.Block())}, Actor: Admin,
			Candidate: "MATCH-030"},
		{Rule: "BIND-059b", Name: "MATCH-030: the volume it names lacks an access mode",
			Objs: []api.Object{fake.Claim("data", "10Gi", fake.VolumeName("pv"), fake.Modes("RWX")), Available("pv", "12Gi")}, Actor: Admin,
			Candidate: "MATCH-030"},
		{Rule: "BIND-059c", Name: "the volume it names is free",
			Objs: []api.Object{fake.Claim("data", "10Gi", fake.VolumeName("pv")), Available("pv", "12Gi")}, When: explain.Automatic,
			Actor: controller},
		{Rule: "BIND-059d", Name: "the volume it names is reserved for it",
			Objs: []api.Object{fake.Claim("data", "10Gi", fake.VolumeName("pv")), Available("pv", "1Gi", fake.ForClaim("data"))},
			When: explain.Automatic, Actor: controller},
		{Rule: "BIND-059e", Name: "the volume it names is another's",
			Objs: []api.Object{fake.Claim("data", "10Gi", fake.VolumeName("pv")), Available("pv", "12Gi", fake.ForClaim("other"))},
			Root: "BIND-063", Actor: Admin},
		{Rule: "BIND-059f", Name: "a controller chose another's volume",
			Objs: []api.Object{fake.Claim("data", "10Gi", fake.VolumeName("pv"), fake.Annotations(objects.AnnBoundByController, "yes")),
				Available("pv", "12Gi", fake.ForClaim("other"))}, Root: "BIND-063", Actor: Admin},
		{Rule: "BIND-058", Name: "BIND-062: a volume was just made",
			Objs: []api.Object{fake.Claim("data", "10Gi"), fake.Volume("new", "12Gi", fake.Phase("Pending"))}, Root: "BIND-062",
			When: explain.Automatic, Actor: controller, Candidate: "MATCH-017"},
		{Rule: "BIND-058", Name: "RECL-003: a volume is being recycled",
			Objs: []api.Object{fake.Claim("data", "10Gi"), recycled("old", "12Gi", chosen)}, Backends: plugins, Root: "RECL-003",
			When: explain.Automatic, Actor: controller, Candidate: "MATCH-010"},
		{Rule: "BIND-058", Name: "BIND-072: the volume stays reserved when it is recycled",
			Objs: []api.Object{fake.Claim("data", "10Gi"), recycled("old", "12Gi")}, Backends: plugins, Actor: Admin, Candidate: "MATCH-010"},
		{Rule: "BIND-058", Name: "the volume that is recycled is too small",
			Objs: []api.Object{fake.Claim("data", "10Gi"), recycled("old", "1Gi", chosen)}, Backends: plugins, Actor: Admin, Candidate: "MATCH-010"},
		{Rule: "BIND-058", Name: "RECL-064: no plugin can recycle the volume",
			Objs:     []api.Object{fake.Claim("data", "10Gi"), recycled("old", "12Gi", chosen, fake.CSISource(Driver, "h1"))},
			Backends: plugins, Actor: Admin, Candidate: "MATCH-010"},
		{Rule: "BIND-058", Name: "a volume will be Released, and recycled",
			Objs: []api.Object{fake.Claim("data", "10Gi"), recycled("old", "12Gi", chosen, fake.Phase("Bound"))}, Backends: plugins,
			Root: "BIND-064", When: explain.Automatic, Actor: controller, Candidate: "MATCH-010"},
		{Rule: "BIND-058", Name: "the claim of a volume that is recycled goes with its pod",
			Objs: []api.Object{fake.Claim("data", "10Gi"), recycled("old", "12Gi", chosen, fake.Phase("Bound")),
				Deleting(fake.Claim("before", "12Gi", bound, fake.UID("c0"), fake.VolumeName("old"), fake.Phase("Bound")),
					objects.ClaimProtectionFinalizer),
				Deleting(Runs(fake.Pod("p", fake.Claims("before"), fake.OnNode("n1")))), fake.Node("n1")}, Backends: plugins,
			Root: "MNT-387", When: explain.Automatic, After: 60e9, Actor: controller, Candidate: "MATCH-010"},
		{Rule: "BIND-058", Name: "a pod blocks the deletion of the claim of a volume to be recycled",
			Objs: []api.Object{fake.Claim("data", "10Gi"), recycled("old", "12Gi", chosen, fake.Phase("Bound")),
				Deleting(fake.Claim("before", "12Gi", bound, fake.UID("c0"), fake.VolumeName("old"), fake.Phase("Bound")),
					objects.ClaimProtectionFinalizer),
				Runs(fake.Pod("p", fake.Claims("before"), fake.OnNode("n1"))), fake.Node("n1")}, Backends: plugins, Actor: Admin,
			Candidate: "MATCH-010"},
		{Rule: "BIND-058", Name: "BIND-068: a volume was made for a claim that took another",
			Objs: []api.Object{fake.Claim("data", "10Gi"),
				recycled("old", "12Gi", chosen, fake.Phase("Bound"), fake.Policy(corev1.PersistentVolumeReclaimRetain)),
				fake.Claim("before", "12Gi", fake.UID("c0"), fake.VolumeName("x"))}, Backends: plugins, Root: "BIND-068",
			When: explain.Automatic, Actor: controller, Candidate: "MATCH-010"},
		{Rule: "BIND-059e", Name: "RECL-003: the volume it names is being recycled",
			Objs: []api.Object{fake.Claim("data", "10Gi", fake.VolumeName("old")), recycled("old", "12Gi", chosen)}, Backends: plugins,
			Root: "RECL-003", When: explain.Automatic, Actor: controller},
		{Rule: "PROV-024", Name: "RECL-003: a local volume is being recycled",
			Objs: []api.Object{fake.Claim("data", "10Gi", fake.InClass("local")), fake.Class("local", "kubernetes.io/no-provisioner"),
				recycled("old", "12Gi", chosen, fake.InClass("local"))}, Backends: plugins, Root: "RECL-003", When: explain.Automatic,
			Actor: controller, Candidate: "MATCH-010"},
		{Rule: "BIND-060a", Name: "it was bound and names no volume",
			Objs: []api.Object{fake.Claim("data", "10Gi", bound, fake.Phase("Lost"))}, Actor: Admin},
		{Rule: "BIND-060b", Name: "its volume is gone",
			Objs: []api.Object{fake.Claim("data", "10Gi", bound, fake.VolumeName("gone"), fake.Phase("Lost"))}, Actor: Admin},
		{Rule: "BIND-060c", Name: "its volume forgot it",
			Objs: []api.Object{fake.Claim("data", "10Gi", bound, fake.VolumeName("pv")), Available("pv", "12Gi")}, When: explain.Automatic,
			Actor: controller},
		{Rule: "BIND-060d", Name: "all is well", Objs: []api.Object{claim, pv}, When: explain.Settled},
		{Rule: "BIND-060e", Name: "its volume belongs to a claim of another uid",
			Objs: []api.Object{fake.Claim("data", "10Gi", bound, own, fake.VolumeName("pv")),
				Available("pv", "12Gi", fake.ForClaim("data", "c2"))}, Root: "BIND-064", Actor: Admin},
		{Rule: "PROT-026", Name: "a running pod keeps it",
			Objs: []api.Object{Deleting(fake.Claim("data", "10Gi"), objects.ClaimProtectionFinalizer), Runs(User("p", "n1")),
				fake.Node("n1")}, Actor: Admin},
		{Rule: "PROT-026", Name: "a pod that is going keeps it",
			Objs: []api.Object{Deleting(fake.Claim("data", "10Gi"), objects.ClaimProtectionFinalizer), Deleting(Runs(User("p", "n1"))),
				fake.Node("n1")}, Root: "MNT-387", When: explain.Automatic, After: 60e9, Actor: "kubelet"},
		{Rule: "PROT-026", Name: "a pod on a dead node keeps it",
			Objs: []api.Object{Deleting(fake.Claim("data", "10Gi"), objects.ClaimProtectionFinalizer), Deleting(Runs(User("p", "n1"))),
				NotReady(fake.Node("n1"))}, Root: "ATT-195", Actor: "kubelet"},
		{Rule: "PROT-023", Name: "nothing keeps it",
			Objs: []api.Object{Deleting(fake.Claim("data", "10Gi"), objects.ClaimProtectionFinalizer)}, When: explain.Automatic,
			Actor: pvcProtection},
		{Rule: "BIND-016", Name: "the finalizer of another controller blocks deletion",
			Objs: []api.Object{Deleting(fake.Claim("data", "10Gi"), "example.com/mine")}, Actor: Admin},
		{Rule: "BIND-016", Name: "PROT-023: a finalizer stays after that of the controller",
			Objs: []api.Object{Deleting(fake.Claim("data", "10Gi"), objects.ClaimProtectionFinalizer, "example.com/mine")}, Actor: Admin},
	})
}
