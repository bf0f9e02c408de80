package grants_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volsim/volsim/internal/core/grants"
	"github.com/volsim/volsim/internal/core/plain"
)

func grant(t *testing.T, namespace, spec string) *plain.Object {
	t.Helper()
	obj := &plain.Object{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "g"}}
	var content any
	require.NoError(t, json.Unmarshal([]byte(spec), &content))
	obj.SetContent(map[string]any{"spec": content})
	return obj
}

// Claim shop/copy has a source in namespace golden.
func TestCheck(t *testing.T) {
	const (
		from     = `"from": [{"group": "", "kind": "PersistentVolumeClaim", "namespace": "shop"}]`
		other    = `"from": [{"group": "", "kind": "PersistentVolumeClaim", "namespace": "other"}]`
		claims   = `"to": [{"group": "", "kind": "PersistentVolumeClaim"}]`
		snapshot = `"to": [{"group": "snapshot.storage.k8s.io", "kind": "VolumeSnapshot"}]`
	)
	type list []*plain.Object
	at := func(namespace, spec string) *plain.Object { return grant(t, namespace, spec) }
	aSnapshot := corev1.TypedObjectReference{APIGroup: new("snapshot.storage.k8s.io"), Kind: "VolumeSnapshot", Name: "seed"}
	aClaim := corev1.TypedObjectReference{Kind: "PersistentVolumeClaim", Name: "seed"}
	for _, tt := range []struct {
		rule, name string
		ref        corev1.TypedObjectReference
		grants     list
		want       bool
	}{
		{"SNAP-033", "no grant", aSnapshot, nil, false},
		{"SNAP-033", "any snapshot", aSnapshot, list{at("golden", "{"+from+","+snapshot+"}")}, true},
		{"SNAP-033", "a grant in the namespace of the claim", aSnapshot, list{at("shop", "{"+from+","+snapshot+"}")}, false},
		{"SNAP-033", "a grant for another namespace", aSnapshot, list{at("golden", "{"+other+","+snapshot+"}")}, false},
		{"SNAP-033", "a grant for claims", aSnapshot, list{at("golden", "{"+from+","+claims+"}")}, false},
		{"SNAP-033", "any claim", aClaim, list{at("golden", "{"+from+","+claims+"}")}, true},
		{"SNAP-033", "a claim with an empty group", corev1.TypedObjectReference{APIGroup: new(""), Kind: "PersistentVolumeClaim", Name: "seed"},
			list{at("golden", "{"+from+","+claims+"}")}, true},
		{"SNAP-033", "this snapshot", aSnapshot,
			list{at("golden", "{"+from+`,"to": [{"group": "snapshot.storage.k8s.io", "kind": "VolumeSnapshot", "name": "seed"}]}`)}, true},
		{"SNAP-033", "another snapshot", aSnapshot,
			list{at("golden", "{"+from+`,"to": [{"group": "snapshot.storage.k8s.io", "kind": "VolumeSnapshot", "name": "tree"}]}`)}, false},
		{"SNAP-033", "an empty name", aSnapshot,
			list{at("golden", "{"+from+`,"to": [{"group": "snapshot.storage.k8s.io", "kind": "VolumeSnapshot", "name": ""}]}`)}, true},
		{"SNAP-033", "the second of several", aSnapshot, list{at("golden", `{"from": [{"group": "apps", "kind": "Deployment", "namespace": "shop"},
			{"group": "", "kind": "PersistentVolumeClaim", "namespace": "shop"}], "to": [{"group": "", "kind": "Secret"},
			{"group": "snapshot.storage.k8s.io", "kind": "VolumeSnapshot"}]}`)}, true},
		{"SNAP-033", "from and to in two grants", aSnapshot,
			list{at("golden", "{"+from+","+claims+"}"), at("golden", "{"+other+","+snapshot+"}")}, false},
		{"SNAP-033", "the second grant", aSnapshot, list{at("golden", "{"+from+","+claims+"}"), at("golden", "{"+from+","+snapshot+"}")}, true},
		{"SNAP-033", "fields of other types", aSnapshot, list{at("golden", `{"from": "all", "to": [1, {"kind": 2}]}`), at("golden", `"open"`)}, false},
	} {
		claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "copy"}}
		tt.ref.Namespace = new("golden")
		claim.Spec.DataSourceRef = &tt.ref
		require.True(t, grants.Needed(claim))
		err := grants.Check(claim, tt.grants)
		if tt.want {
			require.NoError(t, err, "%s %s", tt.rule, tt.name)
		} else {
			require.EqualError(t, err, "accessing golden/seed of "+tt.ref.Kind+" dataSource from shop/copy isn't allowed", "%s %s", tt.rule, tt.name)
		}
	}
}

// No grant is needed within a namespace, and dataSource comes first.
func TestNeeded(t *testing.T) {
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "shop"}}
	require.False(t, grants.Needed(claim))
	claim.Spec.DataSourceRef = &corev1.TypedObjectReference{Kind: "PersistentVolumeClaim", Name: "seed", Namespace: new("shop")}
	require.False(t, grants.Needed(claim))
	claim.Spec.DataSourceRef.Namespace = new("golden")
	require.True(t, grants.Needed(claim))
	claim.Spec.DataSource = &corev1.TypedLocalObjectReference{Kind: "PersistentVolumeClaim", Name: "seed"}
	require.False(t, grants.Needed(claim))
}
