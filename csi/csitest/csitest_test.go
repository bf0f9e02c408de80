package csitest

import (
	"testing"
	"time"

	"google.golang.org/grpc"

	"github.com/volsim/volsim/csi"
	"github.com/volsim/volsim/csi/internal/testdriver"
)

// testConfig returns a configuration with all hooks for the test driver with two nodes.
func testConfig(bugs ...testdriver.Bug) Config {
	d := testdriver.New(bugs...)
	on := func(node string) csi.Conn { return csi.Serve(func(s grpc.ServiceRegistrar) { d.Register(s, node) }) }
	n1 := on("n1")
	return Config{
		Controller: n1, Nodes: map[string]csi.Conn{"n1": n1, "n2": on("n2")},
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

func TestCorrectDriver(t *testing.T) {
	start := time.Now()
	report, err := Check(testConfig())
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d runs, %d calls, %v", report.Runs, report.Calls, time.Since(start))
	for _, s := range report.Stories {
		t.Logf("%-25s %4d %d", s.Story, s.Runs, s.Failed)
	}
	for _, s := range report.Skipped {
		t.Logf("skipped %s: %s", s.Story, s.Missing)
	}
	for _, k := range report.Kubernetes {
		t.Log(k)
	}
	for _, f := range report.Findings {
		t.Errorf("%s %s: %s (%d runs; %s)", f.Kind, f.Method, f.Detail, f.Runs, f.Replay)
	}
}
