package strategic

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// ThreeWay returns the document of an object of that Go type after kubectl apply: the fields of wanted are set, those that only before has,
// the manifest that was applied last, are removed, and the others of now stay. Lists of objects are merged by the keys of their elements. It
// changes no document; parts of the result may be shared with them.
func ThreeWay(before, wanted, now map[string]any, t reflect.Type) (map[string]any, error) {
	return field{t: t}.threeWayObject(before, wanted, now)
}

func (f field) threeWayObject(before, wanted, now map[string]any) (map[string]any, error) {
	result := make(map[string]any, len(now)+len(wanted))
	maps.Copy(result, now)
	for name := range before {
		if _, ok := wanted[name]; !ok {
			delete(result, name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(wanted)) {
		value, err := fieldOf(f.t, name).threeWay(before[name], wanted[name], now[name])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		result[name] = value
	}
	if slices.Contains(f.strategy, "retainKeys") && !reflect.DeepEqual(result, now) {
		// One of several alternatives, such as the source of a volume, takes the place of another.
		maps.DeleteFunc(result, func(name string, _ any) bool { return wanted[name] == nil })
	}
	return result, nil
}

// threeWay returns the value of a field that the wanted document has.
func (f field) threeWay(before, wanted, now any) (any, error) {
	replaces := slices.Contains(f.strategy, "replace")
	switch wanted := wanted.(type) {
	case map[string]any:
		stored, ok := now.(map[string]any)
		if !ok || replaces {
			return wanted, nil
		}
		applied, _ := before.(map[string]any)
		return f.threeWayObject(applied, wanted, stored)
	case []any:
		stored, ok := now.([]any)
		if !ok || !slices.Contains(f.strategy, "merge") {
			return wanted, nil
		}
		applied, _ := before.([]any)
		return f.threeWayList(applied, wanted, stored)
	}
	return wanted, nil
}

// threeWayList merges lists of objects by their key, or of scalars.
func (f field) threeWayList(before, wanted, now []any) ([]any, error) {
	find := func(list []any, item any) any {
		if i := slices.IndexFunc(list, func(v any) bool { return f.same(v, item) }); i >= 0 {
			return list[i]
		}
		return nil
	}
	element := field{t: elem(f.t, reflect.Slice), strategy: slices.DeleteFunc(slices.Clone(f.strategy), func(s string) bool { return s == "merge" })}
	kept := slices.DeleteFunc(slices.Clone(now), func(item any) bool { return find(before, item) != nil && find(wanted, item) == nil })
	adds := func(item any) bool { return find(now, item) == nil }
	sorted := slices.IsSortedFunc(wanted, func(a, b any) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
	if f.key == "" && len(wanted) == len(now) && !slices.ContainsFunc(wanted, adds) && sorted {
		return now, nil // the library sorts the scalars of now, and finds no difference
	}
	// As the server orders them, new elements take the places of removed ones, after all that stay.
	order := slices.Clone(kept)
	items := make([]any, len(wanted))
	for i, item := range wanted {
		fields, isObject := item.(map[string]any)
		if isObject && (f.key == "" || fields[f.key] == nil) {
			return nil, errors.New("element without the field " + f.key + ", which identifies it")
		}
		stored, exists := find(now, item).(map[string]any)
		items[i] = item
		if isObject && adds(item) && len(order) < len(now) {
			order = append(order, item)
		}
		if !isObject || !exists {
			continue
		}
		applied, _ := find(before, item).(map[string]any)
		var err error
		if items[i], err = element.threeWayObject(applied, fields, stored); err != nil {
			return nil, err
		}
	}
	return f.inOrder(order, items, func(_, item map[string]any) (map[string]any, error) { return item, nil })
}
