package similar_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/volsim/volsim/internal/core/similar"
)

func TestTo(t *testing.T) {
	fields := []string{"accessModes", "resources", "storageClassName", "volumeMode", "volumeName"}
	for _, row := range []struct{ word, want string }{
		{"accessMode", "accessModes"},
		{"accesModes", "accessModes"},
		{"acecssModes", "accessModes"},
		{"ACCESSMODES", "accessModes"},
		{"volumename", "volumeName"},
		{"storageClass", "storageClassName"},
		{"stor", ""},
		{"x", ""},
		{"", ""},
		{"resource", "resources"},
	} {
		require.Equal(t, row.want, similar.To(row.word, fields), row.word)
	}
	require.Equal(t, `; did you mean "resources"`, similar.Hint("resource", fields))
	require.Empty(t, similar.Hint("nonsense", fields))
}

func TestMisspelt(t *testing.T) {
	ops := []string{"Create", "Attach", "Detach", "Stage", "Unstage"}
	for _, row := range []struct{ word, want string }{
		{"attach", "Attach"},
		{"Creat", "Create"},
		{"Dettach", "Detach"},
		{"Atatch", "Attach"},
		{"Stege", "Stage"},
		{"Create", ""},
		{"Created1", ""},
		{"stag-1", ""},
		{"pvc-1", ""},
		{"", ""},
	} {
		require.Equal(t, row.want, similar.Misspelt(row.word, ops), row.word)
	}
}
