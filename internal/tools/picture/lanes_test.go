package picture_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/tools/picture"
	"github.com/volsim/volsim/internal/tools/picture/samples"
)

// lane returns the lane of a kind whose name begins that way.
func (r read) lane(t *testing.T, kind, prefix string) int {
	t.Helper()
	for i, l := range r.Lanes {
		if l.Kind == kind && strings.HasPrefix(l.Name, prefix) {
			return i
		}
	}
	t.Fatalf("there is no lane %s %s", kind, prefix)
	return -1
}

// bars returns the phases of a lane in order; a star marks an object that was being deleted, a dash an object that was gone.
func (r read) bars(lane int) string {
	var names []string
	bars := r.Lanes[lane].Bars
	for b := 0; b < len(bars); b += 4 {
		name := "-"
		if bars[b+1] >= 0 {
			name = r.Phases[bars[b+1]].Name
		}
		if bars[b+2] == 1 {
			name += "*"
		}
		names = append(names, name)
	}
	return strings.Join(names, " ")
}

// marks returns the headlines of the entries on a lane.
func (r read) marks(lane int) []string {
	var heads []string
	for i, l := range r.Entries.Lane {
		on := l == lane
		for _, also := range r.Entries.Also[i] {
			on = on || also == lane
		}
		if on && r.Entries.Head[i] >= 0 {
			heads = append(heads, r.Texts[r.Entries.Head[i]])
		}
	}
	return heads
}

func TestBars(t *testing.T) {
	_, page := draw(t, samples.Failover)
	r := readData(t, page)
	for _, tt := range []struct{ kind, name, want string }{
		{"PersistentVolumeClaim", "default/data", "Pending Bound"},
		{"PersistentVolume", "pvc-", "Pending Bound"},
		{"Pod", "default/db-0", "Pending Running Running, node is off -"},
		{"Pod", "default/db-1", "Pending Running"},
		{"Node", "n1", "Ready Unknown"},
		{"Node", "n2", "Ready"},
		{"VolumeAttachment", "csi-", "Attaching Attached Detaching* -"},
		{"StorageClass", "fast", "Exists"},
		{"Component", "kubelet/n1", "Running Down"},
		{"Component", "machine/n1", "Running Off"},
	} {
		require.Equal(t, tt.want, r.bars(r.lane(t, tt.kind, tt.name)), "%s %s", tt.kind, tt.name)
	}
	for _, l := range r.Lanes {
		require.NotEqual(t, "kubelet/n2", l.Name, "what never stops has no lane")
	}
}

func TestMarksStandWhereTheyBelong(t *testing.T) {
	_, page := draw(t, samples.Failover)
	r := readData(t, page)
	pv := r.Lanes[r.lane(t, "PersistentVolume", "pvc-")].Name
	call := func(what string) string { return "disk.example.com " + strings.Replace(what, "PV", pv, 1) }
	for _, tt := range []struct{ what, kind, name, want string }{
		{"a call to storage on its volume, also before that is created", "PersistentVolume", "pvc-", call("Create PV")},
		{"attaching on the volume", "PersistentVolume", "pvc-", call("Attach PV on n1")},
		{"attaching on the attachment", "VolumeAttachment", "csi-", call("Attach PV on n1")},
		{"publishing on the pod", "Pod", "default/db-1", call("Publish PV on n2")},
		{"a crash on the component", "Component", "machine/n1", "crashed"},
		{"an Event on its object", "Pod", "default/db-1", "FailedAttachVolume"},
	} {
		require.Contains(t, r.marks(r.lane(t, tt.kind, tt.name)), tt.want, tt.what)
	}
	require.NotContains(t, r.marks(r.lane(t, "Pod", "default/db-0")), call("Publish PV on n2"), "it is another pod's")
}

func TestMarksOfTrouble(t *testing.T) {
	_, page := draw(t, samples.Hostile)
	r := readData(t, page)
	claim := r.lane(t, "PersistentVolumeClaim", "default/evil")
	require.Contains(t, r.marks(claim), "claims", "a retry of a queue whose keys are uids")
	require.Contains(t, r.marks(claim), "<b>bold</b>", "a violation")
	volume := r.lane(t, "PersistentVolume", "pvc-")
	require.Contains(t, r.marks(volume), "disk.example.com Create "+r.Lanes[volume].Name, "a fault of a call")
}

func TestWritesSayWhatTheyFollowFrom(t *testing.T) {
	_, page := draw(t, samples.Bind)
	r := readData(t, page)
	var rules []string
	for i := range r.Entries.Lane {
		if j, ok := r.Entries.Because[i]; ok {
			rules = append(rules, r.Rules[r.Entries.Rule[j]].ID)
		}
	}
	require.Contains(t, rules, "MATCH-020")
	for _, rule := range r.Rules {
		require.NotEmpty(t, rule.Text, rule.ID)
		require.NotEmpty(t, rule.File, rule.ID)
	}
}

func TestRelated(t *testing.T) {
	_, page := draw(t, samples.Failover)
	r := readData(t, page)
	claim, pv, pod := r.lane(t, "PersistentVolumeClaim", ""), r.lane(t, "PersistentVolume", ""), r.lane(t, "Pod", "default/db-1")
	require.Contains(t, r.Lanes[claim].Related, pv)
	require.Contains(t, r.Lanes[pv].Related, claim)
	require.Contains(t, r.Lanes[claim].Related, pod)
	require.Contains(t, r.Lanes[pod].Related, r.lane(t, "Node", "n2"))
	va := r.lane(t, "VolumeAttachment", "")
	require.Contains(t, r.Lanes[va].Related, pv)
	require.Equal(t, r.Lanes[pv].Name+" → n1", r.Lanes[va].Label)
}

// A violation may come before, between and after all entries, and may name an object that no entry names.
func TestViolations(t *testing.T) {
	run, err := samples.Bind()
	require.NoError(t, err)
	at := func(d time.Duration, name string) picture.Violation {
		return picture.Violation{Time: engine.DefaultStart.Add(d), Name: name, Object: api.Ref{Kind: api.Pod, Key: "default/ghost"},
			Rules: []string{"BIND-066"}}
	}
	run.Violations = []picture.Violation{at(time.Hour, "late"), at(-time.Hour, "early"), at(time.Second, "between"),
		{Time: engine.DefaultStart, Name: "about nothing"}}
	_, page := draw(t, func() (picture.Run, error) { return run, nil })
	r := readData(t, page)
	require.Equal(t, []string{"early", "between", "late"}, r.marks(r.lane(t, "Pod", "default/ghost")))
	require.Equal(t, int64(2*time.Hour), r.Span)
	require.Equal(t, "2025-12-31T23:00:00Z", r.Start)
	for _, d := range r.Entries.Time {
		require.GreaterOrEqual(t, d, int64(0), "entries are in the order of time")
	}
}
