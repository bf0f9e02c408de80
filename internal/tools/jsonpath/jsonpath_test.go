package jsonpath_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/volsim/volsim/internal/tools/jsonpath"
)

const list = `{"kind": "List", "none": null, "empty": [], "items": [
	{"name": "a", "size": 10, "ready": true, "labels": {"example.com/tier": "front", "app": "web"}, "modes": ["RWO", "ROX"]},
	{"name": "b", "size": 9, "note": "a<b", "modes": []},
	{"name": "c", "size": 10, "share": 0.5, "modes": ["RWX"]}]}`

func decoded(t *testing.T) (doc any) {
	decoder := json.NewDecoder(strings.NewReader(list))
	decoder.UseNumber()
	require.NoError(t, decoder.Decode(&doc))
	return doc
}

// TestFind: what paths of scripts select. What does not exist is left out.
func TestFind(t *testing.T) {
	for path, want := range map[string]string{
		".kind": "List", ".none": "", ".nothing": "", ".items[0].name": "a", ".items[-1].name": "c", ".items[7].name": "", ".kind[0]": "",
		".items[*].name": "a,b,c", ".items.*.name": "a,b,c", ".items[1:].name": "b,c", ".items[:9:2].name": "a,c", ".items[0,2].name": "a,c",
		".items[0].labels[example.com/tier]": "front", `.items[0].labels['example.com/tier']`: "front", `.items[0].labels.example\.com/tier`: "front",
		".items[0].labels.*": "web,front", "..app": "web", ".items[*].modes[*]": "RWO,ROX,RWX", ".items[*]['name','size']": "a,b,c,10,9,10",
		".items[?(@.size>9)].name": "a,c", `.items[?(@.name=="b")].note`: "a<b", ".items[?(@.share)].name": "c", ".items[?(@.share<1)].name": "c",
		".items[?(@.ready==true)].name": "a", ".items[0].modes": `["RWO","ROX"]`,
	} {
		p, err := jsonpath.Read(path)
		require.NoError(t, err, path)
		require.Equal(t, want, p.Value(decoded(t)), path)
	}
}

// TestTemplates: what templates print, and where they fail as in kubectl.
func TestTemplates(t *testing.T) {
	for _, tt := range []struct{ template, want, err string }{
		{template: "plain", want: "plain"},
		{template: "{.kind}: {.items[*].name}", want: "List: a b c"},
		{template: `{range .items[*]}{.name}{"\t"}{.size}{"\n"}{end}`, want: "a\t10\nb\t9\nc\t10\n"},
		{template: "{$.kind}{@.kind}", want: "ListList"},
		{template: "{.none} {.nothing} {.empty}", want: "null  []"},
		{template: "{.items[1]}", want: `{"modes":[],"name":"b","note":"a\u003cb","size":9}`},
		{template: "{.items[0].labels['example\\.com/tier']}", want: "front"},
		{template: "{.items[?(@.size>9)].name}", want: "a c"},
		{template: "{range .items[?(@.size>9)]}{range .modes[*]}{@},{end}{end}", want: "RWO,ROX,RWX,"},
		{template: "{.items[*].modes[*]}", want: "RWO ROX"}, // kubectl ends at the first empty list

		{template: "{.items[3]}", err: "array index out of bounds: index 3, length 3"},
		{template: "{.items[-4]}", err: "array index out of bounds: index -1, length 3"},
		{template: "{.items[2:1]}", err: "starting index 2 is greater than ending index 1"},
		{template: "{.items[0:2:0]}", err: "step must be > 0"},
		{template: "{.kind[0]}", err: "string is not array or slice"},
		{template: "{.items[0].size[*]}", err: "int64 is not array or slice"},
		{template: "{.kind[?(@.x)]}", err: "List is not array or slice and cannot be filtered"},
		{template: `{.items[?(@.size=="9")].name}`, err: "incompatible types for comparison"},
		{template: "{.items[?(@.modes==1)].name}", err: "invalid type for comparison"},
		{template: `{.items[?(@.modes[0]=="RWO")].name}`, err: "array index out of bounds: index 0, length 0"},
		{template: "{.items[0].labels[app]}", err: "invalid array index app"},
		{template: "{.kind", err: "unclosed {"},
		{template: "{kind}", err: "must begin with a dot"},
		{template: "{.a}{end}", err: "{end} without {range}"},
		{template: "{range .items[*]}{.name}", err: "{range .items[*]} without {end}"},
	} {
		read, err := jsonpath.ReadTemplate(tt.template)
		got := ""
		if err == nil {
			got, err = read(decoded(t))
		}
		if tt.err != "" {
			require.ErrorContains(t, err, tt.err, tt.template)
			continue
		}
		require.NoError(t, err, tt.template)
		require.Equal(t, tt.want, got, tt.template)
	}
}
