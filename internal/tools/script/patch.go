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
		return nil, fmt.Errorf("--type=%s: only merge patches are known", kind)
	}
	status, err := statusWanted(a)
	if err != nil {
		return nil, err
	}
	text := a.get("patch", "")
	switch {
	case a.has("patch") == a.has("patch-file"):
		return nil, usageOf("patch", "one patch is needed")
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
	refs, err := refsOf(a.rest, a.get("namespace", ""))
	if err != nil {
		return nil, err
	}
	return func(p *player) error {
		for _, ref := range refs {
			if err := p.patch(ref, patch, status, "patched"); err != nil {
				return err
			}
		}
		return nil
	}, nil
}

// readPatchText makes JSON of a patch, which may be YAML.
func readPatchText(text string) (string, error) {
	data, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		return "", fmt.Errorf("the patch cannot be read: %w", err)
	}
	var doc any
	if err := json.Unmarshal(data, &doc); err != nil {
		return "", fmt.Errorf("the patch cannot be read: %w", err)
	}
	if reflect.TypeOf(doc) != reflect.TypeFor[map[string]any]() {
		return "", errors.New("the patch is no object: write it as {\"spec\": …}")
	}
	return string(data), nil
}

// patch patches an object and says so.
func (p *player) patch(ref api.Ref, patch string, status bool, verb string) error {
	stored, err := p.get(ref)
	if err != nil {
		return err
	}
	if status {
		err = p.cluster.PatchStatus(named(ref), patch)
	} else {
		err = p.cluster.Patch(named(ref), patch)
	}
	if err != nil {
		return err
	}
	if now, err := p.get(ref); err == nil && now.GetResourceVersion() == stored.GetResourceVersion() {
		verb += " (no change)"
	}
	p.printf("%s %s\n", shown(ref), verb)
	return nil
}
