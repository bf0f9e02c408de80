// Package csitest tests a CSI driver against everything that Kubernetes does to it.
//
// A simulated cluster (package volsim) runs stories on the driver: a volume is created, used, grown, copied, restored from a snapshot and
// deleted; nodes reboot, die and disappear; kubelets restart. Each story runs once without faults, then with each fault at each call (a lost
// reply, a reply after the deadline, a call delivered twice, a broken connection, a restarted driver, a call that continues while the next
// one is made, a caller that crashes), with pairs of faults, and in other orders of events. Time is virtual, so thousands of runs take
// seconds.
//
//	func TestDriver(t *testing.T) {
//		driver := newDriver()
//		conn := csi.Serve(func(s grpc.ServiceRegistrar) { driver.Register(s) })
//		csitest.Run(t, csitest.Config{Controller: conn, Reset: driver.Reset})
//	}
//
// Every call also goes to a reference driver (fake.Memory), and the answers, the volumes and snapshots that the driver lists, its mounts
// and the data are compared. A [Finding] says which section of the CSI specification the driver violates, the calls that show it, and why
// Kubernetes makes them.
//
// [Check] does the same outside of tests, and returns a [Report].
package csitest

import (
	"strings"
	"testing"
)

// Run tests a driver: each story is a subtest, and each finding an error of the story that shows it best. A story that does not reach its
// end is an error, too. With go test -v it logs each story when it has run (unless Config.Progress is set), and in the end what was not asked, and known
// faults of Kubernetes itself. A test in which no story ran fails.
func Run(t *testing.T, cfg Config) {
	t.Helper()
	if cfg.Progress == nil && testing.Verbose() {
		cfg.Progress = func(story string, runs int) { t.Logf("story %s: %d runs", story, runs) }
	}
	report, err := Check(cfg)
	switch {
	case report == nil:
		t.Fatal(err)
	case err != nil:
		t.Error(err) // the report says which stories did not run
	}
	for _, s := range report.Stories {
		t.Run(s.Story, func(t *testing.T) {
			for _, f := range report.Findings {
				if f.Story == s.Story {
					t.Errorf("%v", f)
				}
			}
			if s.Incomplete != "" {
				t.Errorf("incomplete: %s", s.Incomplete)
			}
		})
	}
	for _, f := range report.Findings {
		if f.Story == "" {
			t.Errorf("%v", f) // the driver does not answer
		}
	}
	for _, s := range report.Skipped {
		t.Run(s.Story, func(t *testing.T) { t.Skipf("%s: no %s", s.About, s.Missing) })
	}
	var b strings.Builder
	if err := report.WriteText(&b); err == nil && testing.Verbose() {
		t.Log("\n" + b.String())
	}
}
