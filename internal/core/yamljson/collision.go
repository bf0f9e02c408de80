package yamljson

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"

	yamlv2 "go.yaml.in/yaml/v2"
	"sigs.k8s.io/yaml"
)

// Strict converts YAML to JSON with the library, and returns its error for a key that a mapping has twice. Keys that differ in YAML and not in
// JSON, such as 1 and "1", are an error, too: the library keeps either of them, by chance.
func Strict(doc []byte) ([]byte, error) { return distinct(doc, yaml.YAMLToJSONStrict) }

// Loose is Strict, except that the last one of the same keys counts.
func Loose(doc []byte) ([]byte, error) { return distinct(doc, yaml.YAMLToJSON) }

// otherKey matches a key that may have been a number or a boolean.
var otherKey = regexp.MustCompile(`"(?:true|false|[-+.0-9][^"]*)":`)

func distinct(doc []byte, convert func([]byte) ([]byte, error)) ([]byte, error) {
	data, err := convert(doc)
	if err != nil || !otherKey.Match(data) {
		return data, err
	}
	var value any
	if err := yamlv2.Unmarshal(doc, &value); err != nil {
		return nil, err
	}
	if key, found := collision(value); found {
		return nil, fmt.Errorf("yaml: key %q is there twice, with and without quotes", key)
	}
	return data, nil
}

// collision returns a key that a mapping has as a string and as another value.
func collision(value any) (key string, found bool) {
	switch value := value.(type) {
	case []any:
		for _, element := range value {
			if key, found := collision(element); found {
				return key, true
			}
		}
	case map[any]any:
		var keys, found []string
		for k, element := range value {
			keys = append(keys, inJSON(k))
			if key, ok := collision(element); ok {
				found = append(found, key)
			}
		}
		slices.Sort(keys)
		for i := 1; i < len(keys); i++ {
			if keys[i] == keys[i-1] {
				found = append(found, keys[i])
			}
		}
		if len(found) > 0 {
			return slices.Min(found), true
		}
	}
	return "", false
}

// inJSON returns a key as the library writes it.
func inJSON(key any) string {
	if number, ok := key.(float64); ok {
		return strconv.FormatFloat(number, 'g', -1, 32)
	}
	return fmt.Sprint(key)
}
