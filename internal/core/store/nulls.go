package store

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/volsim/volsim/internal/core/plain"
)

// dropNulls removes the fields that are null (API-313).
func dropNulls(obj *plain.Object) {
	// API-313: no field of these kinds is nullable.
	if hasNull(obj.Content()) {
		obj.SetContent(runtime.DeepCopyJSON(obj.Content()))
		removeNulls(obj.Content())
	}
}

func hasNull(value any) bool {
	switch value := value.(type) {
	case map[string]any:
		for _, field := range value {
			if field == nil || hasNull(field) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(value, hasNull)
	}
	return false
}

func removeNulls(value any) {
	switch value := value.(type) {
	case map[string]any:
		maps.DeleteFunc(value, func(_ string, field any) bool { return field == nil })
		for _, field := range value {
			removeNulls(field)
		}
	case []any:
		for _, item := range value {
			removeNulls(item)
		}
	}
}

// requiredLists are the lists that objects of a kind always have in JSON.
var requiredLists = map[string][][]string{
	"Job.batch":                             {{"spec", "podFailurePolicy", "rules"}},
	"HorizontalPodAutoscaler.autoscaling":   {{"status", "currentMetrics"}},
	"LimitRange":                            {{"spec", "limits"}},
	"Role.rbac.authorization.k8s.io":        {{"rules"}},
	"ClusterRole.rbac.authorization.k8s.io": {{"rules"}},
	"EndpointSlice.discovery.k8s.io":        {{"endpoints"}, {"ports"}},
}

// storeNoList stores an empty list with a path as null (API-547).
func storeNoList(obj *plain.Object, path []string) {
	list, given, _ := unstructured.NestedFieldNoCopy(obj.Content(), path...)
	if items, isList := list.([]any); given && isList && len(items) == 0 {
		obj.SetContent(runtime.DeepCopyJSON(obj.Content()))
		_ = unstructured.SetNestedField(obj.Content(), nil, path...) // the fields exist
	}
}

// fillBytes stores bytes that are null in a field as none (API-547).
func fillBytes(obj *plain.Object, field string) {
	bytes, _ := obj.Field(field).(map[string]any)
	var none []string
	for name, value := range bytes {
		if value == nil {
			none = append(none, name)
		}
	}
	if len(none) == 0 {
		return
	}
	filled := maps.Clone(bytes)
	for _, name := range none {
		filled[name] = ""
	}
	obj.SetContent(maps.Clone(obj.Content()))
	obj.Content()[field] = filled
}
