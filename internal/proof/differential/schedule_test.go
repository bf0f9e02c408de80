package differential_test

import (
	"flag"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/names"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/controllers/schedule"
	"github.com/volsim/volsim/internal/proof/differential"
	"github.com/volsim/volsim/internal/proof/differential/upstream"
)

var changes = flag.Int("changes", 20_000, "how many changes the plugins of the scheduler receive of the scheduler")

// mostRaces is how often a scenario runs upstream before it counts as a divergence.
const mostRaces = 30

// defaultScenarios is the default number of scenarios.
const defaultScenarios = 250

// TestSchedule compares kube-scheduler and ours on random scenarios of waiting pods.
func TestSchedule(t *testing.T) {
	number := defaultScenarios
	if *seeds > 0 {
		number = *seeds
	}
	reported, lines, raced := 0, 0, 1
	for i := range number {
		seed := *first + uint64(i)
		cluster := differential.GenerateSchedule(seed)
		ours := scheduleHere(t, cluster)
		lines += len(ours)
		diff := ""
		// If two pods are bound at the same instant, goroutines race.
		for run := range uint64(mostRaces) {
			diff = cmp.Diff(strings.Join(scheduleThere(t, cluster, run), "\n"), strings.Join(ours, "\n"))
			if diff == "" {
				break
			}
			raced = max(raced, int(run)+2)
		}
		if diff == "" {
			continue
		}
		t.Errorf("-first=%d: -upstream +ours:\n%s\n%s", seed, diff, cluster)
		if reported++; reported == mostReported {
			t.Fatalf("%d clusters so far", i+1)
		}
	}
	t.Logf("%d scenarios: %d lines; at most %d upstream runs for one", number, lines, raced)
}

// scheduleHere runs a scenario with our scheduler.
func scheduleHere(t *testing.T, cluster differential.Scheduling) []string {
	t.Helper()
	s, err := differential.NewOurScheduler(cluster.Objects)
	require.NoError(t, err)
	defer s.Close()
	seen, err := differential.Schedule(s, cluster)
	require.NoError(t, err)
	return seen
}

// scheduleThere runs a scenario with kube-scheduler.
func scheduleThere(t *testing.T, cluster differential.Scheduling, run uint64) (seen []string) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s, err := upstream.NewScheduler(cluster.Objects, run, synctest.Wait)
		require.NoError(t, err)
		defer s.Close()
		seen, err = differential.Schedule(s, cluster)
		require.NoError(t, err)
	})
	return seen
}

// TestScheduleHints asks both sides which changes requeue a pod that a plugin rejected.
func TestScheduleHints(t *testing.T) {
	plugins := []string{
		names.VolumeBinding, names.VolumeRestrictions, names.VolumeZone, names.NodeVolumeLimits,
		names.NodeAffinity, names.NodePorts, names.NodeUnschedulable, names.TaintToleration, names.NodeResourcesFit, names.PodTopologySpread, names.InterPodAffinity,
	}
	queued, reported := map[string]int{}, 0
	synctest.Test(t, func(t *testing.T) {
		s, err := upstream.NewScheduler(nil, 0, synctest.Wait)
		require.NoError(t, err)
		defer s.Close()
		for i := range *changes {
			seed := *first + uint64(i)
			c := differential.GenerateChange(seed)
			for _, plugin := range plugins {
				want, err := s.Requeues(plugin, c.Pod, c.Old, c.New)
				require.NoError(t, err)
				if want {
					queued[plugin]++
				}
				if got := schedule.Requeues(plugin, c.Pod, c.Old, c.New); got != want && reported < mostReported {
					reported++
					cluster := differential.Scheduling{Objects: []api.Object{c.Pod}}
					for _, obj := range []api.Object{c.Old, c.New} {
						if obj != nil {
							cluster.Objects = append(cluster.Objects, obj)
						}
					}
					t.Errorf("-first=%d: %s: queued %v, upstream %v; new %t, gone %t\n%s", seed, plugin, got, want, c.Old == nil, c.New == nil, cluster)
				}
			}
		}
	})
	t.Logf("%d changes; of these queue a pod: %v", *changes, queued)
	for _, plugin := range plugins {
		require.Greater(t, queued[plugin], *changes/100, "%s: too few for this to mean anything", plugin)
	}
}

// TestScheduleNotices alters scenarios on our side. Each alteration that makes a difference to the real scheduler must be noticed, and
// enough of them must make one.
func TestScheduleNotices(t *testing.T) {
	altered, noticed := 0, 0
	for seed := range uint64(8) {
		cluster := differential.GenerateSchedule(seed + 1)
		want := scheduleThere(t, cluster, 0)
		require.Equal(t, want, scheduleHere(t, cluster))
		for i := range cluster.Objects {
			other := cluster
			other.Objects = slices.Delete(slices.Clone(cluster.Objects), i, i+1)
			if cmp.Equal(want, scheduleThere(t, other, 0)) {
				continue
			}
			altered++
			if !cmp.Equal(want, scheduleHere(t, other)) {
				noticed++
			}
		}
	}
	t.Logf("%d objects whose absence makes a difference", altered)
	require.Equal(t, altered, noticed)
	require.Greater(t, altered, 40, "too few for this to mean anything")
}

// TestScheduleHappens checks that the scenarios really contain what they are about, often enough to mean something.
func TestScheduleHappens(t *testing.T) {
	const clusters = 1000
	seen := map[string]int{}
	wanted := []string{
		"by VolumeRestrictions: node(s) had no available disk",
		"by VolumeRestrictions: node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod",
		"by NodeVolumeLimits: node(s) exceed max volume count", "by VolumeBinding: node(s) didn't match PersistentVolume's node affinity",
		"by VolumeBinding: node(s) didn't find available persistent volumes to bind", "node(s) did not have enough free storage",
		"by VolumeBinding: pod has unbound immediate PersistentVolumeClaims", "waiting for ephemeral volume controller",
		"bound to non-existent persistentvolume", "is being deleted", "by VolumeZone: node(s) had no available volume zone",
		"by VolumeZone: persistentvolume",
		"by NodePorts: node(s) didn't have free ports for the requested pod ports",
		"by PodTopologySpread: node(s) didn't match pod topology spread constraints",
		"by PodTopologySpread: node(s) didn't match pod topology spread constraints (missing required label)",
		"by InterPodAffinity: node(s) didn't match pod affinity rules", "by InterPodAffinity: node(s) didn't match pod anti-affinity rules",
		"by InterPodAffinity: node(s) didn't satisfy existing pods anti-affinity rules",
		"no nodes available", "annotations[volume.kubernetes.io/selected-node]", "spec.claimRef",
		"annotations[pv.kubernetes.io/bound-by-controller]",
		"Normal Scheduled", "Normal Preempted", "binding volumes: context deadline exceeded", "annotation reset for PVC",
		"running PreBind plugin",
	}
	for seed := range uint64(clusters) {
		text := strings.Join(scheduleHere(t, differential.GenerateSchedule(seed+1)), "\n")
		for _, want := range wanted {
			if strings.Contains(text, want) {
				seen[want]++
			}
		}
	}
	for _, want := range wanted {
		require.GreaterOrEqual(t, seen[want], clusters/500, "%q", want)
	}
	t.Log(seen)
}
