package store_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volsim/volsim/api"
)

func TestPatch(t *testing.T) {
	for _, test := range []struct {
		rule, name, patch string
		want              func(*corev1.PersistentVolume) // what it changes in the stored volume
	}{
		{"API-016", "a field", `{"spec":{"storageClassName":"slow"}}`, func(v *corev1.PersistentVolume) { v.Spec.StorageClassName = "slow" }},
		{"API-016", "an entry more", `{"metadata":{"labels":{"b":"2"}}}`, func(v *corev1.PersistentVolume) { v.Labels["b"] = "2" }},
		{"API-016", "an entry less", `{"metadata":{"labels":{"a":null}}}`, func(v *corev1.PersistentVolume) { delete(v.Labels, "a") }},
		{"API-016", "a list, as a whole", `{"spec":{"mountOptions":["x"]}}`,
			func(v *corev1.PersistentVolume) { v.Spec.MountOptions = []string{"x"} }},
		{"API-016", "the stored version", `{"metadata":{"resourceVersion":"1","labels":null}}`,
			func(v *corev1.PersistentVolume) { v.Labels = nil }},
		{"API-016", "no version", `{"metadata":{"resourceVersion":null,"labels":null}}`, func(v *corev1.PersistentVolume) { v.Labels = nil }},
		{"API-016", "no uid", `{"metadata":{"uid":null,"labels":null}}`, func(v *corev1.PersistentVolume) { v.Labels = nil }},
		{"API-016, API-090", "defaults are given again", `{"spec":{"volumeMode":null,"storageClassName":"x"}}`,
			func(v *corev1.PersistentVolume) { v.Spec.StorageClassName = "x" }},
		{"API-016", "an unknown field is dropped", `{"spec":{"colour":"red","storageClassName":"x"}}`,
			func(v *corev1.PersistentVolume) { v.Spec.StorageClassName = "x" }},
		{"API-014", "nothing", `{}`, nil},
		{"API-014", "what is there", `{"metadata":{"labels":{"a":"1"}},"kind":"PersistentVolume"}`, nil},
		{"API-210", "the status, by the wrong way", `{"status":{"phase":"Bound"}}`, nil},
	} {
		t.Run(test.rule+" "+test.name, func(t *testing.T) {
			w := newFixture(t)
			stored := create(w, with(disk("disk"), func(v *corev1.PersistentVolume) {
				v.Labels, v.Spec.MountOptions = map[string]string{"a": "1"}, []string{"ro", "sync"}
			}))
			got, err := w.Volumes.Patch("disk", []byte(test.patch), api.Main)
			require.NoError(t, err)
			if test.want == nil {
				assert.Same(t, stored, got)
				assert.EqualValues(t, 1, w.Version())
				return
			}
			want := with(stored, func(v *corev1.PersistentVolume) { test.want(v); v.ResourceVersion = "2" })
			assert.Empty(t, cmp.Diff(want, got))
		})
	}
	t.Run("API-016 the status", func(t *testing.T) {
		w := newFixture(t)
		create(w, disk("disk"))
		got, err := w.Volumes.Patch("disk", []byte(`{"status":{"phase":"Bound"},"spec":{"storageClassName":"x"}}`), api.Status)
		require.NoError(t, err)
		assert.Equal(t, corev1.VolumeBound, got.Status.Phase)
		assert.Empty(t, got.Spec.StorageClassName)
	})
	t.Run("API-016 a patch never conflicts by itself", func(t *testing.T) {
		w := newFixture(t)
		create(w, attachment("att")) // updates of this kind must name a version
		for _, patch := range []string{`{"metadata":{"labels":{"a":"1"}}}`, `{"metadata":{"labels":{"a":"2"}}}`} {
			_, err := w.Attachments.Patch("att", []byte(patch), api.Main)
			require.NoError(t, err)
		}
		w.changes()
		_, err := w.Attachments.Patch("att", []byte(`{"metadata":{"resourceVersion":null}}`), api.Main)
		w.refused("API-012, API-016", err, 422, metav1.StatusReasonInvalid, 3)
	})
}

func TestPatchIsRefused(t *testing.T) {
	for _, test := range []struct {
		rule, name, patch string
		code              int32
		reason            metav1.StatusReason
		message           string
	}{
		{"API-016", "another version", `{"metadata":{"resourceVersion":"9"}}`, 409, metav1.StatusReasonConflict,
			`Operation cannot be fulfilled on persistentvolumeclaims "data": the object has been modified; please apply your changes to the latest version and try again`},
		{"API-016", "a version that is no number", `{"metadata":{"resourceVersion":"x"}}`, 500, "",
			`strconv.ParseUint: parsing "x": invalid syntax`},
		{"API-016", "another version comes before validation", `{"metadata":{"resourceVersion":"9","uid":"u"}}`, 409,
			metav1.StatusReasonConflict, ""},
		{"API-016", "another uid", `{"metadata":{"uid":"u"}}`, 422, metav1.StatusReasonInvalid,
			`PersistentVolumeClaim "data" is invalid: metadata.uid: Invalid value: "u": field is immutable`},
		{"API-016", "another uid among other things", `{"metadata":{"uid":"u"},"spec":{"volumeMode":"Block"}}`, 422,
			metav1.StatusReasonInvalid, ""},
		{"API-020", "another name", `{"metadata":{"name":"x"}}`, 400, metav1.StatusReasonBadRequest,
			"the name of the object (x) does not match the name on the URL (data)"},
		{"API-020", "no name", `{"metadata":{"name":null}}`, 400, metav1.StatusReasonBadRequest,
			"the name of the object (data based on URL) was undeterminable: name must be provided"},
		{"API-020", "another namespace", `{"metadata":{"namespace":"x"}}`, 400, metav1.StatusReasonBadRequest, ""},
		{"API-016", "no JSON", `{`, 400, metav1.StatusReasonBadRequest, "error decoding patch: unexpected EOF"},
		{"API-016", "not an object", `[]`, 400, metav1.StatusReasonBadRequest, ""},
		{"API-016", "null", `null`, 400, metav1.StatusReasonBadRequest, "error decoding patch: null is not an object"},
		{"API-016", "more than one value", `{} {}`, 400, metav1.StatusReasonBadRequest, ""},
		{"API-016", "something after it", `{} }`, 400, metav1.StatusReasonBadRequest, ""},
		{"API-016", "nothing", ``, 400, metav1.StatusReasonBadRequest, ""},
		{"API-016", "a type that does not fit", `{"spec":{"accessModes":"all"}}`, 422, metav1.StatusReasonInvalid, ""},
		{"API-016", "another kind", `{"kind":"Pod"}`, 422, metav1.StatusReasonInvalid, ""},
		{"API-016", "no kind", `{"kind":null}`, 422, metav1.StatusReasonInvalid, ""},
		{"API-016", "another API version", `{"apiVersion":"v2"}`, 422, metav1.StatusReasonInvalid, ""},
		{"API-016", "no metadata", `{"metadata":"x"}`, 422, metav1.StatusReasonInvalid, ""},
		{"API-080", "no quantity", `{"spec":{"resources":{"requests":{"storage":"lots"}}}}`, 422, metav1.StatusReasonInvalid, ""},
		{"API-080", "an endless quantity", `{"spec":{"resources":{"requests":{"storage":"1e999999999"}}}}`, 422, metav1.StatusReasonInvalid, ""},
		{"API-080", "an endless quantity without a number before", `{"spec":{"resources":{"requests":{"storage":"E85477580"}}}}`, 422,
			metav1.StatusReasonInvalid, ""},
		{"API-080", "an endless quantity behind an escape", `{"spec":{"resources":{"requests":{"storage":"1e99\u003999999"}}}}`, 422,
			metav1.StatusReasonInvalid, ""},
		{"API-080", "an endless number", `{"spec":{"resources":{"limits":{"storage":1E-999999999}}}}`, 422, metav1.StatusReasonInvalid, ""},
		{"API-221", "a change that is not allowed", `{"spec":{"resources":{"requests":{"storage":"6Gi"}}}}`, 422, metav1.StatusReasonInvalid, ""},
	} {
		t.Run(test.rule+" "+test.name, func(t *testing.T) {
			w := newFixture(t)
			create(w, claim("data"))
			w.changes()
			_, err := w.Claims.Patch("default/data", []byte(test.patch), api.Main)
			status := w.refused(test.rule, err, test.code, test.reason, 1)
			if test.message != "" {
				assert.Equal(t, test.message, status.Message)
			}
		})
	}
	w := newFixture(t)
	create(w, class("fast"))
	w.changes()
	_, err := w.Patch(api.StorageClass, "fast", []byte(`{}`), api.Status)
	w.refused("API-030.SC", err, 404, metav1.StatusReasonNotFound, 1)
	_, err = w.Patch(api.PersistentVolume, "none", []byte(`{}`), api.Status)
	w.refused("API-246, API-022", err, 404, metav1.StatusReasonNotFound, 1)
	// A label is free to look like a quantity.
	_, err = w.Patch(api.StorageClass, "fast", []byte(`{"metadata":{"labels":{"capacity":"1e999999999"}}}`), api.Main)
	require.NoError(t, err)
}
