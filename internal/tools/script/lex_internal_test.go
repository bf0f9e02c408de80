package script

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestWords: quotes and backslashes are those of a shell.
func TestWords(t *testing.T) {
	for line, want := range map[string][]string{
		`get pv  data`:                           {"get", "pv", "data"},
		`a 'b c' # comment`:                      {"a", "b c"},
		`a#b`:                                    {"a#b"},
		`'it''s' x='y z'`:                        {"it's", "x=y z"},
		`"a \"b\" \\ c"`:                         {`a "b" \ c`},
		`"{.metadata.labels['example\.com/a']}"`: {`{.metadata.labels['example\.com/a']}`},
		`'{.metadata.labels.example\.com/a}{"\n"}'`: {`{.metadata.labels.example\.com/a}{"\n"}`},
		`''`: {""},
	} {
		words, err := words(line)
		require.NoError(t, err, line)
		var got []string
		for _, w := range words {
			text, ok := w.plain()
			require.True(t, ok, line)
			got = append(got, text)
		}
		require.Equal(t, want, got, line)
	}
	for line, want := range map[string]string{`a 'b`: "unclosed single quote", `a "b`: "unclosed double quote", `a "b\"`: "unclosed double quote"} {
		_, err := words(line)
		require.ErrorContains(t, err, want, line)
	}
}
