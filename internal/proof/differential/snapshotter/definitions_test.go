package snapshotter

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/volsim/volsim/internal/apiserver/snapshotdefinitions"
)

// TestDefinitions compares the CustomResourceDefinitions that a simulated cluster has with those of external-snapshotter (API-578). Descriptions
// may differ. Versions that are deprecated or not served, and columns' priorities and descriptions, are omitted.
func TestDefinitions(t *testing.T) {
	dir, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/kubernetes-csi/external-snapshotter/client/v8").Output()
	if err != nil {
		t.Fatalf("find the module: %v", err)
	}
	files, err := filepath.Glob(filepath.Join(strings.TrimSpace(string(dir)), "config/crd/*snapshot*.yaml"))
	if err != nil || len(files) != 6 {
		t.Fatalf("found the definitions %v, want 6 (%v)", files, err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var theirs map[string]any
		if err := yaml.Unmarshal(data, &theirs); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		name := theirs["metadata"].(map[string]any)["name"].(string)
		ours := snapshotdefinitions.Of(name)
		if ours == nil {
			t.Errorf("%s is missing", name)
			continue
		}
		want, got := essence(t, theirs["spec"]), essence(t, ours.Content()["spec"])
		if want != got {
			t.Errorf("%s differs:\nexternal-snapshotter: %s\nvolsim: %s", name, want, got)
		}
	}
}

// essence returns what matters of the spec of a definition, as JSON.
func essence(t *testing.T, spec any) string {
	t.Helper()
	data, err := json.Marshal(spec)
	if err != nil {
		t.Fatal(err)
	}
	var fields map[string]any
	if err := json.Unmarshal(data, &fields); err != nil {
		t.Fatal(err)
	}
	var versions []any
	for _, v := range fields["versions"].([]any) {
		if version := v.(map[string]any); version["served"] == true && version["deprecated"] != true {
			versions = append(versions, undescribed(version))
		}
	}
	fields["versions"] = versions
	if data, err = json.Marshal(fields); err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// undescribed returns a value without the descriptions in it. A field may have that name, too, but then it is no text.
func undescribed(value any) any {
	switch value := value.(type) {
	case map[string]any:
		out := map[string]any{}
		for name, field := range value {
			if _, isText := field.(string); name == "description" && isText {
				continue
			}
			out[name] = undescribed(field)
		}
		return out
	case []any:
		out := make([]any, len(value))
		for i, item := range value {
			out[i] = undescribed(item)
		}
		return out
	}
	return value
}
