package sanity

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kubernetes-csi/csi-test/v5/pkg/sanity"
	"github.com/onsi/ginkgo/v2/types"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"k8s.io/kubernetes/test/e2e/storage/drivers/csi-test/mock/service"

	"github.com/volsim/volsim/csi/internal/testdriver"
)

// driver is set in the processes that TestSanity starts: csi-sanity can run only once in a process.
var driver = flag.String("driver", "", "run csi-sanity once on this driver: mock, correct, or a bug of the test driver")

const mockDriver, correct = "mock", "correct"

// detected are the bugs of the test driver that csi-sanity finds. csitest finds all: TestBugs of csitest.
var detected = []testdriver.Bug{
	testdriver.CreateAgainFails, testdriver.CreateIgnoresProperties, testdriver.CreateTooSmall, testdriver.CreateWithoutID,
	testdriver.DeleteAgainFails, testdriver.AttachAgainFails, testdriver.ExpandNotDelivered, testdriver.NodeExpandAgainFails,
	testdriver.StageAgainFails, testdriver.UnstageAgainFails, testdriver.PublishAgainFails, testdriver.PublishAgainMountsTwice,
	testdriver.UnpublishAgainFails, testdriver.Panics, testdriver.Hangs,
	testdriver.CreateWrongCapacity, testdriver.AttachMissingInternal, testdriver.AttachMissingSucceeds, testdriver.AttachNodeGoneSucceeds,
	testdriver.ListAcceptsTokens, testdriver.ValidateMissingSucceeds, testdriver.ValidateConfirmsNothing, testdriver.ArgumentsMissing,
	testdriver.NodeIDChanges, testdriver.StatsUnmounted, testdriver.SecretRequired, testdriver.SnapshotAgainFails,
	testdriver.SnapshotIgnoresSource, testdriver.SnapshotWithoutTime, testdriver.SnapshotWithoutSource, testdriver.SnapshotDeleteAgainFails,
	testdriver.SnapshotDeleteLeaves, testdriver.SnapshotListIgnoresID, testdriver.SnapshotListIgnoresVolume,
	testdriver.SnapshotListUnknownFails, testdriver.SnapshotSecretRequired, testdriver.RestoreWithoutSource,
	testdriver.RestoreMissingSucceeds, testdriver.GroupDeleteAgainFails, testdriver.GroupMissingSucceeds,
	testdriver.CreateTruncatesNames, testdriver.DeleteLeaves, testdriver.DetachLeaves, testdriver.DetachMissingFails, testdriver.ModifyAgainFails,
	testdriver.NodeLimitNegative, testdriver.UnstageLeaves, testdriver.UnpublishLeaves, testdriver.NodeExpandWantsStaging,
	testdriver.CloneMissingSucceeds, testdriver.SnapshotListRepeats, testdriver.SnapshotListIgnoresMaxEntries,
	testdriver.AttachNodeGoneInternal, testdriver.CreateExistsInternal, testdriver.CreateIgnoresSize, testdriver.ExpandUnimplemented,
	testdriver.ExpandZero, testdriver.ListUnimplemented, testdriver.ModifyAcceptsAll, testdriver.ModifyMissingSucceeds,
	testdriver.RestoreFailedLeaves, testdriver.SnapshotLongID, testdriver.SnapshotNeverReady, testdriver.AttachIgnoresReadOnly,
	testdriver.SnapshotListEndless, testdriver.AttachMissingAborted, testdriver.DeleteUnknownInvalid, testdriver.ValidateConfirmsEmpty,
}

// mockFailures are the tests that fail on the mock driver: ControllerModifyVolume and CreateVolume accept all mutable parameters, and
// ControllerModifyVolume accepts every volume.
var mockFailures = []string{
	"Controller Service [Controller Server] CreateVolume should not create volume with an invalid volume attribute class",
	"ModifyVolume [Controller Server] should fail if no volume id is given",
	"ModifyVolume [Controller Server] should fail if volume does not exist",
	"ModifyVolume [Controller Server] should fail if specified mutable parameters are not supported by the volume",
	"ModifyVolume [Controller Server] should fail to modify a volume created with a volume attribute class if new mutable parameters are not " +
		"supported by volume",
}

// csi-sanity finds the bugs that the table in docs/csi-drivers.md names.
func TestSanity(t *testing.T) {
	require.Empty(t, failures(t, correct), "the driver without bugs")
	require.ElementsMatch(t, mockFailures, failures(t, mockDriver), "the mock driver")
	for _, bug := range testdriver.Bugs() {
		failed := failures(t, string(bug))
		if want := slices.Contains(detected, bug); want != (len(failed) > 0) {
			t.Errorf("csi-sanity finds %s: %t, want %t; tests that fail: %q", bug, !want, want, failed)
		}
		t.Logf("%s: %q", bug, failed)
	}
	t.Logf("csi-sanity finds %d of %d bugs", len(detected), len(testdriver.Bugs()))
}

// failures runs csi-sanity in a process of its own and returns the names of the tests that fail, or why it did not end. It runs csi-sanity again
// if that did not notice that it was connected, which happens on a busy machine: Connect waits until the state changes from READY.
func failures(t *testing.T, driver string) []string {
	for range 5 {
		if failed, connected := tryFailures(t, driver); connected {
			return failed
		}
	}
	t.Fatalf("csi-sanity on %s does not connect", driver)
	return nil
}

// patience is the time within which csi-sanity ends. It waits without a limit for a snapshot that never becomes ready.
const patience = 3 * time.Minute

// tryFailures is failures for one run. connected is false if a test could not connect to the driver.
func tryFailures(t *testing.T, driver string) (failed []string, connected bool) {
	report := filepath.Join(t.TempDir(), "report.json")
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, os.Args[0], "-test.run=^TestSanityOnce$", "-driver="+driver, "-ginkgo.json-report="+report)
	out, _ := cmd.CombinedOutput() // it fails if a test fails
	if ctx.Err() != nil {
		return []string{"csi-sanity does not end"}, true
	}
	text, err := os.ReadFile(report)
	if i := bytes.Index(out, []byte("panic: ")); err != nil && i >= 0 {
		line, _, _ := strings.Cut(string(out[i:]), "\n")
		return []string{line}, true
	}
	require.NoError(t, err, "csi-sanity on %s: %s", driver, out)
	var suites []types.Report
	require.NoError(t, json.Unmarshal(text, &suites))
	for _, spec := range suites[0].SpecReports {
		if spec.Failed() && strings.Contains(spec.Failure.Message, "Connection timed out") {
			return nil, false
		}
		if spec.Failed() {
			failed = append(failed, spec.FullText())
		}
	}
	return failed, true
}

// limitCalls ends calls that hang. csi-sanity has no limit.
func limitCalls(ctx context.Context, method string, req, reply any, conn *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	return invoke(ctx, method, req, reply, conn, opts...)
}

// TestSanityOnce runs csi-sanity on one driver in a process that TestSanity starts.
func TestSanityOnce(t *testing.T) {
	if *driver == "" {
		return
	}
	server, cfg := grpc.NewServer(), sanity.NewTestConfig()
	if *driver == mockDriver {
		registerOn(server, service.OSDirIO{})
	} else {
		var bugs []testdriver.Bug
		if *driver != correct {
			bugs = append(bugs, testdriver.Bug(*driver))
		}
		d := testdriver.New(bugs...)
		d.Register(server, "n1")
		cfg.TestVolumeMutableParameters = map[string]string{"iops": "1000"}
		cfg.CheckPath = func(path string) (sanity.PathKind, error) {
			if slices.ContainsFunc(d.Mounts(), func(m testdriver.Mount) bool { return m.Path == path }) {
				return sanity.PathIsDir, nil
			}
			return sanity.PathIsNotFound, nil
		}
	}
	dir := t.TempDir()
	listener, err := net.Listen("unix", filepath.Join(dir, "csi.sock"))
	require.NoError(t, err)
	go server.Serve(listener)
	defer server.Stop()
	cfg.Address = "unix://" + filepath.Join(dir, "csi.sock")
	cfg.TargetPath, cfg.StagingPath = filepath.Join(dir, "target"), filepath.Join(dir, "staging")
	cfg.DialOptions = append(cfg.DialOptions, grpc.WithUnaryInterceptor(limitCalls))
	sanity.Test(t, cfg)
}
