package script

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestFindOption: only a word that begins with a dash is an option.
func TestFindOption(t *testing.T) {
	for _, tt := range []struct {
		word, value string
		found       bool
	}{
		{"-n", "", true}, {"-nshop", "shop", true}, {"-n=shop", "shop", true}, {"--namespace", "", true}, {"--namespace=shop", "shop", true},
		{"", "", false}, {"-", "", false}, {"--", "", false}, {"n", "", false}, {"an", "", false}, {"-x", "", false}, {"--name", "", false},
	} {
		o, value, _ := findOption(tt.word, []option{namespaceOption})
		require.Equal(t, tt.found, o != nil, tt.word)
		require.Equal(t, tt.value, value, tt.word)
	}
}
