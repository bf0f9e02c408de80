package strategic_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/strategicpatch"

	"github.com/volsim/volsim/internal/core/strategic"
)

// TestLibrary: the result is that of the library that kube-apiserver uses, and so is whether the patch is refused.
func TestLibrary(t *testing.T) {
	applied, refused := 0, 0
	for seed := range uint64(4_000) {
		g := generator{rand.New(rand.NewPCG(seed, 17))}
		doc, patch := g.object(reflect.TypeFor[corev1.Pod](), false, 6), g.object(reflect.TypeFor[corev1.Pod](), true, 6)
		shown := fmt.Sprintf("seed %d\n%s\n%s", seed, text(t, doc), text(t, patch))
		got, err := strategic.Apply(runtime.DeepCopyJSON(doc), runtime.DeepCopyJSON(patch), reflect.TypeFor[corev1.Pod]())
		want, wantErr := strategicpatch.StrategicMergeMapPatch(runtime.DeepCopyJSON(doc), runtime.DeepCopyJSON(patch), corev1.Pod{})
		if wantErr != nil {
			require.Error(t, err, "%s: the library refuses it: %v", shown, wantErr)
			refused++
			continue
		}
		require.NoError(t, err, shown)
		require.Equal(t, text(t, tidy(want)), text(t, tidy(got)), shown)
		applied++
	}
	require.Greater(t, applied, 500)
	require.Greater(t, refused, 100)
}

// TestThreeWayLibrary: the result is that of the patch which kubectl apply sends.
func TestThreeWayLibrary(t *testing.T) {
	pod := reflect.TypeFor[corev1.Pod]()
	schema, err := strategicpatch.NewPatchMetaFromStruct(corev1.Pod{})
	require.NoError(t, err)
	for seed := range uint64(2_000) {
		g := generator{rand.New(rand.NewPCG(seed, 18))}
		before, wanted := g.object(pod, false, 6), g.object(pod, false, 6)
		// What was applied is still there, and more: the library adds its directives to a list that was removed.
		now, err := strategic.Apply(before, g.object(pod, false, 6), pod)
		require.NoError(t, err)
		shown := fmt.Sprintf("seed %d\nbefore %s\nwanted %s\nnow %s", seed, text(t, before), text(t, wanted), text(t, now))
		patch, err := strategicpatch.CreateThreeWayMergePatch([]byte(text(t, before)), []byte(text(t, wanted)), []byte(text(t, now)), schema, true)
		require.NoError(t, err, shown)
		want, err := strategicpatch.StrategicMergePatch([]byte(text(t, now)), patch, corev1.Pod{})
		require.NoError(t, err, shown)
		got, err := strategic.ThreeWay(before, wanted, now, pod)
		require.NoError(t, err, shown)
		require.JSONEq(t, text(t, tidy(decode(t, want))), text(t, tidy(decode(t, []byte(text(t, got))))), "%s\npatch %s", shown, patch)
	}
}

func decode(t *testing.T, data []byte) (doc map[string]any) {
	t.Helper()
	require.NoError(t, json.Unmarshal(data, &doc))
	return doc
}

// generator draws documents with the fields of Go types.
type generator struct{ *rand.Rand }

// names are fields of pods that merge in different ways.
var names = map[string][]string{
	"Pod":                  {"metadata", "spec"},
	"ObjectMeta":           {"labels", "finalizers", "ownerReferences"},
	"PodSpec":              {"containers", "volumes", "tolerations", "imagePullSecrets", "nodeSelector", "nodeName"},
	"Container":            {"name", "image", "env", "volumeMounts", "args", "ports"},
	"Volume":               {"name", "emptyDir", "hostPath"},
	"Toleration":           {"key", "value"},
	"EnvVar":               {"name", "value"},
	"VolumeMount":          {"mountPath", "name"},
	"ContainerPort":        {"containerPort", "name"},
	"OwnerReference":       {"uid", "name"},
	"LocalObjectReference": {"name"},
}

func (g generator) object(t reflect.Type, patch bool, depth int) map[string]any {
	doc := map[string]any{}
	for i, name := range names[t.Name()] {
		for _, f := range reflect.VisibleFields(t) {
			tag, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			// Stored elements of lists have the field that identifies them.
			identifies := i == 0 && (!patch || g.IntN(8) > 0) && depth < 5
			if tag == name && (identifies || g.IntN(3) > 0) {
				doc[name] = g.value(f.Type, patch && !identifies, depth-1)
			}
		}
	}
	if t.Name() == "Volume" && patch && g.IntN(4) == 0 {
		doc["$retainKeys"] = []any{"name", "emptyDir"}
	}
	if patch && g.IntN(12) == 0 {
		doc["$patch"] = []any{"replace", "delete", "bad"}[g.IntN(10)%3]
	}
	if t.Name() == "ObjectMeta" && patch && doc["finalizers"] == nil && g.IntN(2) == 0 {
		delete(doc, "finalizers")
		doc["$deleteFromPrimitiveList/finalizers"] = []any{"a", "b"}
	}
	return doc
}

func (g generator) value(t reflect.Type, patch bool, depth int) any {
	if patch && g.IntN(8) == 0 {
		return nil
	}
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch t.Kind() {
	case reflect.Struct:
		return g.object(t, patch, depth)
	case reflect.Map:
		doc := map[string]any{}
		for range g.IntN(3) {
			doc[g.letter()] = g.letter()
		}
		return doc
	case reflect.Slice:
		list := []any{}
		for range g.IntN(4) {
			item := g.value(t.Elem(), patch, depth)
			if item != nil && !slices.ContainsFunc(list, func(v any) bool { return identity(v) == identity(item) }) {
				list = append(list, item)
			}
		}
		return list
	case reflect.Int32:
		return int64(g.IntN(3))
	}
	return g.letter()
}

// identity returns what identifies an element of a list.
func identity(item any) any {
	fields, ok := item.(map[string]any)
	if !ok {
		return item
	}
	for _, key := range []string{"mountPath", "containerPort", "uid", "name", "key"} {
		if v, ok := fields[key]; ok {
			return v
		}
	}
	return nil
}

func (g generator) letter() string { return string(rune('a' + g.IntN(4))) }

func text(t *testing.T, doc map[string]any) string {
	t.Helper()
	data, err := json.Marshal(doc)
	require.NoError(t, err)
	return string(data)
}

// tidy removes empty values and directives: what is decoded from the documents has neither. (The library leaves directives in elements that
// it adds.)
func tidy(doc map[string]any) map[string]any {
	result := map[string]any{}
	for name, value := range doc {
		if list, ok := value.([]any); ok {
			var items []any
			for _, item := range list {
				if fields, ok := item.(map[string]any); ok {
					item = tidy(fields)
				}
				items = append(items, item)
			}
			value = items
			if len(items) == 0 {
				value = nil
			}
		}
		if fields, ok := value.(map[string]any); ok {
			if value = tidy(fields); len(value.(map[string]any)) == 0 {
				value = nil
			}
		}
		if value != nil && name[0] != '$' {
			result[name] = value
		}
	}
	return result
}

// TestApply shows what users write.
func TestApply(t *testing.T) {
	doc := map[string]any{"spec": map[string]any{"template": map[string]any{"spec": map[string]any{
		"containers": []any{map[string]any{"name": "web", "image": "a", "volumeMounts": []any{map[string]any{"name": "data", "mountPath": "/data"}}}},
	}}}}
	patch := map[string]any{"spec": map[string]any{"template": map[string]any{"spec": map[string]any{
		"containers": []any{map[string]any{"name": "web", "image": "b"}},
	}}}}
	got, err := strategic.Apply(doc, patch, reflect.TypeFor[appsv1.Deployment]())
	require.NoError(t, err)
	require.JSONEq(t, `{"spec":{"template":{"spec":{"containers":[{"name":"web","image":"b","volumeMounts":[{"name":"data","mountPath":"/data"}]}]}}}}`, text(t, got))
	_, err = strategic.Apply(doc, map[string]any{"spec": map[string]any{"template": map[string]any{"spec": map[string]any{
		"containers": []any{map[string]any{"image": "b"}}}}}}, reflect.TypeFor[appsv1.Deployment]())
	require.EqualError(t, err, `spec: template: spec: containers: element map[image:b] has no field "name", which identifies it`)
}
