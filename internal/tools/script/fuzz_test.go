package script_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/volsim/volsim/internal/tools/script"
)

// FuzzParse looks for scripts that cannot be read without a panic, or whose error does not say in one line where it is.
func FuzzParse(f *testing.F) {
	for _, tt := range malformedScripts(f) {
		f.Add([]byte(tt.Script))
	}
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		_, err := script.Parse("x.txtar", data)
		if err == nil {
			return
		}
		if !strings.HasPrefix(err.Error(), "x.txtar:") {
			t.Fatalf("the error does not begin with the place: %v", err)
		}
		if _, manifest, err := parseManifest(data); err != nil && !strings.HasPrefix(err.Error(), "x.yaml:") {
			t.Fatalf("the error does not begin with the place: %v: %s", err, manifest)
		}
	})
}

func parseManifest(data []byte) (*script.Script, []byte, error) {
	s, err := script.FromManifests("x.yaml", script.File{Name: "x.yaml", Data: data})
	return s, data, err
}
