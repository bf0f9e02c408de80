package volumes

import (
	"cmp"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// TestVolumesOfPods compares what is kept for each pod with what is kept for each volume, over random changes.
func TestVolumesOfPods(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	pick := func(of ...string) string { return of[rng.IntN(len(of))] }
	d, a := NewDesired(), NewActual()
	type pair struct {
		name corev1.UniqueVolumeName
		uid  types.UID
	}
	byName := func(a, b pair) int { return cmp.Compare(a.name, b.name) }
	wanted, recorded := map[pair]bool{}, map[pair]PodState{}
	for range 3000 {
		at := pair{corev1.UniqueVolumeName(pick("v1", "v2", "v3", "v4")), types.UID(pick("a", "b", "c"))}
		_, attached := a.Volume(at.name)
		switch rng.IntN(6) {
		case 0:
			want(t, "added", d.AddPodVolume(Identity{Name: at.name}, podNamed(at.uid), specNamed(pick("x", "y"))), !wanted[at])
			wanted[at] = true
		case 1:
			d.RemovePodVolume(at.name, at.uid)
			delete(wanted, at)
		case 2:
			a.MarkAttached(at.name, specNamed("x"), Attachable, "")
		case 3:
			state := PodState(pick(string(Mounted), string(MountUncertain)))
			a.SetPodState(at.name, at.uid, specNamed("x"), state)
			if attached {
				recorded[at] = state
			}
		case 4:
			a.RemovePodVolume(at.name, at.uid)
			delete(recorded, at)
		case 5:
			a.Forget(at.name)
		}
		for _, uid := range []types.UID{"a", "b", "c"} {
			var desired, mounted, uncertain, ofDesired, ofActual []corev1.UniqueVolumeName
			for _, at := range slices.SortedFunc(maps.Keys(wanted), byName) {
				if at.uid == uid {
					desired = append(desired, at.name)
				}
			}
			for _, at := range slices.SortedFunc(maps.Keys(recorded), byName) {
				if at.uid != uid {
					continue
				}
				uncertain = append(uncertain, at.name)
				if recorded[at] == Mounted {
					mounted = append(mounted, at.name)
				}
			}
			for v, dp := range d.VolumesOf(uid) {
				ofDesired = append(ofDesired, v.Name)
				of, _ := v.Pods.Get(uid)
				want(t, "record of the volume", of == dp, true)
			}
			for v, ap := range a.VolumesOf(uid) {
				ofActual = append(ofActual, v.Name)
				of, _ := v.Pods.Get(uid)
				want(t, "record of the volume", of == ap, true)
			}
			want(t, "desired volumes", ofDesired, desired)
			want(t, "recorded volumes", ofActual, uncertain)
			want(t, "mounts", a.PodMounts(uid, false), mounted)
			want(t, "a mount", []bool{a.HasMounts(uid, false), a.HasMounts(uid, true)}, []bool{len(mounted) > 0, len(uncertain) > 0})
			want(t, "a desired volume", d.HasPod(uid), len(desired) > 0)
			want(t, "the volume is desired", d.HasPodVolume(at.name, uid), wanted[pair{at.name, uid}])
		}
		want(t, "pairs", []int{len(d.PodVolumes()), len(a.PodVolumes())}, []int{len(wanted), len(recorded)})
		if v, ok := d.Volume(at.name); ok {
			var uids []types.UID
			v.Pods.Scan(func(uid types.UID, _ *DesiredPod) bool { uids = append(uids, uid); return true })
			want(t, "order of pods", slices.IsSorted(uids), true)
		}
	}
}
