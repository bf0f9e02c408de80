package validation

import (
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volsim/volsim/api"
)

func amount(text string) resource.Quantity { return resource.MustParse(text) }

func storageOf(text string) corev1.ResourceList {
	return corev1.ResourceList{corev1.ResourceStorage: amount(text)}
}

func meta(namespace, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Namespace: namespace, Name: name, Labels: map[string]string{"a": "b"}, Annotations: map[string]string{"c": "d"},
		Finalizers:      []string{"example.com/x"},
		OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "A", Name: "a", UID: "u", Controller: new(true)}},
	}
}

func nodeSelector() *corev1.NodeSelector {
	return &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
		MatchExpressions: []corev1.NodeSelectorRequirement{{Key: "a", Operator: corev1.NodeSelectorOpIn, Values: []string{"b"}}},
		MatchFields:      []corev1.NodeSelectorRequirement{{Key: "metadata.name", Operator: corev1.NodeSelectorOpIn, Values: []string{"n1"}}},
	}}}
}

// volumes returns one volume of each source.
func volumes() []api.Object {
	secret := &corev1.SecretReference{Name: "s", Namespace: "default"}
	var all []api.Object
	for _, source := range []corev1.PersistentVolumeSource{
		{HostPath: &corev1.HostPathVolumeSource{Path: "/tmp/a", Type: new(corev1.HostPathDirectory)}},
		{CSI: &corev1.CSIPersistentVolumeSource{Driver: "csi.example.com", VolumeHandle: "h", FSType: "ext4",
			VolumeAttributes:           map[string]string{"a": "b"},
			ControllerPublishSecretRef: secret, NodeStageSecretRef: secret.DeepCopy(), NodePublishSecretRef: secret.DeepCopy(),
			ControllerExpandSecretRef: secret.DeepCopy(), NodeExpandSecretRef: secret.DeepCopy()}},
		{NFS: &corev1.NFSVolumeSource{Server: "s", Path: "/p"}},
		{Local: &corev1.LocalVolumeSource{Path: "/mnt/a", FSType: new("ext4")}},
		{ISCSI: &corev1.ISCSIPersistentVolumeSource{TargetPortal: "t", IQN: "iqn.2001-04.com.example:a", Lun: 1, Portals: []string{"p"},
			SecretRef: secret.DeepCopy(), InitiatorName: new("iqn.2001-04.com.example:a")}},
		{FC: &corev1.FCVolumeSource{TargetWWNs: []string{"w"}, Lun: new(int32(1))}},
		{AWSElasticBlockStore: &corev1.AWSElasticBlockStoreVolumeSource{VolumeID: "v", Partition: 1}},
		{GCEPersistentDisk: &corev1.GCEPersistentDiskVolumeSource{PDName: "p"}},
		{AzureDisk: &corev1.AzureDiskVolumeSource{DiskName: "d", DataDiskURI: "https://x"}},
		{AzureFile: &corev1.AzureFilePersistentVolumeSource{SecretName: "s", ShareName: "s", SecretNamespace: new("default")}},
		{Cinder: &corev1.CinderPersistentVolumeSource{VolumeID: "v", SecretRef: secret.DeepCopy()}},
		{CephFS: &corev1.CephFSPersistentVolumeSource{Monitors: []string{"m"}, SecretRef: secret.DeepCopy()}},
		{RBD: &corev1.RBDPersistentVolumeSource{CephMonitors: []string{"m"}, RBDImage: "i", SecretRef: secret.DeepCopy()}},
		{Glusterfs: &corev1.GlusterfsPersistentVolumeSource{EndpointsName: "e", Path: "p", EndpointsNamespace: new("default")}},
		{FlexVolume: &corev1.FlexPersistentVolumeSource{Driver: "d", SecretRef: secret.DeepCopy(), Options: map[string]string{"a": "b"}}},
		{Flocker: &corev1.FlockerVolumeSource{DatasetName: "d"}},
		{Quobyte: &corev1.QuobyteVolumeSource{Registry: "h:1", Volume: "v"}},
		{VsphereVolume: &corev1.VsphereVirtualDiskVolumeSource{VolumePath: "v"}},
		{PhotonPersistentDisk: &corev1.PhotonPersistentDiskVolumeSource{PdID: "p"}},
		{PortworxVolume: &corev1.PortworxVolumeSource{VolumeID: "v"}},
		{StorageOS: &corev1.StorageOSPersistentVolumeSource{VolumeName: "v", VolumeNamespace: "default",
			SecretRef: &corev1.ObjectReference{Name: "s", Namespace: "default"}}},
		{ScaleIO: &corev1.ScaleIOPersistentVolumeSource{Gateway: "g", System: "s", VolumeName: "v", SecretRef: secret.DeepCopy()}},
	} {
		pv := &corev1.PersistentVolume{ObjectMeta: meta("", "pv"), Spec: corev1.PersistentVolumeSpec{
			Capacity: storageOf("5Gi"), PersistentVolumeSource: source, AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			ClaimRef:                      &corev1.ObjectReference{Kind: "PersistentVolumeClaim", Namespace: "default", Name: "c", UID: "u"},
			PersistentVolumeReclaimPolicy: corev1.PersistentVolumeReclaimRetain, StorageClassName: "fast", MountOptions: []string{"ro"},
			VolumeMode: new(corev1.PersistentVolumeFilesystem), NodeAffinity: &corev1.VolumeNodeAffinity{Required: nodeSelector()},
		}}
		if source.CSI != nil {
			pv.Spec.VolumeAttributesClassName = new("gold")
		}
		pv.Status.Phase = corev1.VolumeBound
		all = append(all, pv)
	}
	return all
}

// claimsAcross are claims whose sources have a namespace.
func claimsAcross() []api.Object {
	var list []api.Object
	for _, ref := range []corev1.TypedObjectReference{
		{Kind: "PersistentVolumeClaim", Name: "other", Namespace: new("a")},
		{APIGroup: new("snapshot.storage.k8s.io"), Kind: "VolumeSnapshot", Name: "s", Namespace: new("default")},
		{APIGroup: new("example.com"), Kind: "Populator", Name: "p", Namespace: new("a")},
		{APIGroup: new(""), Kind: "PersistentVolumeClaim", Name: "other", Namespace: new("")},
	} {
		claim := claims()[0].(*corev1.PersistentVolumeClaim)
		claim.Spec.DataSourceRef = &ref
		list = append(list, claim)
	}
	return list
}

func claims() []api.Object {
	base := func() *corev1.PersistentVolumeClaim {
		return &corev1.PersistentVolumeClaim{ObjectMeta: meta("default", "c"), Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources:   corev1.VolumeResourceRequirements{Requests: storageOf("1Gi")}, StorageClassName: new("fast"),
			VolumeMode: new(corev1.PersistentVolumeFilesystem),
		}}
	}
	selective := base()
	selective.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"a": "b"},
		MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "a", Operator: metav1.LabelSelectorOpIn, Values: []string{"b"}}}}
	selective.Spec.VolumeName = "pv"
	cloned := base()
	cloned.Spec.DataSource = &corev1.TypedLocalObjectReference{Kind: "PersistentVolumeClaim", Name: "other"}
	cloned.Spec.DataSourceRef = &corev1.TypedObjectReference{Kind: "PersistentVolumeClaim", Name: "other"}
	populated := base()
	populated.Spec.DataSourceRef = &corev1.TypedObjectReference{APIGroup: new("example.com"), Kind: "Populator", Name: "p"}
	bound := base()
	bound.Spec.VolumeName = "pv"
	bound.Spec.VolumeAttributesClassName = new("gold")
	bound.Status = corev1.PersistentVolumeClaimStatus{
		Phase: corev1.ClaimBound, AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}, Capacity: storageOf("1Gi"),
		AllocatedResources:               storageOf("2Gi"),
		AllocatedResourceStatuses:        map[corev1.ResourceName]corev1.ClaimResourceStatus{corev1.ResourceStorage: corev1.PersistentVolumeClaimControllerResizeInProgress},
		CurrentVolumeAttributesClassName: new("gold"),
		ModifyVolumeStatus: &corev1.ModifyVolumeStatus{TargetVolumeAttributesClassName: "gold",
			Status: corev1.PersistentVolumeClaimModifyVolumeInProgress},
		Conditions: []corev1.PersistentVolumeClaimCondition{{Type: corev1.PersistentVolumeClaimResizing, Status: corev1.ConditionTrue}},
	}
	return []api.Object{base(), selective, cloned, populated, bound, bound.DeepCopy()}
}

func classes() []api.Object {
	return []api.Object{&storagev1.StorageClass{
		ObjectMeta: meta("", "fast"), Provisioner: "csi.example.com", Parameters: map[string]string{"a": "b"},
		ReclaimPolicy: new(corev1.PersistentVolumeReclaimDelete),
		MountOptions:  []string{"ro"}, AllowVolumeExpansion: new(true), VolumeBindingMode: new(storagev1.VolumeBindingImmediate),
		AllowedTopologies: []corev1.TopologySelectorTerm{{MatchLabelExpressions: []corev1.TopologySelectorLabelRequirement{{Key: "a",
			Values: []string{"b", "c"}}, {Key: "b", Values: []string{"b"}}}},
			{MatchLabelExpressions: []corev1.TopologySelectorLabelRequirement{{Key: "a", Values: []string{"d"}}}}},
	}}
}

func attributesClasses() []api.Object {
	return []api.Object{&storagev1.VolumeAttributesClass{ObjectMeta: meta("", "gold"), DriverName: "csi.example.com",
		Parameters: map[string]string{"iops": "100"}}}
}

func attachments() []api.Object {
	one := &storagev1.VolumeAttachment{ObjectMeta: meta("", "va"), Spec: storagev1.VolumeAttachmentSpec{
		Attacher: "csi.example.com", NodeName: "n1", Source: storagev1.VolumeAttachmentSource{PersistentVolumeName: new("pv")},
	}, Status: storagev1.VolumeAttachmentStatus{
		Attached: true, AttachmentMetadata: map[string]string{"a": "b"},
		AttachError: &storagev1.VolumeError{Message: "m", ErrorCode: new(int32(8))}, DetachError: &storagev1.VolumeError{Message: "m"},
	}}
	inline := one.DeepCopy()
	inline.Spec.Source = storagev1.VolumeAttachmentSource{InlineVolumeSpec: &volumes()[1].(*corev1.PersistentVolume).Spec}
	return []api.Object{one, inline}
}

func drivers() []api.Object {
	return []api.Object{&storagev1.CSIDriver{ObjectMeta: meta("", "csi.example.com"), Spec: storagev1.CSIDriverSpec{
		AttachRequired: new(true), PodInfoOnMount: new(false), StorageCapacity: new(true), RequiresRepublish: new(true), SELinuxMount: new(false),
		FSGroupPolicy:                      new(storagev1.FileFSGroupPolicy),
		VolumeLifecycleModes:               []storagev1.VolumeLifecycleMode{storagev1.VolumeLifecyclePersistent},
		NodeAllocatableUpdatePeriodSeconds: new(int64(30)),
		TokenRequests:                      []storagev1.TokenRequest{{Audience: "a", ExpirationSeconds: new(int64(600))}},
	}}}
}

func csiNodes() []api.Object {
	return []api.Object{&storagev1.CSINode{ObjectMeta: meta("", "n1"), Spec: storagev1.CSINodeSpec{Drivers: []storagev1.CSINodeDriver{
		{Name: "a", NodeID: "b", TopologyKeys: []string{"a"}, Allocatable: &storagev1.VolumeNodeResources{Count: new(int32(1))}},
		{Name: "c", NodeID: "b"},
	}}}}
}

func capacities() []api.Object {
	return []api.Object{&storagev1.CSIStorageCapacity{
		ObjectMeta: meta("default", "x"), StorageClassName: "fast", Capacity: new(amount("1Gi")), MaximumVolumeSize: new(amount("1Gi")),
		NodeTopology: &metav1.LabelSelector{MatchLabels: map[string]string{"a": "b"},
			MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "a", Operator: metav1.LabelSelectorOpIn, Values: []string{"b"}}}},
	}}
}
