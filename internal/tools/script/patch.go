package script

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"

	"sigs.k8s.io/yaml"

	"github.com/volsim/volsim/api"
)

func readPatch(s *Script, args []string) (step, error) {
	a, err := readArguments(args, namespaceOption, subresourceOption, option{long: "patch", short: "p", value: true},
		option{long: "patch-file", value: true}, option{long: "type", value: true})
	if err != nil {
		return nil, err
	}
	if kind := a.get("type", "merge"); kind != "merge" {
		return nil, fmt.Errorf("invalid --type=%s: want merge", kind)
	}
	status, err := readSubresource(a)
	if err != nil {
		return nil, err
	}
	text := a.get("patch", "")
	switch {
	case a.has("patch") == a.has("patch-file"):
		return nil, usageOf("patch", "want one of -p and --patch-file")
	case a.has("patch-file"):
		f, err := s.file(a.get("patch-file", ""))
		if err != nil {
			return nil, err
		}
		text = string(f.Data)
	}
	patch, err := readPatchText(text)
	if err != nil {
		return nil, err
	}
	refs, err := s.refsOf(a.rest, a.get("namespace", ""))
	if err != nil {
		return nil, err
	}
	return func(r *runner) error {
		for _, ref := range refs {
			if err := r.patch(ref, patch, status, "patched"); err != nil {
				return err
			}
		}
		return nil
	}, nil
}

// readPatchText converts a patch in YAML or JSON to JSON.
func readPatchText(text string) (string, error) {
	data, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		return "", fmt.Errorf("read patch: %w", err)
	}
	var doc any
	if err := json.Unmarshal(data, &doc); err != nil {
		return "", fmt.Errorf("read patch: %w", err)
	}
	if reflect.TypeOf(doc) != reflect.TypeFor[map[string]any]() {
		return "", errors.New("invalid patch: want an object such as {\"spec\": …}")
	}
	return string(data), nil
}

// patch patches an object and prints its name with the verb.
func (r *runner) patch(ref api.Ref, patch string, status bool, verb string) error {
	stored, err := r.get(ref)
	if err != nil {
		return err
	}
	if status {
		err = r.cluster.PatchStatus(emptyObject(ref), patch)
	} else {
		err = r.cluster.Patch(emptyObject(ref), patch)
	}
	if err != nil {
		return err
	}
	if now, err := r.get(ref); err == nil && now.GetResourceVersion() == stored.GetResourceVersion() {
		verb += " (no change)"
	}
	r.printf("%s %s\n", displayName(ref), verb)
	return nil
}
