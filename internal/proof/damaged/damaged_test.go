// Package damaged loads clusters in which one field of one object has a value that no API server stores, and requires that no controller panics
// or runs for ever.
package damaged

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"math"
	"os"
	"regexp"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/volsim/volsim"
	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/objkinds"
	"github.com/volsim/volsim/storage"
)

var every = flag.Int("every", 12, "1: each damage; n: each nth")

// running is how long the cluster of testdata has run when it is damaged: its pods run, its claims are bound, and a CronJob has run once.
const running = 95 * time.Second

// TestDamagedFields loads a cluster with a damaged object, lets time pass, deletes the object and lets time pass.
func TestDamagedFields(t *testing.T) {
	whole := cluster(t)
	loaded, refused, livelocks := 0, 0, 0
	known := map[string]bool{}
	for at, obj := range whole {
		for name, damaged := range damagesOf(t, obj.Object) {
			// Objects of a kind have the same fields.
			if name = obj.GetKind() + " " + name; known[name] {
				continue
			}
			known[name] = true
			if len(known)%*every != 0 {
				continue
			}
			objs := slices.Clone(whole)
			objs[at] = &unstructured.Unstructured{Object: damaged}
			failure, livelock := run(t, objs, objs[at])
			require.NotContains(t, fmt.Sprint(failure), "\n", name)
			switch {
			case livelock:
				livelocks++
			case failure != nil:
				refused++
			default:
				loaded++
			}
		}
	}
	require.Greater(t, loaded, refused)
	require.Less(t, livelocks, 10, "they can be those of Kubernetes: look at each")
	t.Logf("%d damaged fields: %d loaded, %d refused, %d livelocks", loaded+refused+livelocks, loaded, refused, livelocks)
}

// cluster returns the objects of a cluster in which every controller has something to do.
func cluster(t *testing.T) (objs []*unstructured.Unstructured) {
	manifest, err := os.ReadFile("testdata/cluster.yaml")
	require.NoError(t, err)
	c := newCluster(t)
	require.NoError(t, c.Apply(manifest))
	require.NoError(t, c.Advance(running))
	for _, kind := range objkinds.All() {
		objs = append(objs, c.Objects(api.Kind(kind.Name())).List()...)
	}
	require.Greater(t, len(objs), 50)
	return append(objs, c.Objects("Backup.example.com").List()...)
}

func newCluster(t *testing.T) *volsim.Cluster {
	zone := storage.Segment{"topology.disk.example.com/zone": "a"}
	c, err := volsim.New(volsim.Config{
		Backends:   []storage.Backend{fake.CSI("disk.example.com", fake.Mutable("iops"), fake.Topology(zone))},
		TraceLimit: -1,
	})
	require.NoError(t, err)
	return c
}

// run returns the error with which Load refuses the damaged object, and whether the cluster came to a livelock.
func run(t *testing.T, objs []*unstructured.Unstructured, damaged *unstructured.Unstructured) (failure error, livelock bool) {
	c := newCluster(t)
	defer c.Close()
	for _, obj := range objs {
		switch err := c.Load(obj); {
		case obj == damaged:
			failure = err
		case obj.GetKind() != "Backup" || damaged.GetKind() != "CustomResourceDefinition":
			require.NoError(t, err)
		}
	}
	passes := func() {
		err := c.Advance(70 * time.Second)
		if stuck := new(engine.StuckError); errors.As(err, &stuck) {
			require.Equal(t, engine.Livelock, stuck.Cause)
			livelock = true
			return
		}
		require.NoError(t, err)
	}
	passes()
	if err := c.Delete(damaged); err != nil {
		require.NotContains(t, err.Error(), "\n")
	}
	passes()
	return failure, livelock
}

// damagesOf returns copies of an object in which one field is missing or has another value, each with a name that all objects of the kind share.
func damagesOf(t *testing.T, obj map[string]any) func(yield func(string, map[string]any) bool) {
	data, err := json.Marshal(obj)
	require.NoError(t, err)
	index := regexp.MustCompile(` \d+`)
	return func(yield func(string, map[string]any) bool) {
		visit(nil, obj, func(path []any, name string, change func(parent any)) bool {
			var damaged map[string]any
			require.NoError(t, json.Unmarshal(data, &damaged))
			change(parentOf(damaged, path))
			return yield(index.ReplaceAllString(fmt.Sprint(path), " *")+" "+name, damaged)
		})
	}
}

// kept are fields without which an object has no identity.
var kept = [][]any{{"apiVersion"}, {"kind"}, {"metadata"}, {"metadata", "name"}, {"metadata", "namespace"}}

// visit calls damage for each value that a field, and each field within it, gets. It ends when damage returns false.
func visit(path []any, value any, damage func(path []any, name string, change func(parent any)) bool) bool {
	if len(path) > 0 && !slices.ContainsFunc(kept, func(k []any) bool { return slices.Equal(k, path) }) {
		last := path[len(path)-1]
		for name, other := range others(value) {
			if !damage(path, name, func(parent any) { set(parent, last, other) }) {
				return false
			}
		}
	}
	switch value := value.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(value)) {
			if !visit(append(slices.Clone(path), key), value[key], damage) {
				return false
			}
		}
	case []any:
		for i := range value {
			if !visit(append(slices.Clone(path), i), value[i], damage) {
				return false
			}
		}
	}
	return true
}

// missing removes a field.
type missing struct{}

// others are values that a field gets in place of its own.
func others(value any) func(yield func(string, any) bool) {
	values := []any{missing{}}
	switch value := value.(type) {
	case map[string]any:
		values = append(values, map[string]any{})
	case []any:
		values = append(values, []any{}, []any{map[string]any{}}, slices.Concat(value, value))
	case string:
		values = append(values, "", "x", "-1")
	case bool:
		values = append(values, !value)
	default: // a number
		values = append(values, 0, -1, math.MaxInt32)
	}
	return func(yield func(string, any) bool) {
		for i, v := range values {
			if !yield(fmt.Sprint(i), v) {
				return
			}
		}
	}
}

func set(parent, step, value any) {
	switch parent := parent.(type) {
	case map[string]any:
		parent[step.(string)] = value
		if value == (missing{}) {
			delete(parent, step.(string))
		}
	case []any:
		parent[step.(int)] = value
		if value == (missing{}) {
			parent[step.(int)] = nil
		}
	}
}

// parentOf returns what contains the field with the path.
func parentOf(value any, path []any) any {
	for _, step := range path[:len(path)-1] {
		switch step := step.(type) {
		case string:
			value = value.(map[string]any)[step]
		case int:
			value = value.([]any)[step]
		}
	}
	return value
}
