package binder

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/volsim/volsim/fake"
)

func TestSizeMade(t *testing.T) {
	for _, tt := range []struct {
		rule, name string
		made       int64
		want       string
	}{
		{"PROV-047", "the plugin does not say", 0, "10G"},
		{"PROV-047", "what was asked for, in its notation", 10000000000, "10G"},
		{"PROV-047", "more", 3 << 30, "3Gi"},
		{"PROV-047", "as the API server would read it back", 1500000000, "1500M"},
	} {
		got := sizeMade(fake.Claim("data", "10G"), tt.made)
		require.Equal(t, tt.want, got.String(), "%s: %s", tt.rule, tt.name)
	}
}
