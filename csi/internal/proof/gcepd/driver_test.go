package gcepd

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/GoogleCloudPlatform/k8s-cloud-provider/pkg/cloud/meta"
	spec "github.com/container-storage-interface/spec/lib/go/csi"
	"github.com/go-logr/logr"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"k8s.io/klog/v2"
	"k8s.io/mount-utils"
	"k8s.io/utils/exec"
	testingexec "k8s.io/utils/exec/testing"
	"sigs.k8s.io/gcp-compute-persistent-disk-csi-driver/pkg/deviceutils"
	driver "sigs.k8s.io/gcp-compute-persistent-disk-csi-driver/pkg/gce-pd-csi-driver"
	"sigs.k8s.io/gcp-compute-persistent-disk-csi-driver/pkg/linkcache"
	mountmanager "sigs.k8s.io/gcp-compute-persistent-disk-csi-driver/pkg/mount-manager"

	"github.com/volsim/volsim/csi"
	"github.com/volsim/volsim/csi/csitest"
)

// fixture is the driver on its nodes, with the fake cloud.
type fixture struct {
	root    string // where the mounts are
	cloud   *cloud
	names   []string
	mounts  map[string]*mount.FakeMounter
	servers map[string]*csi.Server
	// listUsers: the driver lists the users of disks instead of the disks of instances, which is its default.
	listUsers bool
}

// newFixture starts the driver on nodes; the first one also serves the controller.
func newFixture(t *testing.T, nodes ...string) *fixture {
	klog.SetLogger(logr.Discard())
	f := &fixture{root: t.TempDir(), names: nodes, servers: map[string]*csi.Server{}}
	for _, node := range nodes {
		f.servers[node] = csi.Serve(func(grpc.ServiceRegistrar) {})
	}
	require.NoError(t, f.reset())
	return f
}

// reset empties the cloud and unmounts everything.
func (f *fixture) reset() (err error) {
	for _, node := range f.names {
		if err := os.RemoveAll(filepath.Join(f.root, node)); err != nil {
			return err
		}
	}
	if f.cloud, err = newCloud(f.names...); err != nil {
		return err
	}
	f.mounts = map[string]*mount.FakeMounter{}
	for _, node := range f.names {
		f.mounts[node] = mount.NewFakeMounter(nil)
	}
	return f.restart("")
}

// restart restarts the driver on a node, "" is all.
func (f *fixture) restart(node string) error {
	for _, name := range f.names {
		if node == "" || node == name {
			register, err := f.driver(name)
			if err != nil {
				return err
			}
			f.servers[name].Restart(register)
		}
	}
	return nil
}

// driver starts the driver on a node.
func (f *fixture) driver(node string) (register func(grpc.ServiceRegistrar), err error) {
	d := driver.GetGCEDriver()
	mounter := mountmanager.NewCustomFakeSafeMounter(f.mounts[node], &commands{cloud: f.cloud})
	identity := driver.NewIdentityServer(d)
	disks := []string{"hyperdisk-balanced"}
	controller := driver.NewControllerServer(d, f.cloud, 0, 5*time.Minute, nil, false, false, driver.MultiZoneVolumeHandleConfig{},
		driver.ListVolumesConfig{UseInstancesAPIForPublishedNodes: !f.listUsers}, driver.ProvisionableDisksConfig{SupportsIopsChange: disks, SupportsThroughputChange: disks}, true,
		&driver.GCEControllerServerArgs{})
	stat := mountmanager.NewFakeStatterWithOptions(mounter, mountmanager.FakeStatterOptions{})
	n := driver.NewNodeServer(d, mounter, devices{deviceutils.NewFakeDeviceUtils(true)}, metadata{node}, stat, &driver.NodeServerArgs{
		EnableDeviceInUseCheck: true,
		DeviceCache:            linkcache.NewTestDeviceCache(time.Minute, linkcache.NewTestNodeWithVolumes(nil)),
	})
	if err := d.SetupGCEDriver("pd.csi.storage.gke.io", "1", nil, nil, identity, controller, n); err != nil {
		return nil, err
	}
	return func(r grpc.ServiceRegistrar) {
		spec.RegisterIdentityServer(r, identity)
		spec.RegisterControllerServer(r, controller)
		spec.RegisterNodeServer(r, n)
	}, nil
}

// config is the configuration of csitest with all hooks that the driver allows. Its fake mounts have no data.
func (f *fixture) config() csitest.Config {
	cfg := csitest.Config{Controller: f.servers[f.names[0]], Nodes: map[string]csi.Conn{}, Root: f.root, Size: 10, Reset: f.reset, Restart: f.restart}
	for name, s := range f.servers {
		cfg.Nodes[name] = s
	}
	cfg.Reboot = func(node string) { *f.mounts[node] = *mount.NewFakeMounter(nil); _ = f.restart(node) }
	cfg.RemoveNode = func(node string) { f.cloud.remove(node) }
	cfg.Mounts = f.list
	return cfg
}

// list lists the mounts of all nodes.
func (f *fixture) list() []csitest.Mount {
	var all []csitest.Mount
	for _, node := range f.names {
		points, _ := f.mounts[node].List()
		for _, p := range points {
			all = append(all, csitest.Mount{Node: node, Path: p.Path, ReadOnly: slices.Contains(p.Opts, "ro"), Options: strings.Join(append(p.Opts, "rw"), ",")})
		}
	}
	return all
}

// devices has a device for each disk. The fake has one for all.
type devices struct{ deviceutils.DeviceUtils }

const deviceDir = "/dev/disk/by-id/google-"

func (devices) VerifyDevicePath(_ []string, disk string) (string, error) {
	return deviceDir + disk, nil
}

// commands are the programs on a node. They know the sizes of devices; there are no file systems.
type commands struct {
	testingexec.FakeExec
	cloud *cloud
}

func (c *commands) Command(name string, args ...string) exec.Cmd {
	if name != "blockdev" {
		return &testingexec.FakeCmd{DisableScripts: true}
	}
	return &testingexec.FakeCmd{CombinedOutputScript: []testingexec.FakeAction{func() (out, errors []byte, err error) {
		if slices.Contains(args, "--getro") {
			return []byte("1"), nil, nil // there is no file system that could be resized
		}
		name := strings.TrimPrefix(args[len(args)-1], deviceDir)
		disk, err := c.cloud.GetDisk(context.Background(), project, meta.ZonalKey(name, zone))
		if err != nil {
			return nil, nil, err
		}
		return []byte(strconv.FormatInt(disk.GetSizeGb()<<30, 10)), nil, nil
	}}}
}

// metadata is the metadata service of an instance.
type metadata struct{ node string }

func (metadata) GetZone() string        { return zone }
func (metadata) GetProject() string     { return project }
func (m metadata) GetName() string      { return m.node }
func (metadata) GetMachineType() string { return "n1-standard-1" }
func (metadata) GetValue(context.Context, string) (string, error) {
	return "", errors.New("there is no such value")
}
