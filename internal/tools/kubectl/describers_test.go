package kubectl

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestLayouts: every kind that the browser leaves out has a layout elsewhere, and only those are missing there.
func TestLayouts(t *testing.T) {
	inBrowser := 0
	for kind := range describers {
		if !slices.Contains(notInBrowser, kind) {
			inBrowser++
		}
	}
	for _, kind := range notInBrowser {
		require.Contains(t, describers, kind)
	}
	require.Equal(t, 7, inBrowser)
}

func TestNotDescribed(t *testing.T) {
	require.NoError(t, withoutLayout("CSIDriver"))
	require.EqualError(t, withoutLayout("Secret"), "describe secret: not available in the browser; use volsim run, or get -o yaml")
}
