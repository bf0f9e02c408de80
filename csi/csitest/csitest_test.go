package csitest

import (
	"flag"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"

	"github.com/volsim/volsim/csi"
	"github.com/volsim/volsim/csi/internal/testdriver"
)

// testConfig returns a configuration with all hooks for the test driver with two nodes.
func testConfig(bugs ...testdriver.Bug) Config {
	d := testdriver.New(bugs...)
	d.AttachLimit, d.Zone, d.SlowSnapshots = 3, "a", 2
	on := func(node string) csi.Conn { return csi.Serve(func(s grpc.ServiceRegistrar) { d.Register(s, node) }) }
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
				mounts = append(mounts, Mount{Node: m.Node, Path: m.Path, ReadOnly: m.ReadOnly})
			}
			return mounts
		},
	}
}

var (
	seeds         = flag.Int("seeds", 1, "orders of each story")
	pairsOfFaults = flag.Int("pairs", 1, "pairs of faults of each story")
	every         = flag.Int("every", 9, "inject each n-th single fault")
)

// Nothing is reported for a driver without bugs.
func TestCorrectDriver(t *testing.T) {
	cfg := testConfig()
	cfg.Seeds, cfg.Pairs, cfg.every = *seeds, *pairsOfFaults, *every
	report, err := Check(cfg)
	require.NoError(t, err)
	require.Empty(t, report.Skipped)
	require.GreaterOrEqual(t, len(report.Stories), 50)
	for _, s := range report.Stories {
		require.Empty(t, s.Incomplete, s.Story)
	}
	for _, f := range report.Findings {
		t.Error(f)
	}
	t.Logf("%d runs, %d calls", report.Runs, report.Calls)
}

// Run has a subtest for each story.
func TestRun(t *testing.T) {
	cfg := testConfig()
	cfg.Stories, cfg.Seeds, cfg.Pairs, cfg.every = []string{"life"}, -1, -1, 20
	Run(t, cfg)
}

// A wrong configuration is an error that names the remedy.
func TestConfigErrors(t *testing.T) {
	_, err := Check(Config{})
	require.EqualError(t, err, "test a CSI driver: no connection; set Config.Controller")
	cfg := testConfig()
	cfg.Stories = []string{"nonsense"}
	_, err = Check(cfg)
	require.EqualError(t, err, `test a CSI driver: there is no story "nonsense"; Stories lists them`)
	for _, replay := range []string{"nonsense", "life lost@x", "life odd@1", "life seed=x"} {
		cfg := testConfig()
		cfg.Replay = replay
		_, err := Check(cfg)
		require.ErrorContains(t, err, "replay")
	}
}
