package health_test

import (
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/volsim/volsim/internal/proof/differential/compare"
	"github.com/volsim/volsim/internal/proof/differential/health"
)

// TestVolumeHealth compares calls and Events of the kubelet about the condition of volumes, with their times.
func TestVolumeHealth(t *testing.T) {
	calls, events := 0, 0
	for i := range max(20, *compare.Seeds) {
		seed := *compare.First + uint64(i)
		s := health.Generate(seed)
		_, mounts, err := health.RunOurs(s, nil)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		synctest.Test(t, func(t *testing.T) {
			real, pauses := health.RunReal(t.Context(), s, mounts)
			ours, _, err := health.RunOurs(s, pauses)
			if err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			if diff := cmp.Diff(strings.Join(real.Sorted(), "\n"), strings.Join(ours.Sorted(), "\n")); diff != "" {
				t.Errorf("MNT-343 to MNT-346: seed %d (-real +ours):\n%s", seed, diff)
			}
			for _, line := range ours {
				if strings.Contains(line, " call ") {
					calls++
				} else {
					events++
				}
			}
		})
	}
	t.Logf("%d calls and %d Events are the same", calls, events)
	if calls < 100 || events < 20 {
		t.Errorf("%d calls and %d Events: too few to compare", calls, events)
	}
}
