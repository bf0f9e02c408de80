package explore

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/volsim/volsim/internal/core/actors"
)

// wakers are objects that wake actors, beside one volume and its claim.
var wakers = []struct {
	name, manifest string
	awake          []string
}{
	{"a volume and its claim", one, nil},
	{"a pod", "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec: {containers: [{name: web, image: web}]}\n",
		[]string{actors.AttachDetach, actors.Scheduler, actors.PodGC, actors.PVCProtection}},
	{"a pod with an ephemeral volume", `apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  containers: [{name: web, image: web}]
  volumes:
  - name: scratch
    ephemeral: {volumeClaimTemplate: {spec: {storageClassName: "", accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}}
`, []string{actors.AttachDetach, actors.Scheduler, actors.PodGC, actors.PVCProtection, actors.Ephemeral}},
	{"a node", "apiVersion: v1\nkind: Node\nmetadata: {name: n1}\n", []string{actors.AttachDetach}},
	// The owner is absent, so the volume is deleted.
	{"an owner", `apiVersion: v1
kind: PersistentVolume
metadata: {name: owned, ownerReferences: [{apiVersion: v1, kind: PersistentVolume, name: only, uid: "1"}]}
spec: {capacity: {storage: 1Gi}, accessModes: [ReadWriteOnce], hostPath: {path: /tmp/owned}}
`, []string{actors.GarbageCollector, actors.PVProtection}},
	{"a class", "apiVersion: storage.k8s.io/v1\nkind: VolumeAttributesClass\nmetadata: {name: fast}\ndriverName: disk.example.com\nparameters: {tier: gold}\n",
		[]string{actors.VACProtection}},
}

// TestIdleActors checks which objects wake which of the real controllers.
func TestIdleActors(t *testing.T) {
	for _, tt := range wakers {
		t.Run(tt.name, func(t *testing.T) {
			w, err := Manifest{Data: []byte(tt.manifest), Without: []string{"kubelet"}}.Model()
			require.NoError(t, err)
			x := newExplorer(w, Options{MaxRuns: 40})
			require.NoError(t, x.explore())
			got := slices.Sorted(maps.Keys(x.actors.awake))
			if tt.name == "a pod with an ephemeral volume" {
				got = slices.DeleteFunc(got, func(actor string) bool { return actor == actors.GarbageCollector }) // once the claim has an owner
			}
			slices.Sort(tt.awake)
			require.Equal(t, tt.awake, got)
		})
	}
}

// TestIdleControllers explores a volume with each controller that is idle then, as an idle one and as one that depends on everything. Both
// find the same outcomes.
func TestIdleControllers(t *testing.T) {
	volume, _, _ := strings.Cut(one, "---")
	for _, actor := range slices.Sorted(maps.Keys(idleActors)) {
		t.Run(actor, func(t *testing.T) {
			without := slices.DeleteFunc(slices.Clone(idle), func(name string) bool { return name == actor })
			w, err := Manifest{Data: []byte(volume), Without: without}.Model()
			require.NoError(t, err)
			reduced, err := Exhaustive(w, Options{})
			require.NoError(t, err)
			plain, err := Exhaustive(w, Options{noIdle: true, noInvisible: true})
			require.NoError(t, err)
			require.True(t, reduced.Finished && plain.Finished)
			require.Equal(t, found(plain), found(reduced))
			t.Logf("%d states instead of %d", reduced.States, plain.States)
		})
	}
}
