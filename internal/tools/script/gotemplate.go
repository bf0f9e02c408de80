//go:build !js

package script

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"text/template"

	"github.com/volsim/volsim/api"
)

// goTemplate returns what prints objects through a template of Go, as `kubectl get -o go-template` does. single is for an object that the script
// names, which is then the data of the template; else the data is a List.
func goTemplate(text string, single bool) (printer, error) {
	if text == "" {
		return nil, errors.New("template format specified but no template given")
	}
	t, err := template.New("output").Funcs(template.FuncMap{"exists": exists, "base64decode": base64decode}).Parse(text)
	if err != nil {
		return nil, fmt.Errorf("error parsing template %s, %w", text, err)
	}
	return func(r *runner, objs []api.Object) error {
		// As for kubectl, numbers are those of JSON.
		data, err := json.Marshal(shownOf(objs, single))
		if err != nil {
			return err
		}
		var decoded map[string]any
		if err := json.Unmarshal(data, &decoded); err != nil {
			return err
		}
		if err := t.Execute(&r.printed, decoded); err != nil {
			return fmt.Errorf("error executing template %q: %w", text, err)
		}
		return nil
	}, nil
}

// exists reports whether the item at the end of the indices exists, as kubectl's function of that name does.
func exists(item any, indices ...any) bool {
	v := reflect.ValueOf(item)
	for _, index := range indices {
		for v.Kind() == reflect.Interface || v.Kind() == reflect.Pointer {
			v = v.Elem()
		}
		i := reflect.ValueOf(index)
		switch v.Kind() {
		case reflect.Map:
			if !i.IsValid() || !i.Type().AssignableTo(v.Type().Key()) {
				return false
			}
			v = v.MapIndex(i)
		case reflect.Slice:
			if !i.CanInt() || i.Int() < 0 || i.Int() >= int64(v.Len()) {
				return false
			}
			v = v.Index(int(i.Int()))
		default:
			return false
		}
		if !v.IsValid() {
			return false
		}
	}
	return true
}

func base64decode(text string) (string, error) {
	data, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return "", fmt.Errorf("base64 decode failed: %w", err)
	}
	return string(data), nil
}
