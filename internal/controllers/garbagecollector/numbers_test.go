package garbagecollector

import (
	"math/rand/v2"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/proof/rig"
)

// TestNumbers makes random changes of objects that refer to each other, under right and wrong kinds, and to absent ones. After each, the
// numbers of nodes are those of the graph, and every object with a node may have one.
func TestNumbers(t *testing.T) {
	kindsSeen, virtualSeen := map[countedKind]bool{}, false
	for seed := range uint64(40) {
		r := rig.New(t, engine.Config{})
		var c *collector
		_, err := r.NewActor("collector", func(a *engine.Actor) {
			c = newCollector(a)
			c.start(nil)
		})
		r.OK(err)
		rng := rand.New(rand.NewPCG(seed, 1))
		uids := []types.UID{"absent"}
		kinds := []string{"Pod", "PersistentVolumeClaim", "PersistentVolume", "Node"}
		for i := range 40 {
			create(t, r, rng, i, kinds, &uids)
			for _, kind := range []api.Kind{api.Pod, api.PersistentVolumeClaim, api.PersistentVolume, api.Node} {
				if rng.IntN(8) == 0 {
					deleteOne(r, rng, kind)
				}
			}
			r.Advance(time.Duration(rng.IntN(2)) * time.Second)
			var want numbers
			for _, n := range c.nodes {
				if n.virtual {
					want.virtual++
					virtualSeen = true
				} else {
					want.observed[n.counted]++
					kindsSeen[n.counted] = true
				}
			}
			require.Equal(t, want, c.numbers, "seed %d, change %d", seed, i)
			for _, kind := range []api.Kind{api.Pod, api.PersistentVolumeClaim, api.PersistentVolume, api.Node} {
				c.view(kind).Find(func(obj api.Object) bool {
					if n := c.nodes[obj.GetUID()]; n != nil {
						require.True(t, c.numbers.mayHave(obj), "seed %d, change %d: %s has a node", seed, i, api.RefTo(obj))
						require.True(t, n.virtual || n.counted == countedKindOf(obj), "seed %d, change %d: the kind of %s is %d", seed, i, api.RefTo(obj), n.counted)
					}
					return false
				})
			}
		}
	}
	require.True(t, virtualSeen, "no graph had a virtual node")
	require.Equal(t, map[countedKind]bool{kindOther: true, kindPod: true, kindClaim: true, kindVolume: true}, kindsSeen)
}

// create creates an object, most often with an owner.
func create(t *testing.T, r *rig.Rig, rng *rand.Rand, i int, kinds []string, uids *[]types.UID) {
	t.Helper()
	name := "o" + strconv.Itoa(i)
	var obj api.Object
	switch rng.IntN(4) {
	case 0:
		obj = fake.Pod(name)
	case 1:
		obj = fake.Claim(name, "1Gi")
	case 2:
		obj = fake.Volume(name, "1Gi")
	default:
		obj = &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
	}
	obj.SetUID(types.UID(name + "-uid"))
	if rng.IntN(3) > 0 {
		// The owner may be created later.
		uid := (*uids)[rng.IntN(len(*uids))]
		if rng.IntN(4) == 0 {
			uid = types.UID("o" + strconv.Itoa(i+1+rng.IntN(3)) + "-uid")
		}
		obj.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: "v1", Kind: kinds[rng.IntN(len(kinds))], Name: "x", UID: uid}})
	}
	*uids = append(*uids, obj.GetUID())
	r.Load(obj)
}

// deleteOne deletes an object of a kind, if there is one.
func deleteOne(r *rig.Rig, rng *rand.Rand, kind api.Kind) {
	if objs := r.Store().List(kind); len(objs) > 0 {
		r.DeleteNow(kind, api.KeyOf(objs[rng.IntN(len(objs))]))
	}
}
