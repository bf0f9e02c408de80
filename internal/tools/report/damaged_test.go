package report_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"github.com/volsim/volsim/internal/tools/dump"
	"github.com/volsim/volsim/internal/tools/predict"
	"github.com/volsim/volsim/internal/tools/report"
)

var (
	damages     = flag.Int("damages", 2, "how many times each dump is damaged")
	firstDamage = flag.Uint64("first-damage", 0, "the first seed")
)

// TestDamagedDumps: a dump that is redacted, cut or edited is explained, or refused in one line. None panics.
func TestDamagedDumps(t *testing.T) {
	var files []string
	for _, pattern := range []string{"testdata/*/*.json", "testdata/*/*.yaml", "../../../cmd/volsim/testdata/*.yaml", "../predict/testdata/*/*.yaml"} {
		found, err := filepath.Glob(pattern)
		require.NoError(t, err)
		require.NotEmpty(t, found, pattern)
		files = append(files, found...)
	}
	explained, refused := 0, 0
	for _, file := range files {
		whole := objectsIn(t, file)
		for seed := *firstDamage; seed < *firstDamage+uint64(*damages); seed++ {
			d := damage{rand.New(rand.NewPCG(seed, uint64(len(file)))), map[string][]any{}}
			data := d.done(t, whole)
			if err := answers(data, d.Rand); err != nil {
				require.NotContains(t, err.Error(), "panic", "%s, seed %d:\n%s", file, seed, data)
				require.NotContains(t, err.Error(), "\n", "%s, seed %d", file, seed)
				refused++
				continue
			}
			explained++
		}
	}
	require.Greater(t, explained, refused)
	t.Logf("%d damaged dumps: %d explained, %d refused", explained+refused, explained, refused)
}

// TestOwnerOfOtherNamespace: a pod whose ReplicaSet is not in its namespace is removed by the garbage collector (API-271), and not replaced again and again.
func TestOwnerOfOtherNamespace(t *testing.T) {
	objects := objectsIn(t, "testdata/oncall/node-lost.json")
	for _, obj := range objects {
		if obj := obj.(map[string]any); obj["kind"] == "ReplicaSet" {
			delete(obj["metadata"].(map[string]any), "namespace")
		}
	}
	data, err := json.Marshal(map[string]any{"apiVersion": "v1", "kind": "List", "items": objects})
	require.NoError(t, err)
	d, err := dump.Read(data)
	require.NoError(t, err)
	answer, err := report.Explain(d, report.Selection{}, dump.Options{Now: noon}, 5*time.Minute, 0, nil)
	require.NoError(t, err)
	var text strings.Builder
	require.NoError(t, answer.WriteText(&text))
	require.Contains(t, text.String(), `ownerRef [apps/v1/ReplicaSet, namespace: shop, name: app-1, uid: rs] does not exist in namespace "shop"`)
	require.NotContains(t, text.String(), "app-1-new")
}

// TestIncompleteWorkload: the pods of a workload that is left out stay, although other workloads of its kind are there (GC-040).
func TestIncompleteWorkload(t *testing.T) {
	objects := objectsIn(t, "testdata/oncall/node-lost.json")
	other := map[string]any{"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": map[string]any{"name": "other", "namespace": "shop", "uid": "other"},
		"spec": map[string]any{"replicas": 0, "selector": map[string]any{"matchLabels": map[string]any{"app": "other"}},
			"template": map[string]any{"metadata": map[string]any{"labels": map[string]any{"app": "other"}}}},
		"status": map[string]any{"observedGeneration": 1, "replicas": 0}}
	for _, obj := range objects {
		if obj := obj.(map[string]any); obj["kind"] == "ReplicaSet" {
			obj["status"].(map[string]any)["replicas"] = 3 // two of its pods are not in the dump
		}
	}
	data, err := json.Marshal(map[string]any{"apiVersion": "v1", "kind": "List", "items": append(objects, other)})
	require.NoError(t, err)
	d, err := dump.Read(data)
	require.NoError(t, err)
	require.Equal(t, "1 Deployment (apps/v1), 1 ReplicaSet (apps/v1)", report.Ignored(d))
	answer, err := report.Explain(d, report.Selection{}, dump.Options{Now: noon}, 5*time.Minute, 0, nil)
	require.NoError(t, err)
	var text strings.Builder
	require.NoError(t, answer.WriteText(&text))
	require.NotContains(t, text.String(), "0s   pod/shop/app-1-x", "GC-040")
	require.Contains(t, text.String(), "2m5s   pod/shop/app-1-x  is being deleted")
}

// TestDamagedWorkloads: workloads without what their controllers need are left out, and their pods explained.
func TestDamagedWorkloads(t *testing.T) {
	for name, change := range map[string]func(spec map[string]any){
		"no selector": func(spec map[string]any) { delete(spec, "selector") },
		"no replicas": func(spec map[string]any) { delete(spec, "replicas") },
		"other labels": func(spec map[string]any) {
			spec["template"] = map[string]any{"metadata": map[string]any{"labels": map[string]any{"app": "x"}}}
		},
		"a selector of no use": func(spec map[string]any) {
			spec["selector"] = map[string]any{"matchExpressions": []any{map[string]any{"key": "a", "operator": "x"}}}
		},
	} {
		objects := objectsIn(t, "testdata/oncall/node-lost.json")
		for _, obj := range objects {
			if obj := obj.(map[string]any); obj["kind"] == "ReplicaSet" || obj["kind"] == "Deployment" {
				change(obj["spec"].(map[string]any))
			}
		}
		data, err := json.Marshal(map[string]any{"apiVersion": "v1", "kind": "List", "items": objects})
		require.NoError(t, err)
		d, err := dump.Read(data)
		require.NoError(t, err, name)
		answer, err := report.Explain(d, report.Selection{}, dump.Options{Now: noon}, 5*time.Minute, 0, nil)
		require.NoError(t, err, name)
		var text strings.Builder
		require.NoError(t, answer.WriteText(&text))
		require.Contains(t, text.String(), "node n1 is NotReady since 2026-03-01T11:57:00Z", name)
		require.Equal(t, "1 Deployment (apps/v1), 1 ReplicaSet (apps/v1)", report.Ignored(d), name)
	}
}

// answers explains a dump, and predicts what a deletion and a drain would do.
func answers(data []byte, r *rand.Rand) (err error) {
	defer func() {
		if failed := recover(); failed != nil {
			err = fmt.Errorf("panic: %v\n%s", failed, debug.Stack())
		}
	}()
	d, err := dump.Read(data)
	if err != nil {
		return err
	}
	answer, err := report.Explain(d, report.Selection{}, dump.Options{Now: noon}, 5*time.Minute, 0, nil)
	if err != nil {
		return err
	}
	var text strings.Builder
	if err := answer.WriteText(&text); err != nil {
		return err
	}
	for _, obj := range d.Objects {
		kind := obj.GetObjectKind().GroupVersionKind().Kind
		words := []string{"delete", kind, obj.GetName()}
		switch {
		case r.IntN(len(d.Objects)) > 1:
			continue
		case kind == "Node":
			words = []string{"drain", obj.GetName(), "--force", "--ignore-daemonsets", "--delete-emptydir-data", "--timeout=1m"}
		case obj.GetNamespace() != "":
			words = append(words, "-n", obj.GetNamespace())
		}
		steps, err := predict.Parse(words, os.ReadFile)
		if err != nil {
			continue // the name or the kind was damaged
		}
		p, err := predict.Predict(d, steps, predict.Options{Options: dump.Options{Now: noon}, For: 3 * time.Minute})
		if err != nil {
			return err
		}
		if err := report.WritePrediction(&text, p); err != nil {
			return err
		}
	}
	return nil
}

// objectsIn reads the objects of a dump.
func objectsIn(t *testing.T, file string) (objects []any) {
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	for doc := range strings.SplitSeq("\n"+string(data), "\n---") {
		var obj map[string]any
		require.NoError(t, yaml.Unmarshal([]byte(doc), &obj), file)
		if items, ok := obj["items"].([]any); ok {
			objects = append(objects, items...)
		} else if len(obj) > 0 {
			objects = append(objects, obj)
		}
	}
	return objects
}

// damage changes objects at random.
type damage struct {
	*rand.Rand
	values map[string][]any // of each field
}

// done returns a List of copies of the objects with some damage.
func (d damage) done(t *testing.T, objects []any) []byte {
	data, err := json.Marshal(objects)
	require.NoError(t, err)
	var damaged []any
	require.NoError(t, json.Unmarshal(data, &damaged))
	for _, obj := range damaged {
		d.collect("", obj)
	}
	for range 1 + d.IntN(5) {
		if len(damaged) == 0 {
			break
		}
		at := d.IntN(len(damaged))
		switch d.IntN(8) {
		case 0:
			damaged = slices.Delete(damaged, at, at+1)
		case 1:
			damaged = append(damaged, d.renamed(damaged[at]))
		default:
			d.field(damaged[at].(map[string]any))
		}
	}
	data, err = json.MarshalIndent(map[string]any{"apiVersion": "v1", "kind": "List", "items": damaged}, "", " ")
	require.NoError(t, err)
	return data
}

// renamed returns a copy of an object with another name and the same uid.
func (d damage) renamed(obj any) any {
	other := maps.Clone(obj.(map[string]any))
	if metadata, ok := other["metadata"].(map[string]any); ok {
		metadata = maps.Clone(metadata)
		metadata["name"] = fmt.Sprint(metadata["name"], "-", d.IntN(100))
		other["metadata"] = metadata
	}
	return other
}

// collect keeps the values of all fields.
func (d damage) collect(name string, v any) {
	switch v := v.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			d.collect(key, v[key])
		}
	case []any:
		for _, element := range v {
			d.collect(name, element)
		}
	default:
		d.values[name] = append(d.values[name], v)
	}
}

// field damages a field of an object, or one within it.
func (d damage) field(obj map[string]any) {
	keys := slices.Sorted(maps.Keys(obj))
	if len(keys) == 0 {
		return
	}
	key := keys[d.IntN(len(keys))]
	if (key == "apiVersion" || key == "kind" || key == "name") && d.IntN(10) > 0 {
		return
	}
	switch v := obj[key].(type) {
	case map[string]any:
		if d.IntN(6) > 0 {
			d.field(v)
			return
		}
	case []any:
		if len(v) > 0 && d.IntN(4) > 0 {
			if element, ok := v[d.IntN(len(v))].(map[string]any); ok {
				d.field(element)
				return
			}
			at := d.IntN(len(v))
			v[at] = d.other(key, v[at])
			return
		}
		obj[key] = slices.Repeat(v, d.IntN(3))
		return
	}
	if d.IntN(3) == 0 {
		delete(obj, key)
		return
	}
	obj[key] = d.other(key, obj[key])
}

// other returns another value for a field: often one that it has elsewhere, and rarely one of another type.
func (d damage) other(name string, now any) any {
	if known := d.values[name]; len(known) > 0 && d.IntN(3) > 0 {
		return known[d.IntN(len(known))]
	}
	var values []any
	switch _, isText := now.(string); {
	case d.IntN(20) == 0:
		values = []any{"x", 7, nil, true, map[string]any{}, []any{}}
	case isText:
		values = []any{"", "x", "none", "1Gi", "-5", "2026-03-01T11:00:00Z", "9999-01-01T00:00:00Z", strings.Repeat("x", 300)}
	case now == true || now == false:
		values = []any{now == false}
	default:
		values = []any{0, -1, 7, int64(1) << 40, nil}
	}
	return values[d.IntN(len(values))]
}
