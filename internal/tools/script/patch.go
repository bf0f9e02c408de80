package script

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	kjson "sigs.k8s.io/json"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/apply"
	"github.com/volsim/volsim/internal/core/document"
	"github.com/volsim/volsim/internal/core/scheme"
	"github.com/volsim/volsim/internal/core/store"
	"github.com/volsim/volsim/internal/core/strategic"
	"github.com/volsim/volsim/internal/core/yamljson"
)

// patchKinds are the values of --type. Each converts a patch to the merge patch of an object that does the same.
var patchKinds = map[string]func(text []byte, stored api.Object) ([]byte, error){
	"strategic": strategicPatch,
	"merge":     func(text []byte, _ api.Object) ([]byte, error) { return text, nil },
	"json":      jsonPatch,
}

func readPatch(s *Script, args []string) (step, error) {
	a, err := readArguments(args, namespaceOption, subresourceOption, option{long: "patch", short: "p", value: true},
		option{long: "patch-file", value: true}, option{long: "type", value: true})
	if err != nil {
		return nil, err
	}
	kind := a.get("type", "strategic")
	convert, ok := patchKinds[kind]
	if !ok {
		return nil, fmt.Errorf("invalid --type=%s: want %s", kind, strings.Join(slices.Sorted(maps.Keys(patchKinds)), ", "))
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
	patch, err := readPatchText(text, kind == "json")
	if err != nil {
		return nil, err
	}
	refs, err := s.refsOf(a.rest, a.get("namespace", ""))
	if err != nil {
		return nil, err
	}
	return func(r *runner) error {
		for _, ref := range refs {
			stored, err := r.get(ref)
			if err != nil {
				return err
			}
			same, err := convert(patch, stored)
			if err != nil {
				return fmt.Errorf("patch %s: %w", displayName(ref), err)
			}
			r.warnUnknown(ref.Kind, same)
			if err := r.patch(ref, string(same), status, "patched"); err != nil {
				return err
			}
		}
		return nil
	}, nil
}

// warnUnknown warns of the fields of a merge patch that the kind does not have, as the API server does for kubectl.
func (r *runner) warnUnknown(kind api.Kind, patch []byte) {
	t := scheme.TypeOf(store.GroupVersionKind(kind))
	if t == nil {
		return
	}
	// A value of a wrong type is the error of the request.
	problems, _ := kjson.UnmarshalStrict(patch, reflect.New(t).Interface())
	for _, problem := range problems {
		r.warnf("Warning: %s\n", problem)
	}
}

// readPatchText converts a patch in YAML or JSON to JSON. A patch of the type json is a list of operations, others are objects.
func readPatchText(text string, list bool) ([]byte, error) {
	data, err := yamljson.Loose([]byte(text))
	if err != nil {
		return nil, fmt.Errorf("read patch: %w", err)
	}
	if list {
		if _, err := jsonpatch.DecodePatch(data); err != nil {
			return nil, errors.New(`invalid patch: want a list of operations such as [{"op": "replace", "path": "/spec/…", "value": …}]`)
		}
		return data, nil
	}
	var doc any
	if err := json.Unmarshal(data, &doc); err != nil {
		return nil, fmt.Errorf("read patch: %w", err)
	}
	if _, ok := doc.(map[string]any); !ok {
		return nil, errors.New("invalid patch: want an object such as {\"spec\": …}")
	}
	return data, nil
}

// strategicPatch merges lists by the keys of their elements. As kubectl does, it uses a merge patch for custom objects.
func strategicPatch(text []byte, stored api.Object) ([]byte, error) {
	patch := map[string]any{}
	if err := json.Unmarshal(text, &patch); err != nil {
		return nil, err
	}
	t, ok := apply.MergeType(api.KindOf(stored))
	if !ok {
		return text, nil
	}
	before := document.Of(stored)
	after, err := strategic.Apply(before, patch, t)
	if err != nil {
		return nil, err
	}
	return json.Marshal(apply.PatchTo(before, after))
}

// jsonPatch carries out the operations on the document of the object.
func jsonPatch(text []byte, stored api.Object) ([]byte, error) {
	operations, err := jsonpatch.DecodePatch(text)
	if err != nil {
		return nil, err
	}
	before := document.Of(stored)
	data, err := json.Marshal(before)
	if err != nil {
		return nil, err
	}
	patched, err := operations.Apply(data)
	if err != nil {
		return nil, err
	}
	after := map[string]any{}
	if err := json.Unmarshal(patched, &after); err != nil {
		return nil, err
	}
	return json.Marshal(apply.PatchTo(before, after))
}

// patch patches an object and prints its name with the verb.
func (r *runner) patch(ref api.Ref, patch string, status bool, verb string) error {
	changed, err := r.change(ref, patch, status)
	if err != nil {
		return err
	}
	if !changed {
		verb += " (no change)"
	}
	r.printf("%s %s\n", displayName(ref), verb)
	return nil
}

// change patches an object and reports whether that has changed it.
func (r *runner) change(ref api.Ref, patch string, status bool) (bool, error) {
	stored, err := r.read(ref)
	if err != nil {
		return false, err
	}
	if status {
		err = r.cluster.PatchStatus(emptyObject(ref), patch)
	} else {
		err = r.cluster.Patch(emptyObject(ref), patch)
	}
	if err != nil {
		return false, err
	}
	now, err := r.read(ref)
	return err != nil || now.GetResourceVersion() != stored.GetResourceVersion(), nil
}
