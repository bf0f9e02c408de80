package sanity

import (
	"flag"
	"slices"
	"testing"

	spec "github.com/container-storage-interface/spec/lib/go/csi"
	"github.com/go-logr/logr"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/test/e2e/storage/drivers/csi-test/mock/service"

	"github.com/volsim/volsim/csi"
	"github.com/volsim/volsim/csi/csitest"
)

var (
	seeds = flag.Int("seeds", 1, "orders of each story")
	pairs = flag.Int("pairs", 1, "pairs of faults of each story")
)

// noDirectories stands for the directories of a node. The driver only asks whether they exist.
type noDirectories struct{}

func (noDirectories) DirExists(string) (bool, error) { return true, nil }
func (noDirectories) Mkdir(string) error             { return nil }
func (noDirectories) RemoveAll(string) error         { return nil }
func (noDirectories) Rename(string, string) error    { return nil }

// register registers a new mock driver, which has no volumes but its three examples.
func register(r grpc.ServiceRegistrar) { registerOn(r, noDirectories{}) }

func registerOn(r grpc.ServiceRegistrar, directories service.DirIO) {
	d := service.New(service.Config{DriverName: "mock.example.com", IO: directories, PermissiveTargetPath: true, AttachLimit: 3})
	spec.RegisterIdentityServer(r, d)
	spec.RegisterControllerServer(r, d)
	spec.RegisterNodeServer(r, d)
}

// mistakes are those of the driver, each with the code that makes it.
var mistakes = []struct{ kind, method, section, why string }{
	{"repeat-fails", "NodePublishVolume", "NodePublishVolume",
		"NodePublishVolume with readonly returns AlreadyExists if the target path has the volume, whatever it was published with"},
	{"accepts", "CreateVolume", "CreateVolume Errors",
		"CreateVolume compares only the size with that of the volume that has the name; where it comes from is not stored"},
	{"accepts", "DeleteVolume", "DeleteVolume Errors",
		"DeleteVolume removes the volume from the list and does not look at the attachment, which is in its volume_context"},
	{"reply-differs", "", "ListVolumes",
		"ControllerPublishVolume and NodeStageVolume write devices into the volume_context, which is static"},
	{"invalid-reply", "CreateVolume", "CreateVolume",
		"newVolumeFromSnapshot and newVolumeFromVolume return the index in the list as the ID in content_source"},
	{"wrong-code", "ControllerGetVolume", "ControllerGetVolume Errors",
		"ControllerGetVolume without volume_id returns NotFound instead of InvalidArgument"},
	{"reply-differs", "CreateVolume", "CreateVolume",
		"the same: a CreateVolume that is executed again, after the volume was used, returns the volume_context with devices"},
	{"invalid-reply", "ValidateVolumeCapabilities", "ValidateVolumeCapabilities",
		"ValidateVolumeCapabilities confirms each request about a volume that exists, also access_mode UNKNOWN"},
}

// The driver has these mistakes, and no other is reported.
func TestMockDriver(t *testing.T) {
	klog.SetLogger(logr.Discard())
	s := csi.Serve(register)
	report, err := csitest.Check(csitest.Config{Controller: s, Reset: func() error { s.Restart(register); return nil }, Pairs: *pairs, Seeds: *seeds})
	require.NoError(t, err)
	found := make([]bool, len(mistakes))
	for _, f := range report.Findings {
		i := slices.IndexFunc(mistakes, func(m struct{ kind, method, section, why string }) bool {
			return m.kind == f.Kind && m.method == f.Method && m.section == f.Section
		})
		if i < 0 {
			t.Errorf("not a known mistake: %v", f)
			continue
		}
		found[i] = true
	}
	for i, m := range mistakes {
		if !found[i] {
			t.Errorf("not found: %s %s: %s", m.method, m.kind, m.why)
		}
	}
	for _, text := range report.Kubernetes {
		require.Contains(t, text, "MNT-450")
	}
	t.Logf("%d runs, %d calls", report.Runs, report.Calls)
}
