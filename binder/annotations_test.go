package binder

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/volsim/volsim/internal/core/objects"
)

// TestSharedAnnotations: claims of one provisioner share their annotations, and those with annotations of their own, or of another one, get
// what they need (PROV-031, BIND-070).
func TestSharedAnnotations(t *testing.T) {
	var s sharedAnnotations
	naming := func(provisioner string, more ...string) map[string]string {
		all := map[string]string{objects.AnnStorageProvisioner: provisioner, objects.AnnBetaStorageProvisioner: provisioner}
		for _, key := range more {
			all[key] = objects.AnnYes
		}
		return all
	}
	for range 2 {
		for _, provisioner := range []string{"a", "a", "b"} {
			named := s.naming(nil, provisioner)
			require.Equal(t, naming(provisioner), named)
			require.Equal(t, naming(provisioner, objects.AnnBoundByController, objects.AnnBindCompleted), s.completed(named))
			own := s.naming(map[string]string{"own": objects.AnnYes}, provisioner)
			require.Equal(t, naming(provisioner, "own"), own)
			require.Equal(t, naming(provisioner, "own", objects.AnnBoundByController, objects.AnnBindCompleted), s.completed(own))
			require.Equal(t, onlyCompleted, s.completed(nil))
		}
	}
	require.Zero(t, testing.AllocsPerRun(10, func() { s.completed(s.naming(nil, "b")) }), "one map for all")
}
