package nodelifecycle_test

import (
	"maps"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/internal/controllers/nodelifecycle"
)

func TestZoneOf(t *testing.T) {
	const zone, region, betaZone, betaRegion = corev1.LabelTopologyZone, corev1.LabelTopologyRegion, corev1.LabelFailureDomainBetaZone, corev1.LabelFailureDomainBetaRegion
	tests := []struct {
		rule, name string
		labels     map[string]string
		want       string
	}{
		{"NODE-040", "no labels", nil, ""},
		{"NODE-040", "a zone", map[string]string{zone: "a"}, "/a"},
		{"NODE-040", "a region", map[string]string{region: "r"}, "r/"},
		{"NODE-040", "both", map[string]string{zone: "a", region: "r"}, "r/a"},
		{"NODE-040", "the older labels win", map[string]string{zone: "a", region: "r", betaZone: "b", betaRegion: ""}, "/b"},
		{"NODE-040", "empty labels", map[string]string{zone: "", region: ""}, ""},
	}
	for _, tt := range tests {
		node := &corev1.Node{}
		node.Labels = tt.labels
		if got := nodelifecycle.ZoneOf(node); got != tt.want {
			t.Errorf("%s, %s: ZoneOf() = %q, want %q", tt.rule, tt.name, got, tt.want)
		}
	}
}

func TestStateOf(t *testing.T) {
	tests := []struct {
		rule            string
		ready, notReady int
		want            nodelifecycle.ZoneState
		rate            float32
	}{
		{"NODE-041", 0, 0, nodelifecycle.Normal, 0.1},
		{"NODE-041", 5, 0, nodelifecycle.Normal, 0.1},
		{"NODE-041", 0, 1, nodelifecycle.FullDisruption, 0.1},
		{"NODE-041", 1, 2, nodelifecycle.Normal, 0.1},
		{"NODE-042", 2, 3, nodelifecycle.PartialDisruption, 0},
		{"NODE-005", 9, 11, nodelifecycle.PartialDisruption, 0},
		{"NODE-005", 10, 11, nodelifecycle.Normal, 0.1},
		{"NODE-005", 20, 30, nodelifecycle.PartialDisruption, 0},
		{"NODE-004", 20, 31, nodelifecycle.PartialDisruption, 0.01},
	}
	for _, tt := range tests {
		got := nodelifecycle.StateOf(tt.ready, tt.notReady)
		if got != tt.want {
			t.Errorf("%s: StateOf(%d, %d) = %s, want %s", tt.rule, tt.ready, tt.notReady, got, tt.want)
		}
		if rate := nodelifecycle.RateOf(got, tt.ready+tt.notReady); rate != tt.rate {
			t.Errorf("%s: RateOf(%s, %d) = %v, want %v", tt.rule, got, tt.ready+tt.notReady, rate, tt.rate)
		}
	}
}

func TestDisrupt(t *testing.T) {
	const initial, normal, partial, full = nodelifecycle.Initial, nodelifecycle.Normal, nodelifecycle.PartialDisruption, nodelifecycle.FullDisruption
	type states = map[string]nodelifecycle.ZoneState
	tests := []struct {
		rule, name    string
		before, found states
		stop, restart bool
		changed       []string
	}{
		{"NODE-042", "the first pass", states{"a": initial}, states{"a": normal}, false, false, []string{"a"}},
		{"NODE-042", "nothing new", states{"a": normal, "b": partial}, states{"a": normal, "b": partial}, false, false, nil},
		{"NODE-042", "one zone of two", states{"a": normal, "b": normal}, states{"a": normal, "b": full}, false, false, []string{"b"}},
		{"NODE-043", "the last zone", states{"a": normal, "b": full}, states{"a": full, "b": full}, true, false, []string{"a"}},
		{"NODE-043", "it was so before", states{"a": full, "b": full}, states{"a": full, "b": full}, false, false, nil},
		{"NODE-043", "a cluster that begins like that", states{"a": initial}, states{"a": full}, true, false, []string{"a"}},
		{"NODE-044", "one zone comes back", states{"a": full, "b": full}, states{"a": full, "b": normal}, false, true, []string{"a", "b"}},
		{"NODE-048", "a zone without nodes is forgotten", states{"a": full, "b": normal}, states{"a": full}, false, false, nil},
		{"NODE-048", "and comes back", states{"a": full}, states{"a": full, "b": full}, true, false, []string{"b"}},
		{"NODE-048", "no nodes at all", states{"a": full}, states{}, false, false, nil},
	}
	for _, tt := range tests {
		got := nodelifecycle.Disrupt(tt.before, tt.found)
		slices.Sort(got.Changed)
		if got.Stop != tt.stop || got.Restart != tt.restart || !slices.Equal(got.Changed, tt.changed) {
			t.Errorf("%s, %s: Disrupt() = %+v, want stop %v, restart %v, changed %v", tt.rule, tt.name, got, tt.stop, tt.restart, tt.changed)
		}
		if !maps.Equal(got.States, tt.found) {
			t.Errorf("%s, %s: Disrupt().States = %v, want %v", tt.rule, tt.name, got.States, tt.found)
		}
	}
}
