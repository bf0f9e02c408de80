package schedule

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/objects"
)

func TestConstants(t *testing.T) {
	for _, tc := range []struct {
		rule      string
		got, want any
	}{
		{"SCHED-001", objects.AnnSelectedNode, "volume.kubernetes.io/selected-node"},
		{"SCHED-002", objects.AnnBindCompleted, "pv.kubernetes.io/bind-completed"},
		{"SCHED-003", objects.AnnBoundByController + "=" + objects.AnnYes, "pv.kubernetes.io/bound-by-controller=yes"},
		{"SCHED-004", noProvisioner, "kubernetes.io/no-provisioner"},
		{"SCHED-005", DefaultBindTimeout, 10 * time.Minute},
		{"SCHED-006", bindPollInterval, time.Second},
		{"SCHED-008", backoffWindow, time.Second},
		{"SCHED-009", flushPeriod, 30 * time.Second},
		{"SCHED-012", noteLimit, 1024},
	} {
		require.Equal(t, tc.want, tc.got, tc.rule)
	}
}

func TestConfig(t *testing.T) {
	for _, tc := range []struct {
		cfg  Config
		want string
	}{
		{Config{}, ""},
		{Config{BindTimeout: -1}, "schedule: BindTimeout is -1ns: set zero for the default of 10m0s, or more"},
		{Config{UnschedulableTimeout: -time.Second}, "schedule: UnschedulableTimeout is -1s: set zero for the default of 5m0s, or more"},
		{Config{RetryStart: time.Minute}, "schedule: RetryStart is 1m0s and RetryMax 10s: set a maximum that is not less"},
		{Config{Profiles: []string{""}}, "schedule: Profiles has an empty name: remove it, or name a scheduler"},
	} {
		e, err := engine.New(engine.Config{})
		require.NoError(t, err)
		_, err = New(e, tc.cfg)
		if tc.want == "" {
			require.NoError(t, err)
			_, err = New(e, tc.cfg)
			require.Error(t, err, "one scheduler is enough")
			continue
		}
		require.EqualError(t, err, tc.want)
	}
}

func TestNote(t *testing.T) {
	long := strings.Repeat("x", 2000)
	require.Len(t, note(long), 1024, "SCHED-012")
	require.True(t, strings.HasSuffix(note(long), "x ..."), "SCHED-012")
	require.Equal(t, long[:1024], note(long[:1024]), "SCHED-012")
}

func TestEnoughNodes(t *testing.T) {
	for all, want := range map[int]int{1: 100, 99: 100, 100: 100, 250: 120, 1000: 420, 5000: 500, 10000: 500} {
		require.Equal(t, want, enoughNodes(all), "SCHED-025: of %d nodes", all)
	}
	var all objs
	for i := range 300 {
		all = append(all, fake.Node("n"+string(rune('a'+i/26))+string(rune('a'+i%26))))
	}
	f := newFixture(t, Config{}, all...)
	first, _, c := f.find(fake.Pod("p"))
	require.Equal(t, "naa", first, "SCHED-025")
	require.Len(t, c.found, 0)
	second, _, _ := f.find(fake.Pod("p"))
	require.NotEqual(t, first, second, "SCHED-025: the search goes on where it ended")
}

func TestScore(t *testing.T) {
	score := func(_ *corev1.Pod, node *corev1.Node) int64 { return int64(len(node.Labels["weight"])) }
	nodes := objs{fake.Node("a"), fake.Node("b", fake.Labels("weight", "xx")), fake.Node("c", fake.Labels("weight", "xx"))}
	for _, tc := range []struct {
		cfg  Config
		want string
	}{{Config{}, "a"}, {Config{Score: score}, "b"}} {
		f := newFixture(t, tc.cfg, nodes...)
		got, _, _ := f.find(fake.Pod("p"))
		require.Equal(t, tc.want, got, "SCHED-026, SCHED-120")
	}
}

// TestPluginOrder: PreFilter calls the plugins in order, and ends at the first that rejects the pod.
func TestPluginOrder(t *testing.T) {
	f := newFixture(t, Config{}, fake.Node("n1"), boundClaim("c", "gone", fake.Phase("Lost")))
	c := newCycle(f.lookups(), fake.Pod("p", fake.Claims("c")))
	require.Equal(t, volumeBinding, c.preFilter().plugin, "SCHED-023: VolumeZone would miss the volume")
	c = newCycle(f.lookups(), fake.Pod("p", fake.Claims("nosuch")))
	require.Equal(t, volumeRestrictions, c.preFilter().plugin, "SCHED-023")
	require.False(t, c.countVolumes, "SCHED-023: the others are not asked")
	c = newCycle(f.lookups(), fake.Pod("p"))
	require.Equal(t, success, c.preFilter().code)
	require.True(t, c.restrictions.skip && c.binding.skip, "SCHED-023: nothing to do for them")
}

// TestErrors: an error of a plugin fails the attempt.
func TestErrors(t *testing.T) {
	f := newFixture(t, Config{}, fake.Node("n1"), fake.Node("n2"))
	f.load(fake.Pod("p"))
	stored, _ := f.inf.pods.Get("default/p")
	item := &queuedPod{key: "default/p", pod: stored}
	f.actor.Go("test", func(p *engine.Process) { f.fail(p, item, errors.New("oops"), new("")) })
	f.engine.Advance(0)
	pod, _ := f.inf.pods.Get("default/p")
	require.Equal(t, corev1.PodReasonSchedulerError, pod.Status.Conditions[0].Reason, "SCHED-230")
	require.Equal(t, 1, f.queue.errors.len(), "SCHED-254")
}
