package objectjson

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestEncodedMetadata: metadata are encoded as encoding/json does it.
func TestEncodedMetadata(t *testing.T) {
	at := metav1.NewTime(time.Date(2026, 1, 2, 3, 4, 5, 6, time.FixedZone("", 3600)))
	fields := func(raw string) []metav1.ManagedFieldsEntry {
		return []metav1.ManagedFieldsEntry{{Manager: "m", Operation: "Update", FieldsType: "FieldsV1", FieldsV1: &metav1.FieldsV1{Raw: []byte(raw)}}}
	}
	for name, meta := range map[string]metav1.ObjectMeta{
		"empty": {},
		"all": {
			Name: "n", GenerateName: "g-", Namespace: "ns", SelfLink: "/s", UID: "u", ResourceVersion: "7", Generation: -3, CreationTimestamp: at,
			DeletionTimestamp: &at, DeletionGracePeriodSeconds: new(int64), Labels: map[string]string{"b": "c", "a": ""},
			Annotations: map[string]string{"x": "y z"}, OwnerReferences: []metav1.OwnerReference{{Kind: "K", Controller: new(true)}},
			Finalizers: []string{"f", "g"}, ManagedFields: []metav1.ManagedFieldsEntry{
				{Manager: "a", Operation: "Apply", APIVersion: "v1", Time: &at, FieldsType: "FieldsV1", FieldsV1: &metav1.FieldsV1{Raw: []byte(`{"f:data":{}}`)}},
				{Manager: "b", Time: &metav1.Time{}, Subresource: "status"}, {},
			},
		},
		"text":        {Annotations: map[string]string{`"<&>\`: "\u2028ä\x00\x7f\n\xff"}, Name: "a:", Labels: map[string]string{"{": "["}},
		"empty lists": {Labels: map[string]string{}, Finalizers: []string{}, OwnerReferences: []metav1.OwnerReference{}, ManagedFields: []metav1.ManagedFieldsEntry{}},
		"no fields":   {ManagedFields: fields("")},
		"blanks":      {ManagedFields: fields(`{ "f:a b" : {} }`)},
		"escapes":     {ManagedFields: fields(`{"k:{\"name\":\"<ä>\"}":{".":{}}}`)},
	} {
		t.Run(name, func(t *testing.T) {
			want, err := json.Marshal(meta)
			require.NoError(t, err)
			got, err := appendMetadata(nil, &meta)
			require.NoError(t, err)
			require.Equal(t, string(want), string(got))
		})
	}
	_, err := appendMetadata(nil, &metav1.ObjectMeta{ManagedFields: fields("{ ")})
	require.Error(t, err, "no JSON")
	require.Equal(t, 15, reflect.TypeFor[metav1.ObjectMeta]().NumField(), "a new field of metadata: encode it, and add it to the shape of writes")
}
