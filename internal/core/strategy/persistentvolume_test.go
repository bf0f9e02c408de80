package strategy

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apiresource "k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volsim/volsim/internal/core/strategy/sample"
)

// withSource gives the volume another source.
func withSource(source volumeSource) func(*corePV) {
	return func(v *corePV) { v.Spec.PersistentVolumeSource = source }
}

// csi changes the CSI source.
func csi(change func(*corev1.CSIPersistentVolumeSource)) func(*corePV) {
	return func(v *corePV) { change(v.Spec.CSI) }
}

func near(a *corev1.VolumeNodeAffinity) func(*corePV) {
	return func(v *corePV) { v.Spec.NodeAffinity = a }
}

func withModes(modes ...corev1.PersistentVolumeAccessMode) func(*corePV) {
	return func(v *corePV) { v.Spec.AccessModes = modes }
}

const (
	termsPath      = "spec.nodeAffinity.required.nodeSelectorTerms"
	expressionPath = termsPath + "[0].matchExpressions[0]"
	fieldPath      = termsPath + "[0].matchFields[0]"
)

var volumeRows = []row[*corePV]{
	{"API-120", "no access mode", withModes(), "spec.accessModes R"},
	{"API-120", "unknown access mode", withModes("ReadWriteSometimes"), "spec.accessModes N"},
	{"API-120", "one pod and others", withModes(corev1.ReadWriteOncePod, corev1.ReadWriteOnce), "spec.accessModes F"},
	{"API-120", "one pod and an unknown one", withModes(corev1.ReadWriteOncePod, "x"), "spec.accessModes N"},
	{"API-120", "the same mode twice is fine", withModes(corev1.ReadWriteOncePod, corev1.ReadWriteOncePod), ""},
	{"API-121", "no capacity", func(v *corePV) { v.Spec.Capacity = nil }, "spec.capacity N; spec.capacity R"},
	{"API-121", "capacity of something else", func(v *corePV) { v.Spec.Capacity = corev1.ResourceList{"cpu": apiresource.MustParse("1")} },
		"spec.capacity N"},
	{"API-121", "capacity of two things", func(v *corePV) { v.Spec.Capacity["cpu"] = apiresource.MustParse("1") }, "spec.capacity N"},
	{"API-121", "no bytes", func(v *corePV) { v.Spec.Capacity = sample.StorageList("0") }, "spec.capacity[storage] I"},
	{"API-121", "negative", func(v *corePV) { v.Spec.Capacity = sample.StorageList("-1Gi") }, "spec.capacity[storage] I"},
	{"API-121", "all of several", func(v *corePV) {
		v.Spec.Capacity = corev1.ResourceList{"b": apiresource.MustParse("-1"), "a": apiresource.MustParse("0")}
	}, "spec.capacity N; spec.capacity[a] I; spec.capacity[b] I"},
	{"API-082", "what is finer than a thousandth is rounded up, so not nothing", func(v *corePV) { v.Spec.Capacity = sample.StorageList("100u") },
		""},
	{"API-122", "unknown policy", func(v *corePV) { v.Spec.PersistentVolumeReclaimPolicy = "Keep" }, "spec.persistentVolumeReclaimPolicy N"},
	{"API-122", "recycling is allowed", func(v *corePV) { v.Spec.PersistentVolumeReclaimPolicy = corev1.PersistentVolumeReclaimRecycle }, ""},
	{"API-122", "recycling the node's disk", func(v *corePV) {
		v.Spec.PersistentVolumeReclaimPolicy = corev1.PersistentVolumeReclaimRecycle
		v.Spec.PersistentVolumeSource = volumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/a/.//.."}}
	}, "spec.hostPath.path I; spec.persistentVolumeReclaimPolicy F"},
	{"API-123", "no source", withSource(volumeSource{}), "spec R"},
	{"API-123", "every further source", func(v *corePV) {
		v.Spec.NFS = &corev1.NFSVolumeSource{}
		v.Spec.HostPath = &corev1.HostPathVolumeSource{Path: "/data"}
	}, "spec.csi F; spec.nfs F"},
	{"API-124", "affinity for nothing", near(&corev1.VolumeNodeAffinity{}), "spec.nodeAffinity.required R"},
	{"API-124", "no terms", near(&corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{}}), termsPath + " R"},
	{"API-124", "an empty term is fine",
		near(&corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: make([]corev1.NodeSelectorTerm, 1)}}), ""},
	{"API-125", "In without values", near(affinity("zone", corev1.NodeSelectorOpIn)), expressionPath + ".values R"},
	{"API-125", "NotIn without values", near(affinity("zone", corev1.NodeSelectorOpNotIn)), expressionPath + ".values R"},
	{"API-125", "Exists with values", near(affinity("zone", corev1.NodeSelectorOpExists, "a")), expressionPath + ".values F"},
	{"API-125", "DoesNotExist with values", near(affinity("zone", corev1.NodeSelectorOpDoesNotExist, "a")), expressionPath + ".values F"},
	{"API-125", "Gt with two values", near(affinity("zone", corev1.NodeSelectorOpGt, "1", "2")), expressionPath + ".values R"},
	{"API-125", "Lt without a value", near(affinity("zone", corev1.NodeSelectorOpLt)), expressionPath + ".values R"},
	{"API-125", "unknown operator", near(affinity("zone", "Like", "a")), expressionPath + ".operator I"},
	{"API-125", "bad key", near(affinity("a/b/c", corev1.NodeSelectorOpExists)), expressionPath + ".key I"},
	{"API-125", "bad value", near(affinity("zone", corev1.NodeSelectorOpIn, "ok", "not ok")), expressionPath + ".values[1] I"},
	{"API-125", "good expression", near(affinity("topology.kubernetes.io/zone", corev1.NodeSelectorOpIn, "a", "")), ""},
	{"API-126", "two names", near(fieldAffinity("metadata.name", corev1.NodeSelectorOpIn, "a", "b")), fieldPath + ".values R"},
	{"API-126", "operator", near(fieldAffinity("metadata.name", corev1.NodeSelectorOpExists)), fieldPath + ".operator I"},
	{"API-126", "another field", near(fieldAffinity("spec.x", corev1.NodeSelectorOpIn, "Not Looked At")), fieldPath + ".key I"},
	{"API-126", "no node's name", near(fieldAffinity("metadata.name", corev1.NodeSelectorOpNotIn, "Node_1")), fieldPath + ".values[0] I"},
	{"API-126", "good field", near(fieldAffinity("metadata.name", corev1.NodeSelectorOpIn, "node-1")), ""},
	{"API-127", "no path, no affinity", withSource(volumeSource{Local: &corev1.LocalVolumeSource{}}),
		"spec.local.path R; spec.nodeAffinity R"},
	{"API-127", "a path that climbs", func(v *corePV) {
		near(affinity("zone", corev1.NodeSelectorOpExists))(v)
		withSource(volumeSource{Local: &corev1.LocalVolumeSource{Path: "/mnt/../disk"}})(v)
	}, "spec.local.path I"},
	{"API-128", "bad class", func(v *corePV) { v.Spec.StorageClassName = "Fast" }, "spec.storageClassName I"},
	{"API-128", "no class", func(v *corePV) { v.Spec.StorageClassName = "" }, ""},
	{"API-129", "unknown mode", func(v *corePV) { v.Spec.VolumeMode = new(corev1.PersistentVolumeMode("Tape")) }, "spec.volumeMode N"},
	{"API-130", "empty attributes", func(v *corePV) { v.Spec.VolumeAttributesClassName = new("") }, "spec.volumeAttributesClassName R"},
	{"API-130", "bad attributes", func(v *corePV) { v.Spec.VolumeAttributesClassName = new("Gold!") }, "spec.volumeAttributesClassName I"},
	{"API-130", "attributes of what is not CSI", func(v *corePV) {
		v.Spec.VolumeAttributesClassName = new("gold")
		withSource(volumeSource{NFS: &corev1.NFSVolumeSource{Server: "s", Path: "/"}})(v)
	}, "spec.csi R"},
	{"API-131", "no driver, no handle", csi(func(s *corev1.CSIPersistentVolumeSource) { s.Driver, s.VolumeHandle = "", "" }),
		"spec.csi.driver R; spec.csi.volumeHandle R"},
	{"API-131", "long driver", csi(func(s *corev1.CSIPersistentVolumeSource) { s.Driver = strings.Repeat("a", 64) }), "spec.csi.driver L"},
	{"API-131", "bad driver", csi(func(s *corev1.CSIPersistentVolumeSource) { s.Driver = "csi_example" }), "spec.csi.driver I"},
	{"API-131", "a driver in capitals is fine", csi(func(s *corev1.CSIPersistentVolumeSource) { s.Driver = "CSI.Example.com" }), ""},
	{"API-131", "secrets", csi(func(s *corev1.CSIPersistentVolumeSource) {
		s.ControllerPublishSecretRef = &corev1.SecretReference{}
		s.ControllerExpandSecretRef = &corev1.SecretReference{Name: "A", Namespace: "a.b"}
		s.NodePublishSecretRef = &corev1.SecretReference{Name: "a.b"}
		s.NodeExpandSecretRef = &corev1.SecretReference{Namespace: "a"}
		s.NodeStageSecretRef = &corev1.SecretReference{}
	}), "spec.csi.controllerExpandSecretRef.name I; spec.csi.controllerExpandSecretRef.namespace I; " +
		"spec.csi.controllerPublishSecretRef.name R; spec.csi.controllerPublishSecretRef.namespace R; " +
		"spec.csi.nodeExpandSecretRef.name R; spec.csi.nodePublishSecretRef.namespace R"},
	{"API-132", "any claim, any mount option", func(v *corePV) {
		v.Spec.ClaimRef = &corev1.ObjectReference{Name: "Not A Name"}
		v.Spec.MountOptions = []string{"", "hard"}
	}, ""},
	{"API-133", "mount options that the source ignores", func(v *corePV) {
		v.Annotations = map[string]string{corev1.MountOptionAnnotation: ""}
	}, "metadata.annotations.volume.beta.kubernetes.io/mount-options F"},
	{"API-133", "mount options of NFS", func(v *corePV) {
		v.Annotations = map[string]string{corev1.MountOptionAnnotation: "hard"}
		withSource(volumeSource{NFS: &corev1.NFSVolumeSource{Server: "s", Path: "/"}})(v)
	}, ""},
	{"API-134", "no path", withSource(volumeSource{HostPath: &corev1.HostPathVolumeSource{Type: new(corev1.HostPathType("x"))}}),
		"spec.hostPath.path R"},
	{"API-134", "a path that climbs to the unknown",
		withSource(volumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "..", Type: new(corev1.HostPathType("x"))}}),
		"spec.hostPath.path I; spec.hostPath.type N"},
	{"API-134", "any dots but two", withSource(volumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/a/.../..b"}}), ""},
	{"API-135", "nothing", withSource(volumeSource{NFS: &corev1.NFSVolumeSource{}}), "spec.nfs.path I; spec.nfs.path R; spec.nfs.server R"},
	{"API-135", "relative path", withSource(volumeSource{NFS: &corev1.NFSVolumeSource{Server: "s", Path: "a"}}), "spec.nfs.path I"},
	{"API-136", "flexVolume beside another", func(v *corePV) { v.Spec.FlexVolume = &corev1.FlexPersistentVolumeSource{Driver: "x/y"} },
		"spec.csi F"},
	{"API-136", "flexVolume after another", func(v *corePV) {
		withSource(volumeSource{NFS: &corev1.NFSVolumeSource{Server: "s", Path: "/"}, FlexVolume: &corev1.FlexPersistentVolumeSource{}})(v)
	}, "spec.flexVolume.driver R"},
	{"API-136", "local after another needs no affinity", withSource(volumeSource{
		NFS: &corev1.NFSVolumeSource{Server: "s", Path: "/"}, Local: &corev1.LocalVolumeSource{}, CephFS: &corev1.CephFSPersistentVolumeSource{},
	}), "spec.cephFS F; spec.local F"},
	{"API-137", "nothing", withSource(volumeSource{ISCSI: &corev1.ISCSIPersistentVolumeSource{Lun: 256, SessionCHAPAuth: true}}),
		"spec.iscsi.iqn R; spec.iscsi.lun I; spec.iscsi.secretRef R; spec.iscsi.targetPortal R"},
	{"API-137", "names and secret",
		withSource(volumeSource{ISCSI: &corev1.ISCSIPersistentVolumeSource{TargetPortal: "p", IQN: "iqn.2001.com:x",
			InitiatorName: new("qn"), SecretRef: &corev1.SecretReference{}}}),
		"spec.iscsi.initiatorname I; spec.iscsi.iqn I; spec.iscsi.secretRef.name R"},
	{"API-137", "long portal", withSource(volumeSource{ISCSI: &corev1.ISCSIPersistentVolumeSource{TargetPortal: strings.Repeat("p", 60),
		IQN: "eui.0123456789abcdef", InitiatorName: new("naa.0123456789abcdef0123456789abcdef")}}), "spec.iscsi.targetportal I"},
	{"API-137", "good", withSource(volumeSource{ISCSI: &corev1.ISCSIPersistentVolumeSource{TargetPortal: strings.Repeat("p", 59), Lun: 255,
		IQN: "iqn.2001-04.com.example:storage", InitiatorName: new("iqn.2001-04.com.example:node")}}), ""},
	{"API-138", "nothing", withSource(volumeSource{FC: &corev1.FCVolumeSource{}}), "spec.fc.targetWWNs R"},
	{"API-138", "both, without lun", withSource(volumeSource{FC: &corev1.FCVolumeSource{TargetWWNs: []string{"a"}, WWIDs: []string{"b"}}}),
		"spec.fc.lun R; spec.fc.targetWWNs I"},
	{"API-138", "lun", withSource(volumeSource{FC: &corev1.FCVolumeSource{TargetWWNs: []string{"a"}, Lun: new(int32(-1))}}), "spec.fc.lun I"},
	{"API-139", "GCE", withSource(volumeSource{GCEPersistentDisk: &corev1.GCEPersistentDiskVolumeSource{Partition: -1}}),
		"spec.persistentDisk.partition I; spec.persistentDisk.pdName R"},
	{"API-139", "EBS", withSource(volumeSource{AWSElasticBlockStore: &corev1.AWSElasticBlockStoreVolumeSource{Partition: 256}}),
		"spec.awsElasticBlockStore.partition I; spec.awsElasticBlockStore.volumeID R"},
	{"API-140", "rbd", withSource(volumeSource{RBD: &corev1.RBDPersistentVolumeSource{}}), "spec.rbd.image R; spec.rbd.monitors R"},
	{"API-140", "cephfs", withSource(volumeSource{CephFS: &corev1.CephFSPersistentVolumeSource{}}), "spec.cephfs.monitors R"},
	{"API-140", "glusterfs", withSource(volumeSource{Glusterfs: &corev1.GlusterfsPersistentVolumeSource{EndpointsNamespace: new("")}}),
		"spec.glusterfs.endpoints R; spec.glusterfs.endpointsNamespace I; spec.glusterfs.path R"},
	{"API-140", "cinder", withSource(volumeSource{Cinder: &corev1.CinderPersistentVolumeSource{SecretRef: &corev1.SecretReference{}}}),
		"spec.cinder.secretRef.name R; spec.cinder.secretRef.namespace R; spec.cinder.volumeID R"},
	{"API-140", "azureFile", withSource(volumeSource{AzureFile: &corev1.AzureFilePersistentVolumeSource{SecretNamespace: new("")}}),
		"spec.azureFile.secretName R; spec.azureFile.secretNamespace R; spec.azureFile.shareName R"},
	{"API-140", "azureDisk, kind Shared by default",
		withSource(volumeSource{AzureDisk: &corev1.AzureDiskVolumeSource{CachingMode: new(corev1.AzureDataDiskCachingMode("x"))}}),
		"spec.azureDisk.cachingMode N; spec.azureDisk.diskName R; spec.azureDisk.diskURI N; spec.azureDisk.diskURI R"},
	{"API-140", "managed azureDisk", withSource(volumeSource{AzureDisk: &corev1.AzureDiskVolumeSource{DiskName: "d", DataDiskURI: "https://x",
		Kind: new(corev1.AzureManagedDisk)}}), "spec.azureDisk.diskURI N"},
	{"API-140", "azureDisk of a kind unknown",
		withSource(volumeSource{AzureDisk: &corev1.AzureDiskVolumeSource{DiskName: "d", DataDiskURI: "https://x",
			Kind: new(corev1.AzureDataDiskKind("x"))}}), "spec.azureDisk.kind N"},
	{"API-140", "vsphere", withSource(volumeSource{VsphereVolume: &corev1.VsphereVirtualDiskVolumeSource{}}),
		"spec.vsphereVolume.volumePath R"},
	{"API-140", "photon", withSource(volumeSource{PhotonPersistentDisk: &corev1.PhotonPersistentDiskVolumeSource{}}),
		"spec.photonPersistentDisk.pdID R"},
	{"API-140", "portworx", withSource(volumeSource{PortworxVolume: &corev1.PortworxVolumeSource{}}), "spec.portworxVolume.volumeID R"},
	{"API-140", "scaleIO", withSource(volumeSource{ScaleIO: &corev1.ScaleIOPersistentVolumeSource{}}),
		"spec.scaleIO.gateway R; spec.scaleIO.system R; spec.scaleIO.volumeName R"},
	{"API-140", "storageos",
		withSource(volumeSource{StorageOS: &corev1.StorageOSPersistentVolumeSource{VolumeNamespace: "A", SecretRef: &corev1.ObjectReference{}}}),
		"spec.storageos.secretRef.name R; spec.storageos.secretRef.namespace R; spec.storageos.volumeName R; spec.storageos.volumeNamespace I"},
	{"API-140", "storageos with a name", withSource(volumeSource{StorageOS: &corev1.StorageOSPersistentVolumeSource{VolumeName: "a.b"}}),
		"spec.storageos.volumeName I"},
	{"API-140", "quobyte", withSource(volumeSource{Quobyte: &corev1.QuobyteVolumeSource{}}), "spec.quobyte.registry R; spec.quobyte.volume R"},
	{"API-140", "quobyte without port", withSource(volumeSource{Quobyte: &corev1.QuobyteVolumeSource{Registry: "a:1,b", Volume: "v"}}),
		"spec.quobyte.registry I"},
	{"API-140", "quobyte, long tenant",
		withSource(volumeSource{Quobyte: &corev1.QuobyteVolumeSource{Registry: "a", Volume: "v", Tenant: strings.Repeat("t", 65)}}),
		"spec.quobyte.tenant R"},
	{"API-140", "flexVolume",
		withSource(volumeSource{FlexVolume: &corev1.FlexPersistentVolumeSource{Options: map[string]string{"K8S.io/a": "",
			"kubernetes.io": "", "a": ""}}}),
		"spec.flexVolume.driver R; spec.flexVolume.options[K8S.io/a] I; spec.flexVolume.options[kubernetes.io] I"},
	{"API-140", "flocker", withSource(volumeSource{Flocker: &corev1.FlockerVolumeSource{}}), "spec.flocker R"},
	{"API-140", "flocker twice", withSource(volumeSource{Flocker: &corev1.FlockerVolumeSource{DatasetName: "a/b", DatasetUUID: "u"}}),
		"spec.flocker I; spec.flocker.datasetName I"},
}

func TestVolumeCreate(t *testing.T) {
	checkCreates(t, PersistentVolume, sample.Volume, append(volumeRows, row[*corePV]{"API-120", "good", func(*corePV) {}, ""}))
}

var volumeChanges = []change[*corePV]{
	{rule: "API-211", name: "another handle", after: csi(func(s *corev1.CSIPersistentVolumeSource) { s.VolumeHandle = "h-2" }),
		want: "spec.persistentvolumesource F"},
	{rule: "API-211", name: "another kind of source", after: withSource(volumeSource{NFS: &corev1.NFSVolumeSource{Server: "s", Path: "/"}}),
		want: "spec.persistentvolumesource F"},
	{rule: "API-211", name: "empty attributes for none are no change",
		after: csi(func(s *corev1.CSIPersistentVolumeSource) { s.VolumeAttributes = map[string]string{} })},
	{rule: "API-211", name: "the secret of expansion, once", after: csi(func(s *corev1.CSIPersistentVolumeSource) {
		s.ControllerExpandSecretRef = &corev1.SecretReference{Name: "a", Namespace: "b"}
	})},
	{rule: "API-211", name: "with another change", after: csi(func(s *corev1.CSIPersistentVolumeSource) {
		s.ControllerExpandSecretRef, s.FSType = &corev1.SecretReference{Name: "a", Namespace: "b"}, "xfs"
	}), want: "spec.persistentvolumesource F"},
	{rule: "API-211", name: "the secret of expansion, changed", before: csi(func(s *corev1.CSIPersistentVolumeSource) {
		s.ControllerExpandSecretRef = &corev1.SecretReference{Name: "a", Namespace: "b"}
	}), after: csi(func(s *corev1.CSIPersistentVolumeSource) { s.ControllerExpandSecretRef = nil }), want: "spec.persistentvolumesource F"},
	{rule: "API-212", name: "another mode", after: func(v *corePV) { v.Spec.VolumeMode = new(corev1.PersistentVolumeBlock) },
		want: "volumeMode I"},
	{rule: "API-101", name: "a missing mode is Filesystem", before: func(v *corePV) { v.Spec.VolumeMode = new(corev1.PersistentVolumeBlock) },
		after: func(v *corePV) { v.Spec.VolumeMode = nil }, want: "volumeMode I"},
	{rule: "API-213", name: "affinity added", after: near(affinity("zone", corev1.NodeSelectorOpExists))},
	{rule: "API-213", name: "affinity changed", before: near(affinity("zone", corev1.NodeSelectorOpExists)),
		after: near(affinity("rack", corev1.NodeSelectorOpExists)), want: "nodeAffinity I"},
	{rule: "API-213", name: "affinity cleared", before: near(affinity("zone", corev1.NodeSelectorOpExists)), after: near(nil),
		want: "nodeAffinity I"},
	{rule: "API-213", name: "beta to GA", before: near(affinity("failure-domain.beta.kubernetes.io/zone", corev1.NodeSelectorOpIn, "a")),
		after: near(affinity("topology.kubernetes.io/zone", corev1.NodeSelectorOpIn, "a"))},
	{rule: "API-213", name: "beta to GA of the architecture", before: near(affinity("beta.kubernetes.io/arch", corev1.NodeSelectorOpIn, "a")),
		after: near(affinity("kubernetes.io/arch", corev1.NodeSelectorOpIn, "a"))},
	{rule: "API-213", name: "beta to another GA",
		before: near(affinity("failure-domain.beta.kubernetes.io/zone", corev1.NodeSelectorOpIn, "a")),
		after:  near(affinity("topology.kubernetes.io/region", corev1.NodeSelectorOpIn, "a")), want: "nodeAffinity I"},
	{rule: "API-213", name: "beta to GA with another value", before: near(affinity("beta.kubernetes.io/os", corev1.NodeSelectorOpIn, "a")),
		after: near(affinity("kubernetes.io/os", corev1.NodeSelectorOpIn, "b")), want: "nodeAffinity I"},
	{rule: "API-213", name: "GA to beta", before: near(affinity("node.kubernetes.io/instance-type", corev1.NodeSelectorOpIn, "a")),
		after: near(affinity("beta.kubernetes.io/instance-type", corev1.NodeSelectorOpIn, "a")), want: "nodeAffinity I"},
	{rule: "API-214", name: "attributes added", after: func(v *corePV) { v.Spec.VolumeAttributesClassName = new("gold") }},
	{rule: "API-214", name: "attributes changed", before: func(v *corePV) { v.Spec.VolumeAttributesClassName = new("gold") },
		after: func(v *corePV) { v.Spec.VolumeAttributesClassName = new("silver") }},
	{rule: "API-214", name: "attributes given up", before: func(v *corePV) { v.Spec.VolumeAttributesClassName = new("gold") },
		after: func(v *corePV) { v.Spec.VolumeAttributesClassName = nil }, want: "spec.volumeAttributesClassName F"},
	{rule: "API-215", name: "what may change", before: func(v *corePV) { v.Spec.ClaimRef = &corev1.ObjectReference{Name: "a"} },
		after: func(v *corePV) {
			v.Spec.ClaimRef, v.Spec.Capacity, v.Spec.StorageClassName, v.Spec.MountOptions = nil, sample.StorageList("1Mi"), "slow", []string{"ro"}
			v.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteMany}
			v.Spec.PersistentVolumeReclaimPolicy = corev1.PersistentVolumeReclaimDelete
		}},
	{rule: "API-215", name: "what is new is validated", after: func(v *corePV) { v.Spec.StorageClassName = "Slow" },
		want: "spec.storageClassName I"},
	{rule: "API-122", name: "what was stored unvalidated is too", before: func(v *corePV) { v.Spec.PersistentVolumeReclaimPolicy = "Keep" },
		after: func(v *corePV) { v.Labels = map[string]string{"a": "b"} }, want: "spec.persistentVolumeReclaimPolicy N"},
	{rule: "API-125", name: "values that were stored stay", before: near(affinity("zone", corev1.NodeSelectorOpIn, "not ok")),
		after: func(v *corePV) { v.Labels = map[string]string{"a": "b"} }},
	{rule: "API-125", name: "operators that were stored do not", before: near(affinity("zone", "Like", "not ok")),
		after: func(v *corePV) { v.Labels = map[string]string{"a": "b"} }, want: expressionPath + ".operator I"},
	{rule: "API-133", name: "mount options added",
		after: func(v *corePV) { v.Annotations = map[string]string{corev1.MountOptionAnnotation: "ro"} },
		want:  "metadata.annotations.volume.beta.kubernetes.io/mount-options F"},
	{rule: "API-210", name: "the status of the request means nothing", after: func(v *corePV) { v.Status.Phase = "Odd" }},
}

func TestVolumeUpdate(t *testing.T) {
	checkUpdates(t, PersistentVolume, sample.Volume, volumeChanges, false)
}

func TestVolumeDefaults(t *testing.T) {
	type sources = volumeSource
	for _, c := range []struct {
		rule, name string
		got        sources
		want       sources
	}{
		{"API-091", "hostPath", sources{HostPath: &corev1.HostPathVolumeSource{Path: "/a"}},
			sources{HostPath: &corev1.HostPathVolumeSource{Path: "/a", Type: new(corev1.HostPathUnset)}}},
		{"API-091", "rbd", sources{RBD: &corev1.RBDPersistentVolumeSource{RadosUser: "me"}},
			sources{RBD: &corev1.RBDPersistentVolumeSource{RBDPool: "rbd", RadosUser: "me", Keyring: "/etc/ceph/keyring"}}},
		{"API-091", "rbd user", sources{RBD: &corev1.RBDPersistentVolumeSource{RBDPool: "p", Keyring: "k"}},
			sources{RBD: &corev1.RBDPersistentVolumeSource{RBDPool: "p", RadosUser: "admin", Keyring: "k"}}},
		{"API-091", "iscsi", sources{ISCSI: &corev1.ISCSIPersistentVolumeSource{}},
			sources{ISCSI: &corev1.ISCSIPersistentVolumeSource{ISCSIInterface: "default"}}},
		{"API-091", "azureDisk", sources{AzureDisk: &corev1.AzureDiskVolumeSource{ReadOnly: new(true)}},
			sources{AzureDisk: &corev1.AzureDiskVolumeSource{CachingMode: new(corev1.AzureDataDiskCachingReadWrite), FSType: new("ext4"),
				ReadOnly: new(true), Kind: new(corev1.AzureSharedBlobDisk)}}},
		{"API-091", "scaleIO", sources{ScaleIO: &corev1.ScaleIOPersistentVolumeSource{}},
			sources{ScaleIO: &corev1.ScaleIOPersistentVolumeSource{StorageMode: "ThinProvisioned", FSType: "xfs"}}},
		{"API-091", "CSI and NFS", sources{CSI: &corev1.CSIPersistentVolumeSource{}, NFS: &corev1.NFSVolumeSource{}},
			sources{CSI: &corev1.CSIPersistentVolumeSource{}, NFS: &corev1.NFSVolumeSource{}}},
	} {
		defaultSource(&c.got)
		if diff := cmp.Diff(c.want, c.got); diff != "" {
			t.Errorf("%s %s: -want +got\n%s", c.rule, c.name, diff)
		}
	}

	volume := &corePV{Spec: corev1.PersistentVolumeSpec{Capacity: sample.StorageList("100u")}}
	volume.Status.LastPhaseTransitionTime = &metav1.Time{Time: sample.Noon}
	defaultVolume(volume)
	want := &corePV{Spec: corev1.PersistentVolumeSpec{
		Capacity:                      sample.StorageList("1m"), // API-082
		VolumeMode:                    new(corev1.PersistentVolumeFilesystem),
		PersistentVolumeReclaimPolicy: corev1.PersistentVolumeReclaimRetain,
	}, Status: corev1.PersistentVolumeStatus{
		Phase:                   corev1.VolumePending,
		LastPhaseTransitionTime: &metav1.Time{Time: sample.Noon.Truncate(time.Second)}, // API-006
	}}
	if diff := cmp.Diff(want, volume); diff != "" {
		t.Errorf("API-090: defaults: -want +got\n%s", diff)
	}
}

func TestVolumeStatus(t *testing.T) {
	now := sample.StoredNoon
	// API-105: a new volume gets its own status.
	volume := sample.Volume()
	volume.Status = corev1.PersistentVolumeStatus{Phase: corev1.VolumeBound, Message: "hello"}
	prepareVolume(volume, now)
	if want := (corev1.PersistentVolumeStatus{Phase: corev1.VolumePending, LastPhaseTransitionTime: &now}); !cmp.Equal(want, volume.Status) {
		t.Errorf("API-105: status = %v, want %v", volume.Status, want)
	}

	earlier, other := metav1.NewTime(sample.Noon.Add(-time.Hour)), metav1.NewTime(sample.Noon.Add(-time.Minute))
	for _, c := range []struct {
		rule, name string
		phase      corev1.PersistentVolumePhase
		sent, want *metav1.Time
	}{
		{"API-241", "same phase, no time", corev1.VolumePending, nil, &earlier},
		{"API-241", "same phase, another time", corev1.VolumePending, &other, &other},
		{"API-241", "new phase, no time", corev1.VolumeBound, nil, &now},
		{"API-241", "new phase, old time", corev1.VolumeBound, &earlier, &now},
		{"API-241", "new phase, another time", corev1.VolumeBound, &other, &other},
		{"API-240", "an unknown phase", "Odd", nil, &now},
	} {
		old, obj := sample.Volume(), sample.Volume()
		old.Status = corev1.PersistentVolumeStatus{Phase: corev1.VolumePending, LastPhaseTransitionTime: &earlier}
		obj.Status = corev1.PersistentVolumeStatus{Phase: c.phase, LastPhaseTransitionTime: c.sent}
		obj.Spec.StorageClassName = "Ignored"
		obj.Labels = map[string]string{"kept": "yes"}
		PersistentVolume.PrepareStatus(obj, old, now)
		if got := obj.Status.LastPhaseTransitionTime; !got.Equal(c.want) || obj.Status.Phase != c.phase {
			t.Errorf("%s %s: phase %s since %v, want %s since %v", c.rule, c.name, obj.Status.Phase, got, c.phase, c.want)
		}
		if !cmp.Equal(obj.Spec, old.Spec) || obj.Labels["kept"] != "yes" {
			t.Errorf("API-240 %s: spec %v, labels %v; want the stored spec and the labels sent", c.name, obj.Spec, obj.Labels)
		}
		if PersistentVolume.ValidateStatus != nil {
			t.Errorf("API-240: a status is validated, want anything to go")
		}
	}
}
