package csitest

import (
	"flag"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/volsim/volsim/csi"
	"github.com/volsim/volsim/csi/internal/specdriver"
)

// legalDrivers are what the specification leaves open.
var legalDrivers = []struct {
	name string
	o    specdriver.Options
	bare bool // without hooks
}{
	{name: "all capabilities"},
	{name: "calls wait", o: specdriver.Options{Wait: true, MultiWriter: true}},
	{name: "cancelled calls are rolled back", o: specdriver.Options{RollBack: true, NotFound: true}},
	{name: "no attachment", o: specdriver.Options{NoAttach: true, NotFound: true}},
	{name: "no staging", o: specdriver.Options{NoStage: true, MultiWriter: true}},
	{name: "neither", o: specdriver.Options{NoAttach: true, NoStage: true, Bare: true, Shared: true, Wait: true}},
	{name: "devices", o: specdriver.Options{NoMounts: true}},
	{name: "file systems of one node", o: specdriver.Options{NoDevices: true, OneNode: true}},
	{name: "one target", o: specdriver.Options{OneTarget: true, OneNode: true}},
	{name: "no lists", o: specdriver.Options{Unlisted: true}},
	{name: "small pages", o: specdriver.Options{PageSize: 1}},
	{name: "required fields only", o: specdriver.Options{Bare: true}},
	{name: "large steps", o: specdriver.Options{Smallest: 4 << 30, Step: 4 << 30}},
	{name: "expansion of unpublished volumes", o: specdriver.Options{Expansion: "offline", Linked: true}},
	{name: "expansion on nodes", o: specdriver.Options{Expansion: "node"}},
	{name: "no expansion", o: specdriver.Options{Expansion: "none", NoSnapshots: true}},
	{name: "zones", o: specdriver.Options{Zones: map[string]string{"n1": "b", "n2": "a"}, OneNode: true}},
	{name: "mounts below the staging path", o: specdriver.Options{BelowStage: true, Step: 1 << 20}},
	{name: "a limit", o: specdriver.Options{Limit: 2, MultiWriter: true}},
	{name: "snapshots in use", o: specdriver.Options{Copies: true}},
	{name: "inline only", o: specdriver.Options{InlineOnly: true, NoAttach: true, NoStage: true, Expansion: "none"}},
	{name: "no hooks", bare: true},
}

// legalConfig returns the configuration for a driver that has a process for the controller, and one for each node.
func legalConfig(o specdriver.Options, bare bool) Config {
	d := specdriver.New(o, "n1", "n2")
	cfg := Config{Controller: csi.Serve(d.Controller), Nodes: map[string]csi.Conn{"n1": csi.Serve(d.Node("n1")), "n2": csi.Serve(d.Node("n2"))}}
	if bare {
		return cfg
	}
	cfg.Reset = func() error { d.Reset(); return nil }
	cfg.Restart = func(string) error { d.Restart(); return nil }
	cfg.Reboot, cfg.RemoveNode, cfg.Write, cfg.Read, cfg.Inline = d.Reboot, d.Remove, d.Write, d.Read, map[string]string{}
	if o.NoMounts {
		cfg.Inline = nil
	}
	cfg.Mounts = func() []Mount {
		var all []Mount
		for _, m := range d.Mounts() {
			all = append(all, Mount(m))
		}
		return all
	}
	return cfg
}

var legalShards = flag.Int("legal", 12, "each of the legal drivers runs one of so many shares of the stories")

// Nothing is reported for drivers that use the freedom that the specification gives them.
func TestLegalDrivers(t *testing.T) {
	for i, tt := range legalDrivers {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			cfg := legalConfig(tt.o, tt.bare)
			cfg.Seeds, cfg.Pairs, cfg.every, cfg.Shard = *seeds, *pairsOfFaults, *every, *shard
			if cfg.Shard == "" {
				cfg.Shard = fmt.Sprintf("%d/%d", i%*legalShards, *legalShards)
			}
			report, err := Check(cfg)
			require.NoError(t, err)
			for _, f := range report.Findings {
				t.Error(f)
			}
			for _, s := range report.Stories {
				require.Empty(t, s.Incomplete, s.Story)
			}
			t.Logf("%d stories, %d runs, %d calls", len(report.Stories), report.Runs, report.Calls)
		})
	}
}

// Stories about volumes that a driver may refuse are not asked. A driver that refuses all volumes is wrong.
func TestRefusedVolumes(t *testing.T) {
	check := func(o specdriver.Options, stories ...string) *Report {
		cfg := legalConfig(o, false)
		cfg.Stories, cfg.Seeds, cfg.Pairs, cfg.every = stories, -1, -1, 20
		report, err := Check(cfg)
		require.NoError(t, err)
		return report
	}
	report := check(specdriver.Options{OneNode: true}, "life", "shared-writers")
	require.Empty(t, report.Findings)
	require.Equal(t, "MULTI_NODE_MULTI_WRITER, which the driver refuses: access mode MULTI_NODE_MULTI_WRITER is not supported", report.Skipped[0].Missing)
	report = check(specdriver.Options{NoMounts: true}, "life", "block")
	require.Empty(t, report.Findings)
	require.Contains(t, report.Skipped[0].Missing, "file systems, which the driver refuses")
	report = check(specdriver.Options{NoMounts: true, NoDevices: true}, "life", "block")
	require.Len(t, report.Findings, 1)
	require.Equal(t, "CreateVolume Errors", report.Findings[0].Section)
	require.Empty(t, report.Skipped)
	require.Len(t, report.Stories, 2)
}

// A driver may ignore parameters that it does not know, so a volume that was created with other ones is compatible.
func TestIgnoredParameters(t *testing.T) {
	cfg := legalConfig(specdriver.Options{Parameters: true}, false)
	cfg.Stories, cfg.every = []string{"class-replaced"}, 1
	report, err := Check(cfg)
	require.NoError(t, err)
	require.Empty(t, report.Findings)
}

// A driver may refuse a second pod of a SINGLE_NODE_WRITER volume. That such pods do not start is a fault of Kubernetes.
func TestSecondTargetRefused(t *testing.T) {
	cfg := legalConfig(specdriver.Options{OneTarget: true}, false)
	cfg.Stories, cfg.Seeds, cfg.Pairs, cfg.every = []string{"two-pods"}, -1, -1, 1000
	report, err := Check(cfg)
	require.NoError(t, err)
	require.Empty(t, report.Findings)
	require.Len(t, report.Kubernetes, 1)
	require.Contains(t, report.Kubernetes[0], "MNT-201")
}
