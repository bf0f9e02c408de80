package store

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/internal/core/decode"
)

// TestMergeTyped: merging into fields gives what merging documents gives, or nothing.
func TestMergeTyped(t *testing.T) {
	s := New(Config{})
	volume := &corev1.PersistentVolume{}
	require.NoError(t, json.Unmarshal([]byte(`{"metadata":{"name":"v","uid":"u","labels":{"a":"1","b":"2"},"finalizers":["x/y"]},
		"spec":{"capacity":{"storage":"1Gi"},"accessModes":["ReadWriteOnce"],"csi":{"driver":"d","volumeHandle":"h"},
		"claimRef":{"name":"c","uid":"cu"},"volumeMode":"Block"},"status":{"phase":"Bound","lastPhaseTransitionTime":"2026-01-01T00:00:00Z"}}`), volume))
	before := volume.DeepCopy()
	for _, test := range []struct {
		name, patch string
		typed       bool
	}{
		{"nothing", `{}`, true},
		{"a string", `{"status":{"message":"m"}}`, true},
		{"a string that is gone", `{"status":{"phase":null}}`, true},
		{"a label more, one less, one other", `{"metadata":{"labels":{"a":null,"b":"3","c":"4"}}}`, true},
		{"the last label", `{"metadata":{"labels":{"a":null,"b":null}}}`, true},
		{"a map that is not there", `{"metadata":{"annotations":{"a":null}}}`, true},
		{"no map", `{"metadata":{"labels":null}}`, true},
		{"a label that is no string", `{"metadata":{"labels":{"a":1}}}`, false},
		{"a list", `{"metadata":{"finalizers":["p/q","r/s"]}}`, true},
		{"a list with what looks like a quantity", `{"metadata":{"finalizers":["x/e0953"]}}`, true},
		{"an empty list", `{"metadata":{"finalizers":[]}}`, true},
		{"a list with nothing in it", `{"metadata":{"finalizers":[null]}}`, true},
		{"owners", `{"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"Pod","name":"p","uid":"u","controller":true,"more":1}]}}`, true},
		{"a field behind a pointer", `{"spec":{"claimRef":{"uid":null,"namespace":"n"}}}`, true},
		{"a pointer that was nil", `{"spec":{"nfs":{"server":"s","path":null}}}`, true},
		{"a pointer to an empty struct", `{"spec":{"nfs":{}}}`, true},
		{"a pointer to a string", `{"spec":{"volumeMode":"Filesystem"}}`, true},
		{"an inlined struct", `{"spec":{"csi":null,"hostPath":{"path":"/x"}}}`, true},
		{"a number", `{"spec":{"csi":{"readOnly":true},"iscsi":{"lun":3,"targetPortal":"p","iqn":"q"}}}`, true},
		{"a time", `{"status":{"lastPhaseTransitionTime":"2026-02-02T02:02:02Z"}}`, true},
		{"what is unknown", `{"spec":{"colour":"red","CSI":null},"more":{}}`, true},
		{"quantities", `{"spec":{"capacity":{"storage":"2Gi","more":3}}}`, true},
		{"no quantities", `{"spec":{"capacity":{"storage":null}}}`, true},
		{"quantities that are none", `{"spec":{"capacity":{"storage":"lots"}}}`, false},
		{"a quantity beyond reason", `{"spec":{"capacity":{"storage":"1e99999"}}}`, false},
		{"a quantity that is an object", `{"spec":{"capacity":{"storage":{}}}}`, false},
		{"the kind", `{"kind":"PersistentVolume"}`, false},
		{"a struct that is no object", `{"metadata":"x"}`, false},
		{"a list that is none", `{"spec":{"accessModes":"all"}}`, false},
		{"a string that is none", `{"status":{"phase":3}}`, false},
		{"a string that is an object", `{"status":{"phase":{"a":1}}}`, false},
		{"a time that is none", `{"status":{"lastPhaseTransitionTime":"soon"}}`, false},
		{"a number too large", `{"spec":{"iscsi":{"lun":99999999999}}}`, false},
	} {
		t.Run("API-016 "+test.name, func(t *testing.T) {
			change, err := decode.Object([]byte(test.patch))
			require.NoError(t, err)
			typed, ok := own(s.Volumes).mergeTyped(volume, change)
			assert.Equal(t, test.typed, ok)
			assert.Equal(t, before, volume, "what was there is left alone")
			change, err = decode.Object([]byte(test.patch))
			require.NoError(t, err)
			merged, err := own(s.Volumes).mergeDocuments(volume, change)
			if !ok {
				return
			}
			require.NoError(t, err)
			want, err := json.Marshal(merged)
			require.NoError(t, err)
			got, err := json.Marshal(typed)
			require.NoError(t, err)
			assert.JSONEq(t, string(want), string(got))
			assert.Equal(t, merged.Labels == nil, typed.Labels == nil)
			assert.Equal(t, merged.Annotations == nil, typed.Annotations == nil)
		})
	}
}
