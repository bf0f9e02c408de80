package objects

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Other programs read and write these keys.
func TestAnnotationKeys(t *testing.T) {
	for _, tt := range []struct{ rule, got, want string }{
		{"BIND-001a", AnnBindCompleted, "pv.kubernetes.io/bind-completed"},
		{"BIND-001a", AnnYes, "yes"},
		{"BIND-001b", AnnBoundByController, "pv.kubernetes.io/bound-by-controller"},
		{"BIND-001c", AnnSelectedNode, "volume.kubernetes.io/selected-node"},
		{"BIND-001d", AnnStorageProvisioner, "volume.kubernetes.io/storage-provisioner"},
		{"BIND-001d", AnnBetaStorageProvisioner, "volume.beta.kubernetes.io/storage-provisioner"},
		{"BIND-001e", AnnProvisionedBy, "pv.kubernetes.io/provisioned-by"},
		{"BIND-001f", AnnMigratedTo, "pv.kubernetes.io/migrated-to"},
		{"BIND-001g", AnnStorageClass, corev1.BetaStorageClassAnnotation},
		{"BIND-001h", AnnPreResizeCapacity, "volume.alpha.kubernetes.io/pre-resize-capacity"},
		{"BIND-001i", AnnDefaultClass, "storageclass.kubernetes.io/is-default-class"},
		{"BIND-001i", AnnBetaDefaultClass, "storageclass.beta.kubernetes.io/is-default-class"},
	} {
		assert.Equal(t, tt.want, tt.got, tt.rule)
	}
}

func TestClassOf(t *testing.T) {
	const legacy = "volume.beta.kubernetes.io/storage-class"
	name := func(s string) *string { return &s }
	for _, tt := range []struct {
		rule       string
		name       string
		annotation map[string]string
		field      *string
		want       string
		has        bool
	}{
		{"BIND-002", "nothing", nil, nil, "", false},
		{"BIND-002", "another annotation", map[string]string{"a": "b"}, nil, "", false},
		{"BIND-002", "the field", nil, name("fast"), "fast", true},
		{"BIND-002", "an explicit empty class", nil, name(""), "", true},
		{"BIND-002", "the annotation", map[string]string{legacy: "old"}, nil, "old", true},
		{"BIND-002", "the annotation wins", map[string]string{legacy: "old"}, name("fast"), "old", true},
		{"BIND-001g", "even an empty annotation wins", map[string]string{legacy: ""}, name("fast"), "", true},
	} {
		t.Run(tt.rule+" "+tt.name, func(t *testing.T) {
			claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Annotations: tt.annotation}}
			claim.Spec.StorageClassName = tt.field
			assert.Equal(t, tt.want, ClassOf(claim), "ClassOf")
			assert.Equal(t, tt.has, HasClass(claim), "HasClass")

			volume := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Annotations: tt.annotation}}
			volume.Spec.StorageClassName = ValueOf(tt.field)
			assert.Equal(t, tt.want, ClassOfVolume(volume), "ClassOfVolume")
		})
	}
}

func TestIsMine(t *testing.T) {
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "data", UID: "u1"}}
	ref := func(namespace, name string, uid types.UID) *corev1.ObjectReference {
		return &corev1.ObjectReference{Namespace: namespace, Name: name, UID: uid}
	}
	for _, tt := range []struct {
		rule string
		name string
		ref  *corev1.ObjectReference
		want bool
	}{
		{"BIND-003", "no claimRef", nil, false},
		{"BIND-003", "same uid", ref("default", "data", "u1"), true},
		{"BIND-003", "uid still empty", ref("default", "data", ""), true},
		{"BIND-003", "another uid", ref("default", "data", "u2"), false},
		{"BIND-003", "another name", ref("default", "log", "u1"), false},
		{"BIND-003", "another namespace", ref("prod", "data", "u1"), false},
	} {
		t.Run(tt.rule+" "+tt.name, func(t *testing.T) {
			volume := &corev1.PersistentVolume{Spec: corev1.PersistentVolumeSpec{ClaimRef: tt.ref}}
			assert.Equal(t, tt.want, IsMine(volume, claim))
		})
	}
}

func TestIsDelayed(t *testing.T) {
	wait, immediate := storagev1.VolumeBindingWaitForFirstConsumer, storagev1.VolumeBindingImmediate
	for _, tt := range []struct {
		rule    string
		name    string
		class   *storagev1.StorageClass
		want    bool
		wantErr string
	}{
		{"PROV-010", "no class", nil, false, ""},
		{"PROV-010", "Immediate", &storagev1.StorageClass{VolumeBindingMode: &immediate}, false, ""},
		{"PROV-010", "WaitForFirstConsumer", &storagev1.StorageClass{VolumeBindingMode: &wait}, true, ""},
		{"BIND-052", "no binding mode", &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: "odd"}}, false,
			`storage class "odd" has no volumeBindingMode`},
	} {
		t.Run(tt.rule+" "+tt.name, func(t *testing.T) {
			got, err := IsDelayed(tt.class)
			if tt.wantErr != "" {
				require.EqualError(t, err, tt.wantErr)
				return
			}
			require.NoError(t, err)
			assert.Equal(t, tt.want, got)
		})
	}
}

func TestDefaultClass(t *testing.T) {
	class := func(name string, second int, annotations ...string) *storagev1.StorageClass {
		c := &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: name, CreationTimestamp: metav1.Unix(int64(second), 0)}}
		for i := 0; i < len(annotations); i += 2 {
			metav1.SetMetaDataAnnotation(&c.ObjectMeta, annotations[i], annotations[i+1])
		}
		return c
	}
	const ga, beta = "storageclass.kubernetes.io/is-default-class", "storageclass.beta.kubernetes.io/is-default-class"
	for _, tt := range []struct {
		rule    string
		name    string
		classes []*storagev1.StorageClass
		want    string // "" for none
	}{
		{"PROV-002", "no class", nil, ""},
		{"PROV-002", "none marked", []*storagev1.StorageClass{class("a", 1)}, ""},
		{"PROV-002", "the newest",
			[]*storagev1.StorageClass{class("a", 1, ga, "true"), class("b", 3, ga, "true"), class("c", 2, ga, "true"), class("d", 4)}, "b"},
		{"PROV-002", "ties by name",
			[]*storagev1.StorageClass{class("b", 1, ga, "true"), class("a", 1, ga, "true"), class("c", 1, ga, "true")}, "a"},
		{"BIND-001i", "only the exact value counts",
			[]*storagev1.StorageClass{class("a", 1, ga, "True"), class("b", 1, ga, "yes"), class("c", 1, ga, "")}, ""},
		{"BIND-001i", "the beta key suffices, whatever the other says", []*storagev1.StorageClass{class("a", 1, ga, "false", beta, "true")}, "a"},
	} {
		t.Run(tt.rule+" "+tt.name, func(t *testing.T) {
			for range 2 {
				got := ""
				if c := DefaultClass(tt.classes); c != nil {
					got = c.Name
				}
				assert.Equal(t, tt.want, got)
				slices.Reverse(tt.classes)
			}
		})
	}
}

// A class older than Unix time, such as one without a timestamp, is older than any other.
func TestDefaultClassWithoutTimestamp(t *testing.T) {
	marked := map[string]string{AnnDefaultClass: "true"}
	bare := &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: "a", Annotations: marked}}
	dated := &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: "b", Annotations: marked,
		CreationTimestamp: metav1.NewTime(time.Unix(1, 0))}}
	assert.Equal(t, "b", DefaultClass([]*storagev1.StorageClass{bare, dated}).Name, "PROV-002")
}
