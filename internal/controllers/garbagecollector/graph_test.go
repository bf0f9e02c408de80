package garbagecollector

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// TestChangedOwners compares lists of owners. A reference is written as its kind and its uid, with "!" if it blocks the deletion of the owner.
func TestChangedOwners(t *testing.T) {
	for _, tt := range []struct {
		rule, name  string
		old, owners []string
		want        string
	}{
		{"GC-013", "another owner", []string{"Pod a"}, []string{"Pod b"}, "added [Pod b], removed [Pod a], freed []"},
		{"GC-013", "another kind with the same uid", []string{"Pod a"}, []string{"Secret a"}, "added [], removed [], freed []"},
		{"GC-013", "two references with the uid of one", []string{"Pod a"}, []string{"ConfigMap a", "Secret a"}, "added [Secret a], removed [], freed []"},
		{"GC-021", "a reference that blocks is removed", []string{"Pod a!", "Pod b"}, []string{"Pod b"}, "added [], removed [Pod a], freed [a]"},
		{"GC-021", "a reference that blocks no longer", []string{"Pod a!"}, []string{"Pod a"}, "added [], removed [], freed [a]"},
	} {
		t.Run(tt.rule+" "+tt.name, func(t *testing.T) {
			added, removed, freed := changedOwners(references(tt.old), references(tt.owners))
			require.Equal(t, tt.want, fmt.Sprintf("added %v, removed %v, freed %v", texts(added), texts(removed), freed))
		})
	}
}

func references(lines []string) []metav1.OwnerReference {
	var refs []metav1.OwnerReference
	for _, line := range lines {
		var kind, uid string
		if _, err := fmt.Sscan(line, &kind, &uid); err != nil {
			panic(err)
		}
		ref := metav1.OwnerReference{Kind: kind, UID: types.UID(uid)}
		if last := len(uid) - 1; uid[last] == '!' {
			ref.UID, ref.BlockOwnerDeletion = types.UID(uid[:last]), new(true)
		}
		refs = append(refs, ref)
	}
	return refs
}

func texts(refs []metav1.OwnerReference) []string {
	lines := []string{}
	for _, ref := range refs {
		lines = append(lines, ref.Kind+" "+string(ref.UID))
	}
	return lines
}
