package objects

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/volsim/volsim/api"
)

// CheckWritten returns what keeps an object from being sent with a verb: it is nil, has no kind or no name, or holds values that JSON does not have.
func CheckWritten(verb string, obj api.Object) error {
	if IsNil(obj) {
		return fmt.Errorf("%s: the object is nil; pass a pointer to a k8s.io/api type", verb)
	}
	if u, ok := obj.(*unstructured.Unstructured); ok {
		if err := checkJSON("", u.Object); err != nil {
			return fmt.Errorf("%s %s: %w", verb, api.KindOf(obj), err)
		}
	}
	if api.KindOf(obj) == "" {
		return fmt.Errorf("%s: %T is of an %w; set its apiVersion and kind, or use a client whose scheme has the type (controllerruntime.NewClient)", verb, obj, api.ErrUnknownKind)
	}
	if obj.GetName() == "" && (verb != "create" || obj.GetGenerateName() == "") {
		return fmt.Errorf("%s %s: metadata.name is empty; name the object", verb, api.KindOf(obj))
	}
	return nil
}

// checkJSON returns an error for a value in an unstructured object that JSON does not decode to. Such an object cannot be copied.
func checkJSON(path string, value any) error {
	switch value := value.(type) {
	case nil, string, bool, int64, float64, json.Number:
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(value)) {
			if err := checkJSON(strings.TrimPrefix(path+"."+name, "."), value[name]); err != nil {
				return err
			}
		}
	case []any:
		for i := range value {
			if err := checkJSON(fmt.Sprintf("%s[%d]", path, i), value[i]); err != nil {
				return err
			}
		}
	default:
		return fmt.Errorf("%s is of type %T; use string, bool, int64, float64, []any or map[string]any", path, value)
	}
	return nil
}
