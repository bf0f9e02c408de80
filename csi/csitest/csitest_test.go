package csitest

import (
	"errors"
	"flag"
	"net"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"

	"github.com/volsim/volsim/csi"
	"github.com/volsim/volsim/csi/internal/testdriver"
)

// testConfig returns a configuration with all hooks for the test driver with two nodes.
func testConfig(bugs ...testdriver.Bug) Config { return configOf(testdriver.New(bugs...)) }

// configOf is testConfig for a driver in the same process.
func configOf(d *testdriver.Driver) Config {
	return configOn(d, func(node string) csi.Conn { return csi.Serve(func(s grpc.ServiceRegistrar) { d.Register(s, node) }) })
}

// configOn is testConfig for a driver with the connections that on returns.
func configOn(d *testdriver.Driver, on func(node string) csi.Conn) Config {
	d.AttachLimit, d.Zone, d.SlowSnapshots, d.MountGroup = 3, "a", 2, true
	n1 := on("n1")
	return Config{
		Controller: n1, Nodes: map[string]csi.Conn{"n1": n1, "n2": on("n2")},
		Attributes: map[string]string{"iops": "1000"}, Inline: map[string]string{},
		Reset:   func() error { d.Reset(); return nil },
		Restart: func(string) error { d.Restart(); return nil },
		Reboot:  d.Reboot, RemoveNode: d.RemoveNode, Write: d.Write, Read: d.Read,
		Mounts: func() []Mount {
			var mounts []Mount
			for _, m := range d.Mounts() {
				mounts = append(mounts, Mount{Node: m.Node, Path: m.Path, ReadOnly: m.ReadOnly, Options: m.Options})
			}
			return mounts
		},
	}
}

var (
	seeds         = flag.Int("seeds", 1, "orders of each story")
	pairsOfFaults = flag.Int("pairs", 1, "pairs of faults of each story")
	shard         = flag.String("shard", "", "share of the stories that runs, such as 0/4; default all")
	every         = flag.Int("every", 9, "inject each n-th single fault")
	everyRemote   = flag.Int("every-remote", 90, "inject each n-th single fault into a driver behind sockets")
)

// Nothing is reported for a driver without bugs.
func TestCorrectDriver(t *testing.T) {
	cfg := testConfig()
	cfg.every = *every
	requireNoFindings(t, cfg)
}

// Nothing is reported for a driver without bugs in processes of its own, one for each node.
func TestCorrectDriverBehindSockets(t *testing.T) {
	cfg := configBehindSockets(t, testdriver.New())
	cfg.every = *everyRemote
	requireNoFindings(t, cfg)
}

// Calls that overlap in a process of its own show the same bugs as in this one. A finding is confirmed, because the order of the calls is not
// certain there.
func TestOverlapBehindSockets(t *testing.T) {
	for _, tt := range []struct {
		bug    testdriver.Bug
		replay string
	}{
		{testdriver.StageUnstageOverlap, "pod-cancelled overlap@3"},
		{testdriver.PublishUnpublishOverlap, "pod-cancelled overlap@4"},
	} {
		for _, bugs := range [][]testdriver.Bug{{tt.bug}, nil} {
			d := testdriver.New(bugs...)
			cfg := configBehindSockets(t, d)
			d.Slow, cfg.Replay = 100*time.Millisecond, tt.replay
			report, err := Check(cfg)
			require.NoError(t, err)
			require.Len(t, report.Findings, len(bugs), "%v %s", bugs, tt.replay)
		}
	}
}

// configBehindSockets is testConfig for a driver in processes of its own.
func configBehindSockets(t *testing.T, d *testdriver.Driver) Config {
	return configOn(d, func(node string) csi.Conn {
		path := filepath.Join(t.TempDir(), "csi.sock")
		listener, err := net.Listen("unix", path)
		require.NoError(t, err)
		server := grpc.NewServer()
		d.Register(server, node)
		go func() { _ = server.Serve(listener) }()
		t.Cleanup(server.Stop)
		conn, err := csi.Dial("unix://" + path)
		require.NoError(t, err)
		t.Cleanup(func() { _ = conn.Close() })
		return conn
	})
}

// requireNoFindings runs all stories.
func requireNoFindings(t *testing.T, cfg Config) {
	t.Helper()
	cfg.Seeds, cfg.Pairs, cfg.Shard = *seeds, *pairsOfFaults, *shard
	report, err := Check(cfg)
	require.NoError(t, err)
	for _, s := range report.Skipped {
		require.Equal(t, "expand-when-unused", s.Story) // the driver has ONLINE
	}
	require.GreaterOrEqual(t, len(Stories()), 50)
	for _, s := range report.Stories {
		require.Empty(t, s.Incomplete, s.Story)
	}
	for _, f := range report.Findings {
		t.Error(f)
	}
	t.Logf("%d stories, %d runs, %d calls", len(report.Stories), report.Runs, report.Calls)
}

// A driver that expands volumes only while they are not published may reject the others, so those stories do not run.
func TestOfflineExpansion(t *testing.T) {
	d := testdriver.New()
	d.Offline = true
	cfg := configOf(d)
	cfg.Stories, cfg.Seeds, cfg.Pairs = []string{"expand-online", "resizer-down", "snapshot-expand", "expand-offline", "expand-unused", "expand-when-unused"}, 2, 5
	report, err := Check(cfg)
	require.NoError(t, err)
	require.Empty(t, report.Findings)
	require.Len(t, report.Stories, 3)
	require.Len(t, report.Skipped, 3)
	for _, s := range report.Skipped {
		require.Equal(t, "VolumeExpansion ONLINE", s.Missing, s.Story)
	}
}

// A driver without EXPAND_VOLUME of the controller grows volumes on their nodes, in the same stories.
func TestExpansionOnNode(t *testing.T) {
	check := func(bugs ...testdriver.Bug) *Report {
		d := testdriver.New(bugs...)
		d.OnNode = true
		cfg := configOf(d)
		cfg.Stories, cfg.Seeds, cfg.Pairs, cfg.every = []string{"expand-online", "expand-offline", "expand-block", "expand-twice", "odd-size"}, 1, 1, 20
		report, err := Check(cfg)
		require.NoError(t, err)
		require.Empty(t, report.Skipped)
		return report
	}
	report := check()
	require.Empty(t, report.Findings)
	for _, s := range report.Stories {
		require.Empty(t, s.Incomplete, s.Story)
	}
	report = check(testdriver.NodeExpandDoesNothing)
	require.NotEmpty(t, report.Findings)
	require.Equal(t, "NodeExpandVolume", report.Findings[0].Section, report.Findings[0])
}

// A volume is made where its pod can run.
func TestZones(t *testing.T) {
	d := testdriver.New()
	d.Zones = map[string]string{"n2": "b"}
	cfg := configOf(d)
	cfg.Stories, cfg.Seeds, cfg.Pairs = []string{"zones"}, 2, 5
	report, err := Check(cfg)
	require.NoError(t, err)
	require.Empty(t, report.Findings)
	require.Empty(t, report.Stories[0].Incomplete)
}

// Two calls of one volume that continue after their deadline end before the call that undoes them, so a right driver can undo them.
func TestTwoStalledCalls(t *testing.T) {
	h := &hostile{t: t, path: filepath.Join(t.TempDir(), "csi.sock"), driver: testdriver.New()}
	h.start()
	t.Cleanup(h.server.Stop)
	conn, err := csi.Dial("unix://" + h.path)
	require.NoError(t, err)
	for name, cfg := range map[string]Config{"socket": {Controller: conn}, "in process": testConfig()} {
		for _, replay := range []string{"tokens stalled@16 stalled@25", "tokens stalled@4 stalled@13", "life stalled@3 stalled@4"} {
			cfg.Replay = replay
			report, err := Check(cfg)
			require.NoError(t, err)
			require.Empty(t, report.Findings, "%s, %s", name, replay)
			require.Positive(t, report.Calls)
		}
	}
}

// A story has a name of its own, which --stories and replay lines use.
func TestStoryNames(t *testing.T) {
	names := slices.Sorted(slices.Values(Stories()))
	require.Equal(t, slices.Compact(slices.Clone(names)), names)
}

// Run has a subtest for each story.
func TestRun(t *testing.T) {
	cfg := testConfig()
	cfg.Stories, cfg.Seeds, cfg.Pairs, cfg.every = []string{"life"}, -1, -1, 20
	Run(t, cfg)
}

// A replay has the result of its story, so that Run reports it.
func TestReplay(t *testing.T) {
	for _, tt := range []struct {
		replay string
		bugs   []testdriver.Bug
		failed int
		err    string
	}{
		{replay: "life lost@3"},
		{replay: "life lost@3", bugs: []testdriver.Bug{testdriver.StageAgainFails}, failed: 1},
		{replay: "life lost@99", err: `replay "life lost@99": faults can hit 8 calls of the story; lost@99 was not injected`},
		{replay: "life reboot@1", err: `replay "life reboot@1": call 1 is Create of external-provisioner/test.csi.volsim.dev; reboot@1 was not injected`},
		// A report prints all faults of a run, also those after its end.
		{replay: "life lost@3 lost@99", bugs: []testdriver.Bug{testdriver.StageAgainFails}, failed: 1},
	} {
		t.Run(tt.replay, func(t *testing.T) {
			cfg := testConfig(tt.bugs...)
			cfg.Replay = tt.replay
			report, err := Check(cfg)
			if tt.err != "" {
				require.EqualError(t, err, tt.err)
				return
			}
			require.NoError(t, err)
			require.Len(t, report.Findings, tt.failed)
			require.Equal(t, []StoryResult{{Story: "life", About: About("life"), Runs: 1, Failed: tt.failed}}, report.Stories)
		})
	}
}

// A wrong configuration is an error that names the remedy.
func TestConfigErrors(t *testing.T) {
	_, err := Check(Config{})
	require.EqualError(t, err, "test a CSI driver: no connection; set Config.Controller")
	cfg := testConfig()
	cfg.Stories = []string{"nonsense"}
	_, err = Check(cfg)
	require.EqualError(t, err, `test a CSI driver: there is no story "nonsense"; csitest.Stories and volsim csi stories list them`)
	cfg = testConfig()
	cfg.Stories, cfg.Unsupported = []string{"life"}, []string{"Block", "RWX"}
	_, err = Check(cfg)
	require.EqualError(t, err, `test a CSI driver: Config.Unsupported "RWX"; want ReadWriteMany, ReadOnlyMany, ReadWriteOncePod or Block`)
	cfg = testConfig()
	cfg.Stories, cfg.Nodes["n3"] = []string{"life"}, nil
	_, err = Check(cfg)
	require.EqualError(t, err, `test a CSI driver: Config.Nodes["n3"] is nil; set the connection to the driver on each node`)
	for _, replay := range []string{"nonsense", "life lost@x", "life odd@1", "life seed=x"} {
		cfg := testConfig()
		cfg.Replay = replay
		_, err := Check(cfg)
		require.ErrorContains(t, err, "replay")
	}
}

// Without Config.Reset, volumes that failed runs left attached count for the limit of their node. When there is no room left, the test ends.
func TestVolumesLeftAttached(t *testing.T) {
	cfg := testConfig(testdriver.SecretRequired)
	cfg.Reset, cfg.Stories, cfg.Seeds, cfg.Pairs = nil, []string{"life", "restart-pod"}, -1, -1
	report, err := Check(cfg)
	require.NoError(t, err)
	require.NotEmpty(t, report.Findings)
	for _, f := range report.Findings {
		require.Equal(t, "NodePublishVolume", f.Method, f)
	}
	require.Len(t, report.Skipped, 1)
	require.Equal(t, "room on node n1, which has 3 of 3 volumes: earlier runs left 3 attached; remove them before each run with Config.Reset (--reset)",
		report.Skipped[0].Missing)
}

// An error of a hook ends the test.
func TestHookFails(t *testing.T) {
	cfg := testConfig()
	cfg.Stories, cfg.Seeds, cfg.Pairs = []string{"life"}, -1, -1
	restarts := 0
	cfg.Restart = func(string) error { restarts++; return errors.New("no such unit") }
	report, err := Check(cfg)
	require.EqualError(t, err, "test a CSI driver: restart the driver: no such unit")
	require.Equal(t, 1, restarts)
	require.NotNil(t, report)
}
