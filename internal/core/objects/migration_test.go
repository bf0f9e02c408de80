package objects

import (
	"maps"
	"testing"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestMigratedDriver(t *testing.T) {
	for _, tt := range []struct{ rule, plugin, want string }{
		{"PROV-051", "kubernetes.io/aws-ebs", "ebs.csi.aws.com"},
		{"PROV-051", "kubernetes.io/gce-pd", "pd.csi.storage.gke.io"},
		{"PROV-051", "kubernetes.io/azure-disk", "disk.csi.azure.com"},
		{"PROV-051", "kubernetes.io/azure-file", "file.csi.azure.com"},
		{"PROV-051", "kubernetes.io/cinder", "cinder.csi.openstack.org"},
		{"PROV-051", "kubernetes.io/vsphere-volume", "csi.vsphere.vmware.com"},
		{"PROV-051", "kubernetes.io/portworx-volume", "pxd.portworx.com"},
		{"PROV-051", "kubernetes.io/host-path", ""},
		{"PROV-051", "kubernetes.io/nfs", ""},
		{"PROV-052", "ebs.csi.aws.com", ""},
		{"PROV-051", "", ""},
	} {
		t.Run(tt.rule+" "+tt.plugin, func(t *testing.T) {
			got, ok := MigratedDriver(tt.plugin)
			assert.Equal(t, tt.want, got)
			assert.Equal(t, tt.want != "", ok)
		})
	}
}

func TestRepairMigration(t *testing.T) {
	const (
		ga, beta   = "volume.kubernetes.io/storage-provisioner", "volume.beta.kubernetes.io/storage-provisioner"
		by         = "pv.kubernetes.io/provisioned-by"
		migratedTo = "pv.kubernetes.io/migrated-to"
		ebs, csi   = "kubernetes.io/aws-ebs", "ebs.csi.aws.com"
	)
	type object int
	const claim, volume object = 0, 1
	for _, tt := range []struct {
		rule   string
		name   string
		of     object
		before map[string]string
		after  map[string]string // nil for no change
	}{
		{"PROV-050", "no annotations", claim, nil, nil},
		{"PROV-050", "no annotations", volume, nil, nil},
		{"PROV-050", "no provisioner: migrated-to stays", claim, map[string]string{migratedTo: csi, by: ebs}, nil},
		{"PROV-050", "not provisioned: migrated-to stays", volume, map[string]string{migratedTo: csi, ga: ebs}, nil},
		{"PROV-050", "set", claim, map[string]string{ga: ebs}, map[string]string{ga: ebs, migratedTo: csi}},
		{"PROV-050", "set", volume, map[string]string{by: ebs}, map[string]string{by: ebs, migratedTo: csi}},
		{"PROV-050", "set by the beta key", claim, map[string]string{beta: ebs}, map[string]string{beta: ebs, migratedTo: csi}},
		{"PROV-050", "the beta key counts only without the other", claim, map[string]string{ga: "", beta: ebs}, nil},
		{"PROV-050", "replaced", claim, map[string]string{ga: ebs, migratedTo: "x"}, map[string]string{ga: ebs, migratedTo: csi}},
		{"PROV-050", "right already", claim, map[string]string{ga: ebs, migratedTo: csi}, nil},
		{"PROV-050", "right already", volume, map[string]string{by: ebs, migratedTo: csi}, nil},
		{"PROV-050", "removed", claim, map[string]string{ga: "kubernetes.io/host-path", migratedTo: csi},
			map[string]string{ga: "kubernetes.io/host-path"}},
		{"PROV-050", "removed", volume, map[string]string{by: "other", migratedTo: csi}, map[string]string{by: "other"}},
		{"PROV-050", "an empty migrated-to stays", claim, map[string]string{ga: "other", migratedTo: ""}, nil},
		{"PROV-052", "the name of the driver is no migrated plugin", claim, map[string]string{ga: csi, beta: csi}, nil},
		{"PROV-052", "a claim that holds the in-tree name gets migrated-to", claim, map[string]string{ga: ebs, beta: ebs},
			map[string]string{ga: ebs, beta: ebs, migratedTo: csi}},
	} {
		t.Run(tt.rule+" "+tt.name, func(t *testing.T) {
			given := maps.Clone(tt.before)
			var got map[string]string
			var changed bool
			if tt.of == claim {
				got, changed = RepairClaimMigration(&corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Annotations: given}}, MigratedDriver)
			} else {
				got, changed = RepairVolumeMigration(&corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Annotations: given}}, MigratedDriver)
			}
			assert.Equal(t, tt.before, given, "the object's own map")
			assert.Equal(t, tt.after != nil, changed)
			want := tt.after
			if want == nil {
				want = tt.before
			}
			assert.Equal(t, want, got)
		})
	}
}

// The table of migrations is the caller's to choose.
func TestRepairMigrationOfOtherPlugins(t *testing.T) {
	mock := func(plugin string) (string, bool) { return "mock.csi", plugin == "kubernetes.io/mock" }
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{AnnStorageProvisioner: "kubernetes.io/mock"}}}
	got, changed := RepairClaimMigration(claim, mock)
	assert.True(t, changed, "PROV-050")
	assert.Equal(t, "mock.csi", got[AnnMigratedTo])

	claim.Annotations[AnnStorageProvisioner] = "other"
	_, changed = RepairClaimMigration(claim, mock)
	assert.False(t, changed, "a name that comes with ok false")
}
