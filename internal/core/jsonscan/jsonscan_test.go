package jsonscan_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/volsim/volsim/internal/core/jsonscan"
)

// TestFields splits objects as the JSON library does.
func TestFields(t *testing.T) {
	for _, text := range []string{
		`{}`, ` { } `, `{"a":1}`, `{"a": "b\"}", "c" : [1,{"d":"]"}] , "e":{"f":{}},"g":null}`, `{"a":"\\","b":"\\\"","c":-1.5e3}`,
	} {
		want := map[string]json.RawMessage{}
		require.NoError(t, json.Unmarshal([]byte(text), &want))
		got := map[string]json.RawMessage{}
		for key, value := range jsonscan.Fields([]byte(text)) {
			got[string(key)] = value
		}
		require.Equal(t, want, got, text)
	}
}

// TestItems splits arrays as the JSON library does.
func TestItems(t *testing.T) {
	for _, text := range []string{`[]`, `[ ]`, `[1]`, `[1, "a,b" ,[2,3], {"c":"]"} ,null,true]`} {
		var want, got []json.RawMessage
		require.NoError(t, json.Unmarshal([]byte(text), &want))
		for item := range jsonscan.Items([]byte(text)) {
			got = append(got, item)
		}
		require.Len(t, got, len(want), text)
		for i := range want {
			require.Equal(t, string(want[i]), string(got[i]), text)
		}
	}
}

// TestMalformed ends at what is not JSON.
func TestMalformed(t *testing.T) {
	for _, text := range []string{``, `x`, `{`, `{"a`, `{"a"`, `{"a":`, `{"a" 1}`, `{a:1}`, `[`, `[1`, `["a`, `["\`, `[[`, `]`} {
		for range jsonscan.Fields([]byte(text)) {
			continue
		}
		for range jsonscan.Items([]byte(text)) {
			continue
		}
	}
	require.Empty(t, jsonscan.Text([]byte(`"a\n"`)))
	require.Empty(t, jsonscan.Text([]byte(`1`)))
	require.Equal(t, "a", jsonscan.Text([]byte(`"a"`)))
}

// TestCompact removes the blanks that the JSON library removes.
func TestCompact(t *testing.T) {
	for _, text := range []string{
		`{}`, " {\n\t\"a b\" : [ 1 ,\r\n 2.5e3, \"c \\\" d\\\\\" ] , \"\" : null }\n", `[true, {"a": "\\"}, "é  \u2028"]`,
	} {
		var want bytes.Buffer
		require.NoError(t, json.Compact(&want, []byte(text)))
		require.Equal(t, want.String(), string(jsonscan.Compact([]byte(text))))
	}
}
