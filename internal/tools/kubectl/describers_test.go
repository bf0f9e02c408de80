package kubectl

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	networkingv1 "k8s.io/api/networking/v1"
)

// TestLayouts: every kind that the browser leaves out has a layout elsewhere, and only those are missing there.
func TestLayouts(t *testing.T) {
	inBrowser := 0
	for kind := range describers {
		if !slices.Contains(notInBrowser, kind) {
			inBrowser++
		}
		require.NotContains(t, elsewhere, kind)
	}
	for _, kind := range notInBrowser {
		require.Contains(t, describers, kind)
	}
	require.Equal(t, 7, inBrowser)
}

func TestNotDescribed(t *testing.T) {
	err := Describe(nil, time.Time{}, &networkingv1.Ingress{}, Surroundings{})
	require.EqualError(t, err, "describe ingress.networking.k8s.io: this kind is not described here; get -o yaml prints all of its fields")
	require.NoError(t, withoutLayout("CSIDriver"))
	require.EqualError(t, withoutLayout("Secret"), "describe secret: not available in the browser; use volsim run, or get -o yaml")
}
