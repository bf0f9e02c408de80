package differential_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/volsim/volsim/binder"
	"github.com/volsim/volsim/internal/core/match"
	"github.com/volsim/volsim/internal/proof/differential/upstream"
)

var pairs = flag.Int("pairs", 100_000, "how many claims are matched with a set of volumes")

const (
	setSize  = 24  // volumes in a large set, on average
	perSet   = 20  // claims for a set
	mostAsks = 400 // how often upstream is asked until it picks ours of several equally good volumes
)

// TestMatch asks both sides for the volume of a claim, and whether each volume fits a claim that names it.
func TestMatch(t *testing.T) {
	r := rand.New(rand.NewPCG(*first, 2))
	matched, checked, ties := 0, 0, 0
	for range (*pairs + perSet - 1) / perSet {
		var volumes []*corev1.PersistentVolume
		index := match.NewIndex()
		for i := range r.IntN(choose(r, 3, 2*setSize, 2*setSize)) {
			pv := randomVolume(r, fmt.Sprintf("pv%02d", i))
			volumes = append(volumes, pv)
			index.PutVolume(pv)
		}
		theirs, err := upstream.NewIndex(volumes)
		require.NoError(t, err)
		for range perSet {
			claim := randomClaim(r)
			delayed := r.IntN(8) == 0
			got := binder.Match(claim, volumes, binder.Options{Delayed: delayed})
			indexed, rule, err := index.Match(claim, delayed)
			if got.Volume != indexed || got.Rule != rule || (got.Err == nil) != (err == nil) {
				t.Fatalf("Match = %v by %s, %v; Index.Match = %v by %s, %v", got.Volume, got.Rule, got.Err, indexed, rule, err)
			}
			asked := agrees(t, theirs, volumes, claim, delayed, got)
			if asked > 1 {
				ties++
			}
			if got.Volume != nil {
				matched++
			}
			for _, pv := range volumes[:min(2, len(volumes))] {
				checked++
				ours, why := binder.Satisfies(claim, pv)
				if err := upstream.Satisfies(claim, pv); ours != (err == nil) {
					t.Fatalf("Satisfies = %v %v, upstream %v\n%+v\n%+v", ours, why, err, claim, pv)
				}
			}
		}
	}
	t.Logf("%d claims with sets of volumes, %d of them matched, %d among several that were equally good; %d checks of one volume", *pairs,
		matched, ties, checked)
	require.Greater(t, matched, *pairs/10, "too few match for this to mean anything")
}

// agrees asks upstream until it picks the volume that we picked, and returns how often. Upstream sorts the keys of a map, which has few
// orders of its own, so the index is recreated now and then.
func agrees(t *testing.T, theirs *upstream.Index, volumes []*corev1.PersistentVolume, claim *corev1.PersistentVolumeClaim, delayed bool,
	got binder.Decision) int {
	t.Helper()
	for asked := 1; ; asked++ {
		if asked%10 == 0 {
			var err error
			theirs, err = upstream.NewIndex(volumes)
			require.NoError(t, err)
		}
		want, err := theirs.Match(claim, delayed)
		switch {
		case (err == nil) != (got.Err == nil):
			t.Fatalf("error %v, upstream %v\n%+v", got.Err, err, claim)
		case (want == nil) != (got.Volume == nil), asked == mostAsks:
			t.Fatalf("matched %v by %s, upstream %v\n%+v", got.Volume, got.Rule, want, claim)
		case want == got.Volume:
			return asked
		}
	}
}

func choose[T any](r *rand.Rand, from ...T) T { return from[r.IntN(len(from))] }

func randomModes(r *rand.Rand) []corev1.PersistentVolumeAccessMode {
	var modes []corev1.PersistentVolumeAccessMode
	all := []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce, corev1.ReadOnlyMany, corev1.ReadWriteMany, corev1.ReadWriteOncePod}
	for range choose(r, 1, 1, 1, 2, 2, 3, 0) {
		modes = append(modes, choose(r, all...)) // possibly twice, in any order
	}
	return modes
}

func randomSize(r *rand.Rand) corev1.ResourceList {
	if r.IntN(30) == 0 {
		return nil
	}
	size := choose(r, "1Gi", "2Gi", "2147483648", "3Gi", "5Gi", "5.5Gi", "10Gi", "1G", "1500M", "1e9", "900m", "12E", "0")
	return corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(size)}
}

func randomVolumeMode(r *rand.Rand) *corev1.PersistentVolumeMode {
	return choose(r, nil, new(corev1.PersistentVolumeFilesystem), new(corev1.PersistentVolumeFilesystem), new(corev1.PersistentVolumeBlock))
}

// legacyClass may add the class annotation, which takes precedence over the field.
func legacyClass(r *rand.Rand, meta *metav1.ObjectMeta) {
	if r.IntN(12) == 0 {
		meta.Annotations = map[string]string{corev1.BetaStorageClassAnnotation: choose(r, "", "fast", "slow")}
	}
}

func randomLabels(r *rand.Rand) map[string]string {
	return choose(r, nil, map[string]string{"tier": "gold"}, map[string]string{"tier": "silver", "zone": "a"})
}

func randomVolume(r *rand.Rand, name string) *corev1.PersistentVolume {
	pv := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: randomLabels(r)}}
	legacyClass(r, &pv.ObjectMeta)
	pv.Spec.AccessModes = randomModes(r)
	pv.Spec.Capacity = randomSize(r)
	pv.Spec.VolumeMode = randomVolumeMode(r)
	pv.Spec.StorageClassName = choose(r, "", "", "fast", "slow")
	pv.Spec.VolumeAttributesClassName = choose(r, nil, nil, nil, nil, new(""), new("gold"))
	pv.Status.Phase = choose(r, corev1.VolumeAvailable, corev1.VolumeAvailable, corev1.VolumeAvailable, corev1.VolumeAvailable,
		corev1.VolumePending, corev1.VolumeBound, corev1.VolumeReleased, corev1.VolumeFailed)
	if r.IntN(5) == 0 {
		pv.Spec.ClaimRef = &corev1.ObjectReference{Namespace: choose(r, "default", "other"), Name: choose(r, "c1", "c2"),
			UID: types.UID(choose(r, "", "u1", "u2"))}
	}
	if r.IntN(12) == 0 {
		pv.DeletionTimestamp = &metav1.Time{}
	}
	return pv
}

func randomClaim(r *rand.Rand) *corev1.PersistentVolumeClaim {
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: choose(r, "default", "other"),
		Name: choose(r, "c1", "c2"), UID: types.UID(choose(r, "u1", "u2"))}}
	legacyClass(r, &claim.ObjectMeta)
	claim.Spec.AccessModes = randomModes(r)
	claim.Spec.Resources.Requests = randomSize(r)
	claim.Spec.VolumeMode = randomVolumeMode(r)
	claim.Spec.StorageClassName = choose(r, nil, new(""), new(""), new("fast"), new("slow"))
	claim.Spec.VolumeAttributesClassName = choose(r, nil, nil, nil, nil, new(""), new("gold"))
	switch r.IntN(10) {
	case 0:
		claim.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"tier": "gold"}}
	case 1:
		claim.Spec.Selector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{
			Key: "zone", Operator: choose(r, metav1.LabelSelectorOpExists, metav1.LabelSelectorOpDoesNotExist, metav1.LabelSelectorOpIn, "Nonsense"),
		}}}
	case 2:
		claim.Spec.Selector = &metav1.LabelSelector{}
	}
	return claim
}
