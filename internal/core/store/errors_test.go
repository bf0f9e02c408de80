package store_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/store"
)

// TestErrors: the error that a client receives for each rejection. The store holds disk, class fast (not expandable) and a bound claim
// data.
func TestErrors(t *testing.T) {
	for _, test := range []struct {
		rule, name string
		call       func(*store.Store) error
		is         func(error) bool
		code       int32
		message    string
		details    metav1.StatusDetails
	}{
		{"API-020", "a patch that renames", func(s *store.Store) error {
			_, err := s.Patch(api.PersistentVolume, "disk", []byte(`{"metadata":{"name":"other"}}`), api.Main)
			return err
		}, apierrors.IsBadRequest, 400, "the name of the object (other) does not match the name on the URL (disk)", metav1.StatusDetails{}},
		{"API-020", "a patch that moves", func(s *store.Store) error {
			_, err := s.Patch(api.PersistentVolumeClaim, "default/data", []byte(`{"metadata":{"namespace":"other"}}`), api.Main)
			return err
		}, apierrors.IsBadRequest, 400, "the namespace of the provided object does not match the namespace sent on the request",
			metav1.StatusDetails{}},
		{"API-021", "admission", func(s *store.Store) error {
			_, err := s.Patch(api.PersistentVolumeClaim, "default/data", []byte(`{"spec":{"resources":{"requests":{"storage":"9Gi"}}}}`), api.Main)
			return err
		}, apierrors.IsForbidden, 403, `persistentvolumeclaims "data" is forbidden: only dynamically provisioned pvc can be resized and ` +
			`the storageclass that provisions the pvc must support resize`, metav1.StatusDetails{Kind: "persistentvolumeclaims", Name: "data"}},
		{"API-022", "a get", func(s *store.Store) error {
			_, err := s.Get(api.PersistentVolumeClaim, "default/none")
			return err
		}, apierrors.IsNotFound, 404, `persistentvolumeclaims "none" not found`,
			metav1.StatusDetails{Kind: "persistentvolumeclaims", Name: "none"}},
		{"API-022", "a patch", func(s *store.Store) error {
			_, err := s.Patch(api.StorageClass, "none", []byte(`{}`), api.Main)
			return err
		}, apierrors.IsNotFound, 404, `storageclasses.storage.k8s.io "none" not found`,
			metav1.StatusDetails{Group: "storage.k8s.io", Kind: "storageclasses", Name: "none"}},
		{"API-023", "a name that is taken", func(s *store.Store) error {
			_, err := s.Create(disk("disk"))
			return err
		}, apierrors.IsAlreadyExists, 409, `persistentvolumes "disk" already exists`,
			metav1.StatusDetails{Kind: "persistentvolumes", Name: "disk"}},
		{"API-023", "a name that is given where one could be made", func(s *store.Store) error {
			_, err := s.Create(with(disk("disk"), func(v *corev1.PersistentVolume) { v.GenerateName = "d-" }))
			return err
		}, apierrors.IsAlreadyExists, 409,
			`persistentvolumes "disk" already exists, the server was not able to generate a unique name for the object`,
			metav1.StatusDetails{Kind: "persistentvolumes", Name: "disk", RetryAfterSeconds: 1}},
		{"API-024", "a stale version", func(s *store.Store) error {
			_, err := s.Update(with(class("fast"), func(c *storagev1.StorageClass) { c.ResourceVersion = "77" }))
			return err
		}, apierrors.IsConflict, 409, `Operation cannot be fulfilled on storageclasses.storage.k8s.io "fast": the object has been modified; ` +
			`please apply your changes to the latest version and try again`,
			metav1.StatusDetails{Group: "storage.k8s.io", Kind: "storageclasses", Name: "fast"}},
		{"API-024", "another uid", func(s *store.Store) error {
			_, err := s.Update(with(class("fast"), func(c *storagev1.StorageClass) { c.UID = "u" }))
			return err
		}, apierrors.IsConflict, 409, "", metav1.StatusDetails{Group: "storage.k8s.io", Kind: "storageclasses", Name: "fast"}},
		{"API-025, API-027", "one entry", func(s *store.Store) error {
			_, err := s.Create(with(disk("d"), func(v *corev1.PersistentVolume) { v.Spec.PersistentVolumeReclaimPolicy = "Keep" }))
			return err
		}, apierrors.IsInvalid, 422, `PersistentVolume "d" is invalid: spec.persistentVolumeReclaimPolicy: Unsupported value: "Keep": ` +
			`supported values: "Delete", "Recycle", "Retain"`,
			metav1.StatusDetails{Kind: "PersistentVolume", Name: "d", Causes: []metav1.StatusCause{
				{Type: metav1.CauseTypeFieldValueNotSupported, Field: "spec.persistentVolumeReclaimPolicy",
					Message: `Unsupported value: "Keep": supported values: "Delete", "Recycle", "Retain"`},
			}}},
		{"API-025, API-026, API-027", "several entries, one of them twice", func(s *store.Store) error {
			_, err := s.Create(with(class("c"), func(c *storagev1.StorageClass) {
				c.Provisioner = ""
				c.AllowedTopologies = []corev1.TopologySelectorTerm{{MatchLabelExpressions: []corev1.TopologySelectorLabelRequirement{
					{Key: "a", Values: []string{"x", "x", "x"}},
				}}}
			}))
			return err
		}, apierrors.IsInvalid, 422, `StorageClass.storage.k8s.io "c" is invalid: [provisioner: Required value, ` +
			`allowedTopologies[0].matchLabelExpressions[0].values[1]: Duplicate value: "x", ` +
			`allowedTopologies[0].matchLabelExpressions[0].values[2]: Duplicate value: "x"]`,
			metav1.StatusDetails{Group: "storage.k8s.io", Kind: "StorageClass", Name: "c", Causes: []metav1.StatusCause{
				{Type: metav1.CauseTypeFieldValueRequired, Field: "provisioner", Message: "Required value"},
				{Type: metav1.CauseTypeFieldValueDuplicate, Field: "allowedTopologies[0].matchLabelExpressions[0].values[1]",
					Message: `Duplicate value: "x"`},
				{Type: metav1.CauseTypeFieldValueDuplicate, Field: "allowedTopologies[0].matchLabelExpressions[0].values[2]",
					Message: `Duplicate value: "x"`},
			}}},
		{"API-025", "equal entries are one in the message and all in the causes", func(s *store.Store) error {
			_, err := s.Create(with(disk("d"), func(v *corev1.PersistentVolume) {
				v.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{"x", "x"}
			}))
			return err
		}, apierrors.IsInvalid, 422, `PersistentVolume "d" is invalid: spec.accessModes: Unsupported value: "x": ` +
			`supported values: "ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"`,
			metav1.StatusDetails{Kind: "PersistentVolume", Name: "d", Causes: []metav1.StatusCause{
				{Type: metav1.CauseTypeFieldValueNotSupported, Field: "spec.accessModes",
					Message: `Unsupported value: "x": supported values: "ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"`},
				{Type: metav1.CauseTypeFieldValueNotSupported, Field: "spec.accessModes",
					Message: `Unsupported value: "x": supported values: "ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"`},
			}}},
		{"API-027", "an entry without a value", func(s *store.Store) error {
			_, err := s.Update(with(disk("disk"), func(v *corev1.PersistentVolume) { v.Spec.CSI.VolumeHandle = "other" }))
			return err
		}, apierrors.IsInvalid, 422, "", metav1.StatusDetails{Kind: "PersistentVolume", Name: "disk", Causes: []metav1.StatusCause{
			{Type: metav1.CauseTypeForbidden, Field: "spec.persistentvolumesource",
				Message: "Forbidden: spec.persistentvolumesource is immutable after creation\n@@ -22,7 +22,7 @@\n  \"StorageOS\": null,\n" +
					"  \"CSI\": {\n   \"Driver\": \"csi.example.com\",\n-  \"VolumeHandle\": \"h\",\n+  \"VolumeHandle\": \"other\",\n" +
					"   \"ReadOnly\": false,\n   \"FSType\": \"\",\n   \"VolumeAttributes\": null,\n"},
		}}},
		{"API-012, API-026", "a version that is missing goes by the resource", func(s *store.Store) error {
			_, err := s.Update(driver("csi.example.com"))
			return err
		}, apierrors.IsInvalid, 422,
			`csidrivers.storage.k8s.io "csi.example.com" is invalid: metadata.resourceVersion: Invalid value: 0: must be specified for an update`,
			metav1.StatusDetails{Group: "storage.k8s.io", Kind: "csidrivers", Name: "csi.example.com", Causes: []metav1.StatusCause{
				{Type: metav1.CauseTypeFieldValueInvalid, Field: "metadata.resourceVersion",
					Message: "Invalid value: 0: must be specified for an update"},
			}}},
	} {
		t.Run(test.rule+" "+test.name, func(t *testing.T) {
			w := newFixture(t)
			create(w, disk("disk"))
			create(w, class("fast"))
			create(w, driver("csi.example.com"))
			_, err := w.Claims.UpdateStatus(with(create(w, claim("data")),
				func(c *corev1.PersistentVolumeClaim) { c.Status.Phase = corev1.ClaimBound }))
			require.NoError(t, err)
			w.changes()
			err = test.call(w.Store)
			require.True(t, test.is(err), "%v", err)
			status := w.refused(test.rule, err, test.code, apierrors.ReasonForError(err), 5)
			if test.message != "" {
				assert.Equal(t, test.message, err.Error())
			}
			if status.Details == nil {
				status.Details = &metav1.StatusDetails{}
			}
			if len(test.details.Causes) == 0 {
				status.Details.Causes = nil
			}
			assert.Equal(t, test.details, *status.Details)
		})
	}
}

func TestPlurals(t *testing.T) {
	want := map[api.Kind]string{
		api.PersistentVolume: "persistentvolumes", api.PersistentVolumeClaim: "persistentvolumeclaims", api.Pod: "pods", api.Node: "nodes",
		api.StorageClass: "storageclasses.storage.k8s.io", api.VolumeAttributesClass: "volumeattributesclasses.storage.k8s.io",
		api.VolumeAttachment: "volumeattachments.storage.k8s.io", api.CSIDriver: "csidrivers.storage.k8s.io",
		api.CSINode: "csinodes.storage.k8s.io", api.CSIStorageCapacity: "csistoragecapacities.storage.k8s.io", api.Event: "events",
	}
	w := newFixture(t)
	for _, kind := range store.Kinds() {
		_, err := w.Get(kind, "x")
		status := w.refused("API-026", err, http.StatusNotFound, metav1.StatusReasonNotFound, 0)
		assert.Equal(t, want[kind]+` "x" not found`, status.Message, "API-026")
	}
}
