package intree

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	translation "k8s.io/csi-translation-lib"
	"k8s.io/klog/v2"

	"github.com/volsim/volsim/internal/core/intree"
)

var objects = flag.Int("objects", 20_000, "how many random objects of each sort are translated")

// generator makes random objects from a seed.
type generator struct{ *rand.Rand }

func pick[T any](g generator, of ...T) T { return of[g.IntN(len(of))] }

func (g generator) yes() bool { return g.IntN(2) == 0 }

func pointer[T any](g generator, of ...T) *T {
	if g.IntN(3) == 0 {
		return nil
	}
	value := pick(g, of...)
	return &value
}

var zones = []string{"us-east1-b", "us-east-1a", "us-west-2-lax-1a", "us-east-1-wl1-bos-wlz-1", "1", "a", "eu-west1-c"}

// source returns a random source, and the same as a pod has it.
func (g generator) source() (corev1.PersistentVolumeSource, corev1.VolumeSource) {
	fsType, readOnly := pick(g, "", "ext4", "xfs"), g.yes()
	switch g.IntN(8) {
	case 0:
		s := &corev1.AWSElasticBlockStoreVolumeSource{VolumeID: pick(g, "vol-1", "aws://us-east-1a/vol-2", "aws:///vol-3", "aws://z/x", "aws://z/vol-1/y", "aws://%zz"),
			FSType: fsType, Partition: int32(g.IntN(3)), ReadOnly: readOnly}
		return corev1.PersistentVolumeSource{AWSElasticBlockStore: s}, corev1.VolumeSource{AWSElasticBlockStore: s}
	case 1:
		s := &corev1.GCEPersistentDiskVolumeSource{PDName: pick(g, "d", "e"), FSType: fsType, Partition: int32(g.IntN(3)), ReadOnly: readOnly}
		return corev1.PersistentVolumeSource{GCEPersistentDisk: s}, corev1.VolumeSource{GCEPersistentDisk: s}
	case 2:
		s := &corev1.AzureDiskVolumeSource{DiskName: "d", DataDiskURI: pick(g, "/subscriptions/s/resourceGroups/g/providers/Microsoft.Compute/disks/d", "x"),
			CachingMode: pointer(g, corev1.AzureDataDiskCachingNone, corev1.AzureDataDiskCachingReadOnly), FSType: pointer(g, "ext4", "xfs"),
			ReadOnly: pointer(g, true, false), Kind: pointer(g, corev1.AzureManagedDisk, corev1.AzureDedicatedBlobDisk, "managed")}
		return corev1.PersistentVolumeSource{AzureDisk: s}, corev1.VolumeSource{AzureDisk: s}
	case 3:
		secret := pick(g, "azure-storage-account-acc-secret", "s", "x-azure-storage-account-a-secret-b-secret", "azure-storage-account--secret")
		return corev1.PersistentVolumeSource{AzureFile: &corev1.AzureFilePersistentVolumeSource{SecretName: secret, ShareName: "share",
				ReadOnly: readOnly, SecretNamespace: pointer(g, "a", "")}},
			corev1.VolumeSource{AzureFile: &corev1.AzureFileVolumeSource{SecretName: secret, ShareName: "share", ReadOnly: readOnly}}
	case 4:
		return corev1.PersistentVolumeSource{Cinder: &corev1.CinderPersistentVolumeSource{VolumeID: "c", FSType: fsType, ReadOnly: readOnly}},
			corev1.VolumeSource{Cinder: &corev1.CinderVolumeSource{VolumeID: "c", FSType: fsType, ReadOnly: readOnly}}
	case 5:
		s := &corev1.VsphereVirtualDiskVolumeSource{VolumePath: "[ds] p", FSType: fsType}
		inPod := *s
		// A storage policy in a pod is left out: the library dereferences nil (MIG-002).
		s.StoragePolicyName = pick(g, "", "gold")
		return corev1.PersistentVolumeSource{VsphereVolume: s}, corev1.VolumeSource{VsphereVolume: &inPod}
	case 6:
		s := &corev1.PortworxVolumeSource{VolumeID: "p", FSType: fsType, ReadOnly: readOnly}
		return corev1.PersistentVolumeSource{PortworxVolume: s}, corev1.VolumeSource{PortworxVolume: s}
	}
	s := &corev1.HostPathVolumeSource{Path: "/x"}
	return corev1.PersistentVolumeSource{HostPath: s}, corev1.VolumeSource{HostPath: s}
}

var topologyKeys = []string{corev1.LabelTopologyZone, corev1.LabelFailureDomainBetaZone, corev1.LabelTopologyRegion,
	corev1.LabelFailureDomainBetaRegion, "other"}

// meta gives the volume random labels, annotations, affinity, modes and claim. keys are those of the affinity.
func (g generator) meta(pv *corev1.PersistentVolume, keys []string) {
	pv.Name = "pv"
	for _, key := range topologyKeys[:4] {
		if g.IntN(4) == 0 {
			value := pick(g, zones...)
			if g.IntN(3) == 0 {
				value += "__" + pick(g, zones...)
			}
			metav1.SetMetaDataLabel(&pv.ObjectMeta, key, value)
		}
	}
	for _, key := range []string{"openstorage.io/auth-secret-name", "openstorage.io/auth-secret-namespace", "kubernetes.io/azure-file-resource-group"} {
		if g.yes() {
			metav1.SetMetaDataAnnotation(&pv.ObjectMeta, key, "x")
		}
	}
	pv.Spec.AccessModes = pick(g, nil, []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
		[]corev1.PersistentVolumeAccessMode{corev1.ReadOnlyMany}, []corev1.PersistentVolumeAccessMode{corev1.ReadWriteMany},
		[]corev1.PersistentVolumeAccessMode{corev1.ReadOnlyMany, corev1.ReadWriteOnce}, []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOncePod})
	if g.yes() {
		pv.Spec.ClaimRef = &corev1.ObjectReference{Namespace: "shop", Name: "c"}
	}
	if g.IntN(3) == 0 {
		return
	}
	required := &corev1.NodeSelector{}
	pv.Spec.NodeAffinity = &corev1.VolumeNodeAffinity{Required: required}
	for range g.IntN(3) {
		var term corev1.NodeSelectorTerm
		for range g.IntN(3) {
			values := []string{pick(g, zones...)}
			if g.IntN(4) == 0 {
				values = append(values, pick(g, zones...))
			}
			term.MatchExpressions = append(term.MatchExpressions, corev1.NodeSelectorRequirement{Key: pick(g, keys...),
				Operator: corev1.NodeSelectorOpIn, Values: values})
		}
		required.NodeSelectorTerms = append(required.NodeSelectorTerms, term)
	}
}

// same compares results. An empty list or map is stored like none.
func same(t *testing.T, what string, input, got, want any, gotErr, wantErr error) {
	t.Helper()
	if (gotErr == nil) != (wantErr == nil) {
		t.Fatalf("%s of %+v: error %v, want %v", what, input, gotErr, wantErr)
	}
	if gotErr != nil {
		return
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		t.Fatalf("%s of %+v (-real +ours):\n%s", what, input, diff)
	}
}

// TestVolumes: MIG-001 to MIG-010.
func TestVolumes(t *testing.T) {
	real := translation.New()
	for i := range *objects {
		g := generator{rand.New(rand.NewPCG(uint64(i), 1))}
		pv := &corev1.PersistentVolume{}
		var inPod corev1.VolumeSource
		pv.Spec.PersistentVolumeSource, inPod = g.source()
		g.meta(pv, topologyKeys)
		if !real.IsPVMigratable(pv) {
			got, err := intree.Volume(pv)
			same(t, "Volume", pv, got, pv, err, nil)
			continue
		}
		want, wantErr := real.TranslateInTreePVToCSI(klog.Background(), pv)
		got, err := intree.Volume(pv)
		same(t, "Volume", pv, got, want, err, wantErr)
		if err != nil && err.Error() != wantErr.Error() {
			t.Fatalf("Volume of %+v: error %q, want %q", pv, err, wantErr)
		}
		volume := &corev1.Volume{Name: "data", VolumeSource: inPod}
		namespace := pick(g, "", "shop")
		want, wantErr = real.TranslateInTreeInlineVolumeToCSI(klog.Background(), volume, namespace)
		got, err = intree.InPod(volume, namespace)
		same(t, "InPod", volume, got, want, err, wantErr)
	}
}

// TestClasses: MIG-020, MIG-021.
func TestClasses(t *testing.T) {
	real := translation.New()
	for i := range *objects {
		g := generator{rand.New(rand.NewPCG(uint64(i), 2))}
		class := &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: "c"}, Provisioner: pick(g, intree.Names()...), Parameters: map[string]string{}}
		// One parameter for zones: the library reads two in the order of a map.
		for _, name := range []string{"fsType", "fstype", "type", "iopsPerGB", "DiskFormat", "datastore", "storagePolicyName", "openstorage.io/auth-secret-name",
			"openstorage.io/auth-secret-namespace", "skuName", pick(g, "zone", "zones", "Zones")} {
			if g.IntN(4) == 0 && (name != "fstype" || class.Parameters["fsType"] == "") {
				class.Parameters[name] = pick(g, "x", "y", "a,b")
			}
		}
		for range g.IntN(3) {
			class.AllowedTopologies = append(class.AllowedTopologies, corev1.TopologySelectorTerm{
				MatchLabelExpressions: []corev1.TopologySelectorLabelRequirement{{Key: pick(g, topologyKeys...), Values: []string{pick(g, zones...)}}}})
		}
		want, wantErr := real.TranslateInTreeStorageClassToCSI(klog.Background(), class.Provisioner, class)
		got, err := intree.Class(class)
		same(t, "Class", class, got, want, err, wantErr)
	}
}

// TestBack: MIG-030, MIG-031.
func TestBack(t *testing.T) {
	real := translation.New()
	for i := range *objects {
		g := generator{rand.New(rand.NewPCG(uint64(i), 3))}
		plugin := pick(g, intree.Names()...)
		driver, _ := intree.Driver(plugin)
		pv := &corev1.PersistentVolume{}
		keys := append([]string{"topology." + driver + "/zone", "topology.gke.io/zone", "topology.csi.vmware.com/zone", "topology.csi.vmware.com/region"}, topologyKeys...)
		g.meta(pv, keys)
		csi := &corev1.CSIPersistentVolumeSource{Driver: driver, FSType: pick(g, "", "ext4"), ReadOnly: g.yes(),
			VolumeHandle: pick(g, "vol-1", "projects/p/zones/z/disks/d", "g#acc#share#x#ns", "#acc#share", "http://h/vhds/x.vhd",
				"/subscriptions/s/resourceGroups/g/providers/Microsoft.Compute/disks/d"), VolumeAttributes: map[string]string{}}
		for _, name := range []string{"partition", "cachingMode", "fsType", "shareName", "secretName", "secretNamespace", "initialvolumefilepath"} {
			if g.IntN(3) == 0 {
				csi.VolumeAttributes[name] = pick(g, "", "1", "x")
			}
		}
		if g.yes() {
			csi.NodeStageSecretRef = &corev1.SecretReference{Name: pick(g, "", "s"), Namespace: "n"}
		}
		pv.Spec.CSI = csi
		want, wantErr := real.TranslateCSIPVToInTree(pv)
		got, err := intree.Back(pv)
		same(t, fmt.Sprintf("Back (%s)", plugin), pv, got, want, err, wantErr)
		if err != nil && !strings.Contains(wantErr.Error(), "opology") && !strings.EqualFold(err.Error()[:20], wantErr.Error()[:20]) {
			t.Fatalf("Back of %+v: error %q, want %q", pv, err, wantErr)
		}
	}
}
