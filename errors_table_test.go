package volsim_test

import (
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apiresource "k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volsim/volsim"
	"github.com/volsim/volsim/api"
)

var badMetadata = []refusal{
	{"API-032", "capitals in a name", creating(goodVolume("Disk"), func(*pvType) {}), invalid, "metadata.name I"},
	{"API-032", "a name that is too long", creating(goodClass(strings.Repeat("a", 254)), func(*classType) {}), invalid, "metadata.name I"},
	{"API-032", "an underscore in a name", creating(goodNode("n_1"), func(*corev1.Node) {}), invalid, "metadata.name I"},
	{"API-033", "a blank in a prefix", creating(goodClaim(""), func(c *pvcType) { c.GenerateName = "a b-" }), invalid,
		"metadata.generateName I; metadata.name I"},
	{"API-034", "a dot in a namespace", creating(goodPod("p"), func(p *podType) { p.Namespace = "a.b" }), invalid, "metadata.namespace I"},
	{"API-035", "a label's key", creating(goodAttachment("a"), func(a *attachType) { a.Labels = map[string]string{"a b": ""} }), invalid,
		"metadata.labels I"},
	{"API-035", "a label's value", creating(goodDriver("d"), func(d *driverType) { d.Labels = map[string]string{"a": "b c"} }), invalid,
		"metadata.labels I"},
	{"API-035", "an annotation's key", creating(goodCSINode("n"), func(n *csiNodeType) { n.Annotations = map[string]string{"": ""} }),
		invalid, "metadata.annotations I"},
	{"API-035", "annotations that are too long", creating(goodCapacity("c"), func(c *cscType) {
		c.Annotations = map[string]string{"a": strings.Repeat("x", 262144)}
	}), invalid, "metadata.annotations L"},
	{"API-036", "an owner of no name", creating(goodVolume("v"), func(v *pvType) {
		v.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", UID: "u"}}
	}), invalid, "metadata.ownerReferences.name I"},
	{"API-036", "two controllers", creating(goodClaim("c"), func(c *pvcType) {
		c.OwnerReferences = []metav1.OwnerReference{
			{APIVersion: "v1", Kind: "Pod", Name: "a", UID: "u", Controller: new(true)},
			{APIVersion: "v1", Kind: "Pod", Name: "b", UID: "v", Controller: new(true)},
		}
	}), invalid, "metadata.ownerReferences I"},
	{"API-037", "a finalizer without a domain", creating(goodClass("c"), func(c *classType) { c.Finalizers = []string{"hold"} }), invalid,
		"metadata.finalizers[0] I"},
	{"API-037", "both ways with dependents", creating(goodAttributes("a"), func(a *attrsType) {
		a.Finalizers = []string{"orphan", "foregroundDeletion"}
	}), invalid, "metadata.finalizers I"},
	{"API-038", "a finalizer for what goes", updating(claims, "default/going", func(c *pvcType) {
		c.Finalizers = append(c.Finalizers, "example.com/more")
	}), invalid, "metadata.finalizers F"},
	{"API-040", "a mark of deletion", updating(volumes, "disk", func(v *pvType) {
		v.DeletionTimestamp = new(metav1.NewTime(time.Unix(1, 0)))
	}), invalid, "metadata.deletionTimestamp I"},
	{"API-040", "a grace", updating(pods, "default/web", func(p *podType) { p.DeletionGracePeriodSeconds = new(int64(3)) }), invalid,
		"metadata.deletionGracePeriodSeconds I"},
	{"API-042", "a label on update", updating(nodes, "n1", func(n *corev1.Node) { n.Labels = map[string]string{"a": "-"} }), invalid,
		"metadata.labels I"},
}

// source gives a volume another source.
func source(s corev1.PersistentVolumeSource) func(*pvType) {
	return func(v *pvType) { v.Spec.PersistentVolumeSource = s }
}

// term gives a volume an affinity of one expression.
func term(key string, op corev1.NodeSelectorOperator, values ...string) func(*pvType) {
	return func(v *pvType) {
		v.Spec.NodeAffinity.Required.NodeSelectorTerms[0].MatchExpressions[0] = corev1.NodeSelectorRequirement{Key: key, Operator: op,
			Values: values}
	}
}

const firstTerm = "spec.nodeAffinity.required.nodeSelectorTerms[0]."

func volume(spoil func(*pvType)) verb { return creating(goodVolume("v"), spoil) }

var badVolumes = []refusal{
	{"API-120", "no access modes", volume(func(v *pvType) { v.Spec.AccessModes = nil }), invalid, "spec.accessModes R"},
	{"API-120", "an unknown mode", volume(func(v *pvType) { v.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{"Some"} }), invalid,
		"spec.accessModes N"},
	{"API-120", "one pod and more", volume(func(v *pvType) {
		v.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOncePod, corev1.ReadWriteOnce}
	}), invalid, "spec.accessModes F"},
	{"API-121", "no capacity", volume(func(v *pvType) { v.Spec.Capacity = nil }), invalid, "spec.capacity N; spec.capacity R"},
	{"API-121", "another capacity", volume(func(v *pvType) {
		v.Spec.Capacity = corev1.ResourceList{"cpu": apiresource.MustParse("1")}
	}), invalid, "spec.capacity N"},
	{"API-121", "no bytes", volume(func(v *pvType) { v.Spec.Capacity = storageSize("0") }), invalid, "spec.capacity[storage] I"},
	{"API-121", "less than no bytes", volume(func(v *pvType) { v.Spec.Capacity = storageSize("-1Gi") }), invalid, "spec.capacity[storage] I"},
	{"API-122", "an unknown policy", volume(func(v *pvType) { v.Spec.PersistentVolumeReclaimPolicy = "Keep" }), invalid,
		"spec.persistentVolumeReclaimPolicy N"},
	{"API-122", "recycling the root", volume(func(v *pvType) {
		source(corev1.PersistentVolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/"}})(v)
		v.Spec.PersistentVolumeReclaimPolicy = corev1.PersistentVolumeReclaimRecycle
	}), invalid, "spec.persistentVolumeReclaimPolicy F"},
	{"API-123", "no source", volume(source(corev1.PersistentVolumeSource{})), invalid, "spec R"},
	{"API-123", "two sources", volume(func(v *pvType) { v.Spec.NFS = &corev1.NFSVolumeSource{Server: "s", Path: "/"} }), invalid,
		"spec.csi F"},
	{"API-124", "affinity for nothing", volume(func(v *pvType) { v.Spec.NodeAffinity.Required = nil }), invalid,
		"spec.nodeAffinity.required R"},
	{"API-124", "no terms", volume(func(v *pvType) { v.Spec.NodeAffinity.Required.NodeSelectorTerms = nil }), invalid,
		"spec.nodeAffinity.required.nodeSelectorTerms R"},
	{"API-125", "in nothing", volume(term("zone", corev1.NodeSelectorOpIn)), invalid, firstTerm + "matchExpressions[0].values R"},
	{"API-125", "existing with a value", volume(term("zone", corev1.NodeSelectorOpExists, "a")), invalid,
		firstTerm + "matchExpressions[0].values F"},
	{"API-125", "greater than two", volume(term("zone", corev1.NodeSelectorOpGt, "1", "2")), invalid,
		firstTerm + "matchExpressions[0].values R"},
	{"API-125", "an unknown operator", volume(term("zone", "Near", "a")), invalid, firstTerm + "matchExpressions[0].operator I"},
	{"API-125", "a bad key", volume(term("-", corev1.NodeSelectorOpExists)), invalid, firstTerm + "matchExpressions[0].key I"},
	{"API-125", "a bad value", volume(term("zone", corev1.NodeSelectorOpIn, "a b")), invalid, firstTerm + "matchExpressions[0].values[0] I"},
	{"API-126", "another field", volume(func(v *pvType) {
		v.Spec.NodeAffinity.Required.NodeSelectorTerms[0].MatchFields = []corev1.NodeSelectorRequirement{{Key: "spec.x", Operator: "In",
			Values: []string{"a"}}}
	}), invalid, firstTerm + "matchFields[0].key I"},
	{"API-127", "a local volume anywhere", volume(func(v *pvType) {
		source(corev1.PersistentVolumeSource{Local: &corev1.LocalVolumeSource{Path: "/d"}})(v)
		v.Spec.NodeAffinity = nil
	}), invalid, "spec.nodeAffinity R"},
	{"API-127", "a local path that climbs",
		volume(source(corev1.PersistentVolumeSource{Local: &corev1.LocalVolumeSource{Path: "/a/../b"}})), invalid, "spec.local.path I"},
	{"API-128", "a class that cannot be", volume(func(v *pvType) { v.Spec.StorageClassName = "Fast!" }), invalid, "spec.storageClassName I"},
	{"API-129", "an unknown volume mode", volume(func(v *pvType) { v.Spec.VolumeMode = new(corev1.PersistentVolumeMode("Tape")) }), invalid,
		"spec.volumeMode N"},
	{"API-130", "empty attributes", volume(func(v *pvType) { v.Spec.VolumeAttributesClassName = new("") }), invalid,
		"spec.volumeAttributesClassName R"},
	{"API-130", "attributes of something else", volume(func(v *pvType) {
		source(corev1.PersistentVolumeSource{NFS: &corev1.NFSVolumeSource{Server: "s", Path: "/"}})(v)
		v.Spec.VolumeAttributesClassName = new("gold")
	}), invalid, "spec.csi R"},
	{"API-131", "no driver, no handle", volume(source(corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{}})), invalid,
		"spec.csi.driver R; spec.csi.volumeHandle R"},
	{"API-131", "a driver of a long name", volume(func(v *pvType) { v.Spec.CSI.Driver = strings.Repeat("a", 64) }), invalid,
		"spec.csi.driver L"},
	{"API-131", "a secret of no namespace", volume(func(v *pvType) {
		v.Spec.CSI.NodePublishSecretRef = &corev1.SecretReference{Name: "s"}
	}), invalid, "spec.csi.nodePublishSecretRef.namespace R"},
	{"API-133", "the old mount options", volume(func(v *pvType) {
		v.Annotations = map[string]string{"volume.beta.kubernetes.io/mount-options": "ro"}
	}), invalid, "metadata.annotations.volume.beta.kubernetes.io/mount-options F"},
	{"API-134", "an unknown type of host path", volume(source(corev1.PersistentVolumeSource{
		HostPath: &corev1.HostPathVolumeSource{Path: "/d", Type: new(corev1.HostPathType("Pipe"))},
	})), invalid, "spec.hostPath.type N"},
	{"API-135", "an NFS path that is not absolute", volume(source(corev1.PersistentVolumeSource{
		NFS: &corev1.NFSVolumeSource{Server: "s", Path: "d"},
	})), invalid, "spec.nfs.path I"},
	{"API-137", "an iSCSI target of nothing",
		volume(source(corev1.PersistentVolumeSource{ISCSI: &corev1.ISCSIPersistentVolumeSource{Lun: 256}})), invalid,
		"spec.iscsi.iqn R; spec.iscsi.lun I; spec.iscsi.targetPortal R"},
	{"API-138", "a fibre to nowhere", volume(source(corev1.PersistentVolumeSource{FC: &corev1.FCVolumeSource{}})), invalid,
		"spec.fc.targetWWNs R"},
	{"API-140", "a Cinder volume of no name", volume(source(corev1.PersistentVolumeSource{Cinder: &corev1.CinderPersistentVolumeSource{}})),
		invalid,
		"spec.cinder.volumeID R"},
}

func claim(spoil func(*pvcType)) verb { return creating(goodClaim("c"), spoil) }

var badClaims = []refusal{
	{"API-150", "no access modes", claim(func(c *pvcType) { c.Spec.AccessModes = nil }), invalid, "spec.accessModes R"},
	{"API-150", "an unknown mode", claim(func(c *pvcType) { c.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{"Some"} }), invalid,
		"spec.accessModes N"},
	{"API-151", "a bad selector", claim(func(c *pvcType) {
		c.Spec.Selector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "a", Operator: "Near"}}}
	}), invalid, "spec.selector.matchExpressions[0].operator I"},
	{"API-151", "a selector of nothing", claim(func(c *pvcType) {
		c.Spec.Selector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "a", Operator: "In"}}}
	}), invalid, "spec.selector.matchExpressions[0].values R"},
	{"API-152", "no request", claim(func(c *pvcType) { c.Spec.Resources.Requests = nil }), invalid, "spec.resources[storage] R"},
	{"API-152", "nothing requested", claim(func(c *pvcType) { c.Spec.Resources.Requests = storageSize("0") }), invalid,
		"spec.resources[storage] I"},
	{"API-153", "a class that cannot be", claim(func(c *pvcType) { c.Spec.StorageClassName = new("a b") }), invalid,
		"spec.storageClassName I"},
	{"API-154", "an unknown volume mode", claim(func(c *pvcType) { c.Spec.VolumeMode = new(corev1.PersistentVolumeMode("Tape")) }), invalid,
		"spec.volumeMode N"},
	{"API-155", "a source of no name", claim(func(c *pvcType) {
		c.Spec.DataSource = &corev1.TypedLocalObjectReference{Kind: "PersistentVolumeClaim"}
	}), invalid, "spec.dataSource.name R; spec.dataSourceRef.name R"},
	{"API-155", "a core source of another kind", claim(func(c *pvcType) {
		c.Spec.DataSourceRef = &corev1.TypedObjectReference{Kind: "Secret", Name: "s"}
	}), invalid, "spec.dataSource I; spec.dataSourceRef I"},
	{"API-156", "two sources", claim(func(c *pvcType) {
		c.Spec.DataSource = &corev1.TypedLocalObjectReference{Kind: "PersistentVolumeClaim", Name: "a"}
		c.Spec.DataSourceRef = &corev1.TypedObjectReference{Kind: "PersistentVolumeClaim", Name: "b"}
	}), invalid, "spec I"},
	{"API-157", "attributes that cannot be", claim(func(c *pvcType) { c.Spec.VolumeAttributesClassName = new("A") }), invalid,
		"spec.volumeAttributesClassName I"},
}

var badStorage = []refusal{
	{"API-160", "no provisioner", creating(goodClass("c"), func(c *classType) { c.Provisioner = "" }), invalid, "provisioner R"},
	{"API-160", "a provisioner of two words", creating(goodClass("c"), func(c *classType) { c.Provisioner = "a b" }), invalid,
		"provisioner I"},
	{"API-161", "a parameter of no name", creating(goodClass("c"), func(c *classType) { c.Parameters = map[string]string{"": "x"} }),
		invalid, "parameters I"},
	{"API-161", "parameters that are too long", creating(goodClass("c"), func(c *classType) {
		c.Parameters = map[string]string{"a": strings.Repeat("x", 262144)}
	}), invalid, "parameters L"},
	{"API-161", "attributes without any", creating(goodAttributes("a"), func(a *attrsType) { a.Parameters = nil }), invalid, "parameters R"},
	{"API-160", "attributes of no driver", creating(goodAttributes("a"), func(a *attrsType) { a.DriverName = "" }), invalid, "driverName R"},
	{"API-162", "a class that recycles", creating(goodClass("c"), func(c *classType) {
		c.ReclaimPolicy = new(corev1.PersistentVolumeReclaimRecycle)
	}), invalid, "reclaimPolicy N"},
	{"API-163", "binding some day", creating(goodClass("c"), func(c *classType) {
		c.VolumeBindingMode = new(storagev1.VolumeBindingMode("SomeDay"))
	}), invalid, "volumeBindingMode N"},
	{"API-164", "a topology of no values", creating(goodClass("c"), func(c *classType) {
		c.AllowedTopologies = []corev1.TopologySelectorTerm{{MatchLabelExpressions: []corev1.TopologySelectorLabelRequirement{{Key: "zone"}}}}
	}), invalid, "allowedTopologies[0].matchLabelExpressions[0].values R"},
	{"API-165", "a topology of nothing",
		creating(goodClass("c"), func(c *classType) { c.AllowedTopologies = []corev1.TopologySelectorTerm{{}} }), invalid,
		"allowedTopologies[0].matchLabelExpressions D"},
	{"API-170", "no attacher", creating(goodAttachment("a"), func(a *attachType) { a.Spec.Attacher = "" }), invalid, "spec.attacher R"},
	{"API-170", "an attacher of a long name",
		creating(goodAttachment("a"), func(a *attachType) { a.Spec.Attacher = strings.Repeat("a", 64) }), invalid, "spec.attacher L"},
	{"API-171", "nothing to attach", creating(goodAttachment("a"), func(a *attachType) { a.Spec.Source.PersistentVolumeName = nil }),
		invalid, "spec.source R"},
	{"API-171", "a volume of no name", creating(goodAttachment("a"), func(a *attachType) { *a.Spec.Source.PersistentVolumeName = "" }),
		invalid,
		"spec.source.persistentVolumeName I; spec.source.persistentVolumeName R"},
	{"API-172", "an inline volume of nothing", creating(goodAttachment("a"), func(a *attachType) {
		a.Spec.Source = storagev1.VolumeAttachmentSource{InlineVolumeSpec: &corev1.PersistentVolumeSpec{AccessModes: readWriteOnce}}
	}), invalid, "spec.source.inlineVolumeSpec R; spec.source.inlineVolumeSpec.csi R"},
	{"API-173", "no node", creating(goodAttachment("a"), func(a *attachType) { a.Spec.NodeName = "" }), invalid, "spec.nodeName I"},
	{"API-180", "an unknown group policy", creating(goodDriver("d"), func(d *driverType) {
		d.Spec.FSGroupPolicy = new(storagev1.FSGroupPolicy("Some"))
	}), invalid, "spec.fsGroupPolicy N"},
	{"API-181", "an unknown lifecycle", creating(goodDriver("d"), func(d *driverType) {
		d.Spec.VolumeLifecycleModes = []storagev1.VolumeLifecycleMode{"Eternal"}
	}), invalid, "spec.volumeLifecycleModes N"},
	{"API-182", "two tokens for one", creating(goodDriver("d"), func(d *driverType) {
		d.Spec.TokenRequests = []storagev1.TokenRequest{{Audience: "a"}, {Audience: "a", ExpirationSeconds: new(int64(1))}}
	}), invalid, "spec.tokenRequests[1].audience D"},
	{"API-183", "updates without end",
		creating(goodDriver("d"), func(d *driverType) { d.Spec.NodeAllocatableUpdatePeriodSeconds = new(int64(9)) }), invalid,
		"spec.nodeAllocatableUpdatePeriodSeconds I"},
	{"API-186", "a driver twice",
		creating(goodCSINode("n"), func(n *csiNodeType) { n.Spec.Drivers = append(n.Spec.Drivers, n.Spec.Drivers[0]) }), invalid,
		"spec.drivers[1].name D"},
	{"API-187", "no node ID", creating(goodCSINode("n"), func(n *csiNodeType) { n.Spec.Drivers[0].NodeID = "" }), invalid,
		"spec.drivers[0].nodeID R"},
	{"API-188", "less room than none", creating(goodCSINode("n"), func(n *csiNodeType) {
		n.Spec.Drivers[0].Allocatable = &storagev1.VolumeNodeResources{Count: new(int32(-1))}
	}), invalid, "spec.drivers[0].allocatable.count I"},
	{"API-189", "a topology key twice",
		creating(goodCSINode("n"), func(n *csiNodeType) { n.Spec.Drivers[0].TopologyKeys = []string{"a", "a"} }), invalid,
		"spec.drivers[0] D"},
	{"API-190", "no class", creating(goodCapacity("c"), func(c *cscType) { c.StorageClassName = "" }), invalid, "storageClassName I"},
	{"API-191", "a bad topology", creating(goodCapacity("c"), func(c *cscType) {
		c.NodeTopology = &metav1.LabelSelector{MatchLabels: map[string]string{"-": "a"}}
	}), invalid, "nodeTopology.matchLabels I"},
	{"API-192", "less than no capacity", creating(goodCapacity("c"), func(c *cscType) { c.Capacity = new(apiresource.MustParse("-1")) }),
		invalid, "capacity I"},
	{"API-195", "a node of less than nothing", creating(goodNode("n"), func(n *corev1.Node) {
		n.Status.Capacity = corev1.ResourceList{"cpu": apiresource.MustParse("-1")}
		n.Status.Allocatable = corev1.ResourceList{}
	}), invalid, "status.allocatable.cpu I; status.capacity.cpu I"},
}

func newPod(spoil func(*podType)) verb { return creating(goodPod("p"), spoil) }

// mounting changes the mount of the pod, device makes a device of its volume.
func mounting(spoil func(*corev1.VolumeMount)) verb {
	return newPod(func(p *podType) { spoil(&p.Spec.Containers[0].VolumeMounts[0]) })
}

func device(d corev1.VolumeDevice) verb {
	return newPod(func(p *podType) {
		p.Spec.Containers[0].VolumeMounts, p.Spec.Containers[0].VolumeDevices = nil, []corev1.VolumeDevice{d}
	})
}

const (
	firstMount  = "spec.containers[0].volumeMounts[0]."
	firstDevice = "spec.containers[0].volumeDevices[0]."
)

var badPods = []refusal{
	{"API-196", "a volume of no name", newPod(func(p *podType) { p.Spec.Volumes[0].Name = "" }), invalid,
		firstMount + "name X; spec.volumes[0].name R"},
	{"API-196", "a volume of a bad name", newPod(func(p *podType) { p.Spec.Volumes[0].Name = "A" }), invalid,
		firstMount + "name X; spec.volumes[0].name I"},
	{"API-196", "a volume twice", newPod(func(p *podType) { p.Spec.Volumes = append(p.Spec.Volumes, p.Spec.Volumes[0]) }), invalid,
		"spec.volumes[1].name D"},
	{"API-197", "two sources", newPod(func(p *podType) { p.Spec.Volumes[0].EmptyDir = &corev1.EmptyDirVolumeSource{} }), invalid,
		firstMount + "name X; spec.volumes[0].persistentVolumeClaim F"},
	{"API-198", "no claim", newPod(func(p *podType) { p.Spec.Volumes[0].PersistentVolumeClaim.ClaimName = "" }), invalid,
		firstMount + "name X; spec.volumes[0].persistentVolumeClaim.claimName R"},
	{"API-199", "no template", newPod(func(p *podType) {
		p.Spec.Volumes[0].VolumeSource = corev1.VolumeSource{Ephemeral: &corev1.EphemeralVolumeSource{}}
	}), invalid, firstMount + "name X; spec.volumes[0].ephemeral.volumeClaimTemplate R"},
	{"API-199", "a template with a name", newPod(func(p *podType) {
		p.Spec.Volumes[0].VolumeSource = corev1.VolumeSource{Ephemeral: &corev1.EphemeralVolumeSource{
			VolumeClaimTemplate: &corev1.PersistentVolumeClaimTemplate{ObjectMeta: metav1.ObjectMeta{Name: "x"}, Spec: goodClaim("x").Spec},
		}}
	}), invalid, firstMount + "name X; spec.volumes[0].ephemeral.volumeClaimTemplate.metadata.name F"},
	{"API-201", "an inline volume of no driver", newPod(func(p *podType) {
		p.Spec.Volumes[0].VolumeSource = corev1.VolumeSource{CSI: &corev1.CSIVolumeSource{}}
	}), invalid, firstMount + "name X; spec.volumes[0].csi.driver R"},
	{"API-202", "a directory of less than nothing", newPod(func(p *podType) {
		p.Spec.Volumes[0].VolumeSource = corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{SizeLimit: new(apiresource.MustParse("-1"))}}
	}), invalid, firstMount + "name X; spec.volumes[0].emptyDir.sizeLimit F"},
	{"API-203", "a mount of nothing", mounting(func(m *corev1.VolumeMount) { m.Name = "other" }), invalid, firstMount + "name X"},
	{"API-203", "a mount nowhere", mounting(func(m *corev1.VolumeMount) { m.MountPath = "" }), invalid, firstMount + "mountPath R"},
	{"API-203", "a part that climbs", mounting(func(m *corev1.VolumeMount) { m.SubPath = "../x" }), invalid,
		"spec.containers[0].volumeMounts.subPath I"},
	{"API-203", "two parts", mounting(func(m *corev1.VolumeMount) { m.SubPath, m.SubPathExpr = "a", "b" }), invalid,
		firstMount + "subPathExpr I"},
	{"API-203", "an unknown propagation", mounting(func(m *corev1.VolumeMount) {
		m.MountPropagation = new(corev1.MountPropagationMode("Some"))
	}), invalid, "spec.containers[0].volumeMounts.mountPropagation N"},
	{"API-203", "propagation without privilege", mounting(func(m *corev1.VolumeMount) {
		m.MountPropagation = new(corev1.MountPropagationBidirectional)
	}), invalid, "spec.containers[0].volumeMounts.mountPropagation F"},
	{"API-204", "a device of nothing", device(corev1.VolumeDevice{Name: "other", DevicePath: "/d"}), invalid, firstDevice + "name X"},
	{"API-204", "a device nowhere", device(corev1.VolumeDevice{Name: "data"}), invalid, firstDevice + "devicePath R"},
	{"API-204", "a device that climbs", device(corev1.VolumeDevice{Name: "data", DevicePath: "/a/../b"}), invalid,
		firstDevice + "devicePath I"},
}

var badUpdates = []refusal{
	{"API-211", "another source", updating(volumes, "disk", func(v *pvType) { v.Spec.CSI.VolumeHandle = "other" }), invalid,
		"spec.persistentvolumesource F"},
	{"API-212", "another volume mode", updating(volumes, "disk", func(v *pvType) { v.Spec.VolumeMode = new(corev1.PersistentVolumeBlock) }),
		invalid, "volumeMode I"},
	{"API-213", "other nodes", updating(volumes, "disk", term("zone", corev1.NodeSelectorOpIn, "z2")), invalid, "nodeAffinity I"},
	{"API-213", "any node", updating(volumes, "disk", func(v *pvType) { v.Spec.NodeAffinity = nil }), invalid, "nodeAffinity I"},
	{"API-120", "no access modes any more", updating(volumes, "disk", func(v *pvType) { v.Spec.AccessModes = nil }), invalid,
		"spec.accessModes R"},
	{"API-217", "other access modes", updating(claims, "default/data", func(c *pvcType) {
		c.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadOnlyMany}
	}), invalid, "spec F"},
	{"API-218", "another volume", updating(claims, "default/bound", func(c *pvcType) { c.Spec.VolumeName = "other" }), invalid, "spec F"},
	{"API-218", "no volume any more", updating(claims, "default/bound", func(c *pvcType) { c.Spec.VolumeName = "" }), invalid, "spec F"},
	{"API-219", "another class", updating(claims, "default/data", func(c *pvcType) { c.Spec.StorageClassName = new("stiff") }), invalid,
		"spec F"},
	{"API-219", "no class any more", updating(claims, "default/data", func(c *pvcType) { c.Spec.StorageClassName = nil }), invalid, "spec F"},
	{"API-220", "another class, annotated", updating(claims, "default/data", func(c *pvcType) {
		c.Annotations = map[string]string{"volume.beta.kubernetes.io/storage-class": "stiff"}
	}), invalid, "metadata.annotations.volume.beta.kubernetes.io/storage-class I"},
	{"API-221", "more, before it is bound", updating(claims, "default/data", request("6Gi")), invalid, "spec F"},
	{"API-221", "less, before it is bound", updating(claims, "default/data", request("4Gi")), invalid, "spec F"},
	{"API-222", "no more than there is", updating(claims, "default/bound", request("3Gi")), invalid, "spec.resources.requests.storage F"},
	{"API-222", "less than there is", updating(claims, "default/bound", request("1Gi")), invalid, "spec.resources.requests.storage F"},
	{"API-223", "attributes before it is bound",
		updating(claims, "default/data", func(c *pvcType) { c.Spec.VolumeAttributesClassName = new("gold") }), invalid, "spec F"},
	{"API-224", "more of what does not grow", updating(claims, "default/hard", request("9Gi")), forbidden,
		`persistentvolumeclaims "hard" is forbidden: `},
	{"API-225", "another volume mode",
		updating(claims, "default/data", func(c *pvcType) { c.Spec.VolumeMode = new(corev1.PersistentVolumeBlock) }), invalid,
		"spec F; volumeMode I"},
	{"API-226", "a selector", updating(claims, "default/bound", func(c *pvcType) { c.Spec.Selector = &metav1.LabelSelector{} }), invalid,
		"spec F"},
	{"API-226", "limits", updating(claims, "default/bound", func(c *pvcType) { c.Spec.Resources.Limits = storageSize("9Gi") }), invalid,
		"spec F"},
	{"API-230", "another class altogether", updating(classes, "fast", func(c *classType) {
		c.Provisioner, c.Parameters, c.ReclaimPolicy, c.VolumeBindingMode = "other", nil, new(corev1.PersistentVolumeReclaimRetain),
			new(storagev1.VolumeBindingWaitForFirstConsumer)
	}), invalid, "parameters I; provisioner I; reclaimPolicy I; volumeBindingMode I"},
	{"API-231", "other attributes",
		updating(attributes, "gold", func(a *attrsType) { a.DriverName, a.Parameters = "other", map[string]string{"x": "y"} }), invalid,
		"driverName F; parameters F"},
	{"API-232", "another attachment", updating(attachments, "att", func(a *attachType) { a.Spec.NodeName = "n2" }), invalid, "spec I"},
	{"API-233", "a driver that does not attach",
		updating(drivers, "csi.example.com", func(d *driverType) { d.Spec.AttachRequired = new(false) }), invalid, "spec.attachedRequired I"},
	{"API-234", "another node ID", updating(csiNodes, "n1", func(n *csiNodeType) { n.Spec.Drivers[0].NodeID = "i-2" }), invalid,
		"spec.drivers I"},
	{"API-235", "capacity of another class", updating(capacities, "default/cap", func(c *cscType) { c.StorageClassName = "stiff" }),
		invalid, "storageClassName I"},
	{"API-237", "other volumes",
		updating(pods, "default/web", func(p *podType) { p.Spec.Volumes[0].PersistentVolumeClaim.ClaimName = "bound" }), invalid, "spec F"},
	{"API-237", "another node", updating(pods, "default/web", func(p *podType) { p.Spec.NodeName = "n2" }), invalid, "spec F"},
	{"API-237", "a container more", updating(pods, "default/web", func(p *podType) {
		p.Spec.Containers = append(p.Spec.Containers, corev1.Container{Name: "b", Image: "b"})
	}), invalid, "spec.containers F"},
	{"API-242", "less than no capacity",
		updatingStatus(claims, "default/bound", func(c *pvcType) { c.Status.Capacity = storageSize("-1") }), invalid,
		"status.capacity[storage] I"},
	{"API-242", "an unknown way to grow", updatingStatus(claims, "default/bound", func(c *pvcType) {
		c.Status.AllocatedResourceStatuses = map[corev1.ResourceName]corev1.ClaimResourceStatus{"storage": "Growing"}
	}), invalid, "status.allocatedResourceStatuses N"},
	{"API-174", "a long story", updatingStatus(attachments, "att", func(a *attachType) {
		a.Status.AttachError = &storagev1.VolumeError{Message: strings.Repeat("x", 1025)}
	}), invalid, "status.attachError.message L"},
	{"API-244", "another class of service",
		updatingStatus(pods, "default/web", func(p *podType) { p.Status.QOSClass = corev1.PodQOSGuaranteed }), invalid, "status.qosClass I"},
}

func request(text string) func(*pvcType) {
	return func(c *pvcType) { c.Spec.Resources.Requests = storageSize(text) }
}

var badCalls = []refusal{
	{"API-022", "an update of nothing", func(c *volsim.Cluster) error { return c.Update(goodVolume("none")) }, notFound,
		`persistentvolumes "none" not found`},
	{"API-246", "a status of nothing", func(c *volsim.Cluster) error { return c.UpdateStatus(goodClaim("none")) }, notFound,
		`persistentvolumeclaims "none" not found`},
	{"API-030.SC", "a status where there is none", func(c *volsim.Cluster) error { return c.UpdateStatus(goodClass("fast")) }, notFound,
		"the server could not find the requested resource"},
	{"API-050", "a delete of nothing", func(c *volsim.Cluster) error { return c.Delete(goodClass("none")) }, notFound,
		`storageclasses.storage.k8s.io "none" not found`},
	{"API-022", "a patch of nothing", patching(goodNode("none"), "{}"), notFound, `nodes "none" not found`},
	{"API-022", "the namespace of another", patching(&pvcType{ObjectMeta: metav1.ObjectMeta{Name: "data", Namespace: "team"}}, "{}"),
		notFound, `persistentvolumeclaims "data" not found`},
	{"API-023", "a name that is taken", func(c *volsim.Cluster) error { return c.Create(goodVolume("disk")) }, conflict,
		`persistentvolumes "disk" already exists`},
	{"API-023", "a name that is still taken", func(c *volsim.Cluster) error { return c.Create(goodClaim("going")) }, conflict,
		`object is being deleted: persistentvolumeclaims "going" already exists`},
	{"API-001", "one bad object among good ones", func(c *volsim.Cluster) error {
		return c.Create(goodVolume("a"), goodVolume("b"), goodVolume("disk"))
	}, conflict, `persistentvolumes "disk" already exists`},
	{"API-017", "an object with a version among good ones", func(c *volsim.Cluster) error {
		versioned := goodVolume("b")
		versioned.ResourceVersion = "7"
		return c.Create(goodVolume("a"), versioned)
	}, fault, "resourceVersion should not be set on objects to be created"},
	{"API-011", "a stale version", updating(volumes, "disk", func(v *pvType) { v.ResourceVersion = "1" }), conflict,
		"the object has been modified"},
	{"API-011", "a stale version that changes nothing", updatingStatus(pods, "default/web", func(p *podType) { p.ResourceVersion = "1" }),
		conflict, "the object has been modified"},
	{"API-011", "a version that is no number", updating(volumes, "disk", func(v *pvType) { v.ResourceVersion = "new" }), fault,
		"invalid syntax"},
	{"API-012", "no version, an attachment", updating(attachments, "att", func(a *attachType) { a.ResourceVersion = "" }), invalid,
		"metadata.resourceVersion I"},
	{"API-012", "no version, a driver", updating(drivers, "csi.example.com", func(d *driverType) { d.ResourceVersion = "0" }), invalid,
		"metadata.resourceVersion I"},
	{"API-012", "no version, a CSINode", updating(csiNodes, "n1", func(n *csiNodeType) { n.ResourceVersion = "" }), invalid,
		"metadata.resourceVersion I"},
	{"API-012", "no version, a capacity", updating(capacities, "default/cap", func(c *cscType) { c.ResourceVersion = "" }), invalid,
		"metadata.resourceVersion I"},
	{"API-013", "another uid", updating(nodes, "n1", func(n *corev1.Node) { n.UID = "u" }), conflict,
		"Precondition failed: UID in precondition: u"},
	{"API-017", "a new object with a version", creating(goodVolume("v"), func(v *pvType) { v.ResourceVersion = "7" }), fault,
		"resourceVersion should not be set on objects to be created"},
	{"API-058", "a delete of another", func(c *volsim.Cluster) error {
		return c.DeleteWith(goodVolume("disk"), api.DeleteOptions{UID: "u"})
	}, conflict, "the UID in the precondition (u) does not match"},
	{"API-058", "a delete of another version", func(c *volsim.Cluster) error {
		return c.DeleteWith(goodVolume("disk"), api.DeleteOptions{ResourceVersion: "1"})
	}, conflict, "the ResourceVersion in the precondition (1) does not match"},
	{"API-016", "no patch", patching(goodVolume("disk"), ""), badRequest, "error decoding patch"},
	{"API-016", "a patch of another version", patching(goodVolume("disk"), `{"metadata":{"resourceVersion":"1"}}`), conflict,
		"the object has been modified"},
	{"API-016", "a patch of the uid", patching(goodVolume("disk"), `{"metadata":{"uid":"u"}}`), invalid, "metadata.uid I"},
	{"API-016", "a patch that cannot be read", patching(goodVolume("disk"), `{"spec":7}`), invalid, "patch I"},
	{"API-020", "a patch of the name", patching(goodVolume("disk"), `{"metadata":{"name":"x"}}`), badRequest,
		"does not match the name on the URL (disk)"},
	{"API-080", "a patch without a quantity", patching(goodVolume("disk"), `{"spec":{"capacity":{"storage":"KB"}}}`), invalid, "patch I"},
	{"API-030.VAC", "a patch of a status where there is none", func(c *volsim.Cluster) error {
		return c.PatchStatus(goodAttributes("gold"), "{}")
	}, notFound, "the server could not find the requested resource"},
	{"WORK-021", "loading a set without a selector", func(c *volsim.Cluster) error {
		return c.Load(&appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Name: "a"}})
	}, invalid, "spec.selector R; spec.template.metadata.labels I"},
	{"WORK-021", "loading a set with a selector of others", func(c *volsim.Cluster) error {
		return c.Load(&appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Name: "a"}, Spec: appsv1.DaemonSetSpec{
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"a": "b"}}}})
	}, invalid, "spec.template.metadata.labels I"},
	{"RS-061", "loading a negative number", func(c *volsim.Cluster) error {
		return c.Load(&appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Name: "a"}, Spec: appsv1.ReplicaSetSpec{Replicas: new(int32(-1))}})
	}, invalid, "spec.replicas I; spec.selector R; spec.template.metadata.labels I"},
	{"API-032", "loading a bad name", func(c *volsim.Cluster) error { return c.Load(goodVolume("A")) }, invalid, "metadata.name I"},
	{"API-034", "loading a dot in a namespace", func(c *volsim.Cluster) error {
		return c.Load(&pvcType{ObjectMeta: metav1.ObjectMeta{Name: "a", Namespace: "a.b"}})
	}, invalid, "metadata.namespace I"},
	{"API-120", "applying a bad object", func(c *volsim.Cluster) error {
		return c.Apply([]byte("apiVersion: v1\nkind: PersistentVolume\nmetadata: {name: v}\nspec: {capacity: {storage: 1Gi}, nfs: {server: s, path: /}}\n"))
	}, invalid, "spec.accessModes R"},
	{"API-230", "applying a change that is not allowed", func(c *volsim.Cluster) error {
		return c.Apply([]byte("apiVersion: storage.k8s.io/v1\nkind: StorageClass\nmetadata: {name: stiff}\nprovisioner: other\nparameters: {a: b}\n"))
	}, invalid, "provisioner I"},
}
