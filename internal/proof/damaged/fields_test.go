package damaged

import (
	"errors"
	"flag"
	"fmt"
	"iter"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/volsim/volsim"
	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/storage"
)

var every = flag.Int("every", 60, "1: each damage; n: each nth")

// running is how long the cluster of testdata has run when it is damaged: its pods run, its claims are bound, and a CronJob has run once.
const running = 95 * time.Second

// TestDamagedFields loads a cluster with a damaged object, lets time pass, deletes the object and lets time pass.
func TestDamagedFields(t *testing.T) {
	whole := cluster(t)
	loaded, refused, livelocks := 0, 0, 0
	for name, d := range damages(whole) {
		objs := slices.Clone(whole)
		objs[d.at] = &unstructured.Unstructured{Object: d.object}
		failure, livelock := run(t, objs, objs[d.at])
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
	require.Greater(t, loaded, refused)
	require.Less(t, livelocks, 10, "they can be those of Kubernetes: look at each")
	t.Logf("%d damaged fields: %d loaded, %d refused, %d livelocks", loaded+refused+livelocks, loaded, refused, livelocks)
}

// damage is a copy of an object in which one field is missing or has another value.
type damage struct {
	at     int // index of the object
	object map[string]any
}

// damages returns every nth damage of the objects by name. Objects of a kind have the same fields, so only the first one with a field is damaged
// there.
func damages(objs []*unstructured.Unstructured) iter.Seq2[string, damage] {
	return func(yield func(string, damage) bool) {
		known := map[string]bool{}
		for at, obj := range objs {
			for name, damaged := range Copies(obj.Object, Values) {
				if name = obj.GetKind() + " " + name; known[name] {
					continue
				}
				known[name] = true
				if len(known)%*every == 0 && !yield(name, damage{at, damaged}) {
					return
				}
			}
		}
	}
}

// cluster returns the objects of a cluster in which every controller has something to do.
func cluster(t *testing.T) (objs []*unstructured.Unstructured) {
	manifest, err := os.ReadFile("testdata/cluster.yaml")
	require.NoError(t, err)
	c := newCluster(t)
	require.NoError(t, c.Apply(manifest))
	require.NoError(t, c.Advance(running))
	objs = objectsOf(c, "Backup.example.com")
	require.Greater(t, len(objs), 50)
	return objs
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
