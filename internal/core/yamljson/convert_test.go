package yamljson_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/volsim/volsim/internal/core/yamljson"
)

// value decodes JSON without changing numbers.
func value(t *testing.T, data []byte) any {
	t.Helper()
	var v any
	if err := json.Unmarshal(data, &v); err != nil {
		t.Fatalf("not JSON: %v\n%s", err, data)
	}
	return v
}

// documents are the rows of the test and the seeds of the fuzz target.
var documents = []struct {
	name, doc string
	converted bool
}{
	{"mapping", "a: b\nc: 1\nd: true\ne: null\nf:\n", true},
	{"nested", "a:\n  b:\n    c: d\n  e: f\ng: h\n", true},
	{"sequence in the column of its key", "a:\n- b\n- c: d\n  e: f\ng: h\n", true},
	{"sequence further in", "a:\n  - b\n  -   c: d\n      e: f\ng: h\n", true},
	{"sequence of sequences", "- - a\n  - b\n- c\n", true},
	{"empty collections", "a: {}\nb: []\n", true},
	{"flow collections", "a: {b: c, d: [1, 2]}\ne: f\n", true},
	{"flow over several lines", "a:\n  b: {c: d,\n    e: f}\n  g: h\n", true},
	{"quotes", "a: 'it''s'\nb: \"x\\ty \\u00e9\"\nc: \"x\\\"y\"\n'd': e\n\"f\": g\n", true},
	{"folded strings", "a: 'one two\n  three'\nb: one\n  two\n  three\nc: \"one\n  two\"\nd: e\n", true},
	{"folded strings with blank lines", "a: 'one\n\n  two'\nb: one\n\n  two\nc: d\n", true},
	{"literal", "a: |\n  {\"x\": 1}\n\n    y\nb: |-\n  z\n\nc: |2\n    x\nd: >\n  x\n  y\n", true},
	{"literal in a sequence", "a:\n- |\n  x\n- b: |\n    y\n  c: d\n", true},
	{"strings like numbers", "a: 10Gi\nb: 1.2.3\nc: 2026-01-01\nd: 1e3\ne: 0x1F\nf: 010\ng: 1_000\nh: -5\ni: 0.5\nj: 10.0.0.0/8\nk: 1:30\n", true},
	{"strings like booleans", "a: yes\nb: No\nc: y\nd: on\ne: ~\nf: True\n", true},
	{"keys like numbers", "1: a\n2.5: b\ntrue: c\n", true},
	{"managed fields", "f:metadata:\n  f:labels:\n    .: {}\n    k:{\"type\":\"Ready\"}:\n      .: {}\n", true},
	{"comments", "# first\na: b # c\n\n# between\nd: # e\n  f: g\n", true},
	{"colons", "a: b:c\nhttp://x: y\n", true},
	{"anchor", "a: &x b\nc: *x\n", false},
	{"merge", "a: &x {b: c}\nd:\n  <<: *x\n  e: f\n", false},
	{"duplicate key", "a: b\na: c\n", false},
	{"duplicate key in quotes", "a: b\n'a': c\n", false},
	{"two documents", "a: b\n---\nc: d\n", false},
	{"scalar", "hello\n", false},
	{"broken", "a: b\n  c: d\n", false},
	{"bad indentation", "a:\n    b: c\n  d: e\n", false},
	{"tab", "a:\n\tb: c\n", false},
	{"longest key", strings.Repeat("k", 1024) + ": a\n", true},
	{"key that is too long", strings.Repeat("k", 1025) + ": a\n", false},
	{"key that is too long, without a value", "a:\n  " + strings.Repeat("k", 1025) + ":\n", false},
	{"empty", "", false},
}

// TestConvert converts documents and compares the value with that of the library.
func TestConvert(t *testing.T) {
	for _, row := range documents {
		t.Run(row.name, func(t *testing.T) {
			got, ok := yamljson.Convert([]byte(row.doc))
			if ok != row.converted {
				t.Fatalf("converted %v, want %v\n%s", ok, row.converted, got)
			}
			if !ok {
				return
			}
			want, err := yaml.YAMLToJSONStrict([]byte(row.doc))
			if err != nil {
				t.Fatalf("the library rejects it: %v", err)
			}
			if !reflect.DeepEqual(value(t, got), value(t, want)) {
				t.Errorf("got  %s\nwant %s", got, want)
			}
		})
	}
}

// TestConvertDumps converts dumps of clusters as the library does.
func TestConvertDumps(t *testing.T) {
	files, err := filepath.Glob("../../../cmd/volsim/testdata/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no dumps: %v", err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		got, ok := yamljson.Convert(data)
		if !ok {
			t.Fatalf("%s is not converted", file)
		}
		want, err := yaml.YAMLToJSONStrict(data)
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(value(t, got), value(t, want)) {
			t.Errorf("%s: the value differs", file)
		}
	}
}

// Keys that differ in YAML and not in JSON are an error: the library keeps one of them by chance.
func TestCollisions(t *testing.T) {
	for doc, key := range map[string]string{
		"1: a\n\"1\": b\n":                 "1",
		"a: {true: x, \"true\": y}\n":      "true",
		"a:\n- {0: 0, !a0 0}\n":            "0",
		"a: {0.5: x, b: {-7: 1, '-7': 2}}": "-7",
		"{1: a, 1.00000000001: b}":         "1",
	} {
		for name, convert := range map[string]func([]byte) ([]byte, error){"Strict": yamljson.Strict, "Loose": yamljson.Loose} {
			if _, err := convert([]byte(doc)); err == nil || err.Error() != fmt.Sprintf("yaml: key %q is there twice, with and without quotes", key) {
				t.Errorf("%s(%q): error = %v", name, doc, err)
			}
		}
		if got, ok := yamljson.Convert([]byte(doc)); ok {
			t.Errorf("Convert(%q) = %s", doc, got)
		}
	}
	for _, doc := range []string{"1: a\n2: b\n", "a: {8080: x, \"80\": y}", "{0x10: a, 10: b}"} {
		if _, err := yamljson.Strict([]byte(doc)); err != nil {
			t.Errorf("Strict(%q): %v", doc, err)
		}
	}
}

// FuzzConvert compares every conversion with that of the library.
func FuzzConvert(f *testing.F) {
	for _, row := range documents {
		f.Add([]byte(row.doc))
	}
	f.Add([]byte("0: {0: 0,!a0 0}"))
	f.Fuzz(func(t *testing.T, doc []byte) {
		got, ok := yamljson.Convert(doc)
		if !ok {
			return
		}
		want, err := yamljson.Strict(doc)
		if err != nil {
			t.Fatalf("the library rejects it: %v", err)
		}
		if !reflect.DeepEqual(value(t, got), value(t, want)) {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	})
}
