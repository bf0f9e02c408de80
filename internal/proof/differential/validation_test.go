package differential_test

import (
	"flag"
	"math/rand/v2"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	featuregatetesting "k8s.io/component-base/featuregate/testing"
	"k8s.io/kubernetes/pkg/features"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/proof/differential/validation"
)

var objects = flag.Int("objects", 1500, "how many random objects of each kind are validated")

// mostReported is how many differences of one sort are reported.
const mostReported = 5

// TestValidation compares validation of random objects, and of random updates of objects and their status.
func TestValidation(t *testing.T) {
	for _, k := range validation.Kinds() {
		t.Run(string(k.Kind), func(t *testing.T) { synctest.Test(t, func(t *testing.T) { validate(t, k) }) })
	}
}

// TestValidationAcrossNamespaces does the same for claims, with the gate CrossNamespaceVolumeDataSource on both sides.
func TestValidationAcrossNamespaces(t *testing.T) {
	featuregatetesting.SetFeatureGateDuringTest(t, utilfeature.DefaultFeatureGate, features.CrossNamespaceVolumeDataSource, true)
	synctest.Test(t, func(t *testing.T) { validate(t, validation.ClaimsAcross()) })
}

func validate(t *testing.T, k validation.Kind) {
	refused, accepted := 0, 0
	reported := map[string]bool{}
	for i := range *objects {
		r := rand.New(rand.NewPCG(*first+uint64(i), 3))
		what, ours, theirs := ask(t, k, r)
		if len(theirs.Faults) > 0 {
			refused++
		} else {
			accepted++
		}
		if diff := cmp.Diff(theirs, ours); diff != "" && !reported[diff] && len(reported) < mostReported {
			reported[diff] = true
			t.Errorf("-first=%d, %s: -upstream +ours:\n%s", *first+uint64(i), what, diff)
		}
	}
	t.Logf("%d refused, %d accepted", refused, accepted)
	require.Greater(t, refused, *objects/10, "too few are refused for this to mean anything")
	require.Greater(t, accepted, *objects/10, "too few are accepted for this to mean anything")
}

// ask makes a request and returns both verdicts.
func ask(t *testing.T, k validation.Kind, r *rand.Rand) (what string, ours, theirs validation.Verdict) {
	t.Helper()
	old := choose(r, k.Bases()...)
	fresh := old.DeepCopyObject().(api.Object)
	what = choose(r, "create", "update", "update-status")
	if what == "update-status" && !k.HasStatus() {
		what = "update"
	}
	if what != "create" && r.IntN(2) == 0 {
		// The stored object may be invalid: another version of the API server may have accepted it.
		validation.Mutate(r, old)
		old.SetNamespace(fresh.GetNamespace())
		old.SetName(fresh.GetName())
		fresh = old.DeepCopyObject().(api.Object)
	}
	if claim, ok := fresh.(*corev1.PersistentVolumeClaim); ok && r.IntN(4) == 0 {
		validation.Grow(r, claim)
		if r.IntN(4) == 0 {
			validation.Mutate(r, fresh)
		}
	} else {
		for range 1 + r.IntN(3) {
			validation.Mutate(r, fresh)
		}
	}
	for _, obj := range []api.Object{old, fresh} {
		// ServiceAccount admission, which does not run here, gives each pod a service account.
		if pod, ok := obj.(*corev1.Pod); ok && pod.Spec.ServiceAccountName == "" {
			pod.Spec.ServiceAccountName = "default"
		}
	}
	var err error
	if what == "create" {
		fresh.SetNamespace(old.GetNamespace())
		ours, theirs, err = k.Create(fresh)
	} else {
		fresh.SetNamespace(old.GetNamespace())
		fresh.SetName(old.GetName())
		if r.IntN(8) == 0 {
			old.SetDeletionTimestamp(new(metav1.NewTime(validation.At)))
			old.SetDeletionGracePeriodSeconds(new(int64(0)))
		}
		sub := api.Main
		if what == "update-status" {
			sub = api.Status
		}
		ours, theirs, err = k.Update(old, fresh, sub)
	}
	require.NoError(t, err)
	return what, ours, theirs
}
