package csitest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/volsim/volsim/csi/internal/testdriver"
)

// A finding about a request that lacks a field names the field, and its story has no other call.
func TestMissingFieldNamed(t *testing.T) {
	cfg := testConfig(testdriver.ArgumentsMissing)
	cfg.Stories = []string{"invalid-requests"}
	report, err := Check(cfg)
	require.NoError(t, err)
	found := map[string]string{}
	for _, f := range report.Findings {
		require.Len(t, f.Calls, 1)
		found[f.Method] = f.Detail
	}
	require.Equal(t, "DeleteVolume succeeds, and code InvalidArgument is required: volume_id is missing", found["DeleteVolume"])
	for i, want := range []string{"name", "volume_capabilities", "volume_id", "volume_id", "volume_id", "target_path", "volume_capability", "volume_id", "target_path"} {
		require.Equal(t, want, missingField((&run{rec: &recording{}, cfg: &Config{}, nodes: []string{"n1"}}).invalidRequests()[i]), i)
	}
}
