package intree

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	gce = "pd.csi.storage.gke.io"
	ebs = "ebs.csi.aws.com"
)

func in(key string, values ...string) corev1.NodeSelectorRequirement {
	return corev1.NodeSelectorRequirement{Key: key, Operator: corev1.NodeSelectorOpIn, Values: values}
}

func volume(source corev1.PersistentVolumeSource, labels map[string]string, affinity ...corev1.NodeSelectorRequirement) *corev1.PersistentVolume {
	pv := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "pv", Labels: labels}}
	pv.Spec.PersistentVolumeSource = source
	if affinity != nil {
		pv.Spec.NodeAffinity = &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{
			NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchExpressions: affinity}}}}
	}
	return pv
}

func requirementsOf(pv *corev1.PersistentVolume) (all []corev1.NodeSelectorRequirement) {
	requirements(pv, func(r *corev1.NodeSelectorRequirement) { all = append(all, *r) })
	return all
}

func TestVolume(t *testing.T) {
	disk := func(name string) corev1.PersistentVolumeSource {
		return corev1.PersistentVolumeSource{GCEPersistentDisk: &corev1.GCEPersistentDiskVolumeSource{PDName: name}}
	}
	aws := func(id string) corev1.PersistentVolumeSource {
		return corev1.PersistentVolumeSource{AWSElasticBlockStore: &corev1.AWSElasticBlockStoreVolumeSource{VolumeID: id, Partition: 2}}
	}
	share := corev1.PersistentVolumeSource{AzureFile: &corev1.AzureFilePersistentVolumeSource{SecretName: "azure-storage-account-acc-secret",
		ShareName: "s"}}
	dedicated := corev1.AzureDedicatedBlobDisk
	for _, tc := range []struct {
		rule, name string
		pv         *corev1.PersistentVolume
		driver     string
		handle     string
		attributes map[string]string
		affinity   []corev1.NodeSelectorRequirement
		err        string
	}{
		{"MIG-003", "an AWS volume", volume(aws("vol-1"), nil), ebs, "vol-1", map[string]string{"partition": "2"}, nil, ""},
		{"MIG-003", "a URL", volume(aws("aws://us-east-1a/vol-1"), nil), ebs, "vol-1", map[string]string{"partition": "2"}, nil, ""},
		{"MIG-003", "another URL", volume(aws("aws://us-east-1a/x"), nil), "", "", nil, nil,
			"failed to translate Kubernetes ID to EBS Volume ID Invalid format for AWS volume (aws://us-east-1a/x)"},
		{"MIG-004", "a disk of a zone", volume(disk("d"), map[string]string{corev1.LabelTopologyZone: "us-east1-b"}), gce,
			"projects/UNSPECIFIED/zones/us-east1-b/disks/d", map[string]string{"partition": ""},
			[]corev1.NodeSelectorRequirement{in("topology.gke.io/zone", "us-east1-b")}, ""},
		{"MIG-004", "a disk of a region", volume(disk("d"), map[string]string{corev1.LabelTopologyZone: "us-east1-c__us-east1-b"}), gce,
			"projects/UNSPECIFIED/regions/us-east1/disks/d", map[string]string{"partition": ""},
			[]corev1.NodeSelectorRequirement{in("topology.gke.io/zone", "us-east1-b", "us-east1-c")}, ""},
		{"MIG-004", "a disk somewhere", volume(disk("d"), nil), gce, "projects/UNSPECIFIED/zones/UNSPECIFIED/disks/d",
			map[string]string{"partition": ""}, nil, ""},
		{"MIG-005", "an unmanaged disk", volume(corev1.PersistentVolumeSource{AzureDisk: &corev1.AzureDiskVolumeSource{Kind: &dedicated}}, nil),
			"", "", nil, nil, "kind(Dedicated) is not supported in csi migration"},
		{"MIG-006", "a share without a namespace", volume(share, nil), "", "", nil, nil,
			"could not find a secret namespace in PersistentVolumeSource or ClaimRef"},
		{"MIG-010", "affinity counts more than labels", volume(aws("vol-1"), map[string]string{corev1.LabelTopologyZone: "b"},
			in(corev1.LabelFailureDomainBetaZone, "a"), in(corev1.LabelFailureDomainBetaRegion, "r")), ebs, "vol-1",
			map[string]string{"partition": "2"},
			[]corev1.NodeSelectorRequirement{in("topology.ebs.csi.aws.com/zone", "a"), in(corev1.LabelTopologyRegion, "r")}, ""},
		{"MIG-010", "vSphere", volume(corev1.PersistentVolumeSource{VsphereVolume: &corev1.VsphereVirtualDiskVolumeSource{VolumePath: "p",
			StoragePolicyName: "gold"}}, map[string]string{corev1.LabelTopologyZone: "z", corev1.LabelTopologyRegion: "r"}),
			"csi.vsphere.vmware.com", "p", map[string]string{"storagepolicyname": "gold"}, []corev1.NodeSelectorRequirement{
				in("topology.csi.vmware.com/zone", "z"), in("topology.csi.vmware.com/region", "r")}, ""},
	} {
		got, err := Volume(tc.pv)
		if err != nil {
			if err.Error() != tc.err {
				t.Errorf("%s: Volume(%s) failed with %q, want %q", tc.rule, tc.name, err, tc.err)
			}
			continue
		}
		csi := got.Spec.CSI
		if csi == nil || tc.err != "" {
			t.Errorf("%s: Volume(%s) = %v, want error %q", tc.rule, tc.name, csi, tc.err)
			continue
		}
		diff := cmp.Diff([]any{tc.driver, tc.handle, tc.attributes, tc.affinity},
			[]any{csi.Driver, csi.VolumeHandle, csi.VolumeAttributes, requirementsOf(got)})
		if diff != "" || tc.pv.Spec.CSI != nil {
			t.Errorf("%s: Volume(%s) (-want +got):\n%s", tc.rule, tc.name, diff)
		}
	}
	modes := gceModes([]corev1.PersistentVolumeAccessMode{corev1.ReadWriteMany})
	if diff := cmp.Diff([]corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}, modes); diff != "" {
		t.Errorf("MIG-004: modes (-want +got):\n%s", diff)
	}
}

func TestInPod(t *testing.T) {
	for _, tc := range []struct {
		rule         string
		source       corev1.VolumeSource
		name, handle string
		mode         corev1.PersistentVolumeAccessMode
	}{
		{"MIG-002", corev1.VolumeSource{GCEPersistentDisk: &corev1.GCEPersistentDiskVolumeSource{PDName: "d", ReadOnly: true}}, gce + "-d",
			"projects/UNSPECIFIED/zones/UNSPECIFIED/disks/d", corev1.ReadOnlyMany},
		{"MIG-002", corev1.VolumeSource{AWSElasticBlockStore: &corev1.AWSElasticBlockStoreVolumeSource{VolumeID: "vol-1", ReadOnly: true}},
			ebs + "-vol-1", "vol-1", corev1.ReadWriteOnce},
		{"MIG-006", corev1.VolumeSource{AzureFile: &corev1.AzureFileVolumeSource{SecretName: "s", ShareName: "x"}}, "#s#x#data#shop",
			"#s#x#data#shop", corev1.ReadWriteMany},
		{"MIG-007", corev1.VolumeSource{VsphereVolume: &corev1.VsphereVirtualDiskVolumeSource{VolumePath: "p"}}, "csi.vsphere.vmware.com-p", "p",
			corev1.ReadWriteOnce},
	} {
		pv, err := InPod(&corev1.Volume{Name: "data", VolumeSource: tc.source}, "shop")
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]any{tc.name, tc.handle, []corev1.PersistentVolumeAccessMode{tc.mode}},
			[]any{pv.Name, pv.Spec.CSI.VolumeHandle, pv.Spec.AccessModes}); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tc.rule, diff)
		}
	}
	if pv, err := InPod(&corev1.Volume{Name: "data"}, "shop"); pv != nil || err != nil {
		t.Errorf("MIG-002: InPod(nothing) = %v, %v, want none", pv, err)
	}
}

func TestClass(t *testing.T) {
	allowed := func(key string, values ...string) []corev1.TopologySelectorTerm {
		return []corev1.TopologySelectorTerm{{MatchLabelExpressions: []corev1.TopologySelectorLabelRequirement{{Key: key, Values: values}}}}
	}
	for _, tc := range []struct {
		rule, plugin string
		parameters   map[string]string
		allowed      []corev1.TopologySelectorTerm
		want         map[string]string
		topologies   []corev1.TopologySelectorTerm
		err          string
	}{
		{"MIG-020", "kubernetes.io/aws-ebs", map[string]string{"fsType": "xfs", "iopsPerGB": "10", "type": "io1"}, nil,
			map[string]string{"csi.storage.k8s.io/fstype": "xfs", "iopsPerGB": "10", "allowautoiopspergbincrease": "true", "type": "io1"}, nil, ""},
		{"MIG-021", "kubernetes.io/gce-pd", map[string]string{"zones": "a,b"}, nil, map[string]string{},
			allowed("topology.gke.io/zone", "a", "b"), ""},
		{"MIG-021", "kubernetes.io/gce-pd", map[string]string{"zone": "a"}, allowed(corev1.LabelTopologyZone, "a"), nil, nil,
			"cannot simultaneously set allowed topologies and zone/zones parameters"},
		{"MIG-021", "kubernetes.io/azure-disk", map[string]string{"fsType": "xfs"}, allowed(corev1.LabelTopologyZone, "0", "westus-1"),
			map[string]string{"fsType": "xfs"}, allowed("topology.disk.csi.azure.com/zone", "", "westus-1"), ""},
		{"MIG-020", "kubernetes.io/vsphere-volume", map[string]string{"DiskFormat": "thin", "other": "x", "StoragePolicyName": "gold"}, nil,
			map[string]string{"diskformat-migrationparam": "thin", "storagepolicyname": "gold", "csimigration": "true"}, nil, ""},
		{"MIG-020", "kubernetes.io/cinder", map[string]string{"zone": "nova"}, nil, map[string]string{"zone": "nova"}, nil, ""},
		{"MIG-020", "kubernetes.io/azure-file", map[string]string{"skuName": "x"}, nil, map[string]string{"skuName": "x"}, nil, ""},
	} {
		class := &storagev1.StorageClass{Provisioner: tc.plugin, Parameters: tc.parameters, AllowedTopologies: tc.allowed}
		got, err := Class(class)
		text := ""
		if err != nil {
			text, got = err.Error(), &storagev1.StorageClass{}
		}
		if diff := cmp.Diff([]any{tc.want, tc.topologies, tc.err}, []any{got.Parameters, got.AllowedTopologies, text}); diff != "" {
			t.Errorf("%s: Class(%s) (-want +got):\n%s", tc.rule, tc.plugin, diff)
		}
	}
}

func TestBack(t *testing.T) {
	csi := func(driver, handle string) corev1.PersistentVolumeSource {
		return corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{Driver: driver, VolumeHandle: handle}}
	}
	got, err := Back(volume(csi(ebs, "vol-1"), nil, in("topology.ebs.csi.aws.com/zone", "us-east-1a")))
	if err != nil {
		t.Fatal(err)
	}
	if got.Spec.AWSElasticBlockStore == nil || got.Spec.AWSElasticBlockStore.VolumeID != "vol-1" || got.Spec.CSI != nil {
		t.Errorf("MIG-030: Back() = %+v, want the in-tree source", got.Spec.PersistentVolumeSource)
	}
	if diff := cmp.Diff([]corev1.NodeSelectorRequirement{in(corev1.LabelTopologyZone, "us-east-1a"), in(corev1.LabelTopologyRegion, "us-east-1")},
		requirementsOf(got)); diff != "" {
		t.Errorf("MIG-031: affinity (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]string{corev1.LabelTopologyZone: "us-east-1a", corev1.LabelTopologyRegion: "us-east-1"}, got.Labels); diff != "" {
		t.Errorf("MIG-031: labels (-want +got):\n%s", diff)
	}
	for _, tc := range []struct {
		rule string
		pv   *corev1.PersistentVolume
		want string
	}{
		{"MIG-031", volume(csi(ebs, "vol-1"), nil, in("topology.ebs.csi.aws.com/zone", "a")),
			"failed to translate topology: Unexpected zone format: a is not a valid AWS zone"},
		{"MIG-030", volume(csi(gce, "d"), nil), "failed to get id components.Got: 1, wanted 6 components or more. "},
		{"MIG-030", volume(csi("disk.csi.azure.com", "d"), nil),
			"could not get disk name from d, correct format: .*/providers/Microsoft.Compute/disks/(.+)"},
	} {
		if _, err := Back(tc.pv); err == nil || err.Error() != tc.want {
			t.Errorf("%s: Back() = %v, want %q", tc.rule, err, tc.want)
		}
	}
}
