package gates_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/volsim/volsim/internal/core/gates"
)

func TestParse(t *testing.T) {
	both := "; these are: CSIVolumeHealth, CrossNamespaceVolumeDataSource"
	for _, tt := range []struct {
		text string
		want gates.Set
		err  string
	}{
		{text: "CrossNamespaceVolumeDataSource=true", want: gates.Set{CrossNamespaceVolumeDataSource: true}},
		{text: "CrossNamespaceVolumeDataSource=false, CrossNamespaceVolumeDataSource=true", want: gates.Set{CrossNamespaceVolumeDataSource: true}},
		{text: "CrossNamespaceVolumeDataSource=true,CrossNamespaceVolumeDataSource=false"},
		{text: "CSIVolumeHealth=true", want: gates.Set{CSIVolumeHealth: true}},
		{text: "CrossNamespaceVolumeDataSource", err: `invalid feature gate "CrossNamespaceVolumeDataSource"; want NAME=true or NAME=false, separated by commas`},
		{text: "CrossNamespaceVolumeDataSource=on", err: `invalid feature gate "CrossNamespaceVolumeDataSource=on"; want NAME=true or NAME=false, separated by commas`},
		{text: "", err: `invalid feature gate ""; want NAME=true or NAME=false, separated by commas`},
		{text: "=true", err: `invalid feature gate "=true"; want NAME=true or NAME=false, separated by commas`},
		{text: "VolumeHealth=true", err: `"VolumeHealth" is not a feature gate that is simulated` + both},
		{text: "AnyVolumeDataSource=false", err: `"AnyVolumeDataSource" is not a feature gate that is simulated` + both},
	} {
		values, err := gates.Parse(tt.text)
		if tt.err != "" {
			require.EqualError(t, err, tt.err, tt.text)
			continue
		}
		require.NoError(t, err, tt.text)
		got, err := gates.New(values)
		require.NoError(t, err, tt.text)
		require.Empty(t, cmp.Diff(tt.want, got), tt.text)
	}
}

// Every name is a gate of its own.
func TestKnown(t *testing.T) {
	seen := map[gates.Set]bool{{}: true}
	for _, name := range gates.Known {
		s, err := gates.New(map[string]bool{name: true})
		require.NoError(t, err)
		require.False(t, seen[s], name)
		seen[s] = true
	}
}
