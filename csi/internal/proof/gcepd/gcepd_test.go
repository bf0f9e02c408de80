package gcepd

import (
	"flag"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/volsim/volsim/csi/csitest"
)

var (
	stories = flag.String("stories", "life,queries,read-only,block,attach-cancelled,move,mount-lost,node-removed,expand-online,expand-offline,never-used,"+
		"create-queries,snapshot-queries",
		"names of stories, or all")
	seeds  = flag.Int("seeds", -1, "orders of each story")
	pairs  = flag.Int("pairs", 1, "pairs of faults of each story")
	replay = flag.String("replay", "", "the only run, as a report prints it")
)

// mistake is one of the driver, with the code that makes it.
type mistake struct{ kind, method, section, why string }

// unstaged is found by the story mount-lost.
var unstaged = mistake{"accepts", "NodePublishVolume", "RPC Interactions and Reference Counting",
	"NodePublishVolume binds the staging path and does not ask whether something is mounted there"}

// overLimit is found by the story create-queries, growsOver by expand-offline, otherSource by snapshot-queries.
var (
	overLimit = mistake{"invalid-reply", "CreateVolume", "CreateVolume",
		"getRequestCapacity compares required_bytes with limit_bytes before they are rounded up to GiB"}
	otherSource = mistake{"accepts", "CreateVolume", "CreateVolume Errors",
		"ValidateExistingDisk does not get volume_content_source, so a disk that was made of another source is taken for compatible"}
)

// usedElsewhere is found if a volume is still published to another node, usedStill if it is deleted while it is published.
var (
	usedElsewhere = mistake{"wrong-code", "ControllerPublishVolume", "ControllerPublishVolume Errors",
		"CodeForError makes InvalidArgument of RESOURCE_IN_USE_BY_ANOTHER_RESOURCE"}
	growsOver = mistake{"invalid-reply", "ControllerExpandVolume", "ControllerExpandVolume", overLimit.why}
	usedStill = mistake{"wrong-code", "DeleteVolume", "DeleteVolume Errors", usedElsewhere.why}
)

// otherContext is found by the story queries.
var otherContext = mistake{"invalid-reply", "ValidateVolumeCapabilities", "ValidateVolumeCapabilities",
	"ValidateVolumeCapabilities returns the volume_context of the request, and does not compare it"}

// emptyNode is found if the driver lists the users of disks.
var emptyNode = mistake{"invalid-reply", "ListVolumes", "ListVolumes",
	"disksAndInstancesToVolumeEntries appends to a slice that has one empty ID for each user"}

// These mistakes of the driver with zonal persistent disks are reported, and nothing else.
func TestPersistentDisk(t *testing.T) {
	cfg := newFixture(t, "n1", "n2").config()
	cfg.Unsupported = []string{"ReadWriteMany", "ReadOnlyMany"}
	mistakes := []mistake{unstaged, overLimit, growsOver, otherSource, usedElsewhere, otherContext}
	if *stories == "all" {
		mistakes = append(mistakes, usedStill)
	} else {
		cfg.Stories = strings.Split(*stories, ",")
	}
	check(t, cfg, mistakes...)
}

// By default the driver lists an empty node ID for each node to which a volume is published.
func TestListOfUsers(t *testing.T) {
	f := newFixture(t, "n1", "n2")
	f.listUsers = true
	cfg := f.config()
	cfg.Replay = "life"
	check(t, cfg, emptyNode)
}

// Nothing is reported if a hyperdisk is modified.
func TestModify(t *testing.T) {
	cfg := newFixture(t, "n1", "n2").config()
	cfg.Parameters = map[string]string{"type": "hyperdisk-balanced"}
	cfg.Attributes = map[string]string{"iops": "3500", "throughput": "200Mi"}
	cfg.Stories = []string{"modify"}
	check(t, cfg)
}

// check runs csitest, which must find the mistakes and no others.
func check(t *testing.T, cfg csitest.Config, mistakes ...mistake) {
	cfg.Seeds, cfg.Pairs = *seeds, *pairs
	if *replay != "" {
		cfg.Replay = *replay
	}
	report, err := csitest.Check(cfg)
	require.NoError(t, err)
	var found []mistake
	for _, f := range report.Findings {
		i := slices.IndexFunc(mistakes, func(m mistake) bool { return m.kind == f.Kind && m.method == f.Method && m.section == f.Section })
		if i < 0 {
			t.Errorf("not a known mistake: %v", f)
			continue
		}
		found = append(found, mistakes[i])
	}
	for _, m := range mistakes {
		if !slices.Contains(found, m) {
			t.Errorf("not found: %s %s: %s", m.method, m.kind, m.why)
		}
	}
	for _, s := range report.Stories {
		if s.Incomplete != "" {
			t.Errorf("story %s is incomplete: %s", s.Story, s.Incomplete)
		}
	}
	for _, s := range report.Skipped {
		t.Logf("not asked: %s: no %s", s.Story, s.Missing)
	}
	for _, text := range report.Kubernetes {
		require.Contains(t, text, "MNT-450")
	}
	t.Logf("%d runs, %d calls", report.Runs, report.Calls)
}
