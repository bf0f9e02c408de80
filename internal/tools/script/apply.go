package script

import (
	"encoding/json"
	"fmt"

	"github.com/volsim/volsim/api"
)

func readApply(s *Script, args []string) (step, error) {
	a, err := readArguments(args, fileOption)
	if err != nil {
		return nil, err
	}
	files, err := readFiles(s, "apply", a)
	if err != nil {
		return nil, err
	}
	return forObjects(s, files, (*player).apply)
}

// apply creates an object, or patches it with what changed since it was applied last.
func (p *player) apply(obj api.Object) error {
	ref := api.RefTo(obj)
	if obj.GetName() == "" {
		return fmt.Errorf("a %s without a name cannot be applied: use create", ref.Kind)
	}
	wanted := manifestOf(obj)
	stored, err := p.get(ref)
	if err != nil {
		if err := p.cluster.Create(obj); err != nil {
			return err
		}
		p.applied[ref] = wanted
		p.printf("%s created\n", shown(ref))
		return nil
	}
	patch, err := json.Marshal(patchTo(p.applied[ref], wanted))
	if err != nil {
		return err
	}
	if err := p.cluster.Patch(named(ref), string(patch)); err != nil {
		return err
	}
	p.applied[ref] = wanted
	now, err := p.get(ref)
	if err == nil && now.GetResourceVersion() == stored.GetResourceVersion() {
		p.printf("%s unchanged\n", shown(ref))
		return nil
	}
	p.printf("%s configured\n", shown(ref))
	return nil
}

// manifestOf is an object as somebody applies it: without status, and what the types write although nobody said it.
func manifestOf(obj api.Object) map[string]any {
	doc := documentOf(obj)
	delete(doc, "status")
	prune(doc)
	return doc
}

// prune takes out nulls and empty maps below a map, such as "creationTimestamp: null" and "resources: {}".
func prune(doc map[string]any) {
	for key, v := range doc {
		inner, isMap := v.(map[string]any)
		if isMap {
			prune(inner)
		}
		if v == nil || isMap && len(inner) == 0 {
			delete(doc, key)
		}
	}
}

// patchTo is the merge patch that sets everything wanted, and removes what was applied before and is not wanted any more.
func patchTo(before, wanted map[string]any) map[string]any {
	patch := make(map[string]any)
	for key := range before {
		if _, ok := wanted[key]; !ok {
			patch[key] = nil
		}
	}
	for key, v := range wanted {
		inner, isMap := v.(map[string]any)
		old, wasMap := before[key].(map[string]any)
		switch {
		case isMap && wasMap:
			patch[key] = patchTo(old, inner)
		case isMap:
			patch[key] = patchTo(nil, inner)
		default:
			patch[key] = v
		}
	}
	return patch
}
